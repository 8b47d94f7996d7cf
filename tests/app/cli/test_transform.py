from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import vicinal
from tests.app.cli.conftest import assert_error_line, flowers, run, works

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("folder")


def test_fit_transform_neighbors(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    out = works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    assert "flowers: 40 rows, 2 features, target '[bold]kind' (classes)" in out
    assert "identifier: id" in out
    assert "category: <script>alert(1)</script> (2 values)" in out
    assert "lda: 2 features to 1 dimension" in out
    assert "each row left out of its own:" in out
    assert out.endswith("model: m.st\n")
    model = vicinal.load("m.st")
    assert model.classes == ("<b>a</b>", "[red]b")

    out = works("transform", "m.st", data, "-o", "out.parquet", "--keep", "id")
    assert out == "40 rows, lda0 to lda0: out.parquet\n"
    found = pl.read_parquet("out.parquet")
    assert found.columns == ["id", "lda0"]
    assert found.height == 40
    works("transform", "m.st", data, "-o", "all.csv", "--keep-all")
    assert len(pl.read_csv("all.csv").columns) == 5

    out = works("neighbors", "m.st", data, "--query", "3", "-k", "4")
    assert "nearest to row 3 ([bold]kind: [red]b)" in out
    assert "[red]b" in out.splitlines()[5]
    assert "= near under both: " in out
    assert "of the row's own class: " in out
    assert sorted(one.name for one in folder.iterdir()) == [
        "all.csv",
        "flowers.csv",
        "m.st",
        "out.parquet",
    ]


BAD_FILES = {
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "ragged.csv": b"a,b\n1,2\n1,2,3\n",
    "cell.csv": b"a,b\n1," + b"x" * 10_000_000 + b"\n",
    "one.csv": b"a,target\n" + b"1,x\n2,x\n" * 5,
    "distinct.csv": b"a,target\n"
    + b"".join(b"%d,n%d\n" % (i % 3, i) for i in range(9)),
    "cut.parquet": b"PAR1 and no more",
    "zip.csv": b"PK\x03\x04\x00\x00",
}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit nope.csv -o m.st", "There is no file 'nope.csv'"),
        ("fit empty.csv -o m.st", "is empty"),
        ("fit header.csv -o m.st", "no rows"),
        ("fit ragged.csv -o m.st", "Line 3 of ragged.csv has 3 cells"),
        ("fit cell.csv -o m.st", "field larger than field limit"),
        ("fit one.csv -o m.st", "in every row"),
        ("fit distinct.csv -o m.st", "like an identifier"),
        ("fit cut.parquet -o m.st", "damaged"),
        ("fit zip.csv -o m.st", "not text"),
        ("fit iris --target speces -o m.st", "no column 'speces'"),
        ("fit iris --target targt -o m.st", "did you mean 'target'?"),
        ("fit iris --target target --no-target -o m.st", "not both"),
        ("fit iris --method nac -o m.st", "did you mean 'nca'"),
        ("fit iris --method mlkr -o m.st", "mlkr learns from a target of numbers"),
        (
            "fit iris --n-components 99 --method pca -o m.st",
            "n_components=99 exceeds the 4 features; ask for 4 or fewer",
        ),
        (
            "fit iris --rows 60 --n-components 1000 --method pca -o m.st",
            "n_components=1000 exceeds",
        ),
        ("fit iris --jobs 0 -o m.st", "--jobs is 1 or more threads"),
        ("fit iris -o .", "is a folder"),
        ("fit iris -o no/where/m.st", "There is no folder"),
        ("fit one.csv -o one.csv", "is the data"),
        ("transform nope.st iris -o out.csv", "does not exist"),
        ("transform cut.st iris -o out.csv", "cut short"),
        ("transform edited.st iris -o out.csv", "edited"),
        ("transform good.st wine -o out.csv", "no column 'sepal length (cm)'"),
        ("transform good.st iris -o out.xyz", "must end in "),
        ("transform good.st iris -o out.csv --keep zzz", "no column 'zzz'"),
        ("transform good.st iris -o good.st", "is the model"),
        ("neighbors good.st iris --query 150", "There is no row 150"),
        ("fit iris --method lda --max-iter 9 -o m.st", "leave out max_iter=9"),
        ("transform good.st iris -o a.npy --keep target", "a.npy holds one array"),
        ("neighbors good.st iris", "write them to a file with --output"),
        ("neighbors good.st iris --query x", "--query 'x' is not the number of a row"),
        ("neighbors good.st iris --query x --id nope", "no column 'nope'"),
        ("neighbors good.st iris --query x --id target", "no row with 'x'"),
        ("neighbors good.st iris --query 0 --show zz", "no column 'zz'"),
        ("neighbors good.st iris -o out.xyz", "must end in "),
        ("neighbors good.st iris -o good.st", "is the model"),
        ("neighbors good.st iris --among wine -o o.csv", "no column 'sepal length"),
        ("predict good.st iris --among wine -o o.csv", "no column 'sepal length"),
        ("predict good.st iris --among one.csv -o one.csv", "is the --among table"),
        ("predict good.st iris --among iris -k 999 -o o.csv", "999 neighbours"),
        ("neighbors one.csv iris --query 0", "one.csv is cut short, damaged or no"),
    ],
)
def test_errors(folder: Path, arguments: str, message: str) -> None:
    for name, content in BAD_FILES.items():
        if name in arguments:
            (folder / name).write_bytes(content)
    if ".st iris" in arguments or "good.st" in arguments:
        works("fit", "iris", "--method", "pca", "-o", "good.st")
        content = (folder / "good.st").read_bytes()
        (folder / "cut.st").write_bytes(content[:-9])
        (folder / "edited.st").write_bytes(content[:-1] + b"\x01")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    outcome = run(*arguments.split())
    assert_error_line(outcome, message)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    outcome = run("fit", "iris", "--method", "pca", "-o", "m.st")
    assert_error_line(outcome, "No space left on device")
    assert list(folder.iterdir()) == []


def test_control_characters_do_not_reach_the_terminal(folder: Path) -> None:
    frame = pl.DataFrame(
        {
            "x": np.arange(8.0) ** 2,
            "bell\x1b[2J": ["\x1b[31m"] * 8,
            "target": ["a\x1b[0m", "b"] * 4,
        }
    )
    data, model = "t\x1b[2J.parquet", "m\x1b[2J.st"
    frame.write_parquet(data)
    out = works("fit", data, "--method", "pca", "-o", model)
    out += works("neighbors", model, data, "--query", "0")
    out += works("transform", model, data, "-o", "o\x1b[2J.csv")
    out += works(*f"compare {data} --methods euclidean --report r\x1b[2J.html".split())
    assert "\x1b" not in out
    assert "bell�[2J" in out


def test_a_column_kept_twice_is_kept_once(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "lda", "-o", "m.st")
    works("transform", "m.st", data, "-o", "o.csv", "--keep", "id", "--keep", "id")
    assert pl.read_csv("o.csv").columns == ["id", "lda0"]


def test_numbers_far_too_large_for_the_model(folder: Path) -> None:
    data = flowers(folder / "flowers.csv")
    works("fit", data, "--target", "[bold]kind", "--method", "pca", "-o", "m.st")
    (folder / "new.csv").write_text("<script>alert(1)</script>,width\nr,1e308\n")
    model = vicinal.load("m.st")
    vicinal.save("m.st", replace(model, scale=np.full_like(model.scale, 1e-9)))
    outcome = run("transform", "m.st", "new.csv", "-o", "o.csv")
    assert_error_line(outcome, "too large for the model")
    assert not (folder / "o.csv").exists()


def test_arrays_out(folder: Path) -> None:
    works("fit", "iris", "--method", "lda", "--n-components", "2", "-o", "m.st")
    works(*["transform", "m.st", "iris", "-o", "a.npy"])
    works(*["transform", "m.st", "iris", "-o", "a.npz", "--keep", "target"])
    array = np.load("a.npy")
    assert array.shape == (150, 2)
    with np.load("a.npz") as found:
        np.testing.assert_array_equal(found["X"], array)
        assert found["names"].tolist() == ["lda0", "lda1"]
        assert (
            found["target"].tolist()
            == ["setosa"] * 50 + ["versicolor"] * 50 + ["virginica"] * 50
        )
    assert sorted(one.name for one in folder.iterdir()) == ["a.npy", "a.npz", "m.st"]


def test_german_numbers_and_others(folder: Path) -> None:
    """A model of decimal commas: two digits, points, and points of thousands."""

    def write(name: str, digits: int, sign: str, delimiter: str) -> str:
        rows = ((f"{1 + i * 37 % 41 / 40:.{digits}f}", "ab"[i % 2]) for i in range(40))
        cells = [
            [x.replace(".", sign) if i % 9 else "k. A.", y, "1"]
            for i, (x, y) in enumerate(rows)
        ]
        lines = [["size", "kind", "one"], *cells]
        (folder / name).write_text("\n".join(map(delimiter.join, lines)))
        return name

    learned = write("de3.csv", 3, ",", ";")
    fit = ["fit", learned, "--target", "kind", "--number", "size"]
    out = works(*fit, "--method", "standardised", "-o", "m.st")
    assert "1,234 is 1.234; if not, state the sign (--decimal .)" in out
    predict = ["predict", "m.st"]
    among = ["--among", learned, "--keep", "size", "-o", "p.csv"]
    assert "40 rows predicted" in works(*predict, write("de2.csv", 2, ",", ";"), *among)
    points = run(*predict, write("en2.csv", 2, ".", ","), *among)
    assert_error_line(points, "was learned from numbers like 1.234,5, but line 3 of")
    thousands = run(*predict, write("en3.csv", 3, ".", ","), *among)
    assert thousands.exit_code == 0
    assert thousands.stderr.count("is read as") == 1
    assert "note: '1.925' is read as 1925, because the model" in thousands.stderr
