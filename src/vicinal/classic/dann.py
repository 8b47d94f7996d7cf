"""Discriminant adaptive nearest neighbours."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.linalg import centered
from vicinal.base.metric import (
    labeled,
    unchanged_on_error,
    validate_data,
)
from vicinal.base.selection import checked_n_components, nearest_points
from vicinal.classic._shared import at_least_one
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.neighborhood.threads import blocks, map_in_order


@dataclass(eq=False, repr=False)
class DANNClassifier(ClassifierMixin, BaseEstimator):
    """Discriminant adaptive nearest neighbours.

    k-NN with a separate metric for each query: neighborhoods are stretched along
    directions in which the classes do not differ, and shrunk along those in which they
    do [1]_. The metric is Σ = W^(−½) [W^(−½) B W^(−½) + ε I] W^(−½) (eq. 9 of [1]_),
    with the covariances W within and B between the classes of the query's nearest
    points, weighted by distance. It is updated `n_updates` times, each time with the
    nearest points under the last metric.

    Parameters
    ----------
    n_neighbors : int, default=5
        k of the vote, under the query's metric.
    n_neighborhood : int or "auto", default="auto"
        Number of points that the metric is estimated from. "auto" is max(n / 5, 50),
        as in [1]_, or all rows if there are fewer.
    epsilon : float, default=1.0
        ε: small values allow elongated neighborhoods.
    shrinkage : float or "auto", default="auto"
        Shrinkage of W towards a multiple of the identity, from 0, as in [1]_, to 1: the
        covariance of few points in many dimensions is mostly noise. "auto" is
        d / (d + m) for m points in d dimensions.
    n_components : int, "auto" or None, default="auto"
        Number of leading principal directions to use; None is all features. A query
        costs O(n_samples · n_components²), so that "auto" uses at most 50.
    n_updates : int, default=1
        Number of updates of the metric. 0 is plain k-NN.
    n_jobs : int or None, default=None
        Number of threads. None is the number that BLAS would use; −1 is all cores. The
        result does not depend on it.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    n_components_ : int
        Number of directions in use.
    n_neighborhood_ : int
        Number of points that a metric is estimated from.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.LocalQDA : Another local classifier.
    vicinal.NCAClassifier : Learns one map for all queries.

    Notes
    -----
    There is no `transform`, as each query has its own metric.

    Cost: a principal component analysis in fit; O(nD²) per query, for D directions.

    References
    ----------
    .. [1] Hastie, Tibshirani. Discriminant Adaptive Nearest Neighbor Classification.
       IEEE Transactions on Pattern Analysis and Machine Intelligence 18, 1996.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import DANNClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), DANNClassifier())
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_neighbors": [at_least_one],
        "n_neighborhood": [
            Interval(Integral, 2, None, closed="left"),
            StrOptions({"auto"}),
        ],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "n_components": [at_least_one, StrOptions({"auto"}), None],
        "n_updates": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    n_neighbors: int = 5
    _: KW_ONLY
    n_neighborhood: int | str = "auto"
    epsilon: float = 1.0
    shrinkage: float | str = "auto"
    n_components: int | str | None = "auto"
    n_updates: int = 1
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Store the points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their classes, at least two.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            points, classes, codes = labeled(self, X, y)
            n, n_features = points.shape
            moved = centered(points)
            asked = self.n_components
            d = checked_n_components(
                min(50, n_features) if isinstance(asked, str) else asked,
                n_features,
                f"the {n_features} features of X",
            )
            axes = np.eye(n_features, dtype=points.dtype)
            if d < n_features:
                from sklearn.decomposition import PCA  # slow to import

                pca = PCA(min(d, n), random_state=0)
                with np.errstate(divide="ignore", invalid="ignore"):
                    pca.fit(moved.points)
                axes = pca.components_.T.astype(points.dtype)
        few = self.n_neighborhood
        if isinstance(few, str):
            few = max(50, n // 5)
        self.classes_: NDArray[Any] = classes
        self.n_components_ = axes.shape[1]
        self.n_neighborhood_ = min(few, n)
        self._middle = moved._replace(points=moved.points[:0])
        self._axes = axes
        self._points = moved.points @ axes
        self._onehot = np.eye(len(classes), dtype=points.dtype)[codes]
        return self

    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Return the share of each class among the nearest points.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points. A training point is one of its own neighbors.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Classes in the order of `classes_`.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        queries = self._middle.also(points) @ self._axes
        k = min(self.n_neighbors, len(self._points))
        n_threads = effective_n_threads(self.n_jobs)
        d, m = self.n_components_, self.n_neighborhood_
        shrinkage = self.shrinkage
        if isinstance(shrinkage, str):
            shrinkage = d / (d + m)
        found = np.empty((len(queries), k), dtype=np.intp)
        # The matrices and the neighborhood of a query.
        bytes_each = 8 * d * (6 * d + 3 * m)
        budget = sklearn.get_config()["working_memory"] * 2**20 / 4
        size = int(max(1, min(1024, budget // bytes_each)))
        with single_threaded_blas():
            for start in range(0, len(queries), size):
                block = queries[start : start + size]
                k_first = m if self.n_updates else k
                near = nearest_points(
                    block, self._points, k_first, n_threads=n_threads
                )[0]
                gaps = self._points[near] - block[:, None]
                distances = np.sqrt(np.einsum("qij,qij->qi", gaps, gaps))
                for iteration in range(self.n_updates):
                    roots = local_roots(
                        self._points, self._onehot, near, distances, self.epsilon,
                        shrinkage,
                    )  # fmt: skip
                    last = iteration == self.n_updates - 1
                    near, distances = nearest_under(
                        block, self._points, roots, k if last else m, n_threads
                    )
                found[start : start + size] = near
        return self._onehot[found].mean(axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the majority class of the nearest points; ties go to the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        shares = self.predict_proba(X)
        return self.classes_[shares.argmax(axis=1)]


def local_roots(
    points: FloatArray,
    onehot: FloatArray,
    neighbors: IntArray,
    distances: FloatArray,
    epsilon: float,
    shrinkage: float,
) -> FloatArray:
    """Return roots R of each query's metric Σ = W^(−½) (B* + ε I) W^(−½) = R Rᵀ.

    W and B are the covariances within and between the classes of the query's
    neighbors, with tricube weights, and B* = W^(−½) B W^(−½) (eq. 9 of Hastie and
    Tibshirani). The metrics are scaled to a trace of n_dimensions.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
        The training points.
    onehot : ndarray of shape (n_points, n_classes)
        Indicators of their classes.
    neighbors : ndarray of shape (n_queries, n_neighbors)
        Indices of points.
    distances : ndarray of shape (n_queries, n_neighbors)
        Their distances from the query under the last metric, not squared.
    epsilon, shrinkage : float
        As for `DANNClassifier`.

    Returns
    -------
    ndarray of shape (n_queries, n_dimensions, n_dimensions)
    """
    # Tricube weights, about 0 at the farthest neighbor.
    reach = distances.max(axis=1, keepdims=True)
    relative = np.divide(
        distances, reach, out=np.zeros_like(distances), where=reach > 0
    )
    weights = (1 - 0.999 * relative**3) ** 3
    weights /= weights.sum(axis=1, keepdims=True)
    near = points[neighbors]
    near = near - (weights[:, :, None] * near).sum(axis=1, keepdims=True)
    votes = weights[:, :, None] * onehot[neighbors]
    shares = votes.sum(axis=1)
    sums = np.matmul(votes.transpose(0, 2, 1), near)
    means = sums / np.maximum(shares, np.finfo(points.dtype).tiny)[:, :, None]
    between = np.matmul(sums.transpose(0, 2, 1), means)
    total = np.matmul(near.transpose(0, 2, 1), weights[:, :, None] * near)
    within = total - between
    diagonal = np.arange(points.shape[1])
    size = within[:, diagonal, diagonal].mean(axis=1)
    overall = total[:, diagonal, diagonal].mean(axis=1)
    # If the neighbors of each class coincide, W is 1e-3 of the total variance.
    size = np.maximum(size, np.where(overall > 0, 1e-3 * overall, 1.0))
    within *= 1 - shrinkage
    within[:, diagonal, diagonal] += shrinkage * size[:, None]
    values, axes = np.linalg.eigh(within)
    # Without shrinkage, and by rounding, a direction may have no variance.
    least = (0.1 * shrinkage or 100 * np.finfo(points.dtype).eps) * size[:, None]
    white = axes / np.sqrt(np.maximum(values, least))[:, None, :]
    whitened = np.matmul(np.matmul(white.transpose(0, 2, 1), between), white)
    values, axes = np.linalg.eigh(whitened)
    stretch = np.sqrt(np.maximum(values, 0) + epsilon)
    roots: FloatArray = np.matmul(white, axes * stretch[:, None, :])
    trace = np.square(roots).sum(axis=(1, 2))[:, None, None]
    return roots * np.sqrt(points.shape[1] / trace)


def nearest_under(
    queries: FloatArray, points: FloatArray, roots: FloatArray, k: int, n_threads: int
) -> tuple[IntArray, FloatArray]:
    """Return each query's k nearest points under its own metric, and their distances.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_dimensions)
        The queries.
    points : ndarray of shape (n_points, n_dimensions)
        The candidates.
    roots : ndarray of shape (n_queries, n_dimensions, n_dimensions)
        R of ‖(x − q) R‖.
    k : int
        Number of neighbors.
    n_threads : int
        Number of threads; results do not depend on it.

    Returns
    -------
    indices, distances : ndarray of shape (n_queries, k)
        The nearest first; ties in the order of the points.
    """
    indices = np.empty((len(queries), k), dtype=np.intp)
    distances = np.empty((len(queries), k), dtype=points.dtype)

    def search(rows: slice) -> None:
        for q in range(rows.start, rows.stop):
            gaps = (points - queries[q]) @ roots[q]
            squares = np.einsum("ij,ij->i", gaps, gaps)
            found = np.arange(len(points))
            if k < len(points):
                bound = np.partition(squares, k - 1)[k - 1]
                found = np.flatnonzero(squares <= bound)
            order = np.argsort(squares[found], kind="stable")[:k]
            indices[q] = found[order]
            distances[q] = np.sqrt(squares[found[order]])

    for _ in map_in_order(search, blocks(slice(0, len(queries)), 8), n_threads):
        pass
    return indices, distances
