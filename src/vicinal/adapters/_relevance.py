"""Relevance as users have it: pairs, a sparse matrix, or a list for each query."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse

from vicinal._typing import FloatArray
from vicinal.base.metric import warn_caller

_FORMS = (
    "relevance must be an array of pairs of shape (n_pairs, 2), or (n_pairs, 3) with "
    "grades, a sparse matrix of shape (n_queries, n_documents), or a list with a list "
    "of documents for each query"
)


def check_relevance(relevance: Any, n_queries: int, n_documents: int) -> csr_array:
    """Return the grades of relevant documents as a sparse matrix.

    Parameters
    ----------
    relevance : array-like of shape (n_pairs, 2 or 3), sparse matrix, or list of lists
        Pairs of a query's and a document's position, perhaps with a grade; grades as a
        sparse matrix; or the positions of each query's documents. A list of tuples is
        taken as pairs. Grades of the same pair add up, and grades of 0 are left out.
    n_queries, n_documents : int
        How many there are.

    Returns
    -------
    csr_array of shape (n_queries, n_documents)
        Positive grades, float64, columns in ascending order.

    Raises
    ------
    ValueError
        When a position is out of range, a grade negative or not finite, or nothing
        is relevant to any query.
    """
    rows, columns, grades = _triples(relevance, n_queries, n_documents)
    for name, positions, n in (
        ("query", rows, n_queries),
        ("document", columns, n_documents),
    ):
        outside = positions[(positions < 0) | (positions >= n)]
        if outside.size:
            raise ValueError(
                f"relevance names {name} {outside[0]}, but there are {n} of them: "
                f"positions run from 0 to {n - 1}."
            )
    if not (np.isfinite(grades).all() and (grades >= 0).all()):
        raise ValueError("Grades of relevance must be finite and not negative.")
    matrix = csr_array(
        coo_array((grades, (rows, columns)), shape=(n_queries, n_documents))
    )
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not matrix.nnz:
        raise ValueError("No document is relevant to any query: nothing to learn from.")
    return matrix


def warn_of_empty(relevance: csr_array) -> NDArray[np.intp]:
    """Return the queries that have relevant documents; say how many have none."""
    asked = np.flatnonzero(np.diff(relevance.indptr))
    n_empty = relevance.shape[0] - len(asked)
    if n_empty:
        warn_caller(
            f"{n_empty} of {relevance.shape[0]} queries have no relevant document; "
            "they take no part in learning or in scores.",
        )
    return asked


def shares(relevance: csr_array) -> csr_array:
    """Return each query's grades as shares of their sum; every query has some."""
    sums = np.repeat(relevance.sum(axis=1), np.diff(relevance.indptr))
    return csr_array(
        (relevance.data / sums, relevance.indices, relevance.indptr), relevance.shape
    )


def _triples(
    relevance: Any, n_queries: int, n_documents: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Return queries, documents and grades of whichever form was given."""
    if issparse(relevance):
        if relevance.shape != (n_queries, n_documents):
            raise ValueError(
                "A relevance matrix must have a row for each query and a column for "
                f"each document, {(n_queries, n_documents)}, got {relevance.shape}."
            )
        matrix = coo_array(relevance)
        return (
            matrix.row.astype(np.int64),
            matrix.col.astype(np.int64),
            matrix.data.astype(np.float64),
        )
    if isinstance(relevance, list) and not _is_pairs(relevance):
        return _of_lists(relevance, n_queries)
    pairs = np.asarray(relevance)
    if pairs.dtype.kind in "USO":
        _refuse_names(pairs)
    if pairs.ndim != 2 or pairs.shape[1] not in (2, 3) or pairs.dtype.kind not in "iuf":
        raise ValueError(f"{_FORMS}; got shape {pairs.shape}, type {pairs.dtype}.")
    positions = pairs[:, :2]
    if not (positions == np.floor(positions)).all():
        raise ValueError("Positions of queries and documents must be whole numbers.")
    grades = pairs[:, 2] if pairs.shape[1] == 3 else np.ones(len(pairs))
    rows, columns = positions.astype(np.int64).T
    return rows, columns, grades.astype(np.float64)


def _refuse_names(cells: NDArray[Any]) -> None:
    """Raise ValueError where a cell is a name, and not a number."""
    for one in cells.flat:
        name = one.decode(errors="replace") if isinstance(one, bytes) else one
        try:
            float(name)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "relevance holds positions, from 0, of queries and documents, not "
                f"names like {str(name)!r}: look up the row of each."
            ) from error


def _is_pairs(relevance: list[Any]) -> bool:
    return bool(relevance) and all(isinstance(pair, tuple) for pair in relevance)


def _of_lists(
    relevance: list[ArrayLike], n_queries: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    if len(relevance) != n_queries:
        raise ValueError(
            f"{_FORMS}; got {len(relevance)} lists for {n_queries} queries."
        )
    widths = {len(one) if isinstance(one, list) else 0 for one in relevance}
    if n_queries > 1 and widths in ({2}, {3}):
        raise ValueError(
            f"Each of the {n_queries} entries of relevance is a list of {max(widths)} "
            "numbers: a pair of a query and a document, or the documents of a query? "
            "Give pairs as an array or as tuples, and lists of documents as arrays or "
            "as a sparse matrix."
        )
    lists = [np.asarray(documents).reshape(-1) for documents in relevance]
    filled = [one for one in lists if one.size]
    if any(one.dtype.kind not in "iu" for one in filled):
        raise ValueError(f"{_FORMS}; documents must be given by their positions.")
    rows = np.repeat(np.arange(n_queries), [one.size for one in lists])
    columns = np.concatenate(filled) if filled else np.empty(0)
    return rows, columns.astype(np.int64), np.ones(len(rows))
