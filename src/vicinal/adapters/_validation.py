"""Validation of query and document vectors and of relevance judgments."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.utils import check_array

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import warn_caller

_FORMS = (
    "relevance must be an array of pairs of shape (n_pairs, 2), or (n_pairs, 3) with "
    "grades, a sparse matrix of shape (n_queries, n_documents), or a list with a list "
    "of documents for each query. Queries and documents are given by their positions, "
    "counted from 0, not by name"
)


def check_vectors(vectors: Any, name: str) -> FloatArray:
    """Return vectors as a float32 or float64 array; float16 becomes float32."""
    if getattr(vectors, "dtype", None) == np.float16:
        vectors = vectors.astype(np.float32)
    try:
        checked: FloatArray = check_array(vectors, dtype=FLOATS, input_name=name)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"{name} must be vectors of numbers; embed texts with an encoder first. "
            f"{error}"
        ) from error
    info = np.finfo(checked.dtype)
    largest = float(info.eps * np.sqrt(info.max))
    if max(checked.max(), -checked.min()) > largest:
        raise ValueError(
            f"{name} has numbers beyond {largest:.0e}: sums of their squares may "
            f"overflow in {checked.dtype}. Scale the vectors."
        )
    return checked


def check_data(
    queries: Any, documents: Any, relevance: Any, *, same_width: bool = True
) -> tuple[FloatArray, FloatArray, csr_array]:
    """Return query and document vectors of the same dtype, and a matrix of grades."""
    Q, X = check_vectors(queries, "queries"), check_vectors(documents, "documents")
    if same_width and Q.shape[1] != X.shape[1]:
        raise ValueError(
            f"Queries have {Q.shape[1]} features and documents {X.shape[1]}: both must "
            "come from the same space. Only RetrievalAdapter with side='query' or "
            "'two' maps queries of another model."
        )
    dtype = np.result_type(Q, X)
    grades = check_relevance(relevance, len(Q), len(X))
    return Q.astype(dtype, copy=False), X.astype(dtype, copy=False), grades


def has_unit_length(vectors: FloatArray) -> bool:
    """Return whether all vectors have length 1, up to rounding in float16."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return bool((np.abs(lengths - 1) < 5 * np.finfo(np.float16).eps).all())


def to_unit_length(vectors: FloatArray, kind: str) -> FloatArray:
    """Scale vectors to length 1; raise ValueError if one is zero."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    if not lengths.all():
        first = int(np.flatnonzero(lengths == 0)[0])
        raise ValueError(
            f"The vector of {kind} {first} is all zeros and has no cosine with any "
            "other: leave it out, or use metric='euclidean'."
        )
    if (np.abs(lengths - 1) < 8 * np.finfo(vectors.dtype).eps).all():
        return vectors  # saves a copy of many documents
    return vectors / lengths[:, None]


def for_metric(
    Q: FloatArray, X: FloatArray, metric: str
) -> tuple[FloatArray, FloatArray]:
    """Scale queries and documents to length 1 if the metric is the cosine."""
    if metric == "euclidean":
        return Q, X
    return to_unit_length(Q, "query"), to_unit_length(X, "document")


def judged_queries(relevance: csr_array) -> IntArray:
    """Return the queries that have relevant documents; warn if others have none."""
    judged = np.flatnonzero(np.diff(relevance.indptr))
    n_queries = relevance.shape[0]
    if len(judged) < n_queries:
        warn_caller(
            f"{n_queries - len(judged)} of {n_queries} queries have no relevant "
            "document and are ignored.",
        )
    return judged


def check_relevance(relevance: Any, n_queries: int, n_documents: int) -> csr_array:
    """Return the grades of relevant documents as a sparse matrix.

    Parameters
    ----------
    relevance : array-like of shape (n_pairs, 2 or 3), sparse matrix, or list of lists
        Pairs of positions (query, document), optionally with a grade; a sparse matrix
        of grades; or a list of document positions for each query. A list of tuples is
        read as pairs. Grades of repeated pairs are summed, zero grades are dropped.
    n_queries, n_documents : int
        Expected shape.

    Returns
    -------
    csr_array of shape (n_queries, n_documents)
        Positive grades, float64, with sorted columns.

    Raises
    ------
    ValueError
        If a position is out of range, a grade is negative or not finite, or no
        document is relevant.
    """
    if issparse(relevance):
        if relevance.shape != (n_queries, n_documents):
            raise ValueError(
                "A relevance matrix must have a row for each query and a column for "
                f"each document, {(n_queries, n_documents)}, got {relevance.shape}."
            )
        matrix = coo_array(relevance)
        rows, columns, grades = matrix.row, matrix.col, matrix.data.astype(np.float64)
    elif isinstance(relevance, list) and not (
        relevance and all(isinstance(pair, tuple) for pair in relevance)
    ):
        rows, columns = _pairs_of_lists(relevance, n_queries)
        grades = np.ones(len(rows))
    else:
        rows, columns, grades = _check_pairs(np.asarray(relevance))
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
    checked = csr_array((grades, (rows, columns)), shape=(n_queries, n_documents))
    checked.sum_duplicates()
    checked.eliminate_zeros()
    if not checked.nnz:
        raise ValueError("No document is relevant to any query: nothing to learn from.")
    return checked


def _check_pairs(pairs: NDArray[Any]) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the queries, documents and grades of an array of pairs."""
    if pairs.ndim != 2 or pairs.shape[1] not in (2, 3) or pairs.dtype.kind not in "iuf":
        raise ValueError(f"{_FORMS}; got shape {pairs.shape}, type {pairs.dtype}.")
    if not (pairs[:, :2] == np.floor(pairs[:, :2])).all():
        raise ValueError("Positions of queries and documents must be whole numbers.")
    rows, columns = pairs[:, :2].astype(np.intp).T
    grades = pairs[:, 2] if pairs.shape[1] == 3 else np.ones(len(pairs))
    return rows, columns, grades.astype(np.float64)


def _pairs_of_lists(relevance: list[Any], n_queries: int) -> tuple[IntArray, IntArray]:
    """Return the queries and documents of a list of documents for each query."""
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
    if any(one.size and one.dtype.kind not in "iu" for one in lists):
        raise ValueError(f"{_FORMS}.")
    rows = np.repeat(np.arange(n_queries), [one.size for one in lists])
    return rows, np.concatenate([*lists, []]).astype(np.intp)
