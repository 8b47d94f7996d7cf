from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from vicinal.app.tables.prepared import prepare
from vicinal.app.tables.reading import pieces, read_table

FRAME = pl.DataFrame({"a": [1, 2, 3], "b": [0.5, None, 2.5], "c": ["x", "y", None]})


def message(path: Path, content: bytes | None = None) -> str:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=path.name) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_threads_of_a_large_machine_fit_into_the_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLARS_MAX_THREADS", "256")
    FRAME.write_ipc(tmp_path / "t.arrow")
    assert_frame_equal(read_table(tmp_path / "t.arrow").frame, FRAME)


def test_compressed_text_and_json_agree(tmp_path: Path) -> None:
    for name, content in (
        ("t.csv.gz", FRAME.write_csv().encode()),
        ("t.tsv.gz", FRAME.write_csv(separator="\t").encode()),
        ("T.CSV.GZ", FRAME.write_csv(separator=";").encode()),
        ("t.jsonl.gz", FRAME.write_ndjson().encode()),
    ):
        (tmp_path / name).write_bytes(gzip.compress(content))
    FRAME.write_ndjson(tmp_path / "t.jsonl")
    FRAME.write_ndjson(tmp_path / "t.ndjson")
    FRAME.write_json(tmp_path / "t.json")
    for path in sorted(tmp_path.iterdir()):
        table = read_table(path)
        assert_frame_equal(table.frame, FRAME)
        assert table.name.lower() == "t"
        assert table.notes == []


def test_gzip_that_fills_a_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vicinal.app.tables.delimited._MIN_BOMB", 100_000)
    monkeypatch.setattr("vicinal.app.tables.delimited._CHUNK", 10_000)
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000)
    assert "possible decompression bomb" in message(tmp_path / "t.csv.gz", bomb)
    # Text that is not compressed is as large as it is.
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,2\n" * 50_000)
    assert read_table(tmp_path / "t.csv").frame.height == 50_000
    large = b"a,b\n" + "".join(f"{i},{i * i % 997}\n" for i in range(20_000)).encode()
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(large))
    assert read_table(tmp_path / "t.csv.gz").frame.height == 20_000


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"not json", "cannot be read as JSON"),
        (b"[1, 2]", "cannot be read as JSON"),
        (b'{"a": 1}\n[2]', "cannot be read as JSON"),
        (b'{"a": 1', "cannot be read as JSON"),
        (b"[" * 100_000, "cannot be read as JSON"),
        (b" \n", "is empty"),
    ],
)
def test_bad_json(tmp_path: Path, content: bytes, expected: str) -> None:
    assert expected in message(tmp_path / "t.jsonl", content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.json", "[" + '{"a":' * 1000 + "1" + "}" * 1000 + "]"),
        ("t.jsonl", '{"a":' * 1000 + "1" + "}" * 1000),
        ("t.jsonl", '{"a":' + "[" * 1000 + "1" + "]" * 1000 + "}"),
        ("t.jsonl", "\n".join(f'{{"k{i}": {i}}}' for i in range(100_000))),
    ],
    ids=["objects", "object", "lists", "keys"],
)
def test_small_json_that_fills_a_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str
) -> None:
    monkeypatch.setattr("vicinal.app.tables.isolated.SECONDS", 1.0)
    monkeypatch.setattr("vicinal.app.tables.isolated.SECONDS_EACH", 1e-6)
    assert "cannot be read as JSON" in message(tmp_path / name, content.encode())


def test_json_with_vectors_and_objects(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    lines = [
        f'{{"e": [{i % 3}, {i}.5], "o": {{"k": 1}}, "kind": "{"ab"[i % 2]}"}}'
        for i in range(9)
    ]
    path.write_text("\n".join(lines))
    prepared = prepare(path, target="kind")
    assert prepared.feature_names == ["e[0]", "e[1]"]
    assert prepared.X[4].tolist() == [1, 4.5]
    assert [one.kind for one in prepared.decisions] == ["vector", "text", "target"]


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_of_vectors_come_in_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    X = np.random.default_rng(0).normal(size=(60, 159)).astype(np.float32)
    for kind in (pl.List(pl.Float32), pl.Array(pl.Float32, 159)):
        frame = pl.DataFrame(
            {"e": pl.Series(X.tolist(), dtype=kind), "label": ["a", "b", "c"] * 20}
        )
        path = tmp_path / f"t.{suffix}"
        frame.write_parquet(path) if suffix == "parquet" else frame.write_ipc(path)
        monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 20)
        assert [piece.height for piece in pieces(path)] == [10] * 6
        prepared = prepare(path)
        assert prepared.X.dtype == np.float32
        np.testing.assert_array_equal(prepared.X, X)


def test_npy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vicinal.app.tables.reading.PIECE", 4)
    path = tmp_path / "t.npy"
    X = np.arange(30, dtype=">f4").reshape(10, 3)
    np.save(path, np.asfortranarray(X))
    table = read_table(path)
    assert table.frame.columns == ["x0", "x1", "x2"]
    np.testing.assert_array_equal(table.frame.to_numpy(), X)
    assert table.frame.dtypes == [pl.Float32] * 3
    assert prepare(path, target="x2").task == "regression"
    records = np.array([(1, 2.5, "x"), (3, 4.5, "y")], dtype="i4,f8,U1")
    np.save(path, records)
    assert read_table(path).frame.rows() == [(1, 2.5, "x"), (3, 4.5, "y")]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.ones(3), "a table has two dimensions"),
        (np.ones((2, 2, 2)), "a table has two dimensions"),
        (np.array([["a", "b"]]), "a table has two dimensions"),
        (np.array([[{}, 1]], dtype=object), "without pickle"),
    ],
)
def test_bad_npy(tmp_path: Path, array: Any, expected: str) -> None:
    np.save(tmp_path / "t.npy", array, allow_pickle=True)
    assert expected in message(tmp_path / "t.npy")


def test_npy_that_promises_more_than_it_holds(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, np.ones((3, 3)))
    header = buffer.getvalue().replace(b"(3, 3)", b"(3,3000)")
    assert "without pickle" in message(tmp_path / "t.npy", header)
    assert "without pickle" in message(tmp_path / "t.npy", b"\x93NUMPY junk")
    assert ".npy" in message(tmp_path / "t.csv", buffer.getvalue())
