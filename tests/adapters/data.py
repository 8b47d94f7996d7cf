"""Queries and documents, with pairs from which something can be learned, or not."""

import numpy as np

from vicinal._typing import FloatArray, IntArray


def turned(
    n_queries: int = 120, n_documents: int = 200, n_features: int = 8, seed: int = 0
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return queries, documents and pairs; a linear map would turn the queries back."""
    rng = np.random.default_rng(seed)
    documents = rng.normal(size=(n_documents, n_features))
    wanted = rng.integers(n_documents, size=n_queries)
    turn = np.eye(n_features) + np.roll(np.eye(n_features), 1, axis=0)
    noise = 0.5 * rng.normal(size=(n_queries, n_features))
    pairs = np.column_stack([np.arange(n_queries), wanted])
    return documents[wanted] @ turn + noise, documents, pairs


def noisy(
    n_queries: int = 120, n_documents: int = 200, seed: int = 0
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return queries that share with their documents four of eight features."""
    rng = np.random.default_rng(seed)
    documents = rng.normal(size=(n_documents, 8))
    wanted = rng.integers(n_documents, size=n_queries)
    queries = rng.normal(size=(n_queries, 8))
    queries[:, :4] = documents[wanted, :4] + 0.3 * rng.normal(size=(n_queries, 4))
    return queries, documents, np.column_stack([np.arange(n_queries), wanted])


def unrelated(seed: int = 0) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return queries that say nothing of what is relevant to them."""
    rng = np.random.default_rng(seed)
    pairs = np.column_stack([np.arange(100), rng.integers(150, size=100)])
    return rng.normal(size=(100, 6)), rng.normal(size=(150, 6)), pairs


def distorted(
    n_queries: int = 400, widths: tuple[int, int] = (16, 16), seed: int = 0
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return queries that are a random linear map of their documents, and noise."""
    rng = np.random.default_rng(seed)
    documents = rng.normal(size=(600, widths[1]))
    wanted = rng.integers(600, size=n_queries)
    mixing = rng.normal(size=widths[::-1]) / np.sqrt(widths[1])
    noise = 0.4 * rng.normal(size=(n_queries, widths[0]))
    pairs = np.column_stack([np.arange(n_queries), wanted])
    return documents[wanted] @ mixing + noise, documents, pairs
