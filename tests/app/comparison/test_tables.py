from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from vicinal import compare
from vicinal.app.comparison.data import read_setting
from vicinal.app.tables.names import NoTargetError

if TYPE_CHECKING:
    from pathlib import Path

N = 90
QUICK: dict[str, Any] = {"methods": "euclidean standardised", "n_splits": 2}


def data() -> dict[str, list[Any]]:
    rng = np.random.default_rng(0)
    size = rng.normal(size=N)
    colour = rng.choice(["red", "green", "blue"], N)
    return {
        "size": [None if i % 9 == 0 else float(x) for i, x in enumerate(size)],
        "colour": colour.tolist(),
        "day": [dt.datetime(2024, 1, 1 + i % 28) for i in range(N)],
        "note": [f"{i}th note" for i in range(N)],
        "price": (size + 3 * (colour == "red")).tolist(),
    }


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pl.LazyFrame])
def test_frames_with_text_dates_and_missing_values(kind: Any) -> None:
    frame = kind(data())
    result = compare(frame, "price", **QUICK)
    setting = result.setting
    assert setting.task == "regression"
    names = ["size", "colour=blue", "colour=green", "colour=red", "day"]
    assert setting.feature_names == names
    again = compare(frame, target="price", **QUICK)
    assert again["euclidean"].scores.tolist() == result["euclidean"].scores.tolist()
    assert compare(frame, "colour", **QUICK).setting.task == "classification"


def test_a_path_and_the_command_s_words(tmp_path: Path) -> None:
    path = tmp_path / "shop.csv"
    frame = pl.DataFrame(data()).with_columns(
        kind=pl.Series(["a", "b", None] * 30), width=pl.Series(["1,5", "2,5"] * 45)
    )
    frame.write_csv(path, separator=";")
    for source in (path, str(path)):
        result = compare(source, "kind", **QUICK, overrides={"drop": "size,price"})
        setting = result.setting
        assert setting.name == "shop"
        assert "width" in setting.feature_names
        assert "size" not in setting.feature_names
        # Rows without a target are left out, and those that are left keep their number.
        assert setting.rows.tolist() == [i for i in range(N) if i % 3 != 2]
        assert "30 rows without a value in 'kind' left out" in result.notes
        assert "decimal commas in 'width'" in result.table()
    page = result.to_html()
    assert "dropped" in page


def test_labels_beside_a_frame_with_text() -> None:
    frame = pd.DataFrame(data())
    labels = np.array(["a", "b", None] * 30, dtype=object)
    setting = compare(frame, labels, **QUICK).setting
    assert setting.classes == ("a", "b")
    assert len(setting.X) == 60
    assert "price" in setting.feature_names
    numbers = compare(frame, np.arange(N) / 7, **QUICK).setting
    assert numbers.task == "regression"
    with pytest.raises(ValueError, match="one label for each of the 90 rows"):
        compare(frame, labels[:5])


def test_frames_of_numbers_beside_labels_are_arrays() -> None:
    frame = pd.DataFrame({"a": range(60), "b": [1.5, 2.5] * 30})
    setting = compare(frame, ["x", "y"] * 30, **QUICK).setting
    # As a table, the first column would be an identifier.
    assert setting.feature_names == ["a", "b"]
    assert setting.table is None
    polars = pl.DataFrame(frame.to_dict("list"))
    assert read_setting(polars, [1, 2] * 30).table is None
    assert read_setting(frame, None, task="none").table is None


def test_no_target_is_asked_for() -> None:
    frame = pl.DataFrame(data())
    with pytest.raises(NoTargetError, match=r"\('price', 'size', 'colour'\).*task='no"):
        compare(frame)
    with pytest.raises(NoTargetError, match="task='none' in Python"):
        compare(frame.select("size", "price"))
    setting = compare(frame, task="none", methods="gaussian", n_splits=1).setting
    assert setting.task == "none"
    found = compare(frame.rename({"price": "target"}), **QUICK)
    assert "column 'target' is taken as the target" in found.notes


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.ones((9, 2)), "price", {}, "X has no column names"),
        (np.ones((9, 2)), [1] * 9, {"overrides": {}}, "X has no column names"),
        (data, "pric", {}, "no column 'pric'; did you mean 'price'"),
        (data, "price", {"overrides": {"dropp": "a"}}, "overrides may have drop, cat"),
        (data, "price", {"overrides": {"drop": "a"}}, "The table has no column 'a'"),
        (data, "price", {"task": "cooking"}, "task must be auto"),
    ],
)
def test_mistakes(X: Any, y: Any, options: dict[str, Any], message: str) -> None:
    table = pd.DataFrame(X()) if callable(X) else X
    with pytest.raises(ValueError, match=message):
        compare(table, y, **options)


def test_one_class_warns() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    with pytest.warns(UserWarning, match="y is 1 in every row and cannot be pred"):
        result = compare(X, np.ones(40, dtype=int), methods="gaussian", n_splits=1)
    assert result.setting.task == "none"
    assert result.setting.y is None
    with pytest.raises(ValueError, match="one class only"):
        compare(X, ["a"] * 40, task="classification")


def test_the_verdict_warns_of_a_column_that_determines_the_target() -> None:
    rng = np.random.default_rng(0)
    size = rng.normal(size=200)
    frame = pl.DataFrame({"size": size, "same": size > 0, "kind": size > 0})
    assert (
        "\nBut: column 'same' determines the target"
        in compare(frame, "kind", **QUICK).verdict()
    )


def test_densities_of_categories_are_doubted_by_their_columns() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], 150),
            "size": rng.normal(size=150),
        }
    )
    found = compare(frame, task="none", methods="lca-diagonal,lca", n_splits=1)
    said, doubt = found.verdict().splitlines()
    assert said.startswith("No metric is recommended: the density of lca")
    assert found.recommended is None
    assert doubt.startswith("But: a density is high at the few values of 'colour'")
    assert [one for one in found.notes if one.startswith("lca")] == [
        "lca-diagonal, lca: The density is high at the few values of 'colour', and "
        "compares only with other densities of this table. Leave such columns out."
    ]
    numbers = compare(frame.select("size"), task="none", methods="lca", n_splits=1)
    assert "But" not in numbers.verdict()
    assert numbers.recommended == "lca"


def test_small_classes_are_named() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"size": rng.normal(size=90), "kind": ["often"] * 84 + ["rare"] * 6}
    )
    found = compare(frame, "kind", methods="ldg", n_splits=1)
    assert "ldg: These classes have few rows: rare (4)." in found.notes


def test_the_verdict_warns_of_columns_that_a_few_cells_spoil() -> None:
    rng = np.random.default_rng(0)
    size = rng.normal(size=200).round(3)
    cells = ["unknown" if i == 7 else str(x) for i, x in enumerate(size)]
    frame = pl.DataFrame(
        {"size": cells, "other": rng.normal(size=200), "kind": size > 0}
    )
    found = compare(frame, "kind", **QUICK)
    sentence, *others = found.verdict().splitlines()
    assert others == [
        "But: Not used as numbers, because a few cells are not numbers: size. "
        "Name them as numbers to take those cells as missing."
    ]
    assert found.to_dict()["verdict"] == sentence
    assert "<br>But: Not used as numbers" in found._repr_html_()
    mended = compare(frame, "kind", overrides={"number": ["size"]}, **QUICK)
    assert "\n" not in mended.verdict()
