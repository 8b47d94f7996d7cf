import base64
import datetime as dt
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from tests.app.report import comparisons
from vicinal.app.report.fitted import fit_metrics
from vicinal.app.report.rows import (
    _categories,
    column_data,
    find_source_columns,
    names_of_rows,
    select_rows,
)


def unpacked(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")


def found_for(comparison: Any, frame: Any, n: int = 1000) -> dict[str, Any]:
    setting = comparison.setting
    rows = select_rows(setting, n, None, None)
    metrics, _ = fit_metrics(comparison, rows)
    columns = find_source_columns(setting.feature_names, rows.X)
    found = column_data(rows, columns, metrics[-1], frame)
    shown = {
        one["name"]: [one["values"][code] for code in unpacked(one["codes"], "u2")]
        for one in found
    }
    return {"data": {one["name"]: one for one in found}, "shown": shown, "rows": rows}


TABLE = comparisons.passenger_table()


@pytest.mark.parametrize(
    "frame", [TABLE, pl.DataFrame(TABLE), pd.DataFrame(TABLE)], ids=type
)
def test_cells_are_shown_as_they_came(frame: Any) -> None:
    found = found_for(comparisons.passengers(), frame, n=50)
    positions = found["rows"].positions
    assert found["shown"]["port"] == [TABLE["port"][i] for i in positions]
    expected = [TABLE["age"][i] for i in positions]
    assert found["shown"]["age"] == [
        "missing" if age is None else str(age) for age in expected
    ]


def test_without_a_table_the_features_are_read() -> None:
    with_table = found_for(comparisons.passengers(), TABLE)["shown"]
    assert found_for(comparisons.passengers(), None)["shown"] == with_table


def test_differences_are_in_standard_deviations() -> None:
    comparison = comparisons.passengers()
    found = found_for(comparison, None)
    X = found["rows"].X
    ages = np.where(np.isnan(X[:, 0]), np.nanmedian(X[:, 0]), X[:, 0])
    at = unpacked(found["data"]["age"]["at"], "i2") / 128
    np.testing.assert_allclose(at - at[0], (ages - ages[0]) / ages.std(), atol=2 / 128)
    # Two values of a text are as far apart as their standardised features are.
    port = found["data"]["port"]
    weights = dict(zip(port["values"], port["weights"], strict=True))
    spread = X[:, 3:].std(axis=0)
    one, other = np.eye(3)[:2] / spread
    assert np.hypot(weights["C"], weights["Q"]) == pytest.approx(
        np.linalg.norm(one - other), rel=1e-3
    )


def test_far_values_and_missing_ones_stay_in_range() -> None:
    comparison = comparisons.diabetes()
    X = comparison.setting.X.copy()
    far, gone = np.sort(comparison.setting.tests[0])[:2]
    X[far, 0] = 1e140
    X[gone] = np.nan
    found = found_for(
        replace(comparison, setting=replace(comparison.setting, X=X)), None
    )
    assert found["shown"]["x0"][1] == "missing"
    assert found["shown"]["x0"][0] == "1e+140"


def test_rows_are_called_by_a_column_of_names() -> None:
    rows = select_rows(comparisons.passengers().setting, 1000, None, None)
    n, shown = len(comparisons.passengers().setting.X), rows.positions.tolist()

    def named(frame: Any, **kinds: str) -> list[str] | None:
        decisions = [SimpleNamespace(column=c, kind=k) for c, k in kinds.items()]
        return names_of_rows(rows, None, frame, decisions)

    table = {
        "id": list(range(n)),
        "full_name": [f"n{i}" for i in range(n)],
        "story": ["so long a text that nobody reads it as a name " * 3] * n,
        "day": [dt.date(2024, 1, 1)] * n,
    }
    kinds = {"id": "identifier", "full_name": "text", "story": "text", "day": "text"}
    assert named(table, **kinds) == [f"n{i}" for i in shown]
    # Not by what comes last in the alphabet.
    table["ticket"] = [f"z{max(i, n // 3)}" for i in range(n)]
    del kinds["full_name"]
    assert named(table, **kinds, ticket="text") == [str(i) for i in shown]
    assert named(table, **kinds) == [str(i) for i in shown]
    del kinds["id"]
    assert named(table, **kinds) is None
    assert named(None, id="identifier") is None
    given = names_of_rows(rows, np.arange(n) + 5, None, [])
    assert given is not None
    assert given[0] == str(shown[0] + 5)


def test_vectors_have_no_value_to_read() -> None:
    comparison = comparisons.wine()
    rows = select_rows(comparison.setting, 1000, None, None)
    metrics, _ = fit_metrics(comparison, rows)
    given = ["embedding"] * 12 + ["proline"]
    columns = find_source_columns(comparison.setting.feature_names, rows.X, None, given)
    found = column_data(rows, columns, metrics[0], None)
    assert [one["name"] for one in found] == ["proline"]


def test_of_two_values_one_is_a_feature() -> None:
    comparison = comparisons.passengers()
    setting = comparison.setting
    X = setting.X[:, [0, 2, 3, 4, 5]].copy()
    gone = setting.tests[0].min()
    X[gone, 1] = np.nan
    names = ["age", "sex=male", "port=C", "port=Q", "port=S"]
    rows = select_rows(replace(setting, X=X, feature_names=names), 1000, None, None)
    shorter = replace(setting, X=X, feature_names=names)
    metrics, _ = fit_metrics(replace(comparison, setting=shorter), rows)
    columns = find_source_columns(names, X, split=["sex", "port"])
    (sex,) = (
        one
        for one in column_data(rows, columns, metrics[0], None)
        if one["name"] == "sex"
    )
    assert set(sex["values"]) == {"male", "not male", "missing"}
    shown = [sex["values"][code] for code in unpacked(sex["codes"], "u2")]
    assert shown[0] == "missing"
    assert (shown[1] == "male") == (TABLE["sex"][rows.positions[1]] == "male")


def test_a_row_of_no_category_has_none() -> None:
    found = _categories(np.array([[1.0, 0], [0, 1], [0, 0]]), ["a", "b"], None)
    codes = unpacked(found["codes"], "u2")
    assert [found["values"][code] for code in codes] == ["a", "b", "missing"]
