"""Objectives that sum over pairs of points: NCA of classes, and custom losses."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.maps import Diagonal, Linear, Map
from vicinal.neighborhood import (
    ClassSlices,
    NeighborWeights,
    Rule,
    average,
    center_float32,
    effective_n_threads,
    expected_matches,
    float32_resolves,
    laplacian_product,
    log_matches,
    perplexities,
    project,
    squared_votes,
    with_plain_distances,
)
from vicinal.neighborhood.nearest import (
    NearestLists,
    probabilities,
    pull_nearest,
    sorted_masses,
)


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
        The map; None is a linear or a diagonal one, according to the shape of the
        parameters.
    plain : bool, default=False
        p_ij ∝ exp(−d_ij) instead of exp(−d²_ij).

    Attributes
    ----------
    counts : ndarray of shape (n_samples,)
        Number of points that each row represents, in the rule's order.
    n_points : float
        Total number of points that the rows represent.
    row_counts : ndarray of shape (n_samples,)
        Number of points that each row represents as a neighbor, in the order of X.
    """

    def __init__(
        self,
        X: FloatArray,
        order: IntArray,
        counts: FloatArray,
        mass_of_one: FloatArray,
        n_jobs: int | None,
        form: Map | None = None,
        plain: bool = False,
    ) -> None:
        self.form, self.plain = form, plain
        self.X = X
        self._offset: FloatArray | None = None
        if form is None:  # other maps may depend on the origin
            self.X, self._offset = center_float32(X)
        self._order = order
        self._mass_of_one = mass_of_one
        self._n_threads = effective_n_threads(n_jobs)
        self._lists: NearestLists | None = None  # of truncated sums
        self.counts, self.row_counts = counts, np.empty_like(counts)
        self.row_counts[order] = counts
        self.n_rows, self.n_points = len(counts), float(counts.sum())
        self._rules: dict[Any, Any] = {}

    @abstractmethod
    def _make_rule(self, masses: NeighborWeights) -> Rule:
        """Build the rule for the points in its order."""

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
        other.counts = self.counts[points]
        other.row_counts = self.row_counts[self._order[points]]
        other.n_rows, other.n_points = len(points), float(other.counts.sum())
        other._rules = {}
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
        gradient = form.pullback(LZ, self.X, self._n_threads, A)
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
        rule = self._rule(Z.dtype)
        return laplacian_product(
            Z, rule, self._n_threads, queries, values_only=True
        ).values

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
        rule = self._rule(Z.dtype, perplexities)
        seen = self._order if queries is None else self._order[queries]
        found = np.full(len(Z), np.nan, dtype=Z.dtype)
        Z = Z[self._order]
        found[seen] = laplacian_product(
            Z, rule, self._n_threads, queries, values_only=True
        ).values
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

    def _rule(
        self,
        dtype: np.dtype[Any],
        make: Callable[[NeighborWeights], Rule] | None = None,
    ) -> Rule:
        """Return the rule of the points as neighbors; None makes the objective's."""
        if (dtype, make) not in self._rules:
            counts = self.row_counts[self._order]
            masses = NeighborWeights.build(counts, self._mass_of_one, dtype)
            rule = (make or self._make_rule)(masses)
            self._rules[dtype, make] = (
                with_plain_distances(rule) if self.plain else rule
            )
        return self._rules[dtype, make]


def sample_indices(rng: Generator, n: int, m: int) -> IntArray:
    """Return m of the integers below n, ascending, without repeats; at most all."""
    if m >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, m, replace=False, shuffle=False))


_RULES: dict[str, Callable[..., Rule]] = {
    "expected": expected_matches,
    "log": log_matches,
    "class-density": expected_matches,
    "squared-error": squared_votes,
}
KINDS = tuple(_RULES)


class NCAObjective(PairObjective):
    """Objective of NCA: soft neighbors of the same class under a linear map.

    Point i picks j ≠ i as its neighbor with probability p_ij ∝ exp(−‖A x_i − A x_j‖²)
    (eq. 1 of [1]_). It is classified correctly with probability
    p_i = Σ_{j: c_j = c_i} p_ij (eq. 2).

    Parameters
    ----------
    X : array-like or sparse array of shape (n_samples, n_features)
        The points. float32 data are processed in float32, unless it cannot resolve the
        distances under a map; other data in float64.
    y : array-like of shape (n_samples,)
        Class labels.
    kind : {"expected", "log", "class-density", "squared-error"} or PairLoss, \
default="expected"
        "expected" is f(A) = Σ_i p_i (eq. 3), the expected number of correctly
        classified points. "log" is g(A) = Σ_i log p_i (eq. 6); a point that is alone in
        its class has p_i = 0 under any map, and g omits its term. "class-density" is
        Σ_i p(c_i | A x_i) for the class densities of [2]_ (eq. 3.12 and 3.13), in which
        each neighbor of class c has the weight p(c) / N_c. "squared-error" is minus the
        squared error of the vote, −Σ_i Σ_c ([c_i = c] − Σ_{j ∈ c} p_ij)² [3]_.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Number of equal points that each row represents. Rows of weight 0 are
        ignored.
    class_prior : array-like of shape (n_classes,), "empirical" or None, default=None
        p(c) of "class-density", in the order of the sorted labels; None is uniform.
    n_jobs : int or None, default=None
        Number of threads; None uses as many as BLAS would. The result does not
        depend on it.
    form, plain
        As for `PairObjective`.
    class_sizes : ndarray of shape (n_classes,) or None, default=None
        Number of points of each class in the full data, for "class-density", if X is a
        subset; None if it is the full data.
    check_input : bool, default=True
        False skips the validation: y has class codes from 0, `sample_weight` and
        `class_prior` are arrays without zeros, or `class_prior` is None.

    See Also
    --------
    vicinal.NCA : Maximizes it.

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.
    .. [2] Oneață. Fast low-rank metric learning. University of Edinburgh, 2011.
    .. [3] Lowe. Similarity Metric Learning for a Variable-Kernel Classifier. Neural
       Computation 7, 1995.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> value, gradient = objective.value_and_gradient(np.eye(2))
    >>> round(value, 4), gradient.shape
    (3.745, (2, 2))
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        kind: Any = "expected",
        *,
        sample_weight: Any = None,
        class_prior: Any = None,
        n_jobs: int | None = None,
        form: Map | None = None,
        plain: bool = False,
        class_sizes: FloatArray | None = None,
        check_input: bool = True,
    ) -> None:
        points, codes, counts, prior = X, y, sample_weight, class_prior
        if check_input:
            if not isinstance(kind, PairLoss) and kind not in _RULES:
                raise ValueError(f"kind must be one of {sorted(_RULES)}, got {kind!r}.")
            points, labels = check_X_y(
                X, y, dtype=FLOATS, accept_sparse="csr", ensure_min_samples=2
            )
            check_classification_targets(labels)
            points, labels, counts = positive_rows(points, labels, sample_weight)
            codes = np.unique(labels, return_inverse=True)[1]
            sizes = np.bincount(codes, weights=counts).astype(np.float64)
            prior = check_class_prior(class_prior, sizes)
        # The rules need the points of each class to be contiguous.
        order = np.argsort(codes, kind="stable")
        self._codes, counts = codes[order], counts[order]
        self.kind = kind
        mass_of_one = np.ones(len(order))
        if prior is not None and kind == "class-density":
            of_these = np.bincount(self._codes, weights=counts)
            mass_of_one = prior / (of_these if class_sizes is None else class_sizes)
            mass_of_one = mass_of_one[self._codes]
        super().__init__(points, order, counts, mass_of_one, n_jobs, form, plain)

    def subset(self, points: IntArray) -> Self:
        """Return the objective restricted to some points; see `PairObjective`."""
        other = super().subset(points)
        other._codes = self._codes[points]
        return other

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        if not isinstance(self.kind, str):
            data = self.kind.prepare(self._codes, self.counts)
            return custom_rule(self.kind, data, masses.counts)
        return _RULES[self.kind](ClassSlices.from_sorted(self._codes), masses)

    def warmup_surrogate(
        self,
    ) -> tuple[Self, Callable[[FloatArray], FloatArray]] | None:
        """Return g and exp, which converts its terms to p_i; None for g itself.

        f's gradient vanishes for points far from all of their class; g's does not. A
        squared error is not a function of p_i alone, and has no surrogate.
        """
        if self.kind not in ("expected", "class-density"):
            return None
        other = copy(self)
        other.kind, other._rules = "log", {}
        return other, np.exp

    def class_probabilities(self, components: ArrayLike, X: ArrayLike) -> FloatArray:
        """Return p(c | x) of new points by the NCA rule (thesis, eq. 3.25 and 3.12).

        Parameters
        ----------
        components : array-like of shape (n_components, n_features) or (n_features,)
            The map A, or the diagonal of a diagonal map.
        X : array-like of shape (n_queries, n_features)
            Points that are not among those of the objective.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            Σ_{j ∈ c} p_ij over the objective's points, classes in sorted order.
        """
        Z, form, A = self._project(components)
        Z = Z[self._order]
        queries = check_array(X, dtype=self.X.dtype, accept_sparse="csr")
        if self._offset is not None:
            queries = queries - self._offset
        Q = form.project(queries, A.astype(Z.dtype), self._n_threads)
        masses = NeighborWeights.build(self.counts, self._mass_of_one, Z.dtype)
        n_classes = int(self._codes.max()) + 1
        return vote(Q, Z, self._codes, n_classes, masses, self._n_threads, self.plain)


def positive_rows(
    X: Any, y: NDArray[Any], sample_weight: ArrayLike | None
) -> tuple[Any, NDArray[Any], FloatArray]:
    """Return the rows of positive weight, their labels and weights."""
    counts = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    kept = counts > 0
    return (X, y, counts) if kept.all() else (X[kept], y[kept], counts[kept])


def vote(
    queries: FloatArray,
    points: FloatArray,
    codes: IntArray,
    n_classes: int,
    masses: NeighborWeights,
    n_threads: int,
    plain: bool = False,
) -> FloatArray:
    """Return Σ_{j ∈ c} p_ij for each query i and class c, for projected points."""
    if len(codes) and not 0 <= codes.min() <= codes.max() < n_classes:
        raise ValueError(f"Class codes must be between 0 and {n_classes - 1}.")
    indicators = np.eye(n_classes, dtype=points.dtype)[codes]
    return average(queries, points, indicators, masses, n_threads, plain)


def check_class_prior(
    prior: ArrayLike | str | None, sizes: FloatArray | IntArray
) -> FloatArray:
    """Return p(c) for each class.

    Parameters
    ----------
    prior : array-like of shape (n_classes,), "empirical" or None
        Value of the parameter; None is uniform.
    sizes : ndarray of shape (n_classes,)
        Number of points of each class.

    Returns
    -------
    ndarray of shape (n_classes,)
        Positive numbers that sum to 1.
    """
    if prior is None:
        return np.full(len(sizes), 1 / len(sizes))
    if isinstance(prior, str):
        if prior != "empirical":
            raise ValueError(
                f"class_prior must be 'empirical', None or an array, got {prior!r}."
            )
        return sizes / sizes.sum()
    return given_prior(prior, len(sizes), "class_prior")


def given_prior(prior: ArrayLike, n_classes: int, name: str) -> NDArray[np.float64]:
    """Return positive numbers, one for each class, normalized to sum to 1."""
    given = np.asarray(prior, dtype=np.float64)
    if given.shape != (n_classes,):
        raise ValueError(
            f"{name} must have one entry for each of the {n_classes} classes, got "
            f"shape {given.shape}."
        )
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ValueError(f"{name} must be positive throughout, got {given}.")
    shares: NDArray[np.float64] = given / given.sum()
    return shares


TOLERATED = 1e-3
"""Mean share of the p_ij that n_neighbors="auto" may lose."""
# Maximum number of list entries.
_MAX_LISTED = 2**24


class TruncatedNCA(NCAObjective):
    """NCA objective with sums over the nearest neighbors under a recent map.

    p_ij decays so fast that few neighbors have nearly all of it (NCA, section 4). The
    lists are fixed until the next `refresh`, so that the objective is smooth in
    between. Before the first call, sums are over all points.

    Parameters
    ----------
    X, y, kind
        As for `NCAObjective`.
    n_neighbors : int or "auto", default="auto"
        Number of nearest neighbors in each sum; "auto" is the number that loses at
        most `TOLERATED` of the p_ij. Sums are not truncated if lists do not pay.
    seed : int, default=0
        Seed for the points at which the lost mass is measured.
    **how
        As for `NCAObjective`.

    See Also
    --------
    vicinal.objectives.NCAObjective : Sums over all points.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import TruncatedNCA
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(100, 3)), rng.integers(2, size=100)
    >>> objective = TruncatedNCA(X, y, n_neighbors=10)
    >>> value, gradient = objective.value_and_gradient(np.eye(3))
    >>> gradient.shape
    (3, 3)
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        kind: str = "expected",
        *,
        n_neighbors: int | str = "auto",
        seed: int = 0,
        **how: Any,
    ) -> None:
        super().__init__(X, y, kind, **how)
        self._n_neighbors = n_neighbors
        size = max(1, min(128, 2**24 // self.n_rows))
        self._sample = sample_indices(np.random.default_rng(seed), self.n_rows, size)

    @property
    def n_neighbors(self) -> int:
        """Current number of neighbors in the sum of each point."""
        if self._lists is None:
            return self.n_rows - 1
        return self._lists.columns.shape[1] - 1

    @property
    def may_truncate(self) -> bool:
        """Whether lists would exclude any point."""
        k, n = self._n_neighbors, self.n_rows
        return isinstance(k, str) or (k < n - 1 and n * k <= _MAX_LISTED)

    @property
    def list_lifetime(self) -> int:
        """Maximum number of iterations between updates; "auto" uses `is_stale`."""
        return 10**9 if isinstance(self._n_neighbors, str) else 10

    def refresh(self, components: ArrayLike) -> None:
        """List the nearest neighbors of each point under this map."""
        Z = self._project(components)[0][self._order]
        n, k = self.n_rows, self._n_neighbors
        if isinstance(k, str):
            masses = NeighborWeights.build(self.counts, self._mass_of_one, Z.dtype)
            held = sorted_masses(Z, masses, self._sample, self._n_threads)
            # Lists become outdated as the map changes; start with twice the length.
            k = 2 * max(16, int(np.searchsorted(held, 1 - TOLERATED / 2)) + 1)
            k = n if 4 * k > n else k  # long lists do not pay
        self._lists = None
        if k < n - 1 and n * k <= _MAX_LISTED:
            classes = ClassSlices.from_sorted(self._codes)
            self._lists = NearestLists.find(Z, classes, k, self._n_threads)

    def is_stale(self, components: ArrayLike) -> bool:
        """Return whether "auto" should update the lists at this map."""
        return self._n_neighbors == "auto" and self.lost_mass(components) > TOLERATED

    def lost_mass(self, components: ArrayLike) -> float:
        """Return the mean share of the p_ij that the lists miss at this map."""
        if self._lists is None:
            return 0.0
        Z = self._project(components)[0][self._order]
        masses = NeighborWeights.build(self.counts, self._mass_of_one, Z.dtype)
        p = probabilities(Z, masses, self._sample)
        np.put_along_axis(p, self._lists.columns[self._sample], 0, axis=1)
        return float(p.sum(axis=1, dtype=np.float64).mean())
