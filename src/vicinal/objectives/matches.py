"""Objectives of NCA for targets, soft labels and pairs."""

from collections.abc import Callable
from copy import copy
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.utils import check_X_y

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.maps import Map
from vicinal.neighborhood import (
    NeighborWeights,
    Rule,
    given_pairs,
    laplacian_product,
    listed_matches,
    responsibilities,
    soft_labels,
    soft_matches,
    squared_errors,
)
from vicinal.objectives.nca import (
    PairObjective,
    custom_rule,
    positive_rows,
    sample_indices,
)

_TARGET_RULES: dict[str, Callable[..., Rule]] = {
    "soft-match": soft_matches,
    "squared-error": squared_errors,
}


class TargetObjective(PairObjective):
    """Objective of NCA for regression: soft neighbors with similar targets.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    y : array-like of shape (n_samples,)
        Targets.
    kind : {"soft-match", "squared-error"}, default="soft-match"
        "soft-match" is Σ_i Σ_j p_ij κ_ij with κ_ij = exp(−(y_i − y_j)² / (2 w²)), the
        agreement of the targets (NCA, section 5). "squared-error" is
        −Σ_i (y_i − Σ_j p_ij y_j)², the objective of metric learning for kernel
        regression.
    width : float, default=1.0
        w, the scale on which targets agree.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Number of equal points that each row represents. Rows of weight 0 are
        ignored.
    n_jobs : int or None, default=None
        Number of threads; None uses as many as BLAS would.
    form, plain
        As for `PairObjective`.
    check_input : bool, default=True
        False skips the validation: y has float64 targets, `sample_weight` is an array
        without zeros, and `kind` may be a `PairLoss`.

    See Also
    --------
    vicinal.NCARegressor : Maximizes it.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import TargetObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = TargetObjective(X, [0.0, 0.1, 1.0, 1.1], kind="squared-error")
    >>> value, gradient = objective.value_and_gradient(np.eye(2))
    >>> gradient.shape
    (2, 2)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        kind: Any = "soft-match",
        *,
        width: float = 1.0,
        sample_weight: Any = None,
        n_jobs: int | None = None,
        form: Map | None = None,
        plain: bool = False,
        check_input: bool = True,
    ) -> None:
        points, targets, counts = X, y, sample_weight
        if check_input:
            if kind not in _TARGET_RULES:
                raise ValueError(
                    f"kind must be one of {sorted(_TARGET_RULES)}, got {kind!r}."
                )
            if not width > 0:
                raise ValueError(f"width must be above 0, got {width}.")
            points, targets = check_X_y(
                X, y, dtype=FLOATS, y_numeric=True, ensure_min_samples=2
            )
            targets = targets.astype(np.float64)
            points, targets, counts = positive_rows(points, targets, sample_weight)
        # Only differences matter, and those of large numbers lose digits.
        targets = targets - targets.mean()
        self._targets = targets / (np.sqrt(2) * width if kind == "soft-match" else 1.0)
        self._kind = kind
        n = len(points)
        super().__init__(points, np.arange(n), counts, np.ones(n), n_jobs, form, plain)

    def subset(self, points: IntArray) -> Self:
        """Return the objective restricted to some points; see `PairObjective`."""
        other = super().subset(points)
        other._targets = self._targets[points]
        return other

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        if not isinstance(self._kind, str):
            data = self._kind.prepare(self._targets, self.counts)
            return custom_rule(self._kind, data, masses.counts)
        targets = self._targets.astype(masses.log_offsets.dtype)
        return _TARGET_RULES[self._kind](targets, masses)


_POWERS = {"expected": 1.0, "log": 0.0}


class SoftMatchObjective(PairObjective):
    """Objective of NCA for soft labels: soft neighbors that match.

    With κ_ij the agreement of i and j, point i picks a match with probability
    κ_i = Σ_j p_ij κ_ij (section 5 of the NCA paper).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Validated points; float32 or float64.
    Y : ndarray of shape (n_samples, n_classes), or csr_array of shape (n_samples, \
n_samples)
        Class probabilities, with κ_ij = Σ_c Y_ic Y_jc; or κ itself.
    kind : {"expected", "log"}, default="expected"
        Σ_i κ_i or Σ_i log κ_i, which are f and g if labels are not soft.
    counts : ndarray of shape (n_samples,) or None, default=None
        Number of points that each row represents; None is one.
    n_jobs : int or None, default=None
        Number of threads.

    See Also
    --------
    vicinal.objectives.NCAObjective : Hard labels.

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
        """Return the objective restricted to some points; see `PairObjective`."""
        other = super().subset(points)
        part = self._Y[points]
        other._Y = part[:, points] if issparse(part) else part
        return other

    def warmup_surrogate(
        self,
    ) -> tuple[Self, Callable[[FloatArray], FloatArray]] | None:
        """Return the sum of logarithms, whose gradient does not vanish; or None."""
        if self._power == 0:
            return None
        other = copy(self)
        other._power, other._rules = 0.0, {}
        return other, np.exp

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        if issparse(self._Y):
            return listed_matches(self._Y, masses, self._power)
        return soft_labels(self._Y, masses, self._power)


def check_soft_labels(Y: Any, n_points: int) -> FloatArray | csr_array:
    """Validate class probabilities, or a match matrix.

    Parameters
    ----------
    Y : array-like of shape (n_points, n_classes), or sparse (n_points, n_points)
        Rows that sum to 1; or agreements between 0 and 1, in which the diagonal is
        ignored.
    n_points : int
        Number of points.

    Returns
    -------
    ndarray or csr_array
        float64.

    Raises
    ------
    ValueError
        If rows do not sum to 1, entries are not between 0 and 1, or the shape is
        invalid.
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
    wrong = np.flatnonzero(np.abs(sums - 1) > 1e-4)  # float32 rounding
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
    """Raise ValueError if no row matches another."""
    if not matches.nnz:
        raise ValueError("No two rows match by Y: there is nothing to learn from.")


def _check_range(values: FloatArray) -> None:
    if not (np.isfinite(values).all() and (values >= 0).all() and (values <= 1).all()):
        raise ValueError(
            "Labels in several columns are probabilities of classes, and Y must hold "
            "numbers between 0 and 1; for classes, give a 1d array."
        )


Normalization: TypeAlias = Literal["pairs", "all", "anchor"]
# Up to this number of rows, the sum over all pairs is exact.
_ALL_ROWS = 8192


class GivenPairsObjective(PairObjective):
    """Log-likelihood of given pairs among all pairs of different points, under a map.

    The value is Σ_ab w_ab log(exp(−‖A x_a − A x_b‖²) / S), minus the cost in eq. 8 of
    the NCA paper. With `normalization` "pairs", S is the sum over all pairs of
    different points; with "all", the pairs (c, c) are included, as eq. 8 is written;
    with "anchor", it is the sum over the pairs of a, so that a picks b with
    probability p_ab.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Validated points; float32 or float64.
    weights : csr_array of shape (n_samples, n_samples)
        w_ab ≥ 0, in the row of a pair's first point; zero on the diagonal.
    normalization : {"pairs", "all", "anchor"}, default="pairs"
        Set of pairs in the normalization.
    n_jobs : int or None, default=None
        Number of threads; None uses as many as BLAS would.

    See Also
    --------
    vicinal.PairNCA : Maximizes it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from vicinal.objectives import GivenPairsObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> weights = csr_array(([1.0], ([0], [1])), shape=(3, 3))
    >>> value, gradient = GivenPairsObjective(X, weights).value_and_gradient(np.eye(2))
    >>> gradient.shape
    (2, 2)
    """

    _forces: tuple[FloatArray, FloatArray]

    def __init__(
        self,
        X: FloatArray,
        weights: csr_array,
        normalization: Normalization = "pairs",
        *,
        n_jobs: int | None = None,
    ) -> None:
        n = len(X)
        self.normalization = normalization
        self._set_weights(weights)
        super().__init__(X, np.arange(n), self._totals, np.ones(n), n_jobs)
        # Weights belong to pairs: as neighbors, all points have the same weight.
        self.row_counts = np.ones(n)

    def subset(self, points: IntArray) -> Self:
        """Return the objective restricted to some points and the pairs among them."""
        return self._with_weights(points, self.weights[points][:, points])

    def draw(
        self,
        rng: Generator,
        batch_size: int,
        n_references: int,
        pool: IntArray | None = None,  # noqa: ARG002  pairs are drawn, not points
    ) -> tuple[Self, IntArray]:
        """Return the objective of random pairs among random points, and its anchors."""
        chosen = sample_indices(rng, self.weights.nnz, batch_size)
        rows = np.searchsorted(self.weights.indptr, chosen, side="right") - 1
        columns = self.weights.indices[chosen]
        others = sample_indices(rng, self.n_rows, n_references)
        points = np.union1d(np.union1d(rows, columns), others)
        where = np.searchsorted(points, rows), np.searchsorted(points, columns)
        shape = (len(points), len(points))
        part = self._with_weights(
            points, csr_array(coo_array((self.weights.data[chosen], where), shape))
        )
        return part, np.flatnonzero(part.counts)

    def sample_queries(self, rng: Generator, m: int) -> IntArray:
        """Return m random points that have partners; at most all."""
        anchors = np.flatnonzero(self.counts)
        return anchors[sample_indices(rng, len(anchors), m)]

    def terms_and_gradient(
        self, components: ArrayLike, queries: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Evaluate the terms of some points; see `PairObjective`.

        A term is Σ_b s_ab log p_ab with the shares s_ab = w_ab / Σ_b w_ab of a's
        partners; points without partners have the term 0.
        """
        if self.normalization == "anchor":
            asked = np.flatnonzero(self.counts) if queries is None else queries
            terms, gradient = super().terms_and_gradient(components, asked)
            if queries is not None:
                return terms, gradient
            whole = np.zeros(self.n_rows, dtype=terms.dtype)
            whole[asked] = terms
            return whole, gradient
        log_sums = self._log_sums(components)
        itself = self.normalization == "all"  # exp(−‖A x_c − A x_c‖²) = 1 for each c
        peak = max(log_sums.max(), 0.0) if itself else log_sums.max()
        parts = np.exp(log_sums - peak)
        total = parts.sum() + itself * self.n_rows * np.exp(-peak)
        asked = np.arange(self.n_rows) if queries is None else queries
        attraction: FloatArray = np.zeros(self.n_rows)
        attraction[asked] = self.counts[asked]
        # All points repel each other, according to their share of the one sum.
        repulsion = attraction.sum() * parts / total
        self._rules = {}
        self._forces = attraction, repulsion
        values, gradient = super().terms_and_gradient(components)
        log_total = peak + np.log(total)
        terms = np.where(self.counts > 0, values + log_sums - log_total, 0)
        return terms[asked].astype(values.dtype), gradient

    def terms(self, components: ArrayLike, queries: IntArray) -> FloatArray:
        """Return the terms of some points, with the sum over all pairs estimated.

        The estimate uses as many random rows; up to some thousand points, it is exact.
        """
        self._rules = {}
        self._forces = self.counts, self.counts
        terms = super().terms(components, queries)
        if self.normalization == "anchor":
            return terms
        rng = np.random.default_rng(0)
        n = self.n_rows if self.n_rows <= _ALL_ROWS else len(queries)
        rows = sample_indices(rng, self.n_rows, n)
        log_sums = self._log_sums(components, rows)
        total = np.logaddexp.reduce(log_sums) + np.log(self.n_rows / len(rows))
        if self.normalization == "all":
            total = np.logaddexp(total, np.log(self.n_rows))
        return np.where(
            self.counts[queries] > 0,
            terms + self._log_sums(components, queries) - total,
            0,
        ).astype(terms.dtype)

    def _log_sums(
        self, components: ArrayLike, queries: IntArray | None = None
    ) -> NDArray[np.float64]:
        """Return log Σ_{c≠a} exp(−‖A x_a − A x_c‖²) of some points; None is all."""
        Z = self._project(components)[0]
        rule = self._rule(Z.dtype, responsibilities)
        found = laplacian_product(Z, rule, self._n_threads, queries, values_only=True)
        return found.values.astype(np.float64)

    def _with_weights(self, points: IntArray, weights: csr_array) -> Self:
        other = super().subset(points)
        other._set_weights(weights)
        other.counts, other.n_points = other._totals, float(other._totals.sum())
        return other

    def _set_weights(self, weights: csr_array) -> None:
        self.weights = weights
        self._totals: FloatArray = np.asarray(weights.sum(axis=1), dtype=np.float64)
        self._forces = self._totals, self._totals

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        dtype = masses.log_offsets.dtype
        sums = np.repeat(self._totals, np.diff(self.weights.indptr))
        shares = csr_array(
            (self.weights.data / sums, self.weights.indices, self.weights.indptr),
            self.weights.shape,
        )
        attraction, repulsion = (force.astype(dtype) for force in self._forces)
        return given_pairs(shares, masses, attraction, repulsion)


def check_pairs(
    pairs: ArrayLike, n_points: int, weights: ArrayLike | None = None
) -> csr_array:
    """Validate pairs, and return their weights as a sparse matrix.

    Parameters
    ----------
    pairs : array-like of int of shape (n_pairs, 2)
        Positions of two different points in each row.
    n_points : int
        Number of points.
    weights : array-like of shape (n_pairs,) or None, default=None
        Weights of the pairs; None is 1. The weights of duplicate pairs are added, and
        pairs of weight 0 are ignored.

    Returns
    -------
    csr_array of shape (n_points, n_points)
        float64.

    Raises
    ------
    ValueError
        If a position is out of range, a point is paired with itself, a weight is
        negative or not finite, or all weights are 0.
    """
    given = np.asarray(pairs)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iuf":
        raise ValueError(
            "pairs must be an array of shape (n_pairs, 2), the positions of two rows "
            f"of X each; got shape {given.shape}, type {given.dtype}."
        )
    if given.dtype.kind == "f" and not (given == np.floor(given)).all():
        raise ValueError("pairs must be whole numbers: positions of rows of X.")
    outside = given[(given < 0) | (given >= n_points)]
    if outside.size:
        raise ValueError(
            f"pairs names row {outside[0]}, but X has {n_points} rows: positions run "
            f"from 0 to {n_points - 1}."
        )
    first, second = given.astype(np.intp).T
    same = np.flatnonzero(first == second)
    if same.size:
        raise ValueError(
            f"Pair {same[0]} is of row {first[same[0]]} with itself: a point is no "
            "neighbour of its own. Leave such pairs out."
        )
    values = np.ones(len(given)) if weights is None else np.asarray(weights, float)
    if values.shape != (len(given),):
        raise ValueError(
            f"weights must have one number for each of the {len(given)} pairs, got "
            f"shape {values.shape}."
        )
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError("weights of pairs must be finite and not negative.")
    matrix = csr_array(coo_array((values, (first, second)), (n_points, n_points)))
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not matrix.nnz:
        raise ValueError("No pair weighs anything: there is nothing to learn from.")
    return matrix
