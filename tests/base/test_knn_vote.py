from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.datasets import load_wine
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import scale

from vicinal.base.selection import (
    climb,
    leave_one_out_hits,
    majority,
    nearest_points,
    one_standard_error_choice,
    path_of_dimensions,
)

X, y = load_wine(return_X_y=True)
X = scale(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 3, 7])
def test_nearest_points_are_scikit_learns(k: int, dtype: Any) -> None:
    points, queries = X[::2].astype(dtype) + 10, X[1::2].astype(dtype) + 10
    path = [1, 2, 5, 13]
    found = nearest_points(queries, points, k, dimensions=path)
    for d, nearest in zip(path, found, strict=True):
        search = NearestNeighbors(n_neighbors=k).fit(points[:, :d])
        # By distances: one dimension has rows that are equally near.
        expected = search.kneighbors(queries[:, :d])[0]
        distances = np.linalg.norm(
            (queries[:, None, :d] - points[nearest, :d]).astype(float), axis=2
        )
        np.testing.assert_allclose(distances, expected, atol=2e-3)


def test_neither_blocks_nor_threads_matter() -> None:
    everyone = np.arange(len(X))
    expected = nearest_points(X, X, 3, own=everyone, dimensions=[2, 9])
    assert not np.any(expected == everyone[None, :, None])
    with config_context(working_memory=0.1):
        for n_threads in (1, 3):
            found = nearest_points(
                X, X, 3, own=everyone, dimensions=[2, 9], n_threads=n_threads
            )
            np.testing.assert_array_equal(found, expected)


def test_of_equally_near_points_the_first_is_found() -> None:
    Z = np.zeros((6, 2))
    found = nearest_points(Z, Z, 3, own=np.arange(6))[0]
    assert found.tolist()[0] == [1, 2, 3]
    assert found.tolist()[5] == [0, 1, 2]


def test_few_points_are_all_neighbours() -> None:
    Z = np.array([[0.0], [1.0], [5.0]])
    assert nearest_points(Z, Z, 3, own=np.arange(3)).shape == (1, 3, 2)
    hits = leave_one_out_hits(Z, np.array([0, 0, 1]))
    assert hits.tolist() == [[True, True, False]]


def test_majority_and_its_ties() -> None:
    votes = np.array([[0, 1, 1], [2, 0, 1], [1, 0, 0], [3, 3, 3]])
    assert majority(votes).tolist() == [1, 2, 0, 3]
    assert majority(np.array([["b", "a", "a", "b"]])).tolist() == ["b"]
    assert majority(np.stack([votes, votes])).shape == (2, 4)


@pytest.mark.parametrize("k", [1, 3])
def test_leave_one_out_against_scikit_learn(k: int) -> None:
    two = (y > 0).astype(int)  # two classes and an odd k: no ties
    hits = leave_one_out_hits(X, two, k, dimensions=[4, 13])
    for d, row in zip((4, 13), hits, strict=True):
        knn = KNeighborsClassifier(k)
        expected = cross_val_score(knn, X[:, :d], two, cv=LeaveOneOut())
        np.testing.assert_array_equal(row, expected == 1)


@pytest.mark.parametrize("most", [1, 2, 16, 17, 40, 1000])
def test_the_path_ends_in_all_dimensions(most: int) -> None:
    path = path_of_dimensions(most)
    assert path[0] == 1
    assert path[-1] == most
    assert np.all(np.diff(path) >= 1)
    assert path[: min(most, 16)] == list(range(1, min(most, 16) + 1))
    assert len(path) < 70


def hits_of(*counts: int) -> np.ndarray:
    """Return candidates of which each gets the first so many of 100 rows right."""
    return np.arange(100) < np.array(counts)[:, None]


def test_the_first_candidate_that_is_proven() -> None:
    # Past a dip, and one of the best though not the best.
    assert one_standard_error_choice(hits_of(50, 40, 89, 90, 80), -1) == 2
    # 90 and 91 differ in one row: an error of one. 90 and 94 in four: of two.
    assert one_standard_error_choice(hits_of(90, 94, 80), -1) == 1
    # Better than the last, but not by more than its error.
    right = hits_of(80, 80)
    right[0, [78, 79, 90, 91, 92]] = [False, False, True, True, True]
    assert one_standard_error_choice(right, -1) == 1
    # The same rows right as the last: nothing is lost by fewer.
    assert one_standard_error_choice(hits_of(70, 80, 80), -1) == 1
    assert one_standard_error_choice(hits_of(70, 75, 80), -1) == 2


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_neighbours_in_units_whose_squares_overflow(unit: float) -> None:
    points = np.random.default_rng(0).normal(size=(30, 3)) / 10
    own = np.arange(30)
    plain = nearest_points(points, points, 4, own=own)
    found = nearest_points(points * unit, points * unit, 4, own=own)
    np.testing.assert_array_equal(found, plain)


def test_the_first_candidate_that_is_as_good() -> None:
    # 90 and 94 differ in four rows: an error of two.
    assert one_standard_error_choice(hits_of(90, 94, 80)) == 1
    assert one_standard_error_choice(hits_of(93, 94)) == 0
    # A difference in every row has no error: only the best is as good as the best.
    assert one_standard_error_choice(hits_of(0, 100)) == 1


def test_climbing_a_path() -> None:
    heights = [1.0, 3.0, 2.0, 4.0, 3.5, 0.0]
    seen = []

    def score(k: int) -> float:
        seen.append(k)
        return heights[k]

    assert climb(score, 6) == 1
    assert seen == [0, 1, 2]
    assert climb(heights.__getitem__, 6, starts=(4, 5)) == 3
    assert climb(heights.__getitem__, 6, starts=(2,)) == 3
