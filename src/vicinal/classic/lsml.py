"""Least squared-residual metric learning."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.differences import Differences
from vicinal.base.order_classifier import QuadrupletClassifier
from vicinal.base.tuples import Preprocessor, Tuples
from vicinal.base.tuples_from_labels import quadruplets_from_labels
from vicinal.classic._prior import prior_space
from vicinal.classic._sampled_pairs import number_of_pairs
from vicinal.classic._solve import maximize, warn_unless_converged
from vicinal.neighborhood import effective_n_threads


class LSML(QuadrupletClassifier):
    """Least squared-residual metric learning.

    Learns from quadruplets (a, b, c, d), of which a and b shall be nearer to each other
    than c and d [1]_: the Mahalanobis matrix of the least

        Tr(M M₀⁻¹) − log det M + γ Σ w max(0, d_M(a, b) − d_M(c, d))²,

    eq. 3 and 4 of [1]_. The quadruplets are given, or drawn from points with labels:
    a and b of one class, c and d of two.

    Parameters
    ----------
    gamma : float, default=1.0
        What a violated quadruplet costs, with distances in units in which the mean
        squared distance of the pairs is 1 under the prior.
    prior : {"identity", "covariance"} or array-like, default="identity"
        M₀: the identity, the inverse of the covariance, as Ledoit and Wolf estimate
        it, or a matrix of shape (n_features, n_features).
    n_constraints : int or "auto", default="auto"
        How many quadruplets to draw from labels; "auto" is half of what
        :class:`vicinal.classic.ITML` draws pairs.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-6
        Stop when an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the choice of quadruplets.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, where quadruplets are given as indices; or what returns points for
        an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, the largest eigenvalue of M first; float32 if X is. With more features
        than points and the identity for a prior, it has a row for each dimension that
        the points differ in.
    n_iter_ : int
        Iterations, 1 at least.
    objective_curve_ : ndarray
        The objective, less its value at the prior without violations, at the start and
        after each iteration. It never rises.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.classic.ITML : Learns from pairs.
    vicinal.classic.SCML : Learns from triplets.

    Notes
    -----
    The objective is convex in M, and smooth; L-BFGS over the map finds its optimum.

    Cost: O(n_quadruplets · D²) for each iteration.

    References
    ----------
    .. [1] Liu, Guo, Zhou, Wang, Peng, Xu. Metric Learning from Relative Comparisons by
       Minimizing Squared Residual. International Conference on Data Mining, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import LSML, quadruplets_from_labels
    >>> X, y = load_wine(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> quadruplets = quadruplets_from_labels(y, 300, random_state=0)
    >>> bool(cross_val_score(LSML(preprocessor=X), quadruplets).mean() > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "prior": [StrOptions({"identity", "covariance"}), "array-like"],
        "n_constraints": [
            Interval(Integral, 1, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "preprocessor": ["array-like", callable, None],
    }

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        prior: str | ArrayLike = "identity",
        n_constraints: int | str = "auto",
        max_iter: int = 200,
        tol: float = 1e-6,
        verbose: int = 0,
        random_state: int | RandomState | None = None,
        preprocessor: Preprocessor | None = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.preprocessor = preprocessor

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> Self:
        """Learn the map, from labels or from quadruplets.

        Parameters
        ----------
        X : array-like
            Points of shape (n_samples, n_features); or quadruplets of points, of shape
            (n_quadruplets, 4, n_features); or with `preprocessor` of indices, of shape
            (n_quadruplets, 4).
        y : array-like of shape (n_samples,) or None, default=None
            The points' classes, two at least. Quadruplets have none.
        weights : array-like of shape (n_quadruplets,) or None, default=None
            w, of given quadruplets; only their ratios matter. None is all alike.

        Returns
        -------
        self
        """
        return self._fit(X, y, weights=weights)

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        n = self.n_constraints
        if isinstance(n, str):
            n = number_of_pairs(n, int(codes.max()) + 1, X.shape[1])
        indices = quadruplets_from_labels(
            codes, n, random_state=check_random_state(self.random_state)
        )
        self._learn_tuples(Tuples(X, indices))

    def _learn_tuples(
        self, tuples: Tuples, weights: ArrayLike | None = None, **_: Any
    ) -> None:
        w = _checked_weights(weights, len(tuples))
        known = tuples.used()
        space = prior_space(known.points, self.prior)
        points = space.coordinates(known.points)
        points = points - points.mean(axis=0)
        n_threads = effective_n_threads(None)
        unit = _root_mean_square(Tuples(points, known.indices), n_threads)
        near, far = (
            Tuples(points / unit, known.indices).differences(*places, n_threads)
            for places in (self._near, self._far)
        )
        objective = SquaredResiduals(near, far, self.gamma * w)
        found = maximize(self, objective, np.eye(points.shape[1]))
        self.components_ = space.to_map(found.components, tuples.points.dtype)
        self.n_iter_ = max(1, found.n_iter)
        self.objective_curve_ = -np.array(found.curve)
        warn_unless_converged(self, found, "Raise tol, or lower gamma")


@dataclass(frozen=True, eq=False)
class SquaredResiduals:
    """Minus LSML's loss at a square map A, with M = AᵀA and the identity for a prior.

    Attributes
    ----------
    near, far : Differences
        a − b and c − d of the quadruplets.
    weights : ndarray of shape (n_quadruplets,)
        What they cost.
    """

    near: Differences
    far: Differences
    weights: FloatArray

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the loss and its derivative with respect to the map."""
        A = components
        sign, log_det = np.linalg.slogdet(A)
        if sign == 0 or not np.isfinite(log_det):
            # Where a line search has gone too far: so low that it turns back.
            return -np.finfo(np.float64).max, np.zeros_like(A)
        loss = float(np.square(A).sum() - 2 * log_det - len(A))
        gradient = 2 * (A - np.linalg.inv(A).T)
        Z_near, Z_far = self.near.project(A), self.far.project(A)
        d_near, d_far = (np.sqrt(np.einsum("ij,ij->i", Z, Z)) for Z in (Z_near, Z_far))
        residuals = np.maximum(d_near - d_far, 0)
        loss += float(self.weights @ np.square(residuals))
        slopes = 2 * self.weights * residuals
        tiny = np.finfo(np.float64).tiny
        Z_near *= (slopes / np.maximum(d_near, tiny))[:, None]
        # Where c and d are mapped to one point, any direction would part them.
        Z_far *= (slopes / np.where(d_far > 0, d_far, np.inf))[:, None]
        gradient += self.near.back_project(Z_near) - self.far.back_project(Z_far)
        return -loss, -gradient


def _checked_weights(weights: ArrayLike | None, n: int) -> FloatArray:
    """Return weights with a mean of one."""
    if weights is None:
        return np.ones(n)
    w = check_array(weights, ensure_2d=False, dtype=np.float64, input_name="weights")
    if w.shape != (n,) or (w < 0).any() or not w.any():
        raise ValueError(
            f"weights must be {n} numbers, one for each of the quadruplets, none below "
            "0 and not all 0."
        )
    scaled: FloatArray = w / w.mean()
    return scaled


def _root_mean_square(tuples: Tuples, n_threads: int) -> float:
    """Return the root of the mean squared length of both pairs of quadruplets."""
    total = sum(
        float(tuples.differences(a, b, n_threads).squares().sum())
        for a, b in ((0, 1), (2, 3))
    )
    return float(np.sqrt(total / (2 * len(tuples)))) or 1.0
