"""Columns of a table as a network takes them."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

pytest.importorskip("torch")
from vicinal.neural._columns import (
    ColumnEncoder,
    categorical_columns,
    split_columns,
)

rng = np.random.default_rng(0)


def encode(X: Any, scale: str = "column", categorical: Any = ()) -> Any:
    columns = split_columns(X, list(categorical))
    encoder = ColumnEncoder.fit(columns, scale)
    rows = encoder.transform(columns)
    return encoder, SimpleNamespace(numbers=rows.numbers.numpy(), codes=rows.codes)


def test_units_are_of_the_column() -> None:
    X = rng.normal(size=(500, 2)) * [0.01, 1e6] + [3, -1e7]
    _, rows = encode(X)
    assert np.abs(np.median(rows.numbers, axis=0)).max() < 1e-6
    assert 0.8 < rows.numbers.std(axis=0).min() < rows.numbers.std(axis=0).max() < 1.1
    assert rows.numbers.dtype == np.float32


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
    assert rows.numbers.shape == (50, 4)
    assert (rows.numbers[:5, 1] == 0).all()
    assert rows.numbers[:, 3].sum() == 5
    later = encoder.transform(split_columns(np.full((1, 3), np.nan), []))
    assert later.numbers.tolist() == [[0, 0, 0, 1]]  # only one column has a flag


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
def test_dates_are_refused_by_name(library: str) -> None:
    module = pytest.importorskip(library)
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ms]")
    frame = module.DataFrame({"a": [1.0, 2.0], "when": days})
    with pytest.raises(ValueError, match=r"'when' holds dates.*numbers"):
        categorical_columns(frame, "auto")
    with pytest.raises(ValueError, match=r"'when' holds dates"):
        split_columns(frame, [])
    assert categorical_columns(frame, ["when"]) == [1]
    assert len(set(split_columns(frame, [1]).values[0])) == 2


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
