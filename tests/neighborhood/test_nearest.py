import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.nearest import _largest, nearest_of_each_class


def sorted_classes(
    n: int, d: int, n_classes: int, seed: int
) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    codes = np.sort(np.r_[np.arange(n_classes), rng.integers(n_classes, size=n)])
    return rng.normal(size=(len(codes), d)), np.searchsorted(
        codes, np.arange(n_classes + 1)
    )


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 80), st.integers(1, 6), st.integers(2, 4),
    st.integers(1, 12), st.integers(0, 10**6),
)  # fmt: skip
def test_new_queries_find_what_scikit_learn_finds(
    n: int, d: int, n_classes: int, k: int, seed: int
) -> None:
    points, bounds = sorted_classes(n, d, n_classes, seed)
    queries = np.random.default_rng(seed + 1).normal(size=(17, d))
    found = nearest_of_each_class(points, bounds, k, queries)
    for j, nearest in enumerate(found):
        start, stop = bounds[j], bounds[j + 1]
        k_of_class = min(k, stop - start)
        peer = NearestNeighbors(n_neighbors=k_of_class).fit(points[start:stop])
        np.testing.assert_array_equal(nearest, peer.kneighbors(queries)[1] + start)


@pytest.mark.parametrize("k", [1, 3, 200])
def test_a_point_is_left_out_of_its_own_class_alone(k: int) -> None:
    points, bounds = sorted_classes(60, 3, 3, 0)
    points[5] = points[6]  # a twin is a neighbour, though; oneself is not
    found = nearest_of_each_class(points, bounds, k)
    for j, nearest in enumerate(found):
        rows = np.arange(bounds[j], bounds[j + 1])
        assert nearest.shape == (len(points), min(k, len(rows) - 1))
        assert np.isin(nearest, rows).all()
        assert not (nearest[rows] == rows[:, None]).any()
        assert all(len(set(row)) == len(row) for row in nearest)
    assert found[0][5, 0] == 6
    assert found[0][6, 0] == 5


def test_fewer_neighbours_are_the_first_of_more() -> None:
    points, bounds = sorted_classes(200, 4, 3, 1)
    many, few = (nearest_of_each_class(points, bounds, k) for k in (16, 4))
    for more, fewer in zip(many, few, strict=True):
        np.testing.assert_array_equal(more[:, :4], fewer)


def test_a_class_of_one_has_no_other_neighbour_than_itself() -> None:
    points = np.array([[0.0], [1.0], [2.0], [9.0]])
    found = nearest_of_each_class(points, np.array([0, 3, 4]), 2)
    np.testing.assert_array_equal(found[0], [[1, 2], [0, 2], [1, 0], [2, 1]])
    np.testing.assert_array_equal(found[1], [[3], [3], [3], [3]])


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_do_not_change_the_result(n_threads: int, dtype: type) -> None:
    points, bounds = sorted_classes(1500, 5, 2, 2)
    one = nearest_of_each_class(points.astype(dtype), bounds, 7)
    more = nearest_of_each_class(points.astype(dtype), bounds, 7, n_threads=n_threads)
    for a, b in zip(one, more, strict=True):
        np.testing.assert_array_equal(a, b)


def test_of_equal_neighbours_the_first_are_listed() -> None:
    """Many more than the few for which any sort keeps the order."""
    rng = np.random.default_rng(0)
    values = rng.integers(3, size=(40, 300)).astype(float)
    for k in (1, 5, 150, 300):
        naive = [sorted(range(300), key=lambda j: (-row[j], j))[:k] for row in values]
        np.testing.assert_array_equal(_largest(values, k), naive)
