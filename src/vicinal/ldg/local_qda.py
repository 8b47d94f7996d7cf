"""Local quadratic discriminant analysis: the classifier behind LDG."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.linalg import centered
from vicinal.base.metric import labeled, unchanged_on_error, validate_data
from vicinal.ldg.local_gaussians import ClassPoints, least_spread
from vicinal.ldg.selection import Sample, choose_n_neighbors, warn_of_small_classes
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives.nca import check_class_prior

at_least_one = Interval(Integral, 1, None, closed="left")


@dataclass(eq=False, repr=False)
class LocalQDA(ClassifierMixin, BaseEstimator):
    """Local quadratic discriminant analysis.

    Around each point x to be classified, each class j is a Gaussian N(μ_j, σ_j² I),
    fitted to the k points of the class nearest to x. The prediction is the class with
    the largest p(j) N(x; μ_j, σ_j² I) (section 2 of [1]_). There is no training: the
    work is done at prediction.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        k. "auto" takes the best of 4, 8, 16, 32, 64 and 128 in five folds, the largest
        if several are; above 3,000 rows, it is chosen on 3,000 of them. A class with
        fewer points gives all it has.
    class_prior : array-like of shape (n_classes,), "empirical" or None, \
default="empirical"
        p(j), in the order of the sorted labels. "empirical" is each class's share of
        the rows; None is uniform.
    var_floor : float, default=1e-3
        The smallest σ_j², relative to the mean variance of the features. Neighbors
        that coincide, or a single one, have no variance.
    random_state : int, RandomState or None, default=None
        Draws the folds for n_neighbors="auto".
    n_jobs : int or None, default=None
        Number of threads. None uses as many as BLAS would; −1 uses all cores. The
        result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_neighbors_ : int
        The k in use.
    class_prior_ : ndarray of shape (n_classes,)
        p(j).
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has string names.

    See Also
    --------
    vicinal.LDG : Reduces the dimension for this classifier.

    Notes
    -----
    Cost: O(n²D) to choose k; O(mnD) to predict m rows.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [at_least_one, StrOptions({"auto"})],
        "class_prior": ["array-like", StrOptions({"empirical"}), None],
        "var_floor": [Interval(Real, 0, None, closed="neither")],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    n_neighbors: int | str = "auto"
    _: KW_ONLY
    class_prior: ArrayLike | str | None = "empirical"
    var_floor: float = 1e-3
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Store the points, and choose k if n_neighbors="auto".

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
        random_state = check_random_state(self.random_state)
        with unchanged_on_error(self):
            points, classes, codes = labeled(self, X, y)
            sizes = np.bincount(codes)
            priors = check_class_prior(self.class_prior, sizes)
            warn_of_small_classes(classes, sizes, self.n_neighbors, itself=0)

            order = np.argsort(codes, kind="stable")
            moved = centered(points[order])
            floor = least_spread(moved.points, self.var_floor)
            subset = ClassPoints.build(moved.points, codes[order], floor)
            sample = Sample.draw(
                subset, priors, points.shape[1], random_state, n_threads
            )
            self.n_neighbors_ = choose_n_neighbors(sample, self.n_neighbors)
            self.classes_, self.class_prior_ = classes, priors
            self._moved = moved._replace(points=moved.points[:0])
            self._references = subset
        return self

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each point.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points. A training point is one of its own neighbors.

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
            New points. A training point is one of its own neighbors.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`. With many features, the probabilities of
            Gaussians are close to 0 and 1.
        """
        scores = self._joint_log_likelihood(X)
        proba: FloatArray = softmax(scores, axis=1)
        return proba.astype(self._references.points.dtype, copy=False)

    def predict_log_proba(self, X: ArrayLike) -> FloatArray:
        """Return log p(j | x), which is finite even if p(j | x) underflows.

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
        """Return log p(j) N(x; μ_j, σ_j² I) up to a constant."""
        check_is_fitted(self)
        points: FloatArray = validate_data(self, X, reset=False, dtype=FLOATS)
        subset, n_threads = self._references, effective_n_threads(self.n_jobs)
        queries = self._moved.also(points)
        k, d = self.n_neighbors_, queries.shape[1]
        neighbors = subset.nearest(k, queries, n_threads)
        found = subset.log_densities(queries, neighbors, [k], d, n_threads)[0]
        return found + np.log(self.class_prior_)


def leave_one_out_error(
    X: ArrayLike, y: ArrayLike, components: ArrayLike | None = None, **parameters: Any
) -> float:
    """Return the leave-one-out error of the local MAP classifier (eq. 1 of LDG).

    The Gaussians around x_i are fitted to the other points, in the space of X, and
    mapped: p(Bᵀx_i | j) = N(Bᵀx_i; Bᵀμ_ij, BᵀB σ²_ij). At most n_j - 1 points of a
    class of n_j are used, for points of all classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The points.
    y : array-like of shape (n_samples,)
        Their classes. The only point of a class counts as an error.
    components : array-like of shape (n_components, n_features) or None, default=None
        Bᵀ, of full row rank, for instance `LDG.components_`; None is the identity.
    **parameters
        Those of `LocalQDA`.

    Returns
    -------
    float
        Eq. 1 divided by the number of points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import LDG
    >>> from vicinal.ldg import leave_one_out_error
    >>> X, y = load_iris(return_X_y=True)
    >>> ldg = LDG(2, n_neighbors=16, gamma=0.6).fit(X, y)
    >>> error = leave_one_out_error(X, y, ldg.components_, n_neighbors=16)
    >>> bool(error < 0.06)
    True
    """
    model = LocalQDA(**parameters).fit(X, y)
    subset, d = model._references, model._references.points.shape[1]
    B = np.eye(d) if components is None else np.linalg.qr(np.transpose(components))[0]
    n_threads = effective_n_threads(model.n_jobs)
    scores = np.empty((len(subset.points), subset.n_classes))
    for j, nearest in enumerate(subset.nearest(model.n_neighbors_, None, n_threads)):
        means, spreads = next(subset.gaussians(nearest, [nearest.shape[1]]))
        squares = np.square((means - subset.points) @ B).sum(axis=1)
        variances = spreads / d
        scores[:, j] = -0.5 * (squares / variances + B.shape[1] * np.log(variances))
    scores += np.log(model.class_prior_)
    own = scores[np.arange(len(scores)), subset.codes]
    alone = (np.diff(subset.bounds) == 1)[subset.codes]
    return float(np.mean((own < scores.max(axis=1)) | alone))
