"""Objectives of LMNN and MCML."""

from copy import copy
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import check_X_y
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.neighborhood import (
    ClassSlices,
    NeighborWeights,
    Rule,
    back_project,
    collapsed_classes,
    effective_n_threads,
    float32_resolves,
    project,
)
from vicinal.neighborhood.nearest import Impostors, nearest_of_each_class, pull_hinges
from vicinal.objectives.nca import PairObjective

MOST_IMPOSTORS = 2**24


class LMNNObjective:
    """Negative loss of large margin nearest neighbors [1]_, to be maximized.

    The target neighbors j of point i are its k nearest points of the same class in X.
    The margin around them should be free of impostors l, the points of other classes.
    The loss is

        r Σ_ij ‖A x_ij‖² + (1 − r) Σ_ij Σ_l [1 + ‖A x_ij‖² − ‖A x_il‖²]₊

    with x_ij = x_i − x_j and [·]₊ the positive part (eq. 11 to 13 of [2]_, with
    μ = 1 − r). It is convex in AᵀA.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points. float32 data are processed in float32, if that resolves the
        distances.
    y : array-like of shape (n_samples,)
        Class labels.
    n_neighbors : int, default=3
        Number of target neighbors of each point; fewer in smaller classes.
    regularization : float, default=0.5
        r, between 0 and 1.
    keep_lists : bool, default=False
        Search for impostors only when `refresh` is called, not at each evaluation.
        The loss is then too small at maps with new impostors.
    max_impostors : int
        Approximate maximum number of listed impostors. If there are more, a sample
        represents them.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.

    See Also
    --------
    vicinal.classic.LMNN : Maximizes it.

    References
    ----------
    .. [1] Weinberger, Blitzer, Saul. Distance Metric Learning for Large Margin Nearest
       Neighbor Classification. Advances in Neural Information Processing Systems 18,
       2005.
    .. [2] Weinberger, Saul. Distance Metric Learning for Large Margin Nearest Neighbor
       Classification. Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import LMNNObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> objective = LMNNObjective(X, [0, 0, 1, 1], n_neighbors=1)
    >>> value, gradient = objective.value_and_gradient(np.eye(2))
    >>> round(value, 4), gradient.shape
    (-4.0, (2, 2))
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        n_neighbors: int = 3,
        *,
        regularization: float = 0.5,
        keep_lists: bool = False,
        max_impostors: int = MOST_IMPOSTORS,
        n_jobs: int | None = None,
    ) -> None:
        points, labels = check_X_y(X, y, dtype=FLOATS, ensure_min_samples=2)
        check_classification_targets(labels)
        codes = LabelEncoder().fit_transform(labels)
        self.X = points
        self._order = np.argsort(codes, kind="stable")
        self._classes = ClassSlices.from_sorted(codes[self._order])
        self._weights = regularization, 1 - regularization
        self._max_impostors = max_impostors
        self._keep_lists = keep_lists
        self._n_threads = effective_n_threads(n_jobs)
        self._lists: Impostors | None = None
        self._n_neighbors = n_neighbors
        self.queries = np.arange(len(points))
        self._targets: NDArray[np.int32] | None = None

    @property
    def order(self) -> IntArray:
        """Rows of X, sorted by class."""
        return self._order

    @property
    def targets(self) -> NDArray[np.int32]:
        """Target neighbors of the queries, as positions in `order`; −1 is empty."""
        if self._targets is None:
            self.find_targets()
        assert self._targets is not None  # noqa: S101  as mypy wants to know
        return self._targets

    def of_queries(self, queries: IntArray) -> Self:
        """Return the objective of some points' terms, with impostors from all points.

        Parameters
        ----------
        queries : ndarray of int
            Positions in the order by class, without repeats.

        Returns
        -------
        LMNNObjective
        """
        other = copy(self)
        other.queries, other._lists, other._keep_lists = queries, None, False
        if self._targets is not None:
            other._targets = self._targets[queries]
        return other

    def value_and_gradient(self, components: ArrayLike) -> tuple[float, FloatArray]:
        """Evaluate the objective at a map.

        The gradient is −2 (L Z)ᵀX for Z = X Aᵀ and the Laplacian L of a sparse graph.
        An edge to a target has weight r, plus 1 − r for each impostor within its
        margin; an edge to an impostor has r − 1 for each margin that it violates.

        Parameters
        ----------
        components : array-like of shape (n_components, n_features)
            The map A.

        Returns
        -------
        value : float
            Negative loss, summed over the queries.
        gradient : ndarray of shape (n_components, n_features)
            Derivative with respect to A.
        """
        Z = self.projected(components)
        lists = self._lists
        if lists is None or not self._keep_lists:
            lists = self._list(Z, 1.0)
        values, product = pull_hinges(
            Z, self.queries, self.targets, lists, self._weights,
            self._n_threads,
        )  # fmt: skip
        LZ = np.empty_like(product)
        LZ[self._order] = product
        gradient = back_project(LZ, self.X, self._n_threads)
        gradient *= -2
        return -float(values.sum()), gradient

    def refresh(self, components: ArrayLike, slack: float = 1.15) -> None:
        """List the impostors under this map, and points that may become impostors.

        Parameters
        ----------
        components : array-like
            The map.
        slack : float, default=1.15
            Factor by which lists exceed the margin, to include points that may become
            impostors before the next refresh.
        """
        self._lists = self._list(self.projected(components), slack)

    def projected(self, components: ArrayLike) -> FloatArray:
        """Return the mapped points, sorted by class."""
        A: FloatArray = np.asarray(components, dtype=np.float64)
        if A.ndim != 2 or A.shape[1] != self.X.shape[1] or not np.isfinite(A).all():
            raise ValueError(
                f"components must be finite, of shape (n_components, "
                f"{self.X.shape[1]}), got an array of shape {A.shape}."
            )
        with np.errstate(over="ignore", invalid="ignore"):
            Z = project(self.X, A.astype(self.X.dtype), self._n_threads)
            if not float32_resolves(Z - Z.mean(axis=0)):
                Z = project(self.X, A, self._n_threads)
        return Z[self._order]

    def target_distances(self, Z: FloatArray) -> FloatArray:
        """Return the queries' squared distances to their targets; −1 if empty.

        Parameters
        ----------
        Z : ndarray of shape (n_samples, n_components)
            Mapped points, sorted by class.

        Returns
        -------
        ndarray of shape (n_queries, n_neighbors)
        """
        distances = np.empty(self.targets.shape)
        for t, column in enumerate(self.targets.T):
            gaps = Z[self.queries] - Z[column]
            distances[:, t] = np.einsum("ij,ij->i", gaps, gaps)
        return np.where(self.targets < 0, -1.0, distances)

    def _list(self, Z: FloatArray, slack: float) -> Impostors:
        distances = self.target_distances(Z).max(axis=1)
        radii = np.where(distances < 0, 0.0, slack * (1 + distances))
        return Impostors.find(
            Z, self._classes, self.queries, radii, self._max_impostors, self._n_threads
        )

    def find_targets(self) -> None:
        """Find the target neighbors of the queries, shared by all subsets.

        Otherwise, each result of `of_queries` finds its own at the first use.
        """
        k, queries = self._n_neighbors, self.queries
        targets = np.full((len(queries), k), -1, dtype=np.int32)
        starts = self._classes.starts[queries]
        for start in np.unique(starts):
            stop = self._classes.stops[start]
            if stop - start < 2:
                continue
            members = self.X[self._order[start:stop]]
            members = members - members.mean(axis=0)
            of_class = starts == start
            own = queries[of_class, None] - start
            bounds = np.array([0, len(members)])
            # One more, since each point finds itself, which is last and is removed.
            nearest = nearest_of_each_class(
                members, bounds, k + 1, members[own[:, 0]], self._n_threads
            )[0]
            last = np.argsort(nearest == own, axis=1, kind="stable")
            nearest = np.take_along_axis(nearest, last, axis=1)
            nearest = nearest[:, : min(k, len(members) - 1)]
            targets[of_class, : nearest.shape[1]] = nearest + start
        self._targets = targets


class MCMLObjective(PairObjective):
    """Objective of MCML: similarity to a map that collapses each class to one point.

    Under such a map, point i picks each other point of its class with the same
    probability p⁰_ij = 1 / (N_c − 1), and no other. Up to a constant, the value is the
    negative divergence of the p_ij ∝ exp(−‖A x_i − A x_j‖²) from these,

        Σ_i Σ_{j ≠ i, c_j = c_i} log p_ij / (N_c − 1)

    (eq. 2 and 3 of [1]_), which is concave in AᵀA. Points that are alone in their class
    do not have a term.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points. float32 data are processed in float32.
    y : array-like of shape (n_samples,)
        Class labels.
    n_jobs : int or None, default=None
        Number of threads; the result does not depend on it.

    See Also
    --------
    vicinal.classic.MCML : Maximizes it.

    References
    ----------
    .. [1] Globerson, Roweis. Metric Learning by Collapsing Classes. Advances in Neural
       Information Processing Systems 18, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import MCMLObjective
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> value, gradient = MCMLObjective(X, [0, 0, 1, 1]).value_and_gradient(np.eye(2))
    >>> round(value, 4), gradient.shape
    (-0.2635, (2, 2))
    """

    def __init__(
        self, X: ArrayLike, y: ArrayLike, *, n_jobs: int | None = None
    ) -> None:
        points, labels = check_X_y(X, y, dtype=FLOATS, ensure_min_samples=2)
        check_classification_targets(labels)
        codes = LabelEncoder().fit_transform(labels)
        order = np.argsort(codes, kind="stable")
        ones = np.ones(len(codes))
        super().__init__(points, order, ones, ones, n_jobs)
        self._codes = codes[order]

    def subset(self, points: IntArray) -> Self:
        """Return the objective restricted to some points; see `PairObjective`."""
        other = super().subset(points)
        other._codes = self._codes[points]
        return other

    def _make_rule(self, masses: NeighborWeights) -> Rule:
        return collapsed_classes(ClassSlices.from_sorted(self._codes), masses)
