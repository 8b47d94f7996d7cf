from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from vicinal.app.comparison.data import encode_target
from vicinal.app.tables.cells import clean
from vicinal.app.tables.inputs import names_classes
from vicinal.app.tables.names import Note
from vicinal.app.tables.prepared import prepare, read_target
from vicinal.app.tables.reading import read_table


def cleaned(values: list[Any]) -> pl.Series:
    return clean(pl.DataFrame({"t": values})).to_series()


@pytest.mark.parametrize(
    ("values", "task", "expected"),
    [
        (["a", "b", " a", "b"], "classification", ["a", "b", "a", "b"]),
        (["<script>", "b"] * 2, "classification", ["<script>", "b"] * 2),
        (["1", "02"] * 2, "classification", ["1", "02"] * 2),
        ([True, False] * 2, "classification", ["true", "false"] * 2),
        ([3, 10] * 2, "classification", ["3", "10"] * 2),
        ([3.0, 10.0] * 2, "classification", ["3", "10"] * 2),
        ([0.5, 1.5] * 2, "classification", ["0.5", "1.5"] * 2),
        ([0.5, 1.5, 2.5] * 9, "regression", [0.5, 1.5, 2.5] * 9),
        (list(range(20)) * 2, "classification", [str(i) for i in range(20)] * 2),
        (list(range(21)) * 2, "regression", list(range(21)) * 2),
        ([1, 2, 3, 3], "regression", [1, 2, 3, 3]),
    ],
)
def test_tasks(values: list[Any], task: str, expected: list[Any]) -> None:
    target = read_target(cleaned(values))
    assert target.task == task
    assert target.values.tolist() == expected
    assert target.values.dtype.kind == ("U" if task == "classification" else "f")
    assert target.kept.all()
    assert target.notes == ()


@pytest.mark.parametrize("name", ["count", "*", "^.*$", "class", "proportion", ""])
def test_names_that_polars_knows(name: str) -> None:
    target = read_target(pl.Series(name, ["a", "b", "b", "a", "c"]))
    assert target.values.tolist() == ["a", "b", "b", "a"]


@pytest.mark.parametrize(
    ("values", "classes"),
    [
        (np.repeat(np.arange(40), 10), True),
        (np.repeat(np.arange(1, 27), 10), True),
        (np.repeat(np.arange(40), 4), False),
        (np.repeat(np.arange(2, 42), 10), False),
        (np.repeat(2 * np.arange(40), 10), False),
        # Counts and ages have a tail.
        (np.repeat(np.arange(30), np.r_[[200] * 29, 19]), False),
        (np.repeat(np.arange(30), np.r_[[200] * 29, 20]), True),
    ],
)
def test_codes_are_classes_in_every_format(
    tmp_path: Path, values: np.ndarray[Any, Any], classes: bool
) -> None:
    task = "classification" if classes else "regression"
    x = np.random.default_rng(0).normal(size=len(values))
    frame = pl.DataFrame({"x": x, "target": values})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    text = frame.with_columns(pl.col("target").cast(pl.String))
    text.write_parquet(tmp_path / "text.parquet")
    np.savez(tmp_path / "t.npz", X=x[:, None], y=values)
    for path in tmp_path.iterdir():
        assert prepare(str(path)).task == task
    assert names_classes(values) == names_classes(values.astype(float)) == classes
    assert encode_target(values, "auto")[0] == task


def test_declared_categories_are_classes() -> None:
    labels = pl.Series("target", [str(i) for i in range(30)] * 3)
    frame = pl.DataFrame({"x": np.arange(90) % 7, "target": labels})
    assert prepare(frame).task == "regression"
    declared = frame.with_columns(pl.col("target").cast(pl.Categorical))
    assert prepare(declared).task == "classification"


def test_the_task_can_be_asked_for() -> None:
    assert read_target(pl.Series("t", [1, 2] * 3), task="regression").values.sum() == 9
    many = pl.Series("t", list(range(30)) * 2)
    assert len(set(read_target(many, task="classification").values)) == 30
    with pytest.raises(ValueError, match="not numbers to predict"):
        read_target(pl.Series("t", ["a", "b"] * 2), task="regression")


def test_rows_left_out() -> None:
    target = read_target(cleaned(["a", "?", "b", "a", "b", "c", "d"]))
    assert target.values.tolist() == ["a", "b", "a", "b"]
    assert target.kept.tolist() == [True, False, True, True, True, False, False]
    assert target.notes == (
        "1 row without a value in 't' left out",
        "classes 'c', 'd' left out: they have a single row each",
    )
    for lone, shown in [
        ("cde", "'c', 'd', 'e'"),
        ("cdefg", "'c', 'd', 'e' and 2 more"),
    ]:
        target = read_target(cleaned(["a", "b", "a", "b", *lone]))
        assert target.notes == (
            f"classes {shown} left out: they have a single row each",
        )
    target = read_target(pl.Series("t", [0.5, np.nan, np.inf, 1.25, 2.5]))
    assert target.values.tolist() == [0.5, 1.25, 2.5]
    assert target.kept.tolist() == [True, False, False, True, True]
    assert target.notes == ("2 rows without a value in 't' left out",)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["a", "a", None], "'t' is 'a' in every row; a target needs at least two"),
        ([1.5, 1.5], "'t' is '1.5' in every row"),
        (["x" * 99] * 2, "'xxx.*…' in every row"),
        ([None, None], "no values"),
        (list("abcde"), "another value in each row, like an identifier"),
        (list("abcd"), "another value in each row, and there are 4 of them: too few"),
        (["a", "b", *[None] * 9], "there are 2 of them: too few .* rows with a value"),
        (["a", "a", "b", "c"], "fewer than two classes with at least two rows"),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "holds dates, which are neither"),
        ([[1], [2]], "holds lists"),
    ],
)
def test_targets_that_teach_nothing(values: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_target(pl.Series("t", values))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("missing", [[], [None]])
def test_no_class_is_lost_where_labels_exceed_64_bits(missing: list[None]) -> None:
    target = read_target(pl.Series("t", [1.0, 2.0, 1e20] * 30 + missing))
    assert target.task == "classification"
    assert target.values.tolist() == ["1", "2", "1e+20"] * 30
    assert target.kept.sum() == 90
    target = read_target(pl.Series("t", [1e20, 2e20, -0.0, 0.0] * 5))
    assert target.values.tolist() == ["1e+20", "2e+20", "0", "0"] * 5


def test_long_integers_stay_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    labels = ["100000000000000000001", "100000000000000000002", "3"]
    path.write_text("x,t\n" + "".join(f"{i},{labels[i % 3]}\n" for i in range(9)))
    target = read_target(read_table(str(path)).frame["t"])
    assert target.values.tolist() == labels * 3


def test_numbers_with_a_few_other_cells() -> None:
    prices = [f"{3 * i + 0.5}" for i in range(98)]
    column = pl.Series("price", [*prices, "n/a?", "sold"])
    found = read_target(column)
    assert found.task == "regression"
    assert found.values.tolist() == [3 * i + 0.5 for i in range(98)]
    assert found.kept.tolist() == [True] * 98 + [False] * 2
    (note,) = found.notes
    assert "98 of 100 cells are numbers, but not 'n/a?', 'sold': 2 rows left" in note
    assert isinstance(note, Note)
    assert (note.option, note.value) == ("task", "classification")


def test_codes_with_other_cells_stay_classes_unless_regression_is_asked() -> None:
    column = pl.Series("grade", ["1", "2", "3", "4"] * 9 + ["x", "x"])
    found = read_target(column)
    assert found.task == "classification"
    assert len(found.values) == 38
    assert "regression takes the numbers alone" in found.notes[0]
    asked = read_target(column, task="regression")
    assert asked.values.tolist() == [1, 2, 3, 4] * 9
    with pytest.raises(ValueError, match="names like 'red', not numbers to predict"):
        read_target(pl.Series("c", ["red", "blue"] * 4), task="regression")


def test_an_identifier_with_missing_cells_is_no_target() -> None:
    with pytest.raises(ValueError, match="another value in each row"):
        read_target(pl.Series("who", ["a", "b", "c", None, "d"]))
