"""How well rankings serve queries: recall, hits, reciprocal ranks, nDCG, precision."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._ranking import ranks_of_relevant
from vicinal.adapters._relevance import check_relevance
from vicinal.adapters._vectors import check_both, for_metric
from vicinal.neighborhood import effective_n_threads

DEFAULT_K = (1, 10)


def ranking_scores(
    queries: Any,
    documents: Any,
    relevance: Any,
    *,
    k: int | Sequence[int] = DEFAULT_K,
    metric: str = "cosine",
    n_jobs: int | None = None,
) -> dict[str, FloatArray]:
    """Score the ranking of documents for each query, by the vectors as they are.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features)
        The queries' vectors.
    documents : array-like of shape (n_documents, n_features)
        The documents' vectors.
    relevance : array-like, sparse matrix or list of lists
        What is relevant; see `RetrievalAdapter.fit`.
    k : int or sequence of int, default=(1, 10)
        How many of the first documents count for recall, hits and nDCG.
    metric : {"cosine", "euclidean"}, default="cosine"
        What makes a document near.
    n_jobs : int or None, default=None
        Threads; None is as many as BLAS would use.

    Returns
    -------
    dict of str to ndarray of shape (n_queries,)
        "recall@k", "hit@k" and "ndcg@k" for each k, "mrr" (the reciprocal rank of the
        first relevant document, wherever it is) and "map" (average precision). NaN for
        queries without a relevant document.

    See Also
    --------
    vicinal.adapters.Evaluation : Compares two sets of them.

    Examples
    --------
    >>> from vicinal.adapters import ranking_scores
    >>> queries = [[1.0, 0.0], [0.0, 1.0]]
    >>> documents = [[0.9, 0.1], [0.8, 0.6], [0.1, 0.9]]
    >>> scores = ranking_scores(queries, documents, [(0, 0), (1, 1)], k=1)
    >>> scores["hit@1"].tolist(), scores["mrr"].tolist()
    ([1.0, 0.0], [1.0, 0.5])
    """
    if metric not in ("cosine", "euclidean"):
        raise ValueError(f"metric must be 'cosine' or 'euclidean', got {metric!r}.")
    Q, X = check_both(queries, documents)
    grades = check_relevance(relevance, len(Q), len(X))
    return scores_of_vectors(
        *for_metric(Q, X, metric),
        grades,
        check_k(k),
        unit_length=metric == "cosine",
        n_threads=effective_n_threads(n_jobs),
    )


def check_k(k: int | Sequence[int]) -> list[int]:
    """Return the numbers of first documents that count, at least 1 each."""
    ks = [int(one) for one in np.atleast_1d(np.asarray(k))]
    if not ks or min(ks) < 1:
        raise ValueError(f"k must be one or several numbers of at least 1, got {k!r}.")
    return ks


def scores_of_vectors(
    queries: FloatArray,
    documents: FloatArray,
    grades: csr_array,
    ks: Sequence[int],
    *,
    unit_length: bool,
    n_threads: int,
) -> dict[str, FloatArray]:
    """Return the scores of mapped vectors; see `ranking_scores`."""
    ranks = ranks_of_relevant(
        queries, documents, grades, unit_length=unit_length, n_threads=n_threads
    )
    return scores_of_ranks(ranks, grades, ks)


def scores_of_ranks(
    ranks: IntArray, relevance: csr_array, ks: Sequence[int]
) -> dict[str, FloatArray]:
    """Return the scores of each query, from the ranks of its relevant documents.

    Parameters
    ----------
    ranks : ndarray of shape (n_relevant,)
        In the order of the matrix's entries, 1 for the first.
    relevance : csr_array of shape (n_queries, n_documents)
        Positive grades.
    ks : sequence of int
        How many of the first documents count.

    Returns
    -------
    dict of str to ndarray of shape (n_queries,)
        As from `ranking_scores`.
    """
    n_queries = relevance.shape[0]
    rows = np.repeat(np.arange(n_queries), np.diff(relevance.indptr))

    def per_query(values: FloatArray) -> FloatArray:
        sums: FloatArray = np.bincount(rows, values, n_queries).astype(np.float64)
        return sums

    n_relevant = per_query(np.ones(len(rows)))
    gains = relevance.data / np.log2(1.0 + ranks)
    # The best order: grades from the highest down, at ranks 1, 2, …
    ideal_order = np.lexsort((-relevance.data, rows))
    positions = 1 + np.arange(len(rows)) - relevance.indptr[rows]
    ideal = relevance.data[ideal_order] / np.log2(1.0 + positions)
    scores: dict[str, FloatArray] = {}
    with np.errstate(invalid="ignore"):
        for k in ks:
            found = per_query((ranks <= k).astype(float))
            scores[f"recall@{k}"] = found / n_relevant
            scores[f"hit@{k}"] = np.where(n_relevant, found > 0, np.nan)
            best = per_query(np.where(positions <= k, ideal, 0))
            scores[f"ndcg@{k}"] = per_query(np.where(ranks <= k, gains, 0)) / best
        by_rank = np.lexsort((ranks, rows))
        first = np.full(n_queries, np.nan)
        asked = np.flatnonzero(n_relevant)
        first[asked] = 1 / ranks[by_rank][relevance.indptr[asked]]
        scores["mrr"] = first
        scores["map"] = per_query(positions / ranks[by_rank]) / n_relevant
    return scores
