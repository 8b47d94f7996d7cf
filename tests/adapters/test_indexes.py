"""Indexes of other libraries find what the adapter's own ranking finds."""

from typing import Any

import numpy as np
import pytest

from tests.adapters.data import turned
from vicinal.adapters import (
    RetrievalAdapter,
    faiss_index,
    pynndescent_index,
    usearch_index,
)


def fitted(**parameters: Any) -> RetrievalAdapter:
    settings: dict[str, Any] = {"alpha": 0.1, "temperature": 0.5, **parameters}
    return RetrievalAdapter(**settings).fit(*turned())


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("side", ["query", "two"])
def test_faiss(metric: str, side: str) -> None:
    import faiss

    adapter = fitted(metric=metric, side=side)
    queries, documents, _ = turned()
    kind = faiss.IndexFlatIP if metric == "cosine" else faiss.IndexFlatL2
    index = kind(8)
    index.add(adapter.transform_documents(documents).astype(np.float32))
    folded = faiss_index(adapter, index)
    scores, positions = folded.search(queries.astype(np.float32), 5)
    expected, cosines = adapter.rank(queries, documents, 5)
    assert (positions == expected).mean() > 0.99
    if metric == "cosine":
        np.testing.assert_allclose(scores, cosines, atol=1e-5)
    assert folded.ntotal == 200


def test_an_index_of_other_dimensions_is_refused() -> None:
    import faiss

    with pytest.raises(ValueError, match="index has 3 dimensions, and the map 8"):
        faiss_index(fitted(), faiss.IndexFlatIP(3))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_usearch_is_exact_among_few_documents(metric: str) -> None:
    adapter = fitted(metric=metric)
    queries, documents, _ = turned()
    positions, distances = usearch_index(adapter, documents).query(queries, k=5)
    expected, cosines = adapter.rank(queries, documents, 5)
    assert (positions == expected).mean() > 0.99
    if metric == "cosine":
        np.testing.assert_allclose(distances, 1 - cosines, atol=1e-5)


def test_usearch_finds_most_among_many_documents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vicinal.adapters._indexes._EXACT_BELOW", 0)
    adapter = fitted(metric="cosine")
    queries, documents, _ = turned()
    positions, _ = usearch_index(adapter, documents).query(queries, k=5)
    expected, _ = adapter.rank(queries, documents, 5)
    found = (positions[:, :, np.newaxis] == expected[:, np.newaxis]).any(axis=2)
    # Threads build the graph in any order: 0.86 was the least of 300 builds.
    assert found.mean() > 0.7


@pytest.mark.slow  # PyNNDescent compiles for long
def test_pynndescent() -> None:
    adapter = fitted(metric="cosine")
    queries, documents, _ = turned()
    index = pynndescent_index(adapter, documents, random_state=0)
    positions, _ = index.query(queries, k=5)
    assert (positions == adapter.rank(queries, documents, 5)[0]).mean() > 0.9


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "usearch.index", None)
    with pytest.raises(ImportError, match=r"usearch: pip install 'vicinal\[ann\]'"):
        usearch_index(fitted(), turned()[1])
