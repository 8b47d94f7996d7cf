"""Sparse compositional metric learning."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
import sklearn
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, eigh, solve_triangular
from sklearn.utils import check_array, check_random_state, gen_batches
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import class_means, mean
from vicinal.base.selection import nearest_points
from vicinal.classic._shared import PriorSpace, at_least_one, maximize, set_solution
from vicinal.classic.constraints import nearest_triplets
from vicinal.classic.tuples import TupleMetric, Tuples


@dataclass(eq=False, repr=False)
class SCML(TupleMetric):
    """Sparse compositional metric learning.

    Combines a few of many directions b_k, each good in some region, into one metric
    M = Σ_k w_k b_k b_kᵀ with w ≥ 0, under which a is nearer to b than to c for triplets
    (a, b, c) [1]_. It minimizes

        (1/n) Σ max(0, 1 + d_M²(a, b) − d_M²(a, c)) + β Σ_k w_k,

    eq. 3 of [1]_. Triplets are given, or made from points with labels: each point with
    its nearest points of the same class and of other classes.

    Parameters
    ----------
    beta : float, default=0.01
        β: larger values use fewer directions. It is relative to the mean of d²(a, c)
        along a direction.
    basis : array-like of shape (n_basis, n_features) or "auto", default="auto"
        The directions. "auto" finds them: for labels by discriminant analysis in
        random regions, for triplets by their scatters in random subsets.
    n_basis : int or "auto", default="auto"
        Number of directions to find; "auto" is 20 per feature, at most 400.
    n_near, n_far : int, default=3 and 10
        For labels: number of nearest points of the same class, and of other classes,
        that a point forms triplets with.
    max_iter : int, default=200
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-6
        Stop if an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        If above 0, print a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the regions, and for a sample of the triplets if there are more than 20,000
        from labels, or more than fit in scikit-learn's working_memory.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, if triplets are given as indices; or a function that returns points
        for an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, with the largest eigenvalue of M first and as many rows as the rank of
        M; float32 if X is.
    n_basis_ : int
        Number of directions with a weight above 0.
    n_iter_ : int
        Number of iterations, at least 1.
    objective_curve_ : ndarray
        Minus the loss at the start and after each iteration; it never falls.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.LSML : Learns from quadruplets.
    vicinal.classic.LMNN : Margins over all near pairs.

    Notes
    -----
    The problem is convex. [1]_ uses stochastic subgradients; here the hinge is smoothed
    over a quarter of the margin, which changes the objective by at most an eighth, and
    L-BFGS optimizes the square roots of the weights.

    Cost: O(n_triplets · n_basis) for each iteration, after the search for a basis.

    References
    ----------
    .. [1] Shi, Bellet, Sha. Sparse Compositional Metric Learning. AAAI Conference on
       Artificial Intelligence, 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import SCML, triplets_from_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> triplets = triplets_from_labels(y, 300, random_state=0)
    >>> scml = SCML(preprocessor=X, random_state=0)
    >>> bool(cross_val_score(scml, triplets).mean() > 0.9)
    True
    """

    _tuple_size = 3
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TupleMetric._parameter_constraints,
        "beta": [Interval(Real, 0, None, closed="left")],
        "basis": [StrOptions({"auto"}), "array-like"],
        "n_basis": [at_least_one, StrOptions({"auto"})],
        "n_near": [at_least_one],
        "n_far": [at_least_one],
    }

    beta: float = 0.01
    _: KW_ONLY
    basis: str | ArrayLike = "auto"
    n_basis: int | str = "auto"
    n_near: int = 3
    n_far: int = 10
    verbose: int = 0

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        self._combine(X, codes=codes)

    def _learn_tuples(self, tuples: Tuples) -> None:
        known = tuples.used()
        self._combine(known.points, triplets=known.indices)

    def _combine(
        self,
        X: FloatArray,
        codes: IntArray | None = None,
        triplets: Any = None,
    ) -> None:
        """Find directions and weight them, for classes or for triplets."""
        random_state = check_random_state(self.random_state)
        space = PriorSpace(X - mean(X))
        unit = float(np.abs(space.points).max()) or 1.0  # margins are float32
        points = space.points / unit
        if codes is not None:
            triplets = nearest_triplets(points, codes, self.n_near, self.n_far)
            if not len(triplets):
                raise ValueError("No two rows that could be paired are of one class.")
            triplets = _sample(triplets, 20_000, random_state)
        n_basis = self.n_basis
        if isinstance(n_basis, str):
            n_basis = min(20 * points.shape[1], 400)
        if not isinstance(self.basis, str):
            basis = _given_basis(self.basis, space)
        elif codes is not None:
            basis = local_discriminants(points, codes, n_basis, random_state)
        else:
            seen = Tuples(points, triplets)
            basis = triplet_discriminants(seen, n_basis, random_state)
        if not len(basis):
            raise ValueError(
                "No direction was found: the points of a class do not differ, or all "
                "points are equal."
            )
        # A float32 margin for each triplet and direction in a quarter of the memory.
        memory = sklearn.get_config()["working_memory"] * 2**20
        most = max(1, int(memory / 4 / (4 * len(basis))))
        triplets = _sample(triplets, most, random_state)
        margins, size = _margins(points @ basis.T, triplets)
        start = np.full(len(basis), 1 / np.sqrt(len(basis)))
        solution = maximize(self, OrderedTriplets(margins, self.beta), start)
        roots = np.abs(solution.x)
        # Weights are squares of the roots. If all vanish, only the largest is kept.
        least = max(1e-2 * roots.max(), 1e-3 * start[0])
        kept = roots >= min(least, roots.max())
        rows = space.to_features(roots[kept, None] * basis[kept] / np.sqrt(size))
        sizes = np.linalg.norm(rows, axis=1)
        rows = rows[sizes > 1e-7 * sizes[0]]  # the rank of M
        self.components_ = (rows / unit).astype(X.dtype)
        self.n_basis_ = int(kept.sum())
        set_solution(self, solution)


@dataclass(frozen=True, eq=False)
class OrderedTriplets:
    """Minus the loss of SCML at the square roots of the weights.

    Attributes
    ----------
    margins : ndarray of shape (n_triplets, n_basis)
        d²(a, c) − d²(a, b) along each direction.
    beta : float
        β.
    rounded : float, default=0.25
        Part of the margin over which the hinge is smoothed.
    """

    margins: FloatArray
    beta: float
    rounded: float = 0.25

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the loss and its gradient with respect to the roots."""
        r, dtype = self.rounded, self.margins.dtype
        weights = np.square(components)
        short = 1 - (self.margins @ weights.astype(dtype)).astype(float)
        # t²/2r up to r, then t − r/2: the hinge, with a round corner.
        inside = np.clip(short, 0, r)
        losses = inside * (np.maximum(short, 0) - inside / 2) / r
        slopes = (inside / r).astype(dtype) @ self.margins / len(short)
        value = float(losses.mean() + self.beta * weights.sum())
        return -value, -2 * components * (self.beta - slopes)


def _margins(projected: FloatArray, triplets: IntArray) -> tuple[FloatArray, float]:
    """Return d²(a, c) − d²(a, b) along each direction, and their unit.

    The unit is the mean of d²(a, c) over triplets and directions. float32 is exact
    enough for a hinge.
    """
    margins = np.empty((len(triplets), projected.shape[1]), dtype=np.float32)
    total = 0.0
    for rows in gen_batches(len(triplets), 1024):
        a, b, c = (projected[triplets[rows, place]] for place in range(3))
        far = np.square(a - c)
        total += float(far.sum())
        margins[rows] = far - np.square(a - b)
    unit = total / margins.size or 1.0
    margins /= unit
    return margins, unit


def _sample(rows: IntArray, most: int, random_state: RandomState) -> IntArray:
    """Return the rows, or a random sample of them in their order."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(random_state.choice(len(rows), most, replace=False))]


def _given_basis(basis: ArrayLike, space: PriorSpace) -> FloatArray:
    """Return the user's directions in coordinates, with length 1."""
    rows = check_array(basis, dtype=np.float64, input_name="basis")
    n_coordinates = space.points.shape[1]
    width = n_coordinates if space.span is None else space.span.n_features
    if rows.shape[1] != width:
        raise ValueError(
            f"basis must have a column for each of the {width} features; got shape "
            f"{rows.shape}."
        )
    if not rows.any(axis=1).all():
        raise ValueError("basis must not contain rows of zeros.")
    if space.span is not None:
        rows = rows @ space.span.to_features(np.eye(n_coordinates)).T
    return _unit_rows(rows)


def local_discriminants(
    X: FloatArray, codes: IntArray, n_basis: int, random_state: RandomState
) -> FloatArray:
    """Return directions of discriminant analysis in random regions, of length 1.

    A region is a point and the nearest points of each class, at two scales (section 3
    of Shi, Bellet and Sha): 10 and 20 points, or 20 and 50 for more than 50 features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points, float64.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0.
    n_basis : int
        Number of directions.
    random_state : RandomState
        For the centers of the regions.

    Returns
    -------
    ndarray of shape (n_basis, n_features)
        Fewer rows if the regions do not give as many.
    """
    n_classes = int(codes.max()) + 1
    per_region = min(n_classes - 1, X.shape[1])
    scales = (20, 50) if X.shape[1] > 50 else (10, 20)
    n_regions = -(-n_basis // (len(scales) * per_region))
    centers = random_state.choice(len(X), min(n_regions, len(X)), replace=False)
    nearest = []
    for c in range(n_classes):
        rows = np.flatnonzero(codes == c)
        k = min(max(scales), len(rows))
        nearest.append(rows[nearest_points(X[centers], X[rows], k)[0]])
    found = []
    for scale in scales:
        for region in range(len(centers)):
            rows = np.concatenate([near[region, :scale] for near in nearest])
            found.append(_discriminants(X[rows], codes[rows], per_region))
    return _unit_rows(np.vstack(found))[:n_basis]


def _discriminants(
    X: FloatArray, codes: IntArray, d: int, shrinkage: float = 0.1
) -> FloatArray:
    """Return the leading directions of S_b v = λ S_w v, with a ridge on S_w."""
    means = class_means(X, codes)
    residuals = X - means[codes]
    within = residuals.T @ residuals / len(X)
    apart = np.sqrt(np.bincount(codes) / len(X))[:, None] * (means - X.mean(axis=0))
    ridge = shrinkage * float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    if not ridge:
        return np.empty((0, X.shape[1]))
    within[np.diag_indices(len(within))] += ridge / len(within)
    L = cholesky(within, lower=True)
    whitened = solve_triangular(L, apart.T, lower=True)
    axes = np.linalg.svd(whitened, full_matrices=False)[0]
    return solve_triangular(L, axes[:, :d], lower=True, trans="T").T


def triplet_discriminants(
    triplets: Tuples, n_basis: int, random_state: RandomState, shrinkage: float = 0.1
) -> FloatArray:
    """Return directions along which the third points of random triplets are far.

    They are leading eigenvectors of the scatter of first and third points, relative to
    the scatter of first and second points, both for random subsets of the triplets.

    Parameters
    ----------
    triplets : Tuples
        The triplets.
    n_basis : int
        Number of directions.
    random_state : RandomState
        For the subsets.
    shrinkage : float, default=0.1
        Ridge of the second scatter, relative to the mean variance.

    Returns
    -------
    ndarray of shape (n_basis, n_features)
        Rows of length 1.
    """
    n_features = triplets.points.shape[1]
    size = min(len(triplets), max(2 * n_features, 50))
    # Few directions of each subset, so that there are many subsets.
    each = max(1, n_features // 4)
    found = []
    for _ in range(-(-n_basis // each)):
        part = triplets.subset(random_state.choice(len(triplets), size, replace=False))
        near, far = (part.differences(0, place).scatter() for place in (1, 2))
        variance = float(np.trace(near + far)) / (2 * n_features) or 1.0
        near[np.diag_indices(n_features)] += shrinkage * variance
        _, axes = eigh(far, near, subset_by_index=[n_features - each, n_features - 1])
        found.append(axes.T[::-1])
    return _unit_rows(np.vstack(found))[:n_basis]


def _unit_rows(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1)
    kept = lengths > 1e-12 * lengths.max(initial=0)
    return rows[kept] / lengths[kept, None]
