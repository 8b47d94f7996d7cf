"""Vectors of queries and documents: checked, of one type, of length 1 for cosines."""

from typing import Any

import numpy as np
from sklearn.utils import check_array

from vicinal._typing import FLOATS, FloatArray

# Lengths that differ by no more than this from 1 are those of unit vectors in float16.
_UNIT = 5e-3
# Lengths within so many units of rounding of 1 are 1.
_ROUNDING = 8
# Of the largest number's square root, what a vector's numbers may be: sums of squares
# over features and rows must not overflow.
_LARGEST_PART = 1e-6


def check_vectors(vectors: Any, name: str) -> FloatArray:
    """Return vectors as a float32 or float64 array of shape (n, n_features).

    float16, in which encoders' vectors are often stored, becomes float32.
    """
    if getattr(vectors, "dtype", None) == np.float16:
        vectors = vectors.astype(np.float32)
    try:
        checked: FloatArray = check_array(vectors, dtype=FLOATS, input_name=name)
    except (TypeError, ValueError) as error:
        if "convert" not in str(error) and "float()" not in str(error):
            raise
        raise ValueError(
            f"{name} must be vectors of numbers, as many in each row; these are text "
            "or something else: embed them with an encoder first."
        ) from error
    largest = _LARGEST_PART * float(np.sqrt(np.finfo(checked.dtype).max))
    if max(checked.max(), -checked.min()) > largest:
        raise ValueError(
            f"{name} has numbers beyond {largest:.0e}: sums of their squares may "
            f"overflow in {checked.dtype}. Scale the vectors."
        )
    return checked


def check_both(queries: Any, documents: Any) -> tuple[FloatArray, FloatArray]:
    """Return the vectors of queries and documents, of one type and one length."""
    Q, X = check_vectors(queries, "queries"), check_vectors(documents, "documents")
    if Q.shape[1] != X.shape[1]:
        raise ValueError(
            f"Queries have {Q.shape[1]} features and documents {X.shape[1]}: both must "
            "come from the same space."
        )
    dtype = np.result_type(Q, X)
    return Q.astype(dtype, copy=False), X.astype(dtype, copy=False)


def has_unit_length(vectors: FloatArray) -> bool:
    """Return whether all vectors have length 1, but for rounding in float16."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    return bool((np.abs(lengths - 1) < _UNIT).all())


def to_unit_length(vectors: FloatArray, kind: str) -> FloatArray:
    """Return the vectors over their lengths.

    Raises
    ------
    ValueError
        When one has length 0, and so no direction.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
    if not lengths.all():
        first = int(np.flatnonzero(lengths == 0)[0])
        raise ValueError(
            f"The vector of {kind} {first} is all zeros and has no cosine with any "
            "other: leave it out, or use metric='euclidean'."
        )
    if (np.abs(lengths - 1) < _ROUNDING * np.finfo(vectors.dtype).eps).all():
        return vectors  # many vectors are not copied for nothing
    return vectors / lengths[:, None]


def for_metric(
    queries: FloatArray, documents: FloatArray, metric: str
) -> tuple[FloatArray, FloatArray]:
    """Return the vectors as the metric compares them: of length 1 for cosines."""
    if metric == "euclidean":
        return queries, documents
    return to_unit_length(queries, "query"), to_unit_length(documents, "document")
