"""The objective of pairs: given partners should be near, against all other points."""

from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    GivenPairs,
    Listed,
    NeighborWeights,
    Responsibilities,
    Rule,
    row_values,
)
from vicinal.objectives.base import PairObjective, sample_indices

Normalization: TypeAlias = Literal["pairs", "anchor"]
# Up to so many rows, the sum over all pairs is not estimated from some of them.
_ALL_ROWS = 8192


class GivenPairsObjective(PairObjective):
    """How probable given pairs are among all pairs of different points, under a map.

    The value is Σ_ab w_ab log(exp(−‖A x_a − A x_b‖²) / S), minus the cost in eq. 8 of
    Neighbourhood Components Analysis. There S is the sum over all pairs of different
    points (`normalization` "pairs"); with "anchor" it is over the pairs of a alone, so
    that a picks b with probability p_ab.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points, validated; float32 or float64.
    weights : csr_array of shape (n_samples, n_samples)
        w_ab ≥ 0, in the row of a pair's first point; nothing on the diagonal.
    normalization : {"pairs", "anchor"}, default="pairs"
        What a pair is probable among.
    n_jobs : int or None, default=None
        Threads; None is as many as BLAS would use.

    See Also
    --------
    vicinal.PairNCA : Maximises it.

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

    @property
    def row_counts(self) -> FloatArray:
        """Each row is one point, however many pairs it is in."""
        return np.ones(self.n_rows)

    def subset(self, points: IntArray) -> Self:
        """Return the objective of some of the points, and of the pairs among them."""
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
        """Evaluate some points' terms; see `PairObjective`.

        A term is Σ_b s_ab log p_ab with the shares s_ab = w_ab / Σ_b w_ab of a's
        partners; points without partners have 0.
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
        peak = log_sums.max()
        parts = np.exp(log_sums - peak)
        asked = np.arange(self.n_rows) if queries is None else queries
        attraction: FloatArray = np.zeros(self.n_rows)
        attraction[asked] = self.counts[asked]
        # All points push each other apart, by their parts of the one sum.
        repulsion = attraction.sum() * parts / parts.sum()
        self._rules = {}
        self._forces = attraction, repulsion
        values, gradient = super().terms_and_gradient(components)
        log_total = peak + np.log(parts.sum())
        terms = np.where(self.counts > 0, values + log_sums - log_total, 0)
        return terms[asked].astype(values.dtype), gradient

    def terms(self, components: ArrayLike, queries: IntArray) -> FloatArray:
        """Return some points' terms; the sum over all pairs from as many random rows.

        Up to some thousand points it is exact.
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
        return np.where(
            self.counts[queries] > 0,
            terms + self._log_sums(components, queries) - total,
            0,
        ).astype(terms.dtype)

    def _log_sums(
        self, components: ArrayLike, queries: IntArray | None = None
    ) -> FloatArray:
        """Return log Σ_{c≠a} exp(−‖A x_a − A x_c‖²) of some points; None is all."""
        Z = self._projected(self._checked(components))
        rule = Responsibilities(self._masses(Z.dtype))
        return row_values(Z, rule, self._n_threads, queries).astype(np.float64)

    def _with_weights(self, points: IntArray, weights: csr_array) -> Self:
        other = super().subset(points)
        other._set_weights(weights)
        other._set_counts(other._totals)
        return other

    def _set_weights(self, weights: csr_array) -> None:
        self.weights = weights
        self._totals: FloatArray = np.asarray(weights.sum(axis=1), dtype=np.float64)
        self._forces = self._totals, self._totals

    def _masses(self, dtype: np.dtype[Any]) -> NeighborWeights:
        # Weights are of pairs: as neighbours, all points weigh the same.
        ones = np.ones(self.n_rows)
        return NeighborWeights.build(ones, ones, dtype)

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        dtype = masses.log_offsets.dtype
        sums = np.repeat(self._totals, np.diff(self.weights.indptr))
        shares = csr_array(
            (self.weights.data / sums, self.weights.indices, self.weights.indptr),
            self.weights.shape,
        )
        attraction, repulsion = (force.astype(dtype) for force in self._forces)
        return GivenPairs(Listed.of(shares, dtype), masses, attraction, repulsion)


def check_pairs(
    pairs: ArrayLike, n_points: int, weights: ArrayLike | None = None
) -> csr_array:
    """Return the weights of pairs as a sparse matrix.

    Parameters
    ----------
    pairs : array-like of int of shape (n_pairs, 2)
        Positions of two different points each.
    n_points : int
        How many points there are.
    weights : array-like of shape (n_pairs,) or None, default=None
        How much each pair weighs; None is 1. Those of a pair that comes twice add up,
        and pairs of weight 0 are left out.

    Returns
    -------
    csr_array of shape (n_points, n_points)
        float64.

    Raises
    ------
    ValueError
        When a position is out of range, a point is paired with itself, a weight is
        negative or not finite, or no pair weighs anything.
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
