"""Ranks of relevant documents, scores of queries, and scores before and after."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._validation import check_data, for_metric
from vicinal.neighborhood import effective_n_threads
from vicinal.neighbors import for_each_block


@dataclass(frozen=True)
class Change:
    """Change of one score, as means over queries.

    Attributes
    ----------
    before, after : float
        Means with the original vectors and with the learned maps.
    gain : float
        Mean difference.
    low, high : float
        95 % bootstrap interval of the gain, over queries.
    p_value : float
        Two-sided randomization test that exchanges before and after query by query.
    n_queries : int
        Number of scored queries.

    See Also
    --------
    vicinal.adapters.Evaluation : Holds one for each score.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import Evaluation
    >>> evaluation = Evaluation({"mrr": np.zeros(8)}, {"mrr": np.ones(8)})
    >>> evaluation["mrr"].gain, evaluation["mrr"].n_queries
    (1.0, 8)
    """

    before: float
    after: float
    gain: float
    low: float
    high: float
    p_value: float
    n_queries: int


@dataclass(frozen=True)
class Evaluation:
    """Scores of held-out queries before and after.

    Attributes
    ----------
    before, after : dict of str to ndarray of shape (n_queries,)
        Scores of each query by name, as returned by `ranking_scores`.
    seed : int, default=0
        Seed of the resampling.
    queries : ndarray of shape (n_queries,) or None, default=None
        Positions of the scored queries; None means all, in order.
    n_resamples : int, default=2000
        Number of resamples for intervals and for tests.
    sample_weight : ndarray of shape (n_queries,) or None, default=None
        Weights of the queries in all means; None gives all the same weight.

    See Also
    --------
    vicinal.adapters.RetrievalAdapter : Its `evaluation_` is one.
    vicinal.adapters.ranking_scores : Scores of single queries.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import Evaluation
    >>> evaluation = Evaluation({"mrr": np.zeros(8)}, {"mrr": np.ones(8)})
    >>> evaluation["mrr"].after
    1.0
    """

    before: dict[str, FloatArray]
    after: dict[str, FloatArray]
    seed: int = 0
    queries: IntArray | None = None
    n_resamples: int = 2000
    sample_weight: FloatArray | None = None

    @cached_property
    def changes(self) -> dict[str, Change]:
        """Change of each score by name, computed on first access."""
        return {name: self._change(name) for name in self.before}

    def _change(self, name: str) -> Change:
        """Compare the scores of the queries that have one."""
        before, after = self.before[name], self.after[name]
        scored = ~(np.isnan(before) | np.isnan(after))
        before, after = before[scored], after[scored]
        weight = np.ones(len(before))
        if self.sample_weight is not None:
            weight = self.sample_weight[scored] / self.sample_weight[scored].mean()
        difference = weight * (after - before)
        gain, shape = float(difference.mean()), (100, len(difference))
        rng = np.random.default_rng(self.seed)
        # In batches of 100 resamples, to bound memory.
        batches = range(-(-self.n_resamples // shape[0]))
        means: list[FloatArray] = []
        for _ in batches:
            rows = rng.integers(shape[1], size=shape)
            means.append(difference[rows].mean(axis=1) / weight[rows].mean(axis=1))
        flipped = [
            (difference * rng.choice((-1.0, 1.0), size=shape)).mean(axis=1)
            for _ in batches
        ]
        low, high = np.quantile(means, [0.025, 0.975])
        # A tolerance for rounding: equal means in another order of summation.
        as_large = np.abs(flipped) >= abs(gain) * (1 - 1e-9)
        return Change(
            before=float((weight * before).mean()),
            after=float((weight * after).mean()),
            gain=gain,
            low=float(low),
            high=float(high),
            p_value=float((1 + as_large.sum()) / (1 + as_large.size)),
            n_queries=len(difference),
        )

    def __getitem__(self, name: str) -> Change:
        """Return the change of a score, as in ``evaluation["ndcg@10"].gain``."""
        return self.changes[name]

    def _check_loaded(self) -> None:
        """Raise ValueError if scores from an untrusted file cannot be printed."""
        queries, seed = np.asarray(self.queries), self.seed
        distinct = queries.dtype.kind == "i" and len(np.unique(queries)) == len(queries)
        if not (distinct and queries.min(initial=0) >= 0):
            raise ValueError("the positions of the queries")
        if not (type(seed) is int and 0 <= seed < 2**32):
            raise ValueError("the seed")
        weight = self.sample_weight
        if weight is not None and not (
            weight.shape == queries.shape
            and np.isfinite(weight).all()
            and (weight > 0).all()
        ):
            raise ValueError("the weights of the queries")
        if self.before.keys() != self.after.keys() or not all(
            re.fullmatch(r"[a-z]{1,20}(@[0-9]{1,9})?", name) for name in self.before
        ):
            raise ValueError("the names of the scores")
        for name, before in self.before.items():
            both = np.stack([before, self.after[name]])
            is_missing = np.isnan(both)
            if (
                both.shape != (2, len(queries))
                or (is_missing[0] != is_missing[1]).any()
            ):
                raise ValueError("the scores have other queries")
            scores = both[~is_missing]
            # Scores are between 0 and 1, up to rounding.
            if not scores.size or scores.min() < 0 or scores.max() > 1 + 1e-6:
                raise ValueError("the scores are out of range")
        vars(self).pop("changes", None)  # computed again from the scores

    def __str__(self) -> str:
        lines = [f"{'score':<10}{'before':>8}{'after':>8}{'gain':>9}   95 % interval"]
        lines += [
            f"{name:<10}{one.before:>8.3f}{one.after:>8.3f}{one.gain:>+9.3f}   "
            f"{one.low:+.3f} to {one.high:+.3f}   p = {one.p_value:.3g}"
            for name, one in self.changes.items()
        ]
        return "\n".join(lines)


def ranking_scores(
    queries: Any,
    documents: Any,
    relevance: Any,
    *,
    k: int | Sequence[int] = (1, 10),
    metric: str = "cosine",
    n_jobs: int | None = None,
) -> dict[str, FloatArray]:
    """Score the ranking of the documents for each query, by the vectors as given.

    Parameters
    ----------
    queries : array-like of shape (n_queries, n_features)
        Query vectors.
    documents : array-like of shape (n_documents, n_features)
        Document vectors.
    relevance : array-like, sparse matrix or list of lists
        Relevant documents; see `RetrievalAdapter.fit`.
    k : int or sequence of int, default=(1, 10)
        Ranks at which recall, hits and nDCG are cut off.
    metric : {"cosine", "euclidean"}, default="cosine"
        Distance that ranks the documents.
    n_jobs : int or None, default=None
        Number of threads; None uses the threads that BLAS would use.

    Returns
    -------
    dict of str to ndarray of shape (n_queries,)
        "recall@k", "hit@k" and "ndcg@k" for each k, "mrr" (reciprocal rank of the first
        relevant document, without cutoff) and "map" (average precision). NaN for
        queries without a relevant document.

    See Also
    --------
    vicinal.adapters.Evaluation : Compares two sets of scores.

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
    Q, X, grades = check_data(queries, documents, relevance)
    return score_vectors(
        *for_metric(Q, X, metric),
        grades,
        check_k(k),
        unit_length=metric == "cosine",
        n_threads=effective_n_threads(n_jobs),
    )


def check_k(k: int | Sequence[int]) -> list[int]:
    """Return the cutoffs as a list."""
    ks = [int(one) for one in np.atleast_1d(np.asarray(k))]
    if not ks or min(ks) < 1:
        raise ValueError(f"k must be one or several numbers of at least 1, got {k!r}.")
    return ks


def score_vectors(
    queries: FloatArray,
    documents: FloatArray,
    grades: csr_array,
    ks: Sequence[int],
    *,
    unit_length: bool,
    n_threads: int,
) -> dict[str, FloatArray]:
    """Return the scores of mapped vectors; see `ranking_scores`."""
    n_queries = len(queries)
    ranks = relevant_ranks(
        queries, documents, grades, unit_length=unit_length, n_threads=n_threads
    )
    rows = np.repeat(np.arange(n_queries), np.diff(grades.indptr))

    def sum_per_query(values: FloatArray) -> FloatArray:
        sums: FloatArray = np.bincount(rows, values, n_queries).astype(np.float64)
        return sums

    n_relevant = sum_per_query(np.ones(len(rows)))
    positions = 1 + np.arange(len(rows)) - grades.indptr[rows]
    gains = grades.data / np.log2(1.0 + ranks)
    # The ideal ranking has the highest grades at ranks 1, 2, …
    ideal_order = np.lexsort((-grades.data, rows))
    ideal_gains = grades.data[ideal_order] / np.log2(1.0 + positions)
    sorted_ranks = ranks[np.lexsort((ranks, rows))]
    scores: dict[str, FloatArray] = {}
    with np.errstate(invalid="ignore"):
        for k in ks:
            found = sum_per_query((ranks <= k).astype(float))
            scores[f"recall@{k}"] = found / n_relevant
            scores[f"hit@{k}"] = np.where(n_relevant, found > 0, np.nan)
            ideal = sum_per_query(np.where(positions <= k, ideal_gains, 0))
            dcg = sum_per_query(np.where(ranks <= k, gains, 0))
            scores[f"ndcg@{k}"] = dcg / ideal
        reciprocal = sum_per_query(np.where(positions == 1, 1 / sorted_ranks, 0))
        scores["mrr"] = np.where(n_relevant, reciprocal, np.nan)
        scores["map"] = sum_per_query(positions / sorted_ranks) / n_relevant
    return scores


def relevant_ranks(
    queries: FloatArray,
    documents: FloatArray,
    relevance: csr_array,
    *,
    unit_length: bool,
    n_threads: int,
) -> IntArray:
    """Return the rank of each relevant document, 1 for the nearest.

    Parameters
    ----------
    queries, documents : ndarray of shape (n, n_components)
        Mapped vectors.
    relevance : csr_array of shape (n_queries, n_documents)
        Relevant documents.
    unit_length : bool
        Whether to rank by inner products; otherwise by Euclidean distances.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_relevant,)
        In the order of the entries of the matrix. Of equal scores, the first document
        comes first.
    """
    ranks = np.empty(relevance.nnz, dtype=np.intp)
    indptr, indices = relevance.indptr, relevance.indices

    def rank(rows: slice, block: FloatArray) -> None:
        for r, row in enumerate(block, start=rows.start):
            first, last = indptr[r], indptr[r + 1]
            # Counting takes a pass per relevant document, sorting about log2(n).
            if last - first > np.log2(len(row)):
                places = np.empty(len(row), dtype=np.intp)
                places[np.argsort(-row, kind="stable")] = np.arange(1, len(row) + 1)
                ranks[first:last] = places[indices[first:last]]
                continue
            for entry in range(first, last):
                document = indices[entry]
                score = row[document]
                ahead = np.count_nonzero(row > score)
                ahead += np.count_nonzero(row[:document] == score)
                ranks[entry] = 1 + ahead

    for_each_block(
        queries, documents, rank, inner_product=unit_length, n_threads=n_threads
    )
    return ranks
