"""Local quadratic discriminant analysis: the classifier behind LDG."""

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import unchanged_on_error
from vicinal.base.row_space import centered
from vicinal.base.validation import labeled, validate_data
from vicinal.ldg._local_gaussians import ClassPoints
from vicinal.ldg._model_selection import choose_n_neighbors, sampled_rows
from vicinal.ldg._validation import (
    LOCAL_CONSTRAINTS,
    checked_priors,
    least_spread,
    source_of_chance,
    warn_of_small_classes,
)
from vicinal.neighborhood import effective_n_threads


class LocalQDA(ClassifierMixin, BaseEstimator):
    """Local quadratic discriminant analysis.

    Around each point x to be classified, each class j is a Gaussian N(μ_j, σ_j² I)
    made of the k points of the class that are nearest to x; x gets the class with the
    largest p(j) N(x; μ_j, σ_j² I) (section 2 of [1]_). Nothing is trained: the work is
    done where a prediction is wanted.

    Parameters
    ----------
    n_neighbors : int or "cv", default="cv"
        k. "cv" takes the best of 4, 8, 16, 32, 64 and 128 in five folds, and the
        largest of equals; above 3,000 rows it is chosen on 3,000 of them. A class
        with fewer points gives all it has.
    priors : array-like of shape (n_classes,) or None, default=None
        p(j), in the order of the sorted labels; None is each class's share of rows.
    var_floor : float, default=1e-3
        The least σ_j², as a part of the features' mean variance in X. Neighbours that
        coincide, or a single one, have no variance of their own.
    random_state : int, RandomState or None, default=None
        For the folds of n_neighbors="cv". None draws the same ones each time.
    n_jobs : int or None, default=None
        Threads. None is as many as BLAS would use; −1 is all cores. The result is
        the same for any number.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_neighbors_ : int
        The k in use.
    priors_ : ndarray of shape (n_classes,)
        p(j).
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.LDG : Reduces the dimension for this classifier.

    Notes
    -----
    Cost: a fit chooses k in five folds, O(n²D); predicting m rows takes O(mnD).

    References
    ----------
    .. [1] Parrish, Gupta. Dimensionality Reduction by Local Discriminative Gaussians.
       International Conference on Machine Learning, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from vicinal import LocalQDA
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(cross_val_score(LocalQDA(n_neighbors=16), X, y).mean() > 0.94)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = LOCAL_CONSTRAINTS
    classes_: NDArray[Any]
    n_neighbors_: int
    priors_: NDArray[np.float64]

    def __init__(
        self,
        n_neighbors: int | str = "cv",
        *,
        priors: ArrayLike | None = None,
        var_floor: float = 1e-3,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.priors = priors
        self.var_floor = var_floor
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Store the points, and choose k where that was asked for.

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
        n_threads = effective_n_threads(self.n_jobs)
        random_state = source_of_chance(self.random_state)
        with unchanged_on_error(self):
            points, classes, codes = labeled(self, X, y)
            priors = checked_priors(self.priors, codes)
            warn_of_small_classes(
                classes, np.bincount(codes), self.n_neighbors, itself=0
            )

            order = np.argsort(codes, kind="stable")
            points, codes = points[order], codes[order]
            moved = centered(points)
            points = moved.points
            floor = least_spread(points, self.var_floor)
            if isinstance(self.n_neighbors, str):
                sample = sampled_rows(codes, random_state)
                k = choose_n_neighbors(
                    points[sample], codes[sample], priors, floor, points.shape[1],
                    random_state, n_threads,
                )  # fmt: skip
            else:
                k = self.n_neighbors
            self.n_neighbors_, self.classes_, self.priors_ = k, classes, priors
            self._moved = moved._replace(points=points[:0])
            self._references = ClassPoints.build(points, codes, floor)
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points. A training point is one of its own neighbours.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._joint_log_likelihood(X)
        return self.classes_[scores.argmax(axis=1)]

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return p(j | x) ∝ p(j) N(x; μ_j, σ_j² I) of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points. A training point is one of its own neighbours.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`. With many features the probabilities
            are close to 0 and 1, as those of all Gaussians are.
        """
        scores = self._joint_log_likelihood(X)
        proba: FloatArray = softmax(scores, axis=1)
        return proba.astype(self._references.points.dtype, copy=False)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return the logarithms of `predict_proba`, also where those are 0.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        scores: FloatArray = log_softmax(self._joint_log_likelihood(X), axis=1)
        return scores.astype(self._references.points.dtype, copy=False)

    def _joint_log_likelihood(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return log p(j) N(x; μ_j, σ_j² I), but for a constant."""
        check_is_fitted(self)
        points: FloatArray = validate_data(self, X, reset=False, dtype=FLOATS)
        subset, n_threads = self._references, effective_n_threads(self.n_jobs)
        queries = self._moved.also(points)
        k, d = self.n_neighbors_, queries.shape[1]
        neighbors = subset.nearest(k, queries, n_threads)
        found = subset.log_densities(queries, neighbors, [k], d, n_threads)[0]
        return found + np.log(self.priors_)
