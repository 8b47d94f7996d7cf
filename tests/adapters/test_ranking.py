"""Rankings against sorting all documents."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters import _ranking
from vicinal.adapters._ranking import ranks_of_relevant, top_documents


def naive_order(Q: FloatArray, X: FloatArray, unit_length: bool) -> IntArray:
    """Return all documents of each query by score or distance, first ones first."""
    if unit_length:
        return np.argsort(-(Q @ X.T), axis=1, kind="stable")
    distances = ((Q[:, None] - X[None]) ** 2).sum(axis=2)
    return np.argsort(distances, axis=1, kind="stable")


@pytest.mark.parametrize("unit_length", [True, False])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_the_nearest_come_first(unit_length: bool, n_threads: int, k: int) -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(30, 4)), rng.normal(size=(40, 4))
    best, scores = top_documents(Q, X, k, unit_length=unit_length, n_threads=n_threads)
    np.testing.assert_array_equal(best, naive_order(Q, X, unit_length)[:, :k])
    assert (np.diff(scores, axis=1) <= 0).all()


def test_of_equal_documents_the_first_comes_first() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    best, _ = top_documents(X[:1], X, 2, unit_length=True, n_threads=1)
    assert best.tolist() == [[0, 2]]
    relevance = csr_array(np.array([[0.0, 1, 0, 1]]))
    ranks = ranks_of_relevant(X[:1], X, relevance, unit_length=True, n_threads=1)
    assert ranks.tolist() == [4, 3]


@pytest.mark.parametrize("few", [0, 16])
@settings(deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_ranks_are_positions_in_the_order(few: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Few values, so that many scores are equal.
    Q = rng.integers(-1, 2, size=(6, 2)).astype(float)
    X = rng.integers(-1, 2, size=(9, 2)).astype(float)
    relevance = csr_array((rng.random((6, 9)) < 0.4).astype(float))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ranking, "_FEW", few)
        ranks = ranks_of_relevant(Q, X, relevance, unit_length=False, n_threads=2)
    order = naive_order(Q, X, unit_length=False)
    rows = np.repeat(np.arange(6), np.diff(relevance.indptr))
    expected = [
        1 + int(np.flatnonzero(order[q] == document)[0])
        for q, document in zip(rows, relevance.indices, strict=True)
    ]
    assert ranks.tolist() == expected
