"""Information-theoretic metric learning."""

import sys
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import of_unscaled
from vicinal.base.row_space import Span, span_of
from vicinal.classic._gamma import choose_gamma
from vicinal.classic._pair_bounds import LogDetObjective, PairBounds
from vicinal.classic._supervised import SupervisedMetric
from vicinal.neighborhood import effective_n_threads
from vicinal.solvers import SOLVERS, Solution

# 20 for each pair of classes are as many from 10 and from 23 classes on.
FEWEST_CONSTRAINTS, MOST_CONSTRAINTS = 2_000, 10_000
# With many features fewer, but not below the second number: an iteration multiplies
# each pair with a square matrix.
AFFORDABLE, FEWEST_AFFORDABLE = 2.5e8, 1_000


class ITML(SupervisedMetric):
    """Information-theoretic metric learning.

    The Mahalanobis matrix nearest to a prior one, by the LogDet divergence, under
    which random pairs of one class are near and pairs of two classes far [1]_: eq. 8
    of [2]_, with slack.

    Parameters
    ----------
    gamma : float or "cv", default="cv"
        The price of slack: small values stay at the prior, large ones insist on the
        constraints. "cv" tries 0.001, 0.01, 0.1 and 1 by 3-NN on rows held out, and
        takes the least that is within one standard error of the best and one better
        than the prior; where none is, the metric is the prior.
    prior : {"identity", "covariance"}, default="identity"
        The matrix to stay near: the identity, or the inverse of the covariance, as
        Ledoit and Wolf estimate it.
    n_constraints : int or "auto", default="auto"
        How many pairs, half of them of one class. "auto" is 20 times the squared
        number of classes, at least 2,000 and at most 10,000; fewer, but 1,000 at least,
        with more than 158 features.
    max_iter : int, default=200
        Iterations of L-BFGS at most.
    tol : float, default=1e-5
        Stop when an iteration gains less than this, relative to the objective.
    verbose : int, default=0
        Above 0, prints a line for each iteration.
    random_state : int, RandomState or None, default=None
        For the choice of pairs, and for the folds of gamma="cv".

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        Λ^½ Lᵀ of the learned M = L Λ Lᵀ (section 3 of [2]_), the largest eigenvalue
        first; float32 if X is. With more features than rows and the identity for a
        prior, only as many rows as there are dimensions that the rows of X differ in:
        along all others M is the identity.
    gamma_ : float
        The γ in use; 0 where "cv" found none better than the prior.
    bounds_ : tuple of two floats
        u and v: pairs of one class shall have at most the squared distance u, others
        at least v. The 5th and 95th percentiles over random pairs, under the prior.
    n_iter_ : int
        Iterations, 1 at least.
    objective_curve_ : ndarray
        The objective at the start and after each iteration: the divergence from the
        prior and the price of all slack. It never rises.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    Notes
    -----
    The problem is convex, and what [1]_ solves by projections onto one pair after
    the other is solved here for all pairs at once, by L-BFGS over the map: the same
    optimum in tens of iterations rather than in thousands of rounds. An iteration costs
    O(n_constraints · n_features²), whatever the number of rows.

    M has full rank. To reduce the dimension as [2]_ does, pick features of the mapped
    points: ``make_pipeline(ITML(), MRMR(n_features_to_select=5))``.

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
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "gamma": [Interval(Real, 0, None, closed="neither"), StrOptions({"cv"})],
        "prior": [StrOptions({"identity", "covariance"})],
        "n_constraints": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        gamma: float | str = "cv",
        *,
        prior: str = "identity",
        n_constraints: int | str = "auto",
        max_iter: int = 200,
        tol: float = 1e-5,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.gamma = gamma
        self.prior = prior
        self.n_constraints = n_constraints
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _learn(
        self,
        X: FloatArray,
        codes: IntArray,
        other_X: FloatArray | None = None,
        other_codes: IntArray | None = None,
    ) -> None:
        """Draw pairs of rows of X, or of X and other points, and learn M from them."""
        random_state = check_random_state(self.random_state)
        n_threads = effective_n_threads(None)
        space = self._space(X, other_X)
        if space.span is not None:
            points, others = np.split(space.span.coordinates, [len(X)])
        else:
            points, others = X, X[:0] if other_X is None else other_X
        n_pairs = self._number_of_pairs(codes, other_codes, space.n_coordinates)
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = choose_gamma(
                points, codes, n_pairs, random_state, space.of_points, n_threads
            )
        pairs = PairBounds.draw(
            points, codes, n_pairs, random_state, space.of_points,
            None if other_X is None else others, other_codes,
        )  # fmt: skip
        objective = LogDetObjective(pairs, gamma, n_threads)
        solver = SOLVERS["lbfgs"](max_iter=self.max_iter, tol=self.tol)
        start = np.eye(space.n_coordinates)
        found: Solution = solver.maximize(objective, start, self._say)
        self._store(found, space, pairs.bounds, X.dtype)
        self.gamma_ = gamma
        self._warn_unless_converged(found)

    def _space(self, X: FloatArray, other_X: FloatArray | None) -> "_Space":
        """Return coordinates under which the prior is the identity."""
        everyone = X if other_X is None else np.vstack([X, other_X])
        n, n_features = everyone.shape
        if self.prior == "identity" and n_features > n:
            span = span_of(everyone.astype(np.float64))
            return _Space(span.n_coordinates, lambda points: points, span.unit, span)
        # A unit in which no square overflows: it changes neither prior nor pairs.
        unit = float(np.abs(everyone).max()) or 1.0
        root = np.eye(n_features)
        if self.prior == "covariance":
            from sklearn.covariance import ledoit_wolf  # slow to import

            covariance = ledoit_wolf(everyone.astype(np.float64) / unit)[0]
            values, vectors = np.linalg.eigh(covariance)
            if values[0] > 0:  # else all rows are equal
                root = vectors / np.sqrt(values)

        def of_points(points: FloatArray) -> FloatArray:
            seen = points.astype(np.float64) / unit
            return seen if self.prior == "identity" else seen @ root

        return _Space(n_features, of_points, unit, None, root)

    def _number_of_pairs(
        self, codes: IntArray, other_codes: IntArray | None, n_coordinates: int
    ) -> int:
        """Return how many pairs to draw of one class, and as many of two."""
        if not isinstance(self.n_constraints, str):
            return self.n_constraints // 2
        largest = codes.max() if other_codes is None else max(
            codes.max(), other_codes.max()
        )  # fmt: skip
        wanted = max(20 * (int(largest) + 1) ** 2, FEWEST_CONSTRAINTS)
        affordable = max(int(AFFORDABLE / n_coordinates**2), FEWEST_AFFORDABLE)
        return min(wanted, MOST_CONSTRAINTS, affordable) // 2

    def _store(
        self,
        found: Solution,
        space: "_Space",
        bounds: tuple[float, float],
        dtype: Any,
    ) -> None:
        """Make the estimator fitted: M = L Λ Lᵀ is stored as Λ^½ Lᵀ."""
        A = found.components
        if space.span is None:
            _, sizes, axes = np.linalg.svd(A @ space.root.T)
            rows = sizes[:, None] * axes
        else:
            _, sizes, axes = np.linalg.svd(A)
            rows = sizes[:, None] * space.span.basis_to_features(axes.T)
        # The covariance, unlike the identity, was taken in that unit.
        covariance = self.prior == "covariance"
        self.components_ = of_unscaled(rows, space.unit if covariance else 1.0, dtype)
        with np.errstate(over="ignore", under="ignore"):
            squared = np.square(np.float64(1.0 if covariance else space.unit))
            self.bounds_ = (float(bounds[0] * squared), float(bounds[1] * squared))
        self.n_iter_ = max(1, found.n_iter)
        self.objective_curve_ = -np.array(found.curve)

    def _say(self, _: FloatArray, curve: list[float]) -> bool:
        """Print the iteration and its objective; never stop."""
        if self.verbose:
            name = type(self).__name__
            sys.stdout.write(f"[{name}] {len(curve) - 1:>10} {-curve[-1]:>16.6e}\n")
            sys.stdout.flush()
        return False

    def _warn_unless_converged(self, found: Solution) -> None:
        """Warn; to be called by `_learn`, so that the warning names fit's caller."""
        if found.converged:
            return
        if found.n_iter >= self.max_iter:
            advice = (
                f"did not converge in {found.n_iter} iterations; raise max_iter or tol"
            )
        else:
            advice = (
                f"could not go on after {found.n_iter} iterations ({found.message}); "
                "the metric is the best it found. Raise tol, or lower gamma"
            )
        warnings.warn(
            f"{type(self).__name__} {advice}.",
            ConvergenceWarning,
            stacklevel=5,  # past this, _learn, fit, and scikit-learn's wrapper of fit
        )


class _Space(NamedTuple):
    """Coordinates of the points under which the prior is the identity."""

    n_coordinates: int
    of_points: Callable[[FloatArray], FloatArray]
    """Takes points to coordinates, in float64."""
    unit: float
    """What a coordinate of 1 is in X, before the prior."""
    span: Span | None
    """The points' own coordinates, where they have more features than rows."""
    root: FloatArray = np.eye(1)
    """R with R Rᵀ = the prior; of no meaning in a span."""
