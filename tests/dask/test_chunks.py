"""What a Dask collection must be, and what one pass finds in it."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd

from tests.dask.data import chunked
from vicinal.dask._chunks import Chunks, find_chunks
from vicinal.dask._tasks import Tasks

X = np.arange(40.0).reshape(10, 4)
y = np.array([0, 1] * 5)


def found(rows: Any, labels: Any = None) -> Chunks:
    return find_chunks(Tasks(), rows, labels, labeled=labels is not None)


@pytest.mark.parametrize("unknown", [False, True])
def test_one_pass_counts_and_measures(unknown: bool) -> None:
    chunks = found(*chunked(X, y, (1, 0, 6, 3), unknown))
    assert chunks.shape == (10, 4)
    assert chunks.n_rows.tolist() == [1, 6, 3]  # the empty one is left out
    assert chunks.offsets.tolist() == [0, 1, 7]
    assert chunks.counts.tolist() == [[1, 0], [3, 3], [1, 2]]
    np.testing.assert_allclose(chunks.mean, X.mean(axis=0))
    assert chunks.low.tolist() == X[0].tolist()
    assert chunks.high.tolist() == X[-1].tolist()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["a", "bcd"] * 5),
        np.array(["a", "bcd"] * 5, dtype=object),
        np.array([True, False] * 5),
        np.array([7, -2] * 5),
    ],
)
def test_labels_are_encoded_over_all_chunks(labels: Any) -> None:
    order = np.argsort(labels, kind="stable")
    chunks = found(*chunked(X, labels[order], 5))  # one class in each chunk
    assert chunks.classes.tolist() == sorted({*labels.tolist()})
    codes = chunks.map(lambda rows, codes: codes)
    expected = np.unique(labels[order], return_inverse=True)[1]
    np.testing.assert_array_equal(np.concatenate(codes), expected)


def test_data_frames_have_names_and_types() -> None:
    frame = pd.DataFrame(X.astype(np.float32), columns=list("abcd"))
    chunks = found(dd.from_pandas(frame, npartitions=3))
    assert chunks.names == list("abcd")
    assert chunks.dtype == np.float32
    assert chunks.shape == (10, 4)
    assert found(dd.from_pandas(frame.astype({"a": int}), npartitions=2)).dtype == float


def test_features_must_not_be_chunked() -> None:
    with pytest.raises(
        ValueError, match=r"along its features, in 2 .*rechunk\({1: -1}"
    ):
        found(da.from_array(X, chunks=(5, 2)))


def test_y_has_the_chunks_of_x() -> None:
    rows, _ = chunked(X, y, 5)
    with pytest.raises(ValueError, match=r"2 \(4, 6\), and X 2 \(5, 5\)"):
        found(rows, da.from_array(y, chunks=((4, 6),)))
    with pytest.raises(ValueError, match="y has other chunks than X: 1 "):
        found(rows, da.from_array(y, chunks=10))


def test_unknown_sizes_that_differ_are_found_by_the_pass() -> None:
    rows, _ = chunked(X, y, 5, unknown=True)
    _, labels = chunked(X, y, (4, 6), unknown=True)
    with pytest.raises(
        ValueError, match=r"Chunk 0 of X .* has 5 rows, but that of y has 4"
    ):
        found(rows, labels)


def test_labels_beside_a_chunk_without_rows_are_too_many() -> None:
    rows, _ = chunked(X, y, (5, 0, 5), unknown=True)
    labels = da.concatenate([chunked(X, y, (5, 5), unknown=True)[1], da.zeros(3)])
    labels = da.concatenate([labels.blocks[0], labels.blocks[2], labels.blocks[1]])
    with pytest.raises(
        ValueError, match=r"Chunk 1 of X .* has 0 rows, but that of y has 3"
    ):
        found(rows, labels)


@pytest.mark.parametrize(("bad", "what"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_the_chunk_with_a_bad_number_is_named(bad: float, what: str) -> None:
    spoilt = X.copy()
    spoilt[7, 2] = spoilt[9, 0] = bad
    with pytest.raises(
        ValueError, match=f"Chunk 2 .* contains {what}, .* row 1, feature 2"
    ):
        found(*chunked(spoilt, y, 3))


def test_objects_are_no_numbers() -> None:
    with pytest.raises(ValueError, match="dtype object, which is not of numbers"):
        found(da.from_array(X.astype(object), chunks=(5, 4)))
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    with pytest.raises(ValueError, match="columns that are not numbers: 'b'"):
        found(dd.from_pandas(frame, npartitions=1))


def test_what_is_in_memory_is_for_the_other_estimators() -> None:
    with pytest.raises(TypeError, match=r"X must be a Dask array .* got ndarray"):
        found(X)
    with pytest.raises(TypeError, match=r"y must be a Dask array .* got ndarray"):
        found(chunked(X, y)[0], y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.zeros(10), "only one class, 0.0"),
        (np.linspace(0, 1, 10), "Unknown label type"),
        (np.array([1.0, np.nan] * 5), "Chunk 0 of y .* missing"),
        (np.array(["a", None] * 5, dtype=object), "Chunk 0 of y .* missing"),
        (np.array(["a", "b"] * 4 + ["a", np.nan], dtype=object), "Chunk 1 .* missing"),
        (np.array([1, pd.NA] * 5, dtype=object), "Chunk 0 of y .* missing"),
        (np.array([1, "a"] * 5, dtype=object), r"Chunk 0 of y .* mixed .*\(int, str"),
        (np.array([(1,), "a"] * 5, dtype=object), "Chunk 0 of y .* mixed"),
    ],
)
def test_labels_that_are_no_classes(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        found(*chunked(X, labels, 5))


@pytest.mark.parametrize("dtype", ["string", "string[pyarrow]", "category", object])
def test_columns_of_strings_are_classes_unless_some_are_missing(dtype: Any) -> None:
    rows = da.from_array(X, chunks=(5, 4))
    names = pd.Series(["ant", "bee"] * 5, dtype=dtype)
    series = dd.from_pandas(names.to_frame("y"), npartitions=2)["y"]
    chunks = found(rows, series)
    assert chunks.classes.tolist() == ["ant", "bee"]
    assert chunks.counts.tolist() == [[3, 2], [2, 3]]
    names[7] = None
    series = dd.from_pandas(names.to_frame("y"), npartitions=2)["y"]
    with pytest.raises(ValueError, match=r"Chunk 1 of y .* has labels .* missing"):
        found(rows, series)


@pytest.mark.parametrize("dtype", ["Int64", "boolean"])
def test_columns_of_pandas_numbers_are_classes(dtype: str) -> None:
    series = pd.Series([0, 1] * 5, dtype=dtype).to_frame("y")
    labels = dd.from_pandas(series, npartitions=2)["y"]
    assert found(da.from_array(X, chunks=(5, 4)), labels).classes.tolist() == [0, 1]


def test_too_many_labels_are_no_classes() -> None:
    rows, labels = np.zeros((20_002, 1)), np.arange(20_002) // 2
    assert len(found(*chunked(rows[2:], labels[2:], 999)).classes) == 10_000
    for sizes in (999, 20_002):
        with pytest.raises(ValueError, match=r"1000\d different labels: no"):
            found(*chunked(rows, labels, sizes))


def test_strings_and_numbers_do_not_mix() -> None:
    frame = pd.DataFrame({"y": np.array([0] * 5 + ["b"] * 5, dtype=object)})
    series = dd.from_pandas(frame, npartitions=2, sort=False)["y"]
    if series.dtype == object:  # some versions make strings of all of them
        with pytest.raises(ValueError, match="strings in some chunks"):
            found(da.from_array(X, chunks=(5, 4)), series)


def test_too_few_rows() -> None:
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        found(*chunked(X[:1], y[:1], 1))
    with pytest.raises(ValueError, match="needs y"):
        find_chunks(Tasks(), chunked(X, y)[0], None, labeled=True)
