"""Sparse compositional metric learning."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import sklearn
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import centered
from vicinal.base.metric import unscale_components
from vicinal.base.order_classifier import TripletClassifier
from vicinal.base.tuples import Preprocessor, Tuples
from vicinal.classic._local_bases import local_discriminants, triplet_discriminants
from vicinal.classic._nearest_triplets import nearest_triplets
from vicinal.classic._prior import PriorSpace, prior_space
from vicinal.classic._solve import maximize, warn_unless_converged

MOST_BASES, MOST_TRIPLETS = 400, 20_000
# Over how much of the margin the hinge is rounded off.
ROUNDED = 0.25
# Triplets of which margins are computed at a time.
BLOCK = 1024


class SCML(TripletClassifier):
    """Sparse compositional metric learning.

    Combines a few of many directions b_k, each good in some region, into one metric
    M = Σ_k w_k b_k b_kᵀ with w ≥ 0 that puts triplets (a, b, c) in order, a nearer to b
    than to c [1]_: the least

        (1/n) Σ max(0, 1 + d_M²(a, b) − d_M²(a, c)) + β Σ_k w_k,

    eq. 3 of [1]_. The triplets are given, or made from points with labels: each point
    with its nearest of the same class and of others.

    Parameters
    ----------
    beta : float, default=0.01
        β: larger values use fewer directions. It is relative to the mean of d²(a, c)
        along a direction.
    basis : array-like of shape (n_basis, n_features) or "auto", default="auto"
        The directions. "auto" looks for them: from labels by discriminant analysis in
        random regions, from triplets by their scatters in random parts.
    n_basis : int or "auto", default="auto"
        How many directions to look for; "auto" is 20 for each feature, and at most 400.
    n_near, n_far : int, default=3 and 10
        From labels: how many nearest of its own class, and of others, a point has
        triplets with.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-6
        Stop when an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the regions, and for which triplets are learned from, where there are more
        than 20,000 from labels, or more than fit in scikit-learn's working_memory.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, where triplets are given as indices; or what returns points for an
        array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, the largest eigenvalue of M first, with as many rows as M has rank;
        float32 if X is.
    n_basis_ : int
        How many directions have a weight above 0.
    n_iter_ : int
        Iterations, 1 at least.
    objective_curve_ : ndarray
        The objective at the start and after each iteration. It never rises.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.classic.LSML : Learns from quadruplets.
    vicinal.classic.LMNN : Margins over all near pairs.

    Notes
    -----
    The problem is convex. [1]_ takes stochastic subgradients; here the hinge is rounded
    off over a quarter of the margin, which changes the objective by an eighth at most,
    and L-BFGS runs over the roots of the weights.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "beta": [Interval(Real, 0, None, closed="left")],
        "basis": [StrOptions({"auto"}), "array-like"],
        "n_basis": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_near": [Interval(Integral, 1, None, closed="left")],
        "n_far": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "preprocessor": ["array-like", callable, None],
    }

    def __init__(
        self,
        beta: float = 0.01,
        *,
        basis: str | ArrayLike = "auto",
        n_basis: int | str = "auto",
        n_near: int = 3,
        n_far: int = 10,
        max_iter: int = 200,
        tol: float = 1e-6,
        verbose: int = 0,
        random_state: int | RandomState | None = None,
        preprocessor: Preprocessor | None = None,
    ) -> None:
        self.beta = beta
        self.basis = basis
        self.n_basis = n_basis
        self.n_near = n_near
        self.n_far = n_far
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.preprocessor = preprocessor

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        random_state = check_random_state(self.random_state)
        moved = centered(X)
        space = prior_space(moved.points, "identity")
        points = space.coordinates(moved.points)
        triplets = nearest_triplets(points, codes, self.n_near, self.n_far)
        if not len(triplets):
            raise ValueError("No two rows that could be paired are of one class.")
        triplets = _sample(triplets, MOST_TRIPLETS, random_state)
        basis = self._given_basis(space)
        if basis is None:
            wanted = self._wanted(points.shape[1])
            basis = local_discriminants(points, codes, wanted, random_state)
        unit = float(moved.unit) * space.unit
        self._combine(
            Tuples(points, triplets), basis, space, unit, random_state, X.dtype
        )

    def _learn_tuples(self, tuples: Tuples, **_: Any) -> None:
        random_state = check_random_state(self.random_state)
        known = tuples.used()
        moved = centered(known.points)
        space = prior_space(moved.points, "identity")
        points = space.coordinates(moved.points)
        seen = Tuples(points, known.indices)
        basis = self._given_basis(space)
        if basis is None:
            wanted = self._wanted(points.shape[1])
            basis = triplet_discriminants(seen, wanted, random_state)
        unit = float(moved.unit) * space.unit
        self._combine(seen, basis, space, unit, random_state, tuples.points.dtype)

    def _wanted(self, n_coordinates: int) -> int:
        if isinstance(self.n_basis, str):
            return min(20 * n_coordinates, MOST_BASES)
        return self.n_basis

    def _given_basis(self, space: PriorSpace) -> FloatArray | None:
        """Return the user's directions in coordinates, of length 1; None of "auto"."""
        if isinstance(self.basis, str):
            return None
        rows = check_array(self.basis, dtype=np.float64, input_name="basis")
        width = space.n_coordinates if space.span is None else space.span.n_features
        if rows.shape[1] != width:
            raise ValueError(
                f"basis must have a column for each of the {width} features; got shape "
                f"{rows.shape}."
            )
        if not rows.any(axis=1).all():
            raise ValueError(
                "basis must not hold rows of zeros: they are no direction."
            )
        if space.span is not None:
            rows = rows @ space.span.to_features(np.eye(space.n_coordinates)).T
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit: FloatArray = rows / np.where(lengths > 0, lengths, 1)
        return unit

    def _combine(
        self,
        triplets: Tuples,
        basis: FloatArray,
        space: PriorSpace,
        unit: float,
        random_state: RandomState,
        dtype: Any,
    ) -> None:
        """Weigh the directions, and make the estimator fitted."""
        if not len(basis):
            raise ValueError(
                "No direction was found: the points of a class do not differ, or all "
                "points are equal."
            )
        room = sklearn.get_config()["working_memory"] * 2**20
        most = max(1, int(room / 4 / (4 * len(basis))))
        indices = _sample(triplets.indices, most, random_state)
        margins, size = _margins(triplets.points @ basis.T, indices)
        objective = OrderedTriplets(margins, self.beta)
        start = np.full(len(basis), 1 / np.sqrt(len(basis)))
        found = maximize(self, objective, start)
        roots = np.abs(found.components)
        # Weights are their squares. Where all vanish together, none being worth its
        # price, only the largest is left.
        least = max(1e-2 * roots.max(), 1e-3 * start[0])
        kept = roots >= min(least, roots.max())
        A = roots[kept, None] * basis[kept] / np.sqrt(size)
        rows = space.rows(A)
        sizes = np.linalg.norm(rows, axis=1)
        # M has no more rank than directions with a weight.
        rows = rows[sizes > 1e-7 * sizes[0]]
        self.components_ = unscale_components(rows, unit, dtype)
        self.n_basis_ = int(kept.sum())
        self.n_iter_ = max(1, found.n_iter)
        self.objective_curve_ = -np.array(found.curve)
        warn_unless_converged(self, found)


class OrderedTriplets:
    """Minus SCML's objective at the roots of the weights.

    Parameters
    ----------
    margins : ndarray of shape (n_triplets, n_basis)
        d²(a, c) − d²(a, b) along each direction.
    beta : float
        β.
    """

    def __init__(self, margins: FloatArray, beta: float) -> None:
        self.margins = margins
        self.beta = beta

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the objective and its derivative with respect to the roots."""
        weights = np.square(components)
        short = 1 - (self.margins @ weights.astype(self.margins.dtype)).astype(float)
        # t²/2r up to r, then t − r/2: the hinge, with a round corner.
        inside = np.clip(short, 0, ROUNDED)
        losses = inside * (np.maximum(short, 0) - inside / 2) / ROUNDED
        slopes = inside / ROUNDED
        value = float(losses.mean() + self.beta * weights.sum())
        slope = self.beta - (slopes.astype(self.margins.dtype) @ self.margins) / len(
            short
        )
        return -value, -2 * components * slope


def _margins(projected: FloatArray, triplets: IntArray) -> tuple[FloatArray, float]:
    """Return d²(a, c) − d²(a, b) along each direction, and their unit.

    The unit is the mean of d²(a, c) over triplets and directions.

    In float32, which is exact enough for a hinge, a block of triplets at a time.
    """
    margins = np.empty((len(triplets), projected.shape[1]), dtype=np.float32)
    total = 0.0
    for start in range(0, len(triplets), BLOCK):
        rows = slice(start, start + BLOCK)
        a, b, c = (projected[triplets[rows, place]] for place in range(3))
        far = np.square(a - c)
        total += float(far.sum())
        margins[rows] = far - np.square(a - b)
    unit = total / margins.size or 1.0
    margins /= unit
    return margins, unit


def _sample(rows: IntArray, most: int, random_state: RandomState) -> IntArray:
    """Return rows, or so many of them by chance, in their order."""
    if len(rows) <= most:
        return rows
    return rows[np.sort(random_state.choice(len(rows), most, replace=False))]
