"""Samples drawn by tasks: each class, and each row, has its share."""

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from tests.dask.data import chunked
from vicinal._typing import FloatArray
from vicinal.dask._chunks import find_chunks
from vicinal.dask._sampling import Basis, Rows, draw_sample, share_out
from vicinal.dask._tasks import Tasks

counts_of_chunks = st.lists(
    st.lists(st.integers(0, 50), min_size=3, max_size=3), min_size=1, max_size=8
).filter(lambda table: np.sum(table, axis=0).min() > 0)


@given(counts_of_chunks, st.integers(1, 400), st.integers(0, 10))
def test_shares_are_no_larger_than_chunks(
    table: list[list[int]], n: int, seed: int
) -> None:
    counts = np.array(table)
    quotas = share_out(counts, n, np.random.default_rng(seed))
    assert (quotas >= 0).all()
    assert (quotas <= counts).all()
    sizes = counts.sum(axis=0)
    wanted = np.rint(n * sizes / sizes.sum())
    expected = np.minimum(sizes, np.maximum(wanted, 2))
    if n >= sizes.sum():
        expected = sizes
    np.testing.assert_array_equal(quotas.sum(axis=0), expected)


def test_every_row_is_as_likely_as_any_other() -> None:
    X, y = np.arange(30.0)[:, None], np.array([0] * 10 + [1] * 20)
    chunks = find_chunks(Tasks(), *chunked(X, y, (3, 17, 10)), labeled=True)
    rng = np.random.default_rng(0)
    seen = np.zeros(30)
    n_draws = 600
    for _ in range(n_draws):
        rows: Rows = draw_sample(chunks, 9, rng)
        assert np.bincount(rows.codes).tolist() == [3, 6]
        np.testing.assert_array_equal(rows.X[:, 0], rows.numbers)
        np.testing.assert_array_equal(rows.codes, y[rows.numbers])
        seen[rows.numbers] += 1
    error = np.sqrt(0.3 * 0.7 / n_draws)
    assert np.abs(seen / n_draws - 0.3).max() < 4 * error


def test_small_classes_are_in_the_sample() -> None:
    X, y = np.arange(1000.0)[:, None], np.array([1, 1, 1, *[0] * 997])
    chunks = find_chunks(Tasks(), *chunked(X, y, 100), labeled=True)
    rows: Rows = draw_sample(chunks, 50, np.random.default_rng(0))
    assert np.bincount(rows.codes).tolist() == [50, 2]


def test_coordinates_may_take_the_place_of_rows() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    chunks = find_chunks(Tasks(), *chunked(X, y, 7), labeled=True)
    basis = np.array([[1.0, 0], [0, 2], [0, 0]])
    rows: Rows = draw_sample(chunks, 99, np.random.default_rng(0), Basis(basis))
    np.testing.assert_allclose(rows.X, X @ basis)


def test_tasks_leave_the_threads_of_blas_alone() -> None:
    X, y = np.random.default_rng(0).normal(size=(20, 3)), np.arange(20) % 2
    chunks = find_chunks(Tasks(), *chunked(X, y, 7), labeled=True)
    used: list[int] = []

    def watched(rows: FloatArray) -> FloatArray:
        pools = threadpool_info()
        used.extend(one["num_threads"] for one in pools if one["user_api"] == "blas")
        return rows

    with threadpool_limits(2, "blas"):
        draw_sample(chunks, 99, np.random.default_rng(0), watched)
    assert used
    assert set(used) == {1}
