"""Least squared-residual metric learning."""

from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.classic._shared import (
    PriorSpace,
    at_least_one,
    maximize,
    minus_logdet_divergence,
    set_solution,
)
from vicinal.classic.constraints import default_n_pairs, quadruplets_from_labels
from vicinal.classic.tuples import Differences, TupleMetric, Tuples


@dataclass(eq=False, repr=False)
class LSML(TupleMetric):
    """Least squared-residual metric learning.

    Learns from quadruplets (a, b, c, d), in which a and b should be nearer to each
    other than c and d [1]_. The Mahalanobis matrix minimizes

        Tr(M M₀⁻¹) − log det M + γ Σ w max(0, d_M(a, b) − d_M(c, d))²,

    eq. 3 and 4 of [1]_. Quadruplets are given, or drawn from points with labels: a and
    b of the same class, c and d of different classes.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of violated quadruplets, for distances in units in which the mean
        squared distance of the pairs is 1 under the prior.
    prior : {"identity", "covariance"} or array-like, default="identity"
        M₀: the identity, the inverse of the Ledoit-Wolf covariance, or a matrix of
        shape (n_features, n_features).
    n_constraints : int or "auto", default="auto"
        Number of quadruplets to draw from labels; "auto" is half of the number of
        pairs of :class:`vicinal.classic.ITML`.
    max_iter : int, default=200
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-6
        Stop if an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        If above 0, print a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the choice of quadruplets.
    preprocessor : array-like of shape (n_points, n_features), callable or None, \
default=None
        The points, if quadruplets are given as indices; or a function that returns
        points for an array of indices.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, with the largest eigenvalue of M first; float32 if X is. With more
        features than points and prior="identity", it has a row for each dimension of
        the span of the points.
    n_iter_ : int
        Number of iterations, at least 1.
    objective_curve_ : ndarray
        Minus the loss, relative to the prior without violations, at the start and
        after each iteration; it never falls.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

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

    _tuple_size = 4
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **TupleMetric._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "n_constraints": [at_least_one, StrOptions({"auto"})],
    }

    gamma: float = 1.0
    _: KW_ONLY
    prior: str | ArrayLike = "identity"
    n_constraints: int | str = "auto"
    verbose: int = 0

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, weights: ArrayLike | None = None
    ) -> Self:
        """Fit the metric to labels or to quadruplets.

        Parameters
        ----------
        X : array-like
            Points of shape (n_samples, n_features); or quadruplets of points, of shape
            (n_quadruplets, 4, n_features); or with `preprocessor` of indices, of shape
            (n_quadruplets, 4).
        y : array-like of shape (n_samples,) or None, default=None
            The classes of the points, at least two. Quadruplets have no y.
        weights : array-like of shape (n_quadruplets,) or None, default=None
            w, for given quadruplets; only their ratios matter. None is equal weights.

        Returns
        -------
        self
        """
        return self._fit(X, y, weights=weights)

    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        n = self.n_constraints
        if isinstance(n, str):
            n = default_n_pairs(n, int(codes.max()) + 1, X.shape[1])
        indices = quadruplets_from_labels(
            codes, n, random_state=check_random_state(self.random_state)
        )
        self._learn_tuples(Tuples(X, indices))

    def _learn_tuples(self, tuples: Tuples, weights: ArrayLike | None = None) -> None:
        w = _checked_weights(weights, len(tuples))
        known = tuples.used()
        space = PriorSpace(known.points, self.prior)
        points = space.points - space.points.mean(axis=0)
        # The unit in which the mean squared distance of the pairs is 1.
        near, far = (
            Tuples(points, known.indices).differences(a, a + 1) for a in (0, 2)
        )
        total = near.squares().sum() + far.squares().sum()
        unit = float(np.sqrt(total / (2 * len(tuples)))) or 1.0
        near, far = (replace(pairs, points=points / unit) for pairs in (near, far))
        objective = SquaredResiduals(near, far, self.gamma * w)
        solution = maximize(self, objective, np.eye(points.shape[1]))
        rows = space.to_features(solution.x)
        self.components_ = rows.astype(tuples.points.dtype)
        set_solution(self, solution)


@dataclass(frozen=True, eq=False)
class SquaredResiduals:
    """Minus the loss of LSML at a square map A, with M = AᵀA and M₀ = I.

    Attributes
    ----------
    near, far : Differences
        a − b and c − d of the quadruplets.
    weights : ndarray of shape (n_quadruplets,)
        The weights, times γ.
    """

    near: Differences
    far: Differences
    weights: FloatArray

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return minus the loss and its gradient with respect to the map."""
        value, gradient = minus_logdet_divergence(components)
        if value == np.finfo(np.float64).min:
            return value, gradient
        Z_near, Z_far = self.near.project(components), self.far.project(components)
        d_near, d_far = (np.sqrt(np.einsum("ij,ij->i", Z, Z)) for Z in (Z_near, Z_far))
        residuals = np.maximum(d_near - d_far, 0)
        value -= float(self.weights @ np.square(residuals))
        slopes = 2 * self.weights * residuals
        Z_near *= (slopes / np.maximum(d_near, np.finfo(np.float64).tiny))[:, None]
        # If c and d are mapped to one point, the subgradient 0 is taken.
        Z_far *= (slopes / np.where(d_far > 0, d_far, np.inf))[:, None]
        gradient += self.far.back_project(Z_far) - self.near.back_project(Z_near)
        return value, gradient


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
    return w / w.mean()
