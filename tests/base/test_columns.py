"""Columns of a table as numbers, flags and codes."""

import datetime as dt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm

from vicinal.base.columns import (
    ColumnEncoder,
    categorical_columns,
    split_columns,
)

rng = np.random.default_rng(0)


def encode(X: Any, scale: str = "column", categorical: Any = ()) -> Any:
    columns = split_columns(X, list(categorical))
    encoder = ColumnEncoder.fit(columns, scale)
    rows = encoder.transform(columns)
    return encoder, rows


def test_units_are_of_the_column() -> None:
    X = rng.normal(size=(500, 2)) * [0.01, 1e6] + [3, -1e7]
    _, rows = encode(X)
    assert np.abs(np.median(rows.numbers, axis=0)).max() < 1e-6
    assert 0.8 < rows.numbers.std(axis=0).min() < rows.numbers.std(axis=0).max() < 1.1


@settings(deadline=None)
@given(arrays(np.float64, (12, 2), elements=st.floats(-1e6, 1e6)))
def test_scaled_numbers_are_bounded_and_in_order(X: Any) -> None:
    _, rows = encode(X)
    assert np.abs(rows.numbers).max() <= 3.001
    for c in range(2):
        order = np.argsort(X[:, c], kind="stable")
        assert (np.diff(rows.numbers[order, c]) >= -1e-6).all()


def test_common_units_and_none() -> None:
    X = np.column_stack([rng.normal(size=200) * 4, rng.normal(size=200) * 0.001])
    _, rows = encode(X, "common")
    spreads = rows.numbers.std(axis=0)
    assert spreads[0] / spreads[1] == pytest.approx(X[:, 0].std() / X[:, 1].std(), 1e-3)
    _, rows = encode(X, "none")
    np.testing.assert_allclose(rows.numbers, X, rtol=1e-6)


def test_missing_numbers_have_a_flag() -> None:
    X = rng.normal(size=(50, 3))
    X[:5, 1] = np.nan
    encoder, rows = encode(X)
    assert rows.numbers.shape == (50, 3)
    assert (rows.numbers[:5, 1] == 0).all()
    assert rows.flags.sum(axis=0).tolist() == [5]
    later = encoder.transform(split_columns(np.full((1, 3), np.nan), []))
    assert later.numbers.tolist() == [[0, 0, 0]]
    assert later.flags.tolist() == [[True]]  # only one column has a flag


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library: str) -> None:
    module = pytest.importorskip(library)
    frame = module.DataFrame(
        {
            "a": [1.5, None, 2.0],
            "b": ["x", None, "y"],
            "c": [True, False, True],
            "d": [3, 4, 5],
        }
    )
    assert categorical_columns(frame, "auto") == [1]
    assert categorical_columns(frame, ["d", 1]) == [1, 3]
    assert categorical_columns(frame, None) == []
    columns = split_columns(frame, [1])
    np.testing.assert_array_equal(
        columns.numbers, [[1.5, 1, 3], [np.nan, 0, 4], [2, 1, 5]]
    )
    encoder = ColumnEncoder.fit(columns, "column")
    assert encoder.categories == [["x", "y"]]
    assert encoder.transform(columns).codes.tolist() == [[1], [0], [2]]


def test_types_of_frames() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "category": pandas.Categorical(["u", "v", None]),
            "whole": pandas.array([1, None, 3], dtype="Int64"),
            "text": pandas.array(["p", "q", None], dtype="string"),
        }
    )
    assert categorical_columns(frame, "auto") == [0, 2]
    columns = split_columns(frame, [0, 2])
    np.testing.assert_array_equal(columns.numbers, [[1], [np.nan], [3]])
    assert columns.values == [["u", "v", None], ["p", "q", None]]


def test_numbers_of_numpy_are_the_same_categories() -> None:
    X = np.array([[np.int64(3)], [np.bool_(True)], [np.float32(0.5)]], dtype=object)
    encoder, _ = encode(X, categorical=[0])
    plain = np.array([[3], [True], [0.5], [3.0], ["3"]], dtype=object)
    codes = encoder.transform(split_columns(plain, [0])).codes
    assert codes[:, 0].tolist() == [3, 2, 1, 3, 0]


def test_large_whole_numbers_stay_apart() -> None:
    X = np.array([[2**53], [2**53 + 1], [np.int64(2**60)]], dtype=object)
    encoder, rows = encode(X, categorical=[0])
    assert rows.codes[:, 0].tolist() == [1, 2, 3]
    later = np.array([[np.int64(2**53 + 1)], [2**60], [2**60 + 1]], dtype=object)
    codes = encoder.transform(split_columns(later, [0])).codes
    assert codes[:, 0].tolist() == [2, 3, 0]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_dates_become_days(library: str) -> None:
    module = pytest.importorskip(library)
    days = np.array(["1970-01-02", "1970-01-03T12:00", "NaT"], dtype="datetime64[ms]")
    frame = module.DataFrame({"a": [1.0, 2.0, 3.0], "when": days})
    assert categorical_columns(frame, "auto") == []
    np.testing.assert_array_equal(
        split_columns(frame, []).numbers[:, 1], [1.0, 2.5, np.nan]
    )
    assert categorical_columns(frame, ["when"]) == [1]
    assert len(set(split_columns(frame, [1]).values[0])) == 3


def test_durations_times_and_time_zones_become_days() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.DataFrame(
        {
            "zone": pandas.to_datetime(["1970-01-02T01:00+01:00"]),
            "length": pandas.to_timedelta(["36h"]),
        }
    )
    assert split_columns(frame, []).numbers.tolist() == [[1.0, 1.5]]
    frame = polars.DataFrame({"time": [dt.time(18), None]})
    np.testing.assert_array_equal(split_columns(frame, []).numbers, [[0.75], [np.nan]])


def test_ordered_categories_become_ranks() -> None:
    pandas = pytest.importorskip("pandas")
    levels = pandas.CategoricalDtype(["low", "middle", "high"], ordered=True)
    frame = pandas.DataFrame(
        {"size": pandas.Series(["high", None, "low"], dtype=levels)}
    )
    assert categorical_columns(frame, "auto") == []
    raw = split_columns(frame, [])
    np.testing.assert_array_equal(raw.numbers, [[2], [np.nan], [0]])
    encoder = ColumnEncoder.fit(raw, "none")
    later = pandas.DataFrame({"size": ["middle", "huge"]})  # as text, and unknown
    np.testing.assert_array_equal(encoder.split(later).numbers, [[1], [np.nan]])


def test_rare_categories_are_unknown_and_gaps_are_a_category() -> None:
    X = np.array([["u"], ["u"], ["v"], [None], [None]], dtype=object)
    encoder = ColumnEncoder.fit(split_columns(X, [0]), "column", min_rows=2)
    assert encoder.categories == [["u", None]]
    codes = encoder.transform(split_columns(X, [0])).codes
    assert codes[:, 0].tolist() == [1, 1, 0, 2, 2]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_of_float32_stay_so(library: str) -> None:
    module = pytest.importorskip(library)
    narrow = np.array([1.0, 2.0], dtype=np.float32)
    frame = module.DataFrame({"a": narrow, "b": narrow})
    assert split_columns(frame, []).numbers.dtype == np.float32
    frame = module.DataFrame({"a": narrow, "b": narrow.astype(np.float64)})
    assert split_columns(frame, []).numbers.dtype == np.float64


def test_categories_alone() -> None:
    X = np.array([["u"], ["v"]], dtype=object)
    encoder, rows = encode(X, categorical=[0])
    assert rows.numbers.shape == (2, 0)
    assert rows.codes.tolist() == [[1], [2]]
    assert (
        encoder.transform(split_columns(np.array([["w"]], dtype=object), [0])).codes
        == 0
    )


def test_weights_are_numbers_of_rows() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": rng.normal(size=40) ** 3, "b": list("xyzw") * 10})
    frame.loc[0, "b"] = "v"
    weights = rng.integers(0, 4, 40).astype(float)
    weights[0] = 2
    several = frame.loc[np.repeat(np.arange(40), weights.astype(int))].reset_index(
        drop=True
    )
    by_weights = ColumnEncoder.fit(split_columns(frame, [1]), "ranked", weights, 2)
    by_rows = ColumnEncoder.fit(split_columns(several, [1]), "ranked", None, 2)
    assert by_weights.categories == by_rows.categories == [["v", "w", "x", "y", "z"]]
    raw = split_columns(frame, [1])
    one, other = by_weights.transform(raw), by_rows.transform(raw)
    np.testing.assert_allclose(one.numbers, other.numbers, atol=1e-9)


def test_ranks_are_normal_scores() -> None:
    x = np.repeat([-5.0, 0.0, 1e6], [30, 40, 30])[:, None]
    encoder, rows = encode(x, "ranked")
    robust = (x - encoder.middle) / encoder.unit
    robust /= np.hypot(1, robust / 3)
    # The lower 30 % have the mean rank 0.15.
    scores = norm.ppf(np.repeat([0.15, 0.5, 0.85], [30, 40, 30]))[:, None]
    np.testing.assert_allclose(rows.numbers, (robust + scores) / 2, atol=0.01)
    assert np.isnan(encoder.scaled(x * np.nan)).all()
