"""Ranking documents for queries, a block of queries at a time."""

from collections.abc import Callable

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.threads import blocks, rows_per_block, run_in_threads

# Up to so many relevant documents, counting those ahead of each beats sorting all.
_FEW = 16
# Bytes of a thread's block of scores. More than fits the cache: scores are read once or
# twice, while products of a few queries with all documents wait for the documents.
_BLOCK_BYTES = 2**26


def closeness(documents: FloatArray, unit_length: bool) -> FloatArray:
    """Return what added to ⟨u, v⟩ makes the largest sum the nearest document."""
    if unit_length:
        return np.zeros(len(documents), dtype=documents.dtype)
    offsets: FloatArray = np.einsum("ij,ij->i", documents, documents) / -2
    return offsets


def top_documents(
    queries: FloatArray,
    documents: FloatArray,
    k: int,
    *,
    unit_length: bool,
    n_threads: int,
) -> tuple[IntArray, FloatArray]:
    """Return the k nearest documents of each query, nearest first, and their scores.

    Parameters
    ----------
    queries, documents : ndarray of shape (n, n_components)
        Mapped vectors.
    k : int
        At most as many as there are documents.
    unit_length : bool
        Whether to score by ⟨u, v⟩; otherwise by ⟨u, v⟩ − ½‖v‖².
    n_threads : int
        Threads.

    Returns
    -------
    documents : ndarray of shape (n_queries, k)
        Positions; of equal scores, the first document comes first.
    scores : ndarray of shape (n_queries, k)
        The higher, the nearer.
    """
    best = np.empty((len(queries), k), dtype=np.intp)
    scores = np.empty((len(queries), k), dtype=documents.dtype)

    def select(rows: slice, block: FloatArray) -> None:
        for r, row in enumerate(block, start=rows.start):
            # All that reach the k-th score, of which the first in order are taken.
            reached = row[np.argpartition(row, -k)[-k]]
            found = np.flatnonzero(row >= reached)
            best[r] = found[np.argsort(-row[found], kind="stable")[:k]]
            scores[r] = row[best[r]]

    _for_each_block(queries, documents, unit_length, n_threads, select)
    return best, scores


def ranks_of_relevant(
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
        Which are relevant.
    unit_length, n_threads
        As for `top_documents`.

    Returns
    -------
    ndarray of shape (n_relevant,)
        In the order of the matrix's entries; of equal scores, the first document
        comes first.
    """
    ranks = np.empty(relevance.nnz, dtype=np.intp)
    indptr, indices = relevance.indptr, relevance.indices

    def count(rows: slice, block: FloatArray) -> None:
        for r, row in enumerate(block, start=rows.start):
            entries = slice(indptr[r], indptr[r + 1])
            wanted = indices[entries]
            if len(wanted) > _FEW:
                places = np.empty(len(row), dtype=np.intp)
                places[np.argsort(-row, kind="stable")] = np.arange(1, len(row) + 1)
                ranks[entries] = places[wanted]
                continue
            for entry, document in zip(
                range(entries.start, entries.stop), wanted, strict=True
            ):
                score = row[document]
                ahead = np.count_nonzero(row > score)
                ahead += np.count_nonzero(row[:document] == score)
                ranks[entry] = 1 + ahead

    _for_each_block(queries, documents, unit_length, n_threads, count)
    return ranks


def _for_each_block(
    queries: FloatArray,
    documents: FloatArray,
    unit_length: bool,
    n_threads: int,
    use: Callable[[slice, FloatArray], None],
) -> None:
    """Hand the scores of block after block of queries to a function."""
    offsets = closeness(documents, unit_length)
    bytes_per_row = len(documents) * documents.itemsize
    size = rows_per_block(len(queries), bytes_per_row)
    size = min(len(queries), max(size, _BLOCK_BYTES // bytes_per_row, 1))

    def worker() -> Callable[[int, slice], None]:
        buffer = np.empty((size, len(documents)), dtype=documents.dtype)

        def do(_: int, rows: slice) -> None:
            block = buffer[: rows.stop - rows.start]
            np.matmul(queries[rows], documents.T, out=block)
            block += offsets
            use(rows, block)

        return do

    run_in_threads(worker, blocks(slice(0, len(queries)), size), n_threads)
