"""Information-theoretic metric learning."""

from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal import optimize
from vicinal._typing import FloatArray, IntArray
from vicinal.base.selection import held_out, one_standard_error_choice
from vicinal.classic._shared import (
    PriorSpace,
    held_out_hits,
    maximize,
    minus_logdet_divergence,
    set_solution,
)
from vicinal.classic.constraints import default_n_pairs, random_pairs
from vicinal.classic.tuples import TupleMetric, Tuples
from vicinal.neighborhood import back_project, effective_n_threads, project

# Candidates of gamma="auto"; 0, the prior, is tried as well.
GAMMAS = (0.001, 0.01, 0.1, 1.0)
Bounds = tuple[float, float]
# Scaled differences of similar and of dissimilar pairs, and the bounds.
Pairs = tuple[FloatArray, FloatArray, Bounds]


@dataclass(eq=False, repr=False)
class ITML(TupleMetric):
    """Information-theoretic metric learning.

    Learns the Mahalanobis matrix nearest to a prior, in the LogDet divergence, under
    which similar pairs are near and dissimilar pairs are far [1]_: eq. 8 of [2]_, with
    slack. Pairs are given, or drawn from points with labels, half of the same class.

    Parameters
    ----------
    gamma : float or "auto", default="auto"
        The price of slack: small values stay near the prior, large values enforce the
        constraints. "auto" tries 0.001, 0.01, 0.1 and 1 with 3-NN on held-out rows, or
        by the area under the ROC curve of held-out pairs. It takes the smallest value
        within one standard error of the best that is one standard error better than
        the prior; if there is none, the metric is the prior. There are three folds, or
        one with more than 200 features or 20 classes.
    prior : {"identity", "covariance"} or array-like, default="identity"
        The identity, the inverse of the Ledoit-Wolf covariance, or a matrix of shape
        (n_features, n_features).
    bounds : tuple of two floats or None, default=None
        u and v: the largest squared distance of similar pairs, and the smallest of
        dissimilar ones. None takes them from the data.
    n_constraints : int or "auto", default="auto"
        Number of pairs to draw from labels, half of them of the same class. "auto" is
        20 times the squared number of classes, at least 2,000 and at most 10,000; with
        more than 158 features it is smaller, but at least 1,000.
    max_iter : int, default=200
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-5
        Stop if an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        If above 0, print a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the choice of pairs, and for the folds of gamma="auto".
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, if pairs are given as indices; or a function that returns points
        for an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        Λ^½ Lᵀ of the learned M = L Λ Lᵀ (section 3 of [2]_), the largest eigenvalue
        first; float32 if X is. With more features than rows and prior="identity", the
        map has as many rows as the span of the rows has dimensions; along all others,
        M is the identity.
    gamma_ : float
        The γ in use; 0 if "auto" found none better than the prior.
    bounds_ : tuple of two floats
        u and v in use; by default the 5th and 95th percentiles of the squared
        distances of random pairs under the prior.
    threshold_ : float
        After a fit to pairs: the largest distance of pairs predicted as similar.
    n_iter_ : int
        Number of iterations, at least 1.
    objective_curve_ : ndarray
        Minus the loss (the divergence from the prior plus the price of all slack) at
        the start and after each iteration; it never falls.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.MMC : Another use of the same pairs.
    vicinal.classic.LSML : Learns from quadruplets.
    vicinal.classic.TransferITML : Draws pairs across two domains.

    Notes
    -----
    The problem is convex. [1]_ solves it by projections onto one pair after the other;
    here, L-BFGS over the map finds the same optimum for all pairs at once, in tens of
    iterations. An iteration costs O(n_constraints · n_features²), for any number of
    rows.

    M has full rank. To reduce the dimension as in [2]_, select features of the mapped
    points: ``make_pipeline(ITML(), MRMR(n_features_to_select=5))``.

    Cost: O(n_constraints · D²) for each of ten to fifty iterations; gamma="auto" adds
    four such fits per fold.

    References
    ----------
    .. [1] Davis, Kulis, Jain, Sra, Dhillon. Information-Theoretic Metric Learning.
       International Conference on Machine Learning, 2007.
    .. [2] Parrish, Gupta. Dimensionality Reduction by Local Discriminative Gaussians.
       International Conference on Machine Learning, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import ITML, MRMR
    >>> X, y = load_wine(return_X_y=True)
    >>> reduce = make_pipeline(ITML(random_state=0), MRMR(n_features_to_select=5))
    >>> model = make_pipeline(StandardScaler(), reduce, KNeighborsClassifier(3))
    >>> bool(cross_val_score(model, X, y).mean() > 0.9)
    True

    Pairs of row indices, similar (1) or not (-1):

    >>> from vicinal.classic import pairs_from_labels
    >>> X = StandardScaler().fit_transform(X)
    >>> pairs, alike = pairs_from_labels(y, 300, random_state=0)
    >>> itml = ITML(preprocessor=X, random_state=0)
    >>> scores = cross_val_score(itml, pairs, alike, scoring="roc_auc")
    >>> bool(scores.mean() > 0.9)
    True
    """

    _tuple_size = 2
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TupleMetric._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
        "bounds": [tuple, list, None],
    }

    gamma: float | str = "auto"
    _: KW_ONLY
    prior: str | ArrayLike = "identity"
    bounds: tuple[float, float] | None = None
    n_constraints: int | str = "auto"
    tol: float = 1e-5
    verbose: int = 0

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        learn_from_drawn_pairs(self, X, codes, bounds=self._checked_bounds())

    def _learn_pairs(self, pairs: Tuples, signs: IntArray) -> None:
        random_state = check_random_state(self.random_state)
        known = pairs.used()
        space = PriorSpace(known.points, self.prior)
        known = Tuples(space.points, known.indices)
        bounds = self._checked_bounds()
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = _choose_gamma_for_pairs(known, signs, bounds, random_state)
        given = _given(known, signs, bounds, random_state)
        _fit_logdet(self, *given, gamma, space, pairs.points.dtype)

    def _checked_bounds(self) -> Bounds | None:
        if self.bounds is None:
            return None
        values = np.asarray(self.bounds, dtype=float)
        if values.shape != (2,) or not 0 < values[0] < values[1] < np.inf:
            raise ValueError(
                "bounds must be two squared distances, 0 < u < v: at most u for "
                f"similar pairs, at least v for others; got {self.bounds!r}."
            )
        return float(values[0]), float(values[1])


@dataclass(frozen=True, eq=False)
class LogDetObjective:
    """Minus the loss of ITML at a square map A, with M = AᵀA.

    The loss is Tr(M) − log det(M) − n_features + γ Σ (ξ − log ξ − 1) over the pairs,
    with the least slack ξ: max(vᵀMv, 1) for similar pairs, min(vᵀMv, 1) for others.
    This is eq. 8 of the LDG paper with the slack of Davis et al., which is solved for.
    It is convex in M; in A it has no other minima.

    Attributes
    ----------
    near, far : ndarray of shape (n_pairs, n_features)
        Differences v of similar and of dissimilar pairs, in units of their bounds.
    gamma : float
        γ, the price of slack.
    n_threads : int
        Number of threads; results do not depend on it.
    """

    near: FloatArray
    far: FloatArray
    gamma: float
    n_threads: int = field(default_factory=lambda: effective_n_threads(None))

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the loss and its gradient with respect to the map."""
        value, gradient = minus_logdet_divergence(components)
        if value == np.finfo(np.float64).min:
            return value, gradient
        for V, clip in ((self.near, np.maximum), (self.far, np.minimum)):
            Z = project(V, components, self.n_threads)
            slack = clip(np.einsum("ij,ij->i", Z, Z), 1.0)
            slack = np.maximum(slack, np.finfo(np.float64).tiny)
            value -= self.gamma * float((slack - np.log(slack) - 1).sum())
            Z *= (2 * self.gamma * (1 - 1 / slack))[:, None]
            gradient -= back_project(Z, V, self.n_threads)
        return value, gradient


def learn_from_drawn_pairs(
    estimator: Any,
    X: FloatArray,
    codes: IntArray,
    other_X: FloatArray | None = None,
    other_codes: IntArray | None = None,
    bounds: Bounds | None = None,
) -> None:
    """Draw pairs of rows of X, or of a row of X and one of other_X, and fit to them."""
    random_state = check_random_state(estimator.random_state)
    space = PriorSpace(
        X if other_X is None else np.vstack([X, other_X]), estimator.prior
    )
    rows, others = np.split(space.points, [len(X)])
    n_classes = 1 + int(codes.max())
    if other_codes is None:
        others = rows
    else:
        n_classes = max(n_classes, 1 + int(other_codes.max()))
    n_pairs = default_n_pairs(estimator.n_constraints, n_classes, rows.shape[1])

    def draw(
        rows: FloatArray,
        others: FloatArray,
        codes: IntArray,
        other_codes: IntArray | None = None,
    ) -> Pairs:
        near = random_pairs(codes, other_codes, n_pairs, True, random_state)
        if not len(near[0]):
            raise ValueError("No two rows that could be paired are of one class.")
        far = random_pairs(codes, other_codes, n_pairs, False, random_state)
        anyone = [random_state.randint(len(A), size=10_000) for A in (rows, others)]
        similar, dissimilar, random = (
            rows[i] - others[j] for i, j in (near, far, anyone)
        )
        return scale_by_bounds(similar, dissimilar, random, bounds, X.dtype)

    gamma = estimator.gamma
    if isinstance(gamma, str):
        hits = held_out_hits(
            rows,
            codes,
            lambda Z, codes: _gamma_path(*draw(Z, Z, codes)[:2]),
            random_state,
        )
        best = one_standard_error_choice(hits, default=-1) if hits.size else -1
        # A metric that changes the prediction of no row is not proven.
        gamma = (*GAMMAS, 0.0)[best] if (hits[best] != hits[-1]).any() else 0.0
    pairs = draw(rows, others, codes, other_codes)
    _fit_logdet(estimator, *pairs, gamma, space, X.dtype)


def _given(
    pairs: Tuples, signs: IntArray, bounds: Bounds | None, random_state: RandomState
) -> Pairs:
    """Take the differences of given pairs, and random pairs for the bounds."""
    points = pairs.points
    anyone = random_state.randint(len(points), size=(10_000, 2))
    near, far, random = (
        points[rows[:, 0]] - points[rows[:, 1]]
        for rows in (pairs.indices[signs == 1], pairs.indices[signs == -1], anyone)
    )
    return scale_by_bounds(near, far, random, bounds, points.dtype)


def scale_by_bounds(
    near: FloatArray,
    far: FloatArray,
    anyone: FloatArray,
    bounds: Bounds | None,
    dtype: Any,
) -> Pairs:
    """Divide differences by the roots of their bounds; drop those of duplicates.

    Bounds of None are the 5th and 95th percentiles of the squared distances of random
    pairs, as in section 5 of Davis et al. `dtype` tells the precision of the data.
    """
    rounding = float(4 * np.finfo(dtype).eps) ** 2
    squares = np.einsum("ij,ij->i", anyone, anyone)
    squares = squares[squares > rounding * squares.max()]
    # If all rows are equal, no pair is left and the bounds do not matter.
    low, high = np.percentile(squares, [5, 95]) if len(squares) else (1.0, 1.0)
    near, far = (V[np.einsum("ij,ij->i", V, V) > rounding * high] for V in (near, far))
    u, v = bounds or (float(low), float(high))
    return near / np.sqrt(u), far / np.sqrt(v), (u, v)


def _gamma_path(near: FloatArray, far: FloatArray) -> list[FloatArray]:
    """Fit a map for each of GAMMAS, roughly, each starting from the one before."""
    maps: list[FloatArray] = [np.eye(near.shape[1])]
    for gamma in GAMMAS:
        objective = LogDetObjective(near, far, gamma)
        maps.append(optimize.maximize(objective, maps[-1], max_iter=20, tol=1e-3).x)
    return maps[1:]


def _choose_gamma_for_pairs(
    pairs: Tuples, signs: IntArray, bounds: Bounds | None, random_state: RandomState
) -> float:
    """Choose γ by the area under the ROC curve of held-out pairs, in three folds.

    The choice is the least γ, or 0, within one standard error of the best.
    """
    from sklearn.metrics import roc_auc_score  # slow to import

    if min((signs == 1).sum(), (signs == -1).sum()) < 3:
        return 0.0 if not (signs == -1).any() else GAMMAS[1]
    areas = []
    for held in held_out((signs > 0).astype(np.intp), random_state, 3):
        near, far, _ = _given(pairs.subset(~held), signs[~held], bounds, random_state)
        maps = [np.eye(pairs.points.shape[1]), *_gamma_path(near, far)]
        lengths = [pairs.subset(held).lengths(A, 0, 1) for A in maps]
        areas.append([roc_auc_score(signs[held], -one) for one in lengths])
    return (0.0, *GAMMAS)[one_standard_error_choice(np.array(areas).T)]


def _fit_logdet(
    estimator: Any,
    near: FloatArray,
    far: FloatArray,
    bounds: Bounds,
    gamma: float,
    space: PriorSpace,
    dtype: Any,
) -> None:
    """Solve the LogDet problem and set the fitted attributes."""
    objective = LogDetObjective(near, far, gamma)
    solution = maximize(estimator, objective, np.eye(space.points.shape[1]))
    estimator.components_ = space.to_features(solution.x).astype(dtype)
    estimator.bounds_, estimator.gamma_ = bounds, gamma
    set_solution(estimator, solution)
