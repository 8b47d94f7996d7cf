"""What all objectives that sum over pairs of points have in common."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    NeighborWeights,
    Perplexities,
    Rule,
    WeightedPairs,
    back_project,
    center_float32,
    effective_n_threads,
    float32_resolves,
    laplacian_product,
    project,
    row_values,
)


class PairObjective(ABC):
    """A sum over points of a rule's values of their neighbours, under a linear map.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points, validated; float32 or float64.
    order : ndarray of shape (n_samples,)
        The order of the points that the rule needs.
    counts : ndarray of shape (n_samples,)
        How many points each stands for, in that order.
    mass_of_one : ndarray of shape (n_samples,)
        What one of them weighs as a neighbour, in that order.
    n_jobs : int or None
        Threads.

    Attributes
    ----------
    counts : ndarray of shape (n_samples,)
        How many points each row stands for, in the rule's order.
    n_points : float
        How many points all rows stand for.
    """

    def __init__(
        self,
        X: FloatArray,
        order: IntArray,
        counts: FloatArray,
        mass_of_one: FloatArray,
        n_jobs: int | None,
    ) -> None:
        self.X, self._offset = center_float32(X)
        self._order = order
        self._mass_of_one = mass_of_one
        self._n_threads = effective_n_threads(n_jobs)
        self._set_counts(counts)

    @abstractmethod
    def _make_rule(self, masses: NeighborWeights) -> Rule:
        """Build the rule for the points in its order."""

    @property
    def n_rows(self) -> int:
        """How many rows there are."""
        return int(self.X.shape[0])

    @property
    def row_counts(self) -> FloatArray:
        """How many points each row stands for, in the order of the rows."""
        counts = np.empty_like(self.counts)
        counts[self._order] = self.counts
        return counts

    def positions(self, rows: slice) -> IntArray:
        """Return the positions of some rows in the rule's order, ascending."""
        first, stop, _ = rows.indices(self.n_rows)
        return np.flatnonzero((self._order >= first) & (self._order < stop))

    def in_basis(self, basis: FloatArray) -> Self:
        """Return the objective of the points' coordinates X @ basis."""
        other = copy(self)
        other.X = project(self.X, basis.T.astype(self.X.dtype), self._n_threads)
        return other

    def warmup_surrogate(
        self,
    ) -> tuple[Self, Callable[[FloatArray], FloatArray]] | None:
        """Return a surrogate to maximize first, where this one's gradient may vanish.

        With it comes the function from its terms to this one's; None if not needed.
        """
        return None

    def refresh(self, components: ArrayLike) -> None:  # noqa: B027  often nothing to do
        """Make ready for maps near this one; sums over all pairs always are."""

    def subset(self, points: IntArray) -> Self:
        """Return the objective of some of the points alone.

        Parameters
        ----------
        points : ndarray of int
            Their positions in the rule's order, ascending.
        """
        other = copy(self)
        other.X = self.X[self._order[points]]
        other._order = np.arange(len(points))
        other._mass_of_one = self._mass_of_one[points]
        other._set_counts(self.counts[points])
        return other

    def draw(
        self,
        rng: Generator,
        batch_size: int,
        n_references: int,
        pool: IntArray | None = None,
    ) -> tuple[Self, IntArray]:
        """Return the objective of random points, and some of them as queries.

        Parameters
        ----------
        rng : Generator
            Draws them.
        batch_size, n_references : int
            How many queries and points; at most all.
        pool : ndarray of int or None, default=None
            The positions of the points that queries are drawn from; None is all.

        Returns
        -------
        objective : PairObjective
            Of the points.
        queries : ndarray of int
            Their positions among these.
        """
        points = sample_indices(rng, self.n_rows, n_references)
        if pool is None:
            queries = sample_indices(rng, len(points), batch_size)
        else:
            asking = pool[sample_indices(rng, len(pool), batch_size)]
            points = np.union1d(asking, points)
            queries = np.searchsorted(points, asking)
        return self.subset(points), queries

    def sample_queries(self, rng: Generator, m: int) -> IntArray:
        """Return the positions of m random points that have terms; at most all."""
        return sample_indices(rng, self.n_rows, m)

    def value_and_gradient(self, components: ArrayLike) -> tuple[float, FloatArray]:
        """Evaluate at a map, in O(dDn + dn²) and without an n×n array.

        The gradient is 2 Σ_ij v_ij (A x_ij) x_ijᵀ with the rule's weights v_ij, which
        is 2 (L Z)ᵀX for the Laplacian L of v and Z = X Aᵀ.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal one.

        Returns
        -------
        value : float
            A sum over the points, not a mean.
        gradient : ndarray of the shape of `components`
            Its derivative with respect to A.
        """
        terms, gradient = self.terms_and_gradient(components)
        return float(terms.astype(np.float64) @ self.counts), gradient

    def terms_and_gradient(
        self, components: ArrayLike, queries: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Evaluate some points' terms at a map, with sums over all points.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal one.
        queries : ndarray of int or None, default=None
            The points' positions in the rule's order; None is all of them.

        Returns
        -------
        terms : ndarray of shape (n_queries,)
            What each point adds to the value, if it stands for one point.
        gradient : ndarray of the shape of `components`
            The derivative of their sum, in which each counts as often as it stands for
            points.
        """
        A = self._checked(components)
        Z = self._projected(A)
        rule = self._rule(Z.dtype)
        terms, product = self._pull(Z[self._order], rule, queries)
        LZ = np.empty_like(Z)
        LZ[self._order] = product
        if A.ndim == 1:
            gradient: FloatArray = np.einsum("ij,ij->j", LZ, self.X)
        else:
            gradient = back_project(LZ, self.X, self._n_threads)
        with np.errstate(over="ignore"):  # rows near the largest number
            gradient *= 2
        return terms, gradient

    def terms(self, components: ArrayLike, queries: IntArray) -> FloatArray:
        """Return some points' terms of the objective, with sums over all points.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal one.
        queries : ndarray of int
            The points' positions in the rule's order.

        Returns
        -------
        ndarray of shape (n_queries,)
            One term for each point, in the order of `queries`.
        """
        Z = self._projected(self._checked(components))[self._order]
        return row_values(Z, self._rule(Z.dtype), self._n_threads, queries)

    def effective_neighbors(
        self, components: ArrayLike, queries: IntArray | None = None
    ) -> FloatArray:
        """Return each point's effective number of neighbours, the perplexity of p_i.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal one.
        queries : ndarray of int or None, default=None
            The points' positions in the rule's order; None is all.

        Returns
        -------
        ndarray of shape (n_samples,)
            exp(−Σ_j p_ij log p_ij): the K that the scale of A amounts to. NaN for
            other points.
        """
        Z = self._projected(self._checked(components))
        rule = Perplexities(self._masses(Z.dtype))
        seen = self._order if queries is None else self._order[queries]
        perplexities = np.full(len(Z), np.nan, dtype=Z.dtype)
        perplexities[seen] = row_values(Z[self._order], rule, self._n_threads, queries)
        return perplexities

    def _checked(self, components: ArrayLike) -> FloatArray:
        # Not scikit-learn's check_array, which takes as long as a small batch.
        A: FloatArray = np.asarray(components, dtype=np.float64)
        if not np.isfinite(A).all():
            raise ValueError("Input components contains NaN or infinity.")
        if A.ndim not in (1, 2) or A.shape[-1] != self.X.shape[1]:
            raise ValueError(
                f"components must have shape (n_components, {self.X.shape[1]}), "
                f"got {A.shape}."
            )
        return A

    def _projected(self, A: FloatArray) -> FloatArray:
        """Return Z, in float64 where float32 would not do for its distances."""
        with np.errstate(over="ignore", invalid="ignore"):
            Z = self._map(A.astype(self.X.dtype))
            if Z.dtype != np.float32 or float32_resolves(Z - Z.mean(axis=0)):
                return Z
            return self._map(A)

    def _map(self, A: FloatArray) -> FloatArray:
        return self.X * A if A.ndim == 1 else project(self.X, A, self._n_threads)

    def _pull(
        self, Z: FloatArray, rule: Rule, queries: IntArray | None
    ) -> WeightedPairs:
        return laplacian_product(Z, rule, self._n_threads, queries)

    def _set_counts(self, counts: FloatArray) -> None:
        self.counts = counts
        self.n_points = float(counts.sum())
        self._rules: dict[np.dtype[Any], Rule] = {}

    def _masses(self, dtype: np.dtype[Any]) -> NeighborWeights:
        return NeighborWeights.build(self.counts, self._mass_of_one, dtype)

    def _rule(self, dtype: np.dtype[Any]) -> Rule:
        if dtype not in self._rules:
            self._rules[dtype] = self._make_rule(self._masses(dtype))
        return self._rules[dtype]


def sample_indices(rng: Generator, n: int, m: int) -> IntArray:
    """Return m of the numbers below n, ascending, without repeats; at most all."""
    if m >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, m, replace=False, shuffle=False))
