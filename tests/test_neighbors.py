"""All indexes against sorting all points."""

from typing import Any

import numpy as np
import pytest

from vicinal._typing import FloatArray, IntArray
from vicinal.neighbors import (
    ExactIndex,
    FaissIndex,
    PynndescentIndex,
    UsearchIndex,
)


def naive(Q: FloatArray, X: FloatArray, metric: str) -> tuple[IntArray, FloatArray]:
    """Return all points of each query in stable order of distance, and distances."""
    if metric == "cosine":
        Q = Q / np.linalg.norm(Q, axis=1, keepdims=True)
        X = X / np.linalg.norm(X, axis=1, keepdims=True)
        distances = 1 - Q @ X.T
    else:
        distances = np.linalg.norm(Q[:, None] - X[None], axis=2)
    order = np.argsort(distances, axis=1, kind="stable")
    return order, np.take_along_axis(distances, order, axis=1)


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("k", [1, 5, 40])
@pytest.mark.parametrize(
    ("kind", "settings", "decimals"),
    [
        (ExactIndex, {"n_jobs": 1}, 12),
        (ExactIndex, {"n_jobs": 3}, 12),
        (FaissIndex, {}, 5),
        (UsearchIndex, {}, 5),
    ],
)
def test_exact_search_is_sorting(
    kind: Any, settings: dict[str, int], decimals: int, metric: str, k: int
) -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(30, 4)), rng.normal(size=(40, 4))
    positions, distances = kind(metric=metric, **settings).build(X).query(Q, k)
    expected, exact = naive(Q, X, metric)
    np.testing.assert_array_equal(positions, expected[:, :k])
    np.testing.assert_allclose(distances, exact[:, :k], atol=10.0**-decimals)


@pytest.mark.parametrize("kind", [ExactIndex, FaissIndex, UsearchIndex])
def test_missing_neighbors_are_marked(kind: Any) -> None:
    positions, distances = kind().build(np.eye(3)).query(np.eye(3)[:2], k=5)
    assert (positions[:, 3:] == -1).all()
    assert (positions[:, :3] >= 0).all()
    assert np.isinf(distances[:, 3:]).all()


def test_exact_search_keeps_the_first_of_equal_points() -> None:
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    assert ExactIndex().build(X).query(X[:1], 2)[0].tolist() == [[0, 2]]


def test_exact_search_in_blocks_of_queries() -> None:
    import sklearn

    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(300, 4)), rng.normal(size=(400, 4))
    whole = ExactIndex(n_jobs=2).build(X).query(Q, 5)
    with sklearn.config_context(working_memory=1):
        parts = ExactIndex(n_jobs=2).build(X).query(Q, 5)
    np.testing.assert_array_equal(parts[0], whole[0])
    np.testing.assert_allclose(parts[1], whole[1])


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_usearch_finds_most_neighbors_by_its_graph(shift: float) -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(120, 8)) + shift, rng.normal(size=(200, 8)) + shift
    index = UsearchIndex(exact_below=0).build(X[:150]).add(X[150:])
    positions, _ = index.query(Q, 5)
    expected = naive(Q, X, "euclidean")[0][:, :5]
    found = (positions[:, :, np.newaxis] == expected[:, np.newaxis]).any(axis=2)
    # Threads build the graph in any order: 0.86 was the least of 300 builds.
    assert found.mean() > 0.7


def test_faiss_takes_an_index_with_points() -> None:
    import faiss

    X = np.eye(3, dtype=np.float32)
    l2 = faiss.IndexFlatL2(3)
    l2.add(X)
    positions, distances = FaissIndex(l2, metric="cosine").query([[3.0, 4.0, 0.0]], 2)
    assert positions.tolist() == [[1, 0]]
    np.testing.assert_allclose(distances, [[0.2, 0.4]], atol=1e-6)
    with pytest.raises(ValueError, match="cannot search by Euclidean distance"):
        FaissIndex(faiss.IndexFlatIP(3)).build(X).query(X, 1)
    trained = faiss.IndexIVFFlat(faiss.IndexFlatL2(3), 3, 1)
    assert FaissIndex(trained).build(np.tile(X, (30, 1))).query(X, 1)[1].max() == 0


@pytest.mark.slow  # PyNNDescent compiles for long
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_pynndescent(metric: Any) -> None:
    rng = np.random.default_rng(0)
    Q, X = rng.normal(size=(30, 8)), rng.normal(size=(200, 8))
    index = PynndescentIndex(metric, random_state=0).build(X)
    positions, distances = index.query(Q, k=5)
    expected, exact = naive(Q, X, metric)
    assert (positions == expected[:, :5]).mean() > 0.9
    np.testing.assert_allclose(distances[:, 0], exact[:, 0], atol=0.1)


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r"usearch: pip install 'vicinal\[ann\]'"):
        UsearchIndex().build(np.eye(3))


def test_one_far_point_makes_no_others_candidates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exact distances are computed of few points, whatever the largest one is."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)).astype(np.float32)
    X[0] *= 1000
    index = ExactIndex(n_jobs=1).build(X)
    n_compared = []
    norm = np.linalg.norm

    def counted(x: Any, axis: Any = None) -> Any:
        if axis == 1:
            n_compared.append(len(x))
        return norm(x, axis=axis)

    monkeypatch.setattr("numpy.linalg.norm", counted)
    found, _ = index.query(X[1:20], 5)
    np.testing.assert_array_equal(found[:, 0], np.arange(1, 20))
    assert max(n_compared[1:]) < 50
