"""Objectives that sum over pairs of points, mini-batches, and custom losses."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.maps import Diagonal, Linear, Map
from vicinal.neighborhood import (
    NeighborWeights,
    Rule,
    center_float32,
    effective_n_threads,
    float32_resolves,
    laplacian_product,
    perplexities,
    project,
    row_values,
)
from vicinal.neighborhood.nearest import NearestLists, pull_nearest
from vicinal.optimize import Objective, Reparametrized, Ridge


@runtime_checkable
class PairLoss(Protocol):
    """A function of each point's squared distances to all others, to be maximized.

    Pass an instance as ``NCA(objective=...)``. `weigh` gets one block of rows at a
    time, so that no n×n array is needed, and may run on several threads at once.

    See Also
    --------
    vicinal.NCA : Takes a loss as `objective`.
    vicinal.testing.check_loss : Checks values, gradients and thread independence.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import NCA
    >>> class StudentT:  # log p_i with p_ij ∝ 1 / (1 + d²_ij)
    ...     def prepare(self, y, sample_weight):
    ...         return y, sample_weight
    ...     def weigh(self, distances, rows, data):
    ...         y, weight = data
    ...         q = weight / (1 + distances)
    ...         q[np.arange(len(rows)), rows] -= 1  # not its own neighbor
    ...         same = y[rows][:, None] == y
    ...         total = q.sum(axis=1, keepdims=True)
    ...         matched = (q * same).sum(axis=1, keepdims=True)
    ...         distances[:] = q / (1 + distances) * (1 / total - same / matched)
    ...         return np.log(matched / total)[:, 0]
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    >>> X[:, 0] += 3 * y
    >>> nca = NCA(1, objective=StudentT(), random_state=0).fit(X, y)
    >>> int(np.abs(nca.components_[0]).argmax())
    0
    """

    def prepare(self, y: NDArray[Any], sample_weight: FloatArray) -> Any:
        """Return the data that `weigh` needs.

        Parameters
        ----------
        y : ndarray of shape (n_samples,)
            Class codes from 0, or standardized targets.
        sample_weight : ndarray of shape (n_samples,)
            Weights of the rows, all positive.
        """

    def weigh(self, distances: FloatArray, rows: IntArray, data: Any) -> FloatArray:
        """Return one value for each row; overwrite distances with derivatives.

        Parameters
        ----------
        distances : ndarray of shape (n_rows, n_samples)
            Squared distances; the distance of a row to itself is 0. Overwrite entry
            (i, j) with the derivative of row i's value with respect to it.
        rows : ndarray of shape (n_rows,)
            Positions of the rows among the samples.
        data : object
            The result of `prepare`.

        Returns
        -------
        ndarray of shape (n_rows,)
        """


def custom_rule(loss: PairLoss, data: Any, weight: FloatArray) -> Rule:
    """Return the engine's rule for a `PairLoss`; the term of a row is weighted."""
    from vicinal.neighborhood import kernels  # loads Numba

    def kernel(
        block: FloatArray,
        rows: IntArray,
        norms_of: FloatArray,
        norms: FloatArray,
        values: FloatArray,
    ) -> None:
        kernels.squared_distances(block, norms_of, norms)
        block[range(len(rows)), rows] = 0  # not rounding
        found = loss.weigh(block, rows, data)
        if np.shape(found) != (len(rows),):
            raise ValueError(
                f"{type(loss).__name__}.weigh must return one value for each of "
                f"{len(rows)} rows, got shape {np.shape(found)}; see "
                "vicinal.testing.check_loss."
            )
        values[:] = found
        block *= weight[rows, None]
        block[range(len(rows)), rows] = 0

    return Rule(kernel)


class PairObjective(ABC):
    """Sum over points of a rule's values, under a map.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Validated points; float32 or float64.
    order : ndarray of shape (n_samples,)
        Order of the points that the rule needs.
    counts : ndarray of shape (n_samples,)
        Number of points that each row represents, in that order.
    mass_of_one : ndarray of shape (n_samples,)
        Weight of one of them as a neighbor, in that order.
    n_jobs : int or None
        Number of threads.
    form : Map or None, default=None
        The map; None is `vicinal.maps.Linear`, or `Diagonal` for 1-d components.

    Attributes
    ----------
    counts : ndarray of shape (n_samples,)
        Number of points that each row represents, in the rule's order.
    n_points : float
        Total number of points that the rows represent.
    """

    def __init__(
        self,
        X: FloatArray,
        order: IntArray,
        counts: FloatArray,
        mass_of_one: FloatArray,
        n_jobs: int | None,
        form: Map | None = None,
    ) -> None:
        self.X, self._offset = center_float32(X)
        self.form = form
        self._order = order
        self._mass_of_one = mass_of_one
        self._n_threads = effective_n_threads(n_jobs)
        self._lists: NearestLists | None = None  # of truncated sums
        self._set_counts(counts)

    @abstractmethod
    def _make_rule(self, masses: NeighborWeights) -> Rule:
        """Build the rule for the points in its order."""

    @property
    def row_counts(self) -> FloatArray:
        """Number of points that each row represents, in the order of the rows."""
        counts = np.empty_like(self.counts)
        counts[self._order] = self.counts
        return counts

    def positions(self, rows: slice) -> IntArray:
        """Return the positions of some rows in the rule's order, ascending."""
        first, stop, _ = rows.indices(self.n_rows)
        return np.flatnonzero((self._order >= first) & (self._order < stop))

    def in_basis(self, basis: FloatArray) -> Self:
        """Return the objective in the coordinates X @ basis."""
        other = copy(self)
        other.X = project(self.X, basis.T.astype(self.X.dtype), self._n_threads)
        return other

    def warmup_surrogate(
        self,
    ) -> tuple[Self, Callable[[FloatArray], FloatArray]] | None:
        """Return a surrogate to maximize first, if this gradient may vanish.

        It is returned with a function from its terms to those of this objective; None
        if a surrogate is not needed.
        """
        return None

    def refresh(self, components: ArrayLike) -> None:  # noqa: B027  often nothing to do
        """Prepare for maps near this one; sums over all pairs do not need it."""

    def subset(self, points: IntArray) -> Self:
        """Return the objective restricted to some of the points.

        Parameters
        ----------
        points : ndarray of int
            Positions of the points in the rule's order, ascending.
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
        """Return the objective of random points, some of which are queries.

        Parameters
        ----------
        rng : Generator
            Draws the points.
        batch_size, n_references : int
            Numbers of queries and points; at most all.
        pool : ndarray of int or None, default=None
            Positions of the points from which queries are drawn; None is all.

        Returns
        -------
        objective : PairObjective
            Objective of the points.
        queries : ndarray of int
            Positions of the queries among these points.
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
        """Evaluate the objective at a map, in O(dDn + dn²), without an n×n array.

        The gradient is 2 Σ_ij v_ij (A x_ij) x_ijᵀ with the rule's weights v_ij, which
        is 2 (L Z)ᵀX for the Laplacian L of v and Z = X Aᵀ.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal map.

        Returns
        -------
        value : float
            Sum over the points, not a mean.
        gradient : ndarray of the shape of `components`
            Derivative with respect to A.
        """
        terms, gradient = self.terms_and_gradient(components)
        return float(terms.astype(np.float64) @ self.counts), gradient

    def terms_and_gradient(
        self, components: ArrayLike, queries: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Evaluate the terms of some points at a map, with sums over all points.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal map.
        queries : ndarray of int or None, default=None
            Positions of the points in the rule's order; None is all.

        Returns
        -------
        terms : ndarray of shape (n_queries,)
            Term of each point, with weight one.
        gradient : ndarray of the shape of `components`
            Derivative of the sum of the terms, weighted by the number of points that
            each represents.
        """
        Z, form, A = self._project(components)
        rule = self._rule(Z.dtype)
        if self._lists is None or queries is not None:
            found = laplacian_product(Z[self._order], rule, self._n_threads, queries)
        else:
            found = pull_nearest(Z[self._order], rule, self._lists, self._n_threads)
        LZ = np.empty_like(Z)
        LZ[self._order] = found.matrix
        gradient = form.pullback(self.X, A, LZ, self._n_threads)
        gradient *= 2
        return found.values, gradient

    def terms(self, components: ArrayLike, queries: IntArray) -> FloatArray:
        """Return the terms of some points, with sums over all points.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal map.
        queries : ndarray of int
            Positions of the points in the rule's order.

        Returns
        -------
        ndarray of shape (n_queries,)
            One term for each point, in the order of `queries`.
        """
        Z = self._project(components)[0][self._order]
        return row_values(Z, self._rule(Z.dtype), self._n_threads, queries)

    def effective_neighbors(
        self, components: ArrayLike, queries: IntArray | None = None
    ) -> FloatArray:
        """Return each point's effective number of neighbors, the perplexity of p_i.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal map.
        queries : ndarray of int or None, default=None
            Positions of the points in the rule's order; None is all.

        Returns
        -------
        ndarray of shape (n_samples,)
            exp(−Σ_j p_ij log p_ij), the k that corresponds to the scale of A. NaN for
            other points.
        """
        Z = self._project(components)[0]
        rule = perplexities(self._masses(Z.dtype))
        seen = self._order if queries is None else self._order[queries]
        found = np.full(len(Z), np.nan, dtype=Z.dtype)
        found[seen] = row_values(Z[self._order], rule, self._n_threads, queries)
        return found

    def _project(self, components: ArrayLike) -> tuple[FloatArray, Map, FloatArray]:
        """Return Z, in float64 if float32 does not resolve its distances; map and A."""
        # Not scikit-learn's check_array, which takes as long as a small mini-batch.
        A: FloatArray = np.asarray(components, dtype=np.float64)
        if not np.isfinite(A).all():
            raise ValueError("Input components contains NaN or infinity.")
        form = self.form
        if form is None:
            if A.ndim not in (1, 2) or A.shape[-1] != self.X.shape[1]:
                raise ValueError(
                    f"components must have shape (n_components, {self.X.shape[1]}), "
                    f"got {A.shape}."
                )
            form = Diagonal() if A.ndim == 1 else Linear()
        Z = form.project(self.X, A.astype(self.X.dtype), self._n_threads)
        if Z.dtype == np.float32 and not float32_resolves(Z - Z.mean(axis=0)):
            Z = form.project(self.X, A, self._n_threads)
        return Z, form, A

    def _set_counts(self, counts: FloatArray) -> None:
        self.counts = counts
        self.n_rows = len(counts)
        self.n_points = float(counts.sum())
        self._rules: dict[np.dtype[Any], Rule] = {}

    def _masses(self, dtype: np.dtype[Any]) -> NeighborWeights:
        return NeighborWeights.build(self.counts, self._mass_of_one, dtype)

    def _rule(self, dtype: np.dtype[Any]) -> Rule:
        if dtype not in self._rules:
            self._rules[dtype] = self._make_rule(self._masses(dtype))
        return self._rules[dtype]


def sample_indices(rng: Generator, n: int, m: int) -> IntArray:
    """Return m of the integers below n, ascending, without repeats; at most all."""
    if m >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, m, replace=False, shuffle=False))


@dataclass(frozen=True)
class MinibatchSampler:
    """Sampler of mini-batches: random queries and random references.

    The queries are some of the references, and both are drawn for each mini-batch.
    Since a mini-batch has fewer points than the data, neighbors are farther apart, and
    a map learned from mini-batches alone has a scale that is too small for all data.

    Parameters
    ----------
    objective : PairObjective
        Objective on all data.
    batch_size : int
        Number of queries in a mini-batch; at most the number of references.
    n_references : int
        Number of references in a mini-batch; at most all points.
    alpha : float, default=0.0
        Penalty: alpha · ‖A‖² per point is subtracted from the value.
    basis : ndarray or None, default=None
        Coordinates of the maps; see `vicinal.optimize.Reparametrized`.
    report : callable, optional
        Function of the objective's terms whose results are summed to the value.
    pool : ndarray of int or None, default=None
        Positions of the points from which queries are drawn; None is all.

    See Also
    --------
    vicinal.NCA : Uses mini-batches if there are many rows.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import MinibatchSampler, NCAObjective
    >>> rng = np.random.default_rng(0)
    >>> whole = NCAObjective(rng.normal(size=(100, 3)), rng.integers(2, size=100))
    >>> batches = MinibatchSampler(whole, batch_size=10, n_references=20)
    >>> value, gradient = batches.draw(rng).value_and_gradient(np.eye(2, 3))
    >>> gradient.shape
    (2, 3)
    """

    objective: PairObjective
    batch_size: int
    n_references: int
    alpha: float = 0.0
    basis: FloatArray | None = None
    report: Callable[[FloatArray], FloatArray] = np.asarray
    pool: IntArray | None = None

    def draw(self, rng: Generator) -> Objective:
        """Return a random mini-batch."""
        part = self._part(rng)
        if self.alpha:
            part = Ridge(part, self.alpha * self._n_points)
        return part if self.basis is None else Reparametrized(part, self.basis)

    @property
    def _n_points(self) -> float:
        """Number of points to which the terms are scaled."""
        return self.objective.n_points

    def _part(self, rng: Generator) -> Objective:
        """Return a random mini-batch without a penalty, in the original coordinates."""
        subset, queries = self.objective.draw(
            rng, self.batch_size, self.n_references, self.pool
        )
        return Minibatch(subset, queries, self._n_points, self.report)


@dataclass(frozen=True)
class Minibatch:
    """Terms of some points, scaled to the number of all points."""

    objective: PairObjective
    queries: IntArray
    n_points: float
    report: Callable[[FloatArray], FloatArray]

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Estimate value and gradient on all data at a map."""
        whole = self.objective
        everyone = np.array_equal(self.queries, np.arange(whole.n_rows))
        queries = None if everyone else self.queries
        terms, gradient = whole.terms_and_gradient(components, queries)
        counts = whole.counts if queries is None else whole.counts[queries]
        scale = self.n_points / counts.sum()
        total = (self.report(terms).astype(np.float64) * counts).sum()
        return float(scale * total), gradient.astype(np.float64) * scale
