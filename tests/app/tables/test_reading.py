from __future__ import annotations

import gzip
import io
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from polars.expr.string import ExprStringNameSpace
from polars.testing import assert_frame_equal

from vicinal.app.tables.prepared import prepare
from vicinal.app.tables.reading import pieces, read_table
from vicinal.datasets import load

FRAME = pl.DataFrame({"a": [1, 2, 3], "b": [0.5, None, 2.5], "c": ["x", "y", None]})


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VICINAL_DATA", raising=False)


def written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def message(source: str, **options: Any) -> str:
    with pytest.raises((ValueError, OSError)) as caught:
        read_table(source, **options)
    text = str(caught.value)
    # One sentence: nothing but the end of it looks like an end.
    assert text.rstrip(".?").count(". ") == 0, text
    assert "\n" not in text
    return text


def test_formats_agree(tmp_path: Path) -> None:
    FRAME.write_csv(tmp_path / "t.csv")
    FRAME.write_csv(tmp_path / "t.tsv", separator="\t")
    FRAME.write_csv(tmp_path / "t.txt", separator="|")
    FRAME.write_csv(tmp_path / "semicolon.csv", separator=";")
    FRAME.write_parquet(tmp_path / "t.parquet")
    FRAME.write_ipc(tmp_path / "t.arrow")
    FRAME.write_ipc(tmp_path / "t.feather", compression="zstd")
    FRAME.write_ipc_stream(tmp_path / "stream.arrow")
    for path in sorted(tmp_path.iterdir()):
        table = read_table(str(path))
        assert_frame_equal(table.frame, FRAME)
        assert table.name == path.stem
        assert table.target is None
        assert table.notes == []


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("a,b\n1,é\n".encode("utf-8-sig"), None),
        ("a,b\n1,é\n".encode("utf-16"), None),
        ("a,b\n1,é\n".encode("latin-1"), "latin-1"),
        ("a,b\r\n1,é\r\n\r\n".encode(), None),
        ("a,b\r1,é\r".encode(), None),
        ("\n\na,b\n\n1,é".encode(), None),
        ('"a","b"\n"1","é"'.encode(), None),
    ],
    ids=["bom", "utf-16", "latin-1", "crlf", "cr", "blank lines", "quoted"],
)
def test_text_of_many_kinds(tmp_path: Path, content: bytes, note: str | None) -> None:
    table = read_table(written(tmp_path / "t.csv", content))
    assert_frame_equal(table.frame, pl.DataFrame({"a": [1], "b": ["é"]}))
    assert (note is None) == (table.notes == [])
    assert note is None or note in table.notes[0]


def test_latin_1_far_from_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vicinal.app.tables.delimited._CHUNK", 16)
    source = written(tmp_path / "t.csv", b"a,b\n" + b"1,x\n" * 20 + b"2,\xe9\n")
    assert read_table(source).frame["b"].to_list() == ["x"] * 20 + ["é"]


def test_what_excel_writes_on_windows_is_read(tmp_path: Path) -> None:
    content = "price;n\n1.286,02 €;1\n31,50 €;2\n".encode("cp1252")
    table = read_table(written(tmp_path / "t.csv", content))
    assert table.frame["price"].to_list() == [1286.02, 31.5]
    assert "Windows-1252" in table.notes[0]


def test_bytes_that_windows_leaves_open_are_kept_apart(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "t.csv", b"a,b\n1,\x81\xe9\n2,\x8d\xe9\n"))
    assert table.frame["b"].to_list() == ["\x81é", "\x8dé"]


def test_quoted_cells_and_missing_ones(tmp_path: Path) -> None:
    text = 'n,t,e\n 1,"a ""b"", c\nd",?\nNA," x ",N/A\n-2.5,"",null\n'
    frame = read_table(written(tmp_path / "t.csv", text.encode())).frame
    assert frame["n"].to_list() == [1.0, None, -2.5]
    assert frame["t"].to_list() == ['a "b", c\nd', "x", None]
    assert frame["e"].to_list() == [None, None, None]


def test_whole_numbers_stay_exact(tmp_path: Path) -> None:
    text = "big;mixed\n9007199254740993;1\n2;x\n"
    frame = read_table(written(tmp_path / "t.csv", text.encode())).frame
    assert frame["big"].to_list() == [9007199254740993, 2]
    assert frame["mixed"].to_list() == ["1", "x"]


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "  ", "\n  "])
@pytest.mark.parametrize("delimiter", ["\t", ",", ";"])
def test_a_last_row_without_values_is_a_row(
    tmp_path: Path, delimiter: str, end: str
) -> None:
    kind = "tsv" if delimiter == "\t" else "csv"
    text = f"a,b,c\n1,2,3\n,,\n4,5,6\n,,{end}".replace(",", delimiter)
    frame = read_table(written(tmp_path / f"t.{kind}", text.encode())).frame
    assert frame["a"].to_list() == [1, None, 4, None]


def test_names_are_made_distinct(tmp_path: Path) -> None:
    table = read_table(written(tmp_path / "t.csv", b",a,a,<script>\n1,2,3,4\n"))
    assert table.frame.columns == ["Unnamed: 0", "a", "a_2", "<script>"]
    assert "'Unnamed: 0', 'a_2'" in table.notes[0]


# Without the time of day, which would be in the tests' names.
GZIPPED = gzip.compress(b"a,b\n1,2\n", mtime=0)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "empty"),
        (b"\n \n".replace(b" ", b""), "empty"),
        (b"a,b\n", "no rows"),
        (b"a,b", "no rows"),
        (
            b"a,b\n1,2\n\n1,2,3\n",
            "Line 4 of t.csv has 3 cells, but the first line has 2",
        ),
        (b'a,b\n"1\n\n",2\n1\n', "Line 5 of t.csv has 1 cell, but"),
        (
            b"a,b\n1," + b"x" * 10_000_000 + b"\n",
            "line 2 of t.csv cannot be read (field",
        ),
        (b'a,b\n1,"' + b"x,\n" * 3_000_000, "line 2 of t.csv cannot be read (field"),
        (b'a,b\n1,"x\n2,y\n', "line 2 of t.csv cannot be read (unexpected end"),
        (b'a,b\n1,"5" x\n2,6\n', "line 2 of t.csv cannot be read (',' expected"),
        (gzip.compress(GZIPPED, mtime=0), "decompress it"),
        (GZIPPED[:-9], "t.csv is cut short or damaged"),
        (b"\x1f\x8bnonsense", "t.csv is cut short or damaged"),
        (b"PK\x03\x04\0rest", "not text"),
        (b"PAR1\0rest", ".parquet"),
        (bytes(range(256)), "not text"),
        ("a,b\n1,2".encode("utf-16")[:-1], "not utf-16"),
    ],
)
def test_bad_text(tmp_path: Path, content: bytes, expected: str) -> None:
    assert expected in message(written(tmp_path / "t.csv", content))


def test_a_quote_inside_a_cell_is_part_of_it(tmp_path: Path) -> None:
    source = written(tmp_path / "t.csv", b'a,b\n1,5" x\n2,6" x\n')
    assert read_table(source).frame["b"].to_list() == ['5" x', '6" x']


def test_counted_columns_are_names(tmp_path: Path) -> None:
    # What pandas writes for a frame without names.
    assert read_table(written(tmp_path / "t.csv", b"0,1\n5,6\n")).frame.columns == [
        "0",
        "1",
    ]


def test_no_such_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "penguins.csv", b"a\n1\n")
    assert "did you mean 'penguins.csv'?" in message(str(tmp_path / "pengins.csv"))
    assert "no file 'zzz.csv'; `vicinal datasets` lists" in message("zzz.csv")
    assert "no file or data set 'irs'; did you mean 'iris'?" in message("irs")
    assert "did you mean 'penguins.csv'?" in message("penguins")
    with pytest.raises(ValueError, match=r"no data set 'zzz'\. Valid names"):
        read_table("zzz")
    assert "is a folder; name a file in it" in message(str(tmp_path))
    assert "is not a regular file" in message("/dev/null")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_damaged_files(tmp_path: Path, suffix: str) -> None:
    buffer = io.BytesIO()
    rows = pl.DataFrame({"a": np.arange(1000.0)})
    rows.write_parquet(buffer) if suffix == "parquet" else rows.write_ipc(buffer)
    whole = buffer.getvalue()
    path = tmp_path / f"t.{suffix}"
    assert "damaged" in message(written(path, whole[:-100]))
    for start in (len(whole) - 150, len(whole) - 250):
        hole = whole[:start] + b"\xff" * 100 + whole[start + 100 :]
        assert "damaged" in message(written(path, hole))
    assert "t." in message(written(path, b"a,b\n1,2\n"))
    assert "empty" in message(written(path, b""))


def test_a_table_without_rows(tmp_path: Path) -> None:
    FRAME.head(0).write_parquet(tmp_path / "t.parquet")
    assert "no rows" in message(str(tmp_path / "t.parquet"))


def test_names_with_stars_are_names(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "a[1]*.parquet")
    FRAME.write_ipc(tmp_path / "a[1]*.arrow")
    FRAME.head(1).write_parquet(tmp_path / "a1.parquet")
    for suffix in ("parquet", "arrow"):
        assert_frame_equal(read_table(str(tmp_path / f"a[1]*.{suffix}")).frame, FRAME)


def damaged_arrow(path: Path) -> str:
    """Write a file with a length of 2^62 bytes, on which polars aborts."""
    pl.DataFrame({"a": [True, False] * 100}).write_ipc(path, compression="zstd")
    content = path.read_bytes()
    # In a compressed buffer, the length of what it holds stands before it.
    start = content.index(b"\x28\xb5\x2f\xfd") - 8
    assert content[start : start + 8] == (25).to_bytes(8, "little")
    patched = content[:start] + (2**62).to_bytes(8, "little") + content[start + 8 :]
    return written(path, patched)


def test_damage_that_would_end_the_process(tmp_path: Path) -> None:
    source = damaged_arrow(tmp_path / "t.arrow")
    program = "import sys; from vicinal.app.tables.reading import read_table as read\n"
    program += "try: read(sys.argv[1])\nexcept ValueError as error: print(error)"
    outcome = subprocess.run(
        [sys.executable, "-c", program, source], capture_output=True, check=False
    )
    assert outcome.returncode == 0
    assert b"t.arrow is damaged and cannot be read" in outcome.stdout


def test_damage_that_breaks_a_thread_down_is_not_tried_twice(tmp_path: Path) -> None:
    # In the footer stand place and length of the rows; threads that find nothing there
    # break down, now and then without a word to those who wait for them.
    path = tmp_path / "t.arrow"
    pl.DataFrame({"a": [True, False] * 100}).write_ipc(path)
    whole = path.read_bytes()
    for place in (118, 110, 101):
        changed = bytearray(whole)
        changed[-place] ^= 0x10
        text = message(written(path, bytes(changed)))
        assert text.startswith("t.arrow is damaged")
        assert "unwrap" not in text


def test_damage_that_looks_like_an_error_of_the_disk(tmp_path: Path) -> None:
    FRAME.write_ipc_stream(tmp_path / "t.arrow")
    content = (tmp_path / "t.arrow").read_bytes()
    text = message(written(tmp_path / "t.arrow", content[: len(content) // 2]))
    assert text == "t.arrow is damaged and cannot be read; copy it again."


def test_npz(tmp_path: Path) -> None:
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    names = np.array(["target", "target"])
    np.savez(tmp_path / "t.npz", X=X, y=np.array(["p", "q", "p"]), feature_names=names)
    table = read_table(str(tmp_path / "t.npz"))
    assert table.frame.columns == ["target", "target_2", "target_3"]
    assert table.target == "target_3"
    assert table.frame["target_2"].to_list() == [1, 3, 5]
    assert table.frame["target_2"].dtype == pl.Float32
    assert table.frame["target_3"].to_list() == ["p", "q", "p"]


def test_npz_is_never_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.ones((2, 1)), y=np.array([{}, 1], dtype=object))
    assert "without pickle" in message(str(tmp_path / "t.npz"))
    with zipfile.ZipFile(tmp_path / "u.npz", "w") as archive:
        archive.writestr("X.npy", b"garbage")
    assert "u.npz" in message(str(tmp_path / "u.npz"))


def test_bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").mkdir()
    table = read_table("iris")
    assert table.frame.shape == (150, 5)
    assert table.target == "target"
    np.testing.assert_array_equal(table.frame[:, :4].to_numpy(), load("iris").X)


def test_limit_is_a_sample_that_does_not_depend_on_the_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = pl.DataFrame({"row": np.arange(5000)})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    whole = read_table(str(tmp_path / "t.parquet"), limit=300)
    rows = whole.frame["row"].to_numpy()
    assert len(set(rows.tolist())) == 300
    assert (np.diff(rows) > 0).all()
    assert rows.mean() == pytest.approx(2500, abs=300)
    assert whole.notes == ["300 of 5,000 rows, drawn at random"]
    monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 70)
    monkeypatch.setattr("vicinal.app.tables.delimited._CHUNK", 1000)
    for suffix in ("parquet", "csv"):
        again = read_table(str(tmp_path / f"t.{suffix}"), limit=300)
        assert_frame_equal(again.frame, whole.frame)
    assert read_table(str(tmp_path / "t.csv"), limit=5000).notes == []
    assert "at least 1" in message(str(tmp_path / "t.csv"), limit=0)


def test_pieces_join_to_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 40)
    frame = pl.DataFrame({"a": np.arange(100), "b": ["x"] * 100})
    frame.write_parquet(tmp_path / "t.parquet", row_group_size=17)
    frame.write_ipc(tmp_path / "t.arrow")
    for suffix in ("parquet", "arrow"):
        parts = list(pieces(str(tmp_path / f"t.{suffix}"), rows=30))
        assert max(part.height for part in parts) == 30
        assert_frame_equal(pl.concat(parts), frame)


CELL = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=8),
    chunk=st.integers(1, 50),
    delimiter=st.sampled_from(",;\t|"),
)
def test_text_comes_back(
    tmp_path: Path, rows: list[tuple[str, str]], chunk: int, delimiter: str
) -> None:
    """Whatever stands in quotes survives pieces of any size."""
    lines = [("one", "two"), *rows]
    text = "\n".join(
        delimiter.join('"' + cell.replace('"', '""') + '"' for cell in line)
        for line in lines
    )
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("vicinal.app.tables.delimited._CHUNK", chunk)
        parts = list(pieces(str(path)))
    cells = [tuple(cell or "" for cell in row) for row in pl.concat(parts).rows()]
    assert cells == rows


def test_without_polars() -> None:
    program = (
        "import sys; sys.modules['polars'] = None\n"
        "from vicinal.app.tables.reading import read_table\n"
        "try: read_table('iris')\n"
        "except ValueError as error: print(error)"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True
    )
    assert b"pip install 'vicinal[cli]'" in outcome.stdout


def test_each_column_is_cleaned_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"{i % 7}.5,{'rgb'[i % 3]},{'xy'[i % 2]}" for i in range(30)]
    source = written(tmp_path / "t.csv", "\n".join(["a,b,label", *lines]).encode())
    seen: list[str] = []
    strip = ExprStringNameSpace.strip_chars

    def counted_strip(self: Any, *arguments: Any) -> Any:
        seen.append("strip")
        return strip(self, *arguments)

    monkeypatch.setattr(ExprStringNameSpace, "strip_chars", counted_strip)
    prepared = prepare(source)
    assert prepared.feature_names == ["a", "b=b", "b=g", "b=r"]
    assert seen == ["strip"] * 3
