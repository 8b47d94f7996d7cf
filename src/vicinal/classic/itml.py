"""Information-theoretic metric learning."""

import sys
import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import LinearMetric
from vicinal.base.validation import LearnsFromClasses, labelled
from vicinal.classic._bregman import Projected, project
from vicinal.classic._sampled_pairs import random_pairs

MOST_CONSTRAINTS = 10_000
"""20 for each pair of classes are more than that from 23 classes on."""
PERCENTILES = (5, 95)
PAIRS_FOR_PERCENTILES = 10_000


class ITML(LearnsFromClasses, LinearMetric):
    """Information-theoretic metric learning.

    The Mahalanobis matrix nearest to a prior one, by the LogDet divergence, under
    which random pairs of one class are near and pairs of two classes far [1]_: eq. 8
    of [2]_, with slack.

    Parameters
    ----------
    gamma : float, default=1.0
        The price of slack: small values stay at the prior, large ones insist on the
        constraints. Worth a search over powers of ten.
    prior : {"identity", "covariance"}, default="identity"
        The matrix to stay near: the identity, or the inverse of the covariance, as
        Ledoit and Wolf estimate it.
    n_constraints : int or "auto", default="auto"
        How many pairs, half of them of one class. "auto" is 20 times the squared
        number of classes, and at most 10,000.
    max_iter : int, default=1000
        Rounds over all constraints, at most.
    tol : float, default=1e-2
        Stop when a round changes the multipliers of the constraints by less than
        this, relative to their size.
    verbose : int, default=0
        Above 0, prints a line for each round.
    random_state : int, RandomState or None, default=None
        For the choice of pairs.

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        Λ^½ Lᵀ of the learned M = L Λ Lᵀ (section 3 of [2]_), the largest eigenvalue
        first; float32 if X is.
    bounds_ : tuple of two floats
        u and v: pairs of one class shall have at most the squared distance u, others
        at least v. The 5th and 95th percentiles over random pairs, under the prior.
    n_iter_ : int
        Rounds.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The dual objective at the start and after each round; it never falls.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    Notes
    -----
    A projection costs O(n_features²), whatever the number of rows.
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
        "gamma": [Interval(Real, 0, None, closed="neither")],
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
        gamma: float = 1.0,
        *,
        prior: str = "identity",
        n_constraints: int | str = "auto",
        max_iter: int = 1000,
        tol: float = 1e-2,
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

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            points, _, codes = labelled(self, X, y)
            found = self._learn(points, codes)
        self._warn_unless_converged(found)
        return self

    def _learn(
        self,
        X: FloatArray,
        codes: IntArray,
        other_X: FloatArray | None = None,
        other_codes: IntArray | None = None,
    ) -> Projected:
        """Draw pairs, among X or across to other points, project, and keep M."""
        random_state = check_random_state(self.random_state)
        second = X if other_X is None else other_X
        # A unit in which no square overflows: it changes neither prior nor pairs.
        unit = max(float(np.abs(points).max()) for points in (X, second)) or 1.0
        root = self._root_of_prior(X, other_X, unit)

        def differences(first_rows: IntArray, second_rows: IntArray) -> FloatArray:
            """Return them where the prior is the identity."""
            first = X[first_rows].astype(np.float64) / unit
            seen: FloatArray = (first - second[second_rows] / unit) @ root
            return seen

        n_pairs = self._number_of_pairs(codes, other_codes)
        alike, unlike = (
            random_pairs(codes, other_codes, n_pairs, same, random_state)
            for same in (True, False)
        )
        if not len(alike[0]):
            raise ValueError("No two rows that could be paired are of one class.")
        anyone = (
            random_state.randint(len(points), size=PAIRS_FOR_PERCENTILES)
            for points in (X, second)
        )
        u, v = _percentiles(differences(*anyone))
        V = np.vstack([differences(*alike), differences(*unlike)])
        sign = np.repeat([1.0, -1.0], [len(alike[0]), len(unlike[0])])
        # Duplicates cannot be moved. In random order: else all that shall be near
        # would be moved before all that shall be far.
        apart = np.flatnonzero((V**2).sum(axis=1) > 1e-12 * v)
        order = random_state.permutation(apart)
        V, sign = V[order], sign[order]
        bounds = np.where(sign > 0, u, v)
        found = project(V, sign, bounds, self.gamma, self.max_iter, self.tol, self._say)
        self._store(found, root, (u, v), unit, X.dtype)
        return found

    def _root_of_prior(
        self, X: FloatArray, other_X: FloatArray | None, unit: float
    ) -> FloatArray:
        """Return R with R Rᵀ = the prior, for points in that unit."""
        identity: FloatArray = np.eye(X.shape[1])
        if self.prior == "identity":
            return identity
        from sklearn.covariance import ledoit_wolf  # slow to import

        everyone = X if other_X is None else np.vstack([X, other_X])
        covariance = ledoit_wolf(everyone.astype(np.float64) / unit)[0]
        values, vectors = np.linalg.eigh(covariance)
        if values[0] <= 0:  # all rows are equal
            return identity
        root: FloatArray = vectors / np.sqrt(values)
        return root

    def _number_of_pairs(self, codes: IntArray, other_codes: IntArray | None) -> int:
        """Return how many pairs to draw of one class, and as many of two."""
        if not isinstance(self.n_constraints, str):
            return self.n_constraints // 2
        largest = codes.max() if other_codes is None else max(
            codes.max(), other_codes.max()
        )  # fmt: skip
        return int(min(20 * (largest + 1) ** 2, MOST_CONSTRAINTS)) // 2

    def _store(
        self,
        found: Projected,
        root: FloatArray,
        bounds: tuple[float, float],
        unit: float,
        dtype: Any,
    ) -> None:
        """Make the estimator fitted: M = L Λ Lᵀ is kept as Λ^½ Lᵀ."""
        values, vectors = np.linalg.eigh(root @ found.M @ root.T)
        rows = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        # The covariance, unlike the identity, was taken in that unit.
        inverse = 1.0 if self.prior == "identity" else 1 / unit
        self.components_ = (inverse * rows[::-1]).astype(dtype)
        with np.errstate(over="ignore", under="ignore"):
            squared = np.square(np.float64(unit * inverse))
            self.bounds_ = (float(bounds[0] * squared), float(bounds[1] * squared))
        self.n_iter_ = len(found.curve) - 1
        self.objective_curve_ = np.array(found.curve)

    def _say(self, n_round: int, dual: float) -> None:
        if self.verbose:
            name = type(self).__name__
            sys.stdout.write(f"[{name}] {n_round:>10} {dual:>16.6e}\n")
            sys.stdout.flush()

    def _warn_unless_converged(self, found: Projected) -> None:
        """Warn; to be called by fit itself, so that the warning names its caller."""
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.n_iter_} rounds; "
                "raise max_iter or tol, or lower gamma.",
                ConvergenceWarning,
                stacklevel=4,  # past this, fit, and scikit-learn's wrapper of fit
            )


def _percentiles(differences: FloatArray) -> tuple[float, float]:
    """Return the 5th and 95th percentile of the squared lengths that are not 0."""
    squares = (differences**2).sum(axis=1)
    apart = squares > 1e-12 * squares.max()
    if not apart.any():
        return 1.0, 1.0  # all rows are equal, and no pair will be bound by it
    low, high = np.percentile(squares[apart], PERCENTILES)
    return float(low), float(high)
