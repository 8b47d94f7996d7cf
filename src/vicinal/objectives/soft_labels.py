"""NCA's objectives for matches that are not classes: soft labels, a match matrix."""

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from scipy.sparse import coo_array, csr_array, issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    Listed,
    ListedMatches,
    NeighborWeights,
    Rule,
    SoftLabels,
)
from vicinal.objectives.base import PairObjective

_POWERS = {"expected": 1.0, "log": 0.0}
# How far from 1 the sum of a row of probabilities may be: the rounding of float32.
_SLACK = 1e-4


class SoftMatchObjective(PairObjective):
    """How well a linear map makes points pick neighbours that match them.

    With κ_ij the agreement of i and j, point i picks a match with probability
    κ_i = Σ_j p_ij κ_ij (section 5 of Neighbourhood Components Analysis).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points, validated; float32 or float64.
    Y : ndarray of shape (n_samples, n_classes), or csr_array of shape (n_samples, \
n_samples)
        Probabilities of classes, which give κ_ij = Σ_c Y_ic Y_jc; or κ itself.
    kind : {"expected", "log"}, default="expected"
        Σ_i κ_i or Σ_i log κ_i; f and g where labels are not soft.
    counts : ndarray of shape (n_samples,) or None, default=None
        How many points each row stands for; None is one.
    n_jobs : int or None, default=None
        Threads.

    See Also
    --------
    vicinal.objectives.NCAObjective : Labels that are certain.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import SoftMatchObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> Y = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]])
    >>> value, gradient = SoftMatchObjective(X, Y).value_and_gradient(np.eye(2))
    >>> gradient.shape
    (2, 2)
    """

    def __init__(
        self,
        X: FloatArray,
        Y: FloatArray | csr_array,
        kind: str = "expected",
        *,
        counts: FloatArray | None = None,
        n_jobs: int | None = None,
    ) -> None:
        n = len(X)
        self._Y = Y
        self._power = _POWERS[kind]
        counts = np.ones(n) if counts is None else counts
        super().__init__(X, np.arange(n), counts, np.ones(n), n_jobs)

    def subset(self, points: IntArray) -> Self:
        """Return the objective of some of the points alone; see `PairObjective`."""
        other = super().subset(points)
        part = self._Y[points]
        other._Y = part[:, points] if issparse(part) else part
        return other

    def warmup_surrogate(
        self,
    ) -> tuple[Self, Callable[[FloatArray], FloatArray]] | None:
        """Return the sum of logarithms, whose gradient vanishes nowhere; or None."""
        if self._power == 0:
            return None
        other = copy(self)
        other._power, other._rules = 0.0, {}
        return other, np.exp

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        dtype = masses.log_offsets.dtype
        if issparse(self._Y):
            return ListedMatches(Listed.of(self._Y, dtype), masses, self._power)
        return SoftLabels(self._Y.astype(dtype), masses, self._power)


def check_soft_labels(Y: Any, n_points: int) -> FloatArray | csr_array:
    """Return probabilities of classes, or a match matrix, as the objective takes them.

    Parameters
    ----------
    Y : array-like of shape (n_points, n_classes), or sparse (n_points, n_points)
        Rows that sum to 1; or agreements between 0 and 1, of which a point's with
        itself does not count.
    n_points : int
        How many points there are.

    Returns
    -------
    ndarray or csr_array
        float64.

    Raises
    ------
    ValueError
        When rows do not sum to 1, numbers are not between 0 and 1, or the shape does
        not fit.
    """
    if issparse(Y):
        if Y.shape != (n_points, n_points):
            raise ValueError(
                "A sparse Y says which rows match which, and must have shape "
                f"{(n_points, n_points)}, got {Y.shape}; give probabilities of classes "
                "as a dense array."
            )
        matrix = coo_array(Y)
        matrix.sum_duplicates()
        values = matrix.data.astype(np.float64)
        _check_range(values)
        kept = (matrix.row != matrix.col) & (values > 0)
        where = matrix.row[kept], matrix.col[kept]
        matches = csr_array(coo_array((values[kept], where), matrix.shape))
        matches.sum_duplicates()
        check_matches(matches)
        return matches
    labels = np.asarray(Y)
    if labels.dtype.kind not in "iufb" or labels.shape[0] != n_points:
        raise ValueError(
            f"Y must hold the probabilities of classes, a row for each of the "
            f"{n_points} rows of X; got shape {labels.shape}, type {labels.dtype}."
        )
    labels = labels.astype(np.float64)
    _check_range(labels)
    sums = labels.sum(axis=1)
    wrong = np.flatnonzero(np.abs(sums - 1) > _SLACK)
    if wrong.size:
        raise ValueError(
            "Rows of Y must sum to 1, being probabilities of classes: row "
            f"{wrong[0]} sums to {sums[wrong[0]]:.6g}"
            + (f", and {wrong.size - 1} others do not" if wrong.size > 1 else "")
            + ". Divide each by its sum; for which rows match which, give a sparse "
            "matrix."
        )
    return np.ascontiguousarray(labels / sums[:, None])


def check_matches(matches: csr_array) -> None:
    """Raise where no row matches another."""
    if not matches.nnz:
        raise ValueError("No two rows match by Y: there is nothing to learn from.")


def _check_range(values: FloatArray) -> None:
    if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        raise ValueError(
            "Labels in several columns are probabilities of classes, and Y must hold "
            "numbers between 0 and 1; for classes, give a 1d array."
        )
