from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from vicinal.app.tables.inputs import Overrides
from vicinal.app.tables.names import NoTargetError, Note, doubts
from vicinal.app.tables.prepared import prepare
from vicinal.datasets import load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def csv(tmp_path: Path) -> str:
    path = tmp_path / "flowers.csv"
    lines = ["id,colour,width,kind,note"]
    lines += [
        f"{i},{'red' if i % 3 else 'blue'},{i * 7 % 5}.5,{'ab'[i % 2]},same"
        for i in range(30)
    ]
    lines += ["30,red,NA,,same"]
    path.write_text("\n".join(lines))
    return str(path)


def test_every_decision_is_noted(csv: str) -> None:
    prepared = prepare(csv, target="kind")
    assert prepared.name == "flowers"
    assert prepared.task == "classification"
    assert prepared.target == "kind"
    assert prepared.feature_names == ["colour=red", "width"]
    assert prepared.X.shape == (30, 2)
    assert prepared.y is not None
    assert prepared.y.tolist() == ["a", "b"] * 15
    assert [one.kind for one in prepared.decisions] == [
        "identifier",
        "category",
        "number",
        "target",
        "constant",
    ]
    assert prepared.notes == ["1 row without a value in 'kind' left out"]
    assert prepared.frame.height == 30
    np.testing.assert_array_equal(
        prepared.columns.encode(prepared.frame), prepared.X, strict=True
    )


def test_the_usual_names_are_taken_with_a_note(csv: str, tmp_path: Path) -> None:
    frame = pl.read_csv(csv).rename({"kind": "Label"})
    frame.write_parquet(tmp_path / "t.parquet")
    prepared = prepare(str(tmp_path / "t.parquet"))
    assert prepared.target == "Label"
    assert prepared.notes[0] == "column 'Label' is taken as the target"


def test_no_target(csv: str) -> None:
    prepared = prepare(csv, no_target=True)
    assert prepared.task == "none"
    assert prepared.y is None
    assert prepared.target is None
    assert prepared.feature_names == ["colour=red", "width", "kind=b"]
    assert prepared.X.shape == (31, 3)
    assert prepared.rows.tolist() == list(range(31))
    assert np.isnan(prepared.X[30, 1:]).all()
    assert [one.kind for one in doubts(prepared.notes)] == ["density"]


def test_a_target_that_nobody_named_is_asked_for(csv: str) -> None:
    asked: list[Any] = []

    def answer(error: NoTargetError, columns: list[str]) -> str | None:
        asked.append((error.likely, columns))
        return answers.pop()

    answers: list[str | None] = [None, "kind"]
    assert prepare(csv, ask=answer).target == "kind"
    assert prepare(csv, ask=answer).task == "none"
    names = ["id", "colour", "width", "kind", "note"]
    assert asked == [(["kind", "colour", "width"], names)] * 2
    with pytest.raises(NoTargetError, match=r"flowers has no column called target.*"):
        prepare(csv)


def test_a_known_label_is_no_feature_without_a_target() -> None:
    prepared = prepare("iris", no_target=True)
    assert prepared.X.shape == (150, 4)
    assert prepared.y is None
    assert prepared.task == "none"


def test_regression_and_limit(csv: str) -> None:
    prepared = prepare(csv, target="width", limit=20)
    assert prepared.task == "regression"
    assert prepared.y is not None
    assert prepared.y.dtype == np.float64
    assert "20 of 31 rows, drawn at random" in prepared.notes
    assert prepare(csv, target="width", task="classification").task == "classification"


def test_digits_keep_their_pixels_in_order() -> None:
    prepared = prepare("digits")
    digits = load("digits")
    names = list(digits.feature_names or [])
    kept = [names.index(one) for one in prepared.feature_names]
    np.testing.assert_array_equal(prepared.X, digits.X[:, kept])
    assert len(kept) == 61
    assert kept == sorted(kept)
    assert prepared.y is not None
    assert prepared.y.tolist() == load("digits").y.astype(str).tolist()


def test_iris_and_float32_come_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.testing.assert_array_equal(prepare("iris").X, load("iris").X)
    X = np.random.default_rng(0).normal(size=(9, 3)).astype(np.float32)
    np.savez(tmp_path / "mine.npz", X=X, y=np.arange(9) % 3)
    monkeypatch.setenv("VICINAL_DATA", str(tmp_path))
    for source in ("mine", str(tmp_path / "mine.npz")):
        np.testing.assert_array_equal(prepare(source).X, X, strict=True)


@pytest.mark.parametrize(
    ("text", "target", "message"),
    [
        ("a,b\n1,x\n", None, "single row"),
        (
            "a,b\n1,x\n1,y\n",
            None,
            r"from \(a: constant, always 1; b: ident.*say which",
        ),
        ("a b\n1 x\n2 y\n", None, "is its delimiter a comma"),
        ("a b\n1 x\n2 y\n", "b", "no column 'b'; is its delimiter a comma"),
        ("name\nann\nbob\n", None, r"each row has its own value\); say which column"),
        ("y\n1\n2\n1\n2\n", "y", "needs columns beside the target"),
        ("a,b\n1,x\n1,y\n", "c", "t has no column 'c'"),
        ("a,b\n1,x\n1,y\n", "b", "too few to learn from"),
        ("a,b\n1,x\n1,x\n", "b", "in every row"),
    ],
)
def test_tables_that_teach_nothing(
    tmp_path: Path, text: str, target: str | None, message: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        prepare(str(path), target=target)


def test_a_target_and_none() -> None:
    with pytest.raises(ValueError, match="not both"):
        prepare("iris", target="target", no_target=True)


def test_a_line_of_totals_without_a_target_spoils_no_column(tmp_path: Path) -> None:
    rows = "".join(f"{i}.5,{i % 7},{'xy'[i % 2]}\n" for i in range(30))
    path = tmp_path / "t.csv"
    path.write_text(f"size,n,kind\n{rows}total,99,\n")
    found = prepare(path, target="kind")
    assert [one.kind for one in found.decisions] == ["number", "number", "target"]
    assert found.X.shape == (30, 2)
    asked = prepare(path, target="kind", overrides=Overrides.of(categorical="n"))
    assert asked.decisions[1].kind == "category"


def test_columns_that_a_few_cells_spoil_are_named_together(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    lines = ["age,net worth,kind,y"]
    for i in range(200):
        age = "unknown" if i == 7 else str(20 + i % 50)
        worth = "#REF!" if i == 9 else f"{i * 1.37:.2f}"
        lines.append(f"{age},{worth},{'ab'[i % 2]},{i % 3}")
    path.write_text("\n".join(lines))
    found = prepare(str(path), target="y")
    assert [line for line in found.notes if "a few cells" in line] == [
        "Not used as numbers, because a few cells are not numbers: age, net worth. "
        "Name them as numbers to take those cells as missing."
    ]
    note = next(line for line in found.notes if isinstance(line, Note))
    assert (note.option, note.value) == ("number", "age,net worth")
    names = Overrides.of(number=["age,net worth"])
    mended = prepare(str(path), target="y", overrides=names)
    assert {one.kind for one in mended.decisions[:2]} == {"number"}
    assert not [line for line in mended.notes if "a few cells" in line]


def test_two_rows_are_a_table(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1.5,2.25\n2.5,4.75\n")
    assert prepare(str(path), no_target=True).X.tolist() == [[1.5, 2.25], [2.5, 4.75]]
