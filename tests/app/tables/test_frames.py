from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
from polars.testing import assert_frame_equal

from vicinal.app.tables.inputs import is_frame
from vicinal.app.tables.prepared import prepare
from vicinal.app.tables.reading import to_polars


def test_what_is_a_frame() -> None:
    assert is_frame(pd.DataFrame({"a": [1]}))
    assert is_frame(pl.DataFrame({"a": [1]}))
    assert is_frame(pl.LazyFrame({"a": [1]}))
    for other in ([[1]], np.ones((1, 1)), "a.csv", None, pd.Series([1]), {"a": [1]}):
        assert not is_frame(other)


def test_polars_frames_are_taken_as_they_are() -> None:
    frame = pl.DataFrame({"a": [1]})
    assert to_polars(frame) is frame
    assert_frame_equal(to_polars(frame.lazy()), frame)


def test_every_type_of_pandas() -> None:
    frame = pd.DataFrame(
        {
            "int": [1, 2],
            "float": [1.5, None],
            "float16": np.array([1.5, 2], dtype=np.float16),
            "bool": [True, False],
            "text": ["a", None],
            "object": np.array(["a", 3], dtype=object),
            "Int64": pd.array([1, None], dtype="Int64"),
            "boolean": pd.array([True, None], dtype="boolean"),
            "category": pd.Categorical(["u", None]),
            "codes": pd.Categorical([3, 1]),
            "time": pd.to_datetime(["2024-12-31 01:00", None]),
            "zone": pd.to_datetime(["2024-12-31 01:00+01:00", None]),
            "span": pd.to_timedelta(["1D", None]),
            "vector": [np.array([1.0, 2.0]), [3.0, 4.0]],
            7: [1, 2],
        },
        index=[5, 9],
    )
    found = to_polars(frame).with_columns(pl.col("float").fill_nan(None))
    midnight, one = dt.datetime(2024, 12, 31), dt.timedelta(hours=1)
    assert found.to_dict(as_series=False) == {
        "int": [1, 2],
        "float": [1.5, None],
        "float16": [1.5, 2],
        "bool": [True, False],
        "text": ["a", None],
        "object": ["a", "3"],
        "Int64": [1, None],
        "boolean": [True, None],
        "category": ["u", None],
        "codes": ["3", "1"],
        "time": [midnight + one, None],
        "zone": [midnight, None],
        "span": [dt.timedelta(days=1), None],
        "vector": [[1.0, 2.0], [3.0, 4.0]],
        "7": [1, 2],
    }
    assert found["category"].dtype == found["codes"].dtype == pl.Categorical


def test_two_columns_of_one_name() -> None:
    frame = pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"])
    assert to_polars(frame).to_dict(as_series=False) == {"a": [1, 3], "a_2": [2, 4]}


def test_pandas_and_polars_are_prepared_alike() -> None:
    rng = np.random.default_rng(0)
    data = {
        "n": [None if i % 9 == 0 else float(i % 5) for i in range(60)],
        "c": [["red", "green", "blue", None][i % 4] for i in range(60)],
        "d": [dt.datetime(2024, 1, 1 + i % 7) for i in range(60)],
        "t": ["3,5" if i % 2 else "4,25" for i in range(60)],
        "price": rng.normal(size=60).tolist(),
    }
    one = prepare(pd.DataFrame(data), target="price")
    two = prepare(pl.DataFrame(data), target="price")
    assert one.feature_names == two.feature_names
    np.testing.assert_array_equal(one.X, two.X)
    assert one.y is not None
    np.testing.assert_array_equal(one.y, two.y)
    assert one.name == "the data"
