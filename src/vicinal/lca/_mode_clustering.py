"""Clusters as the basins of a density's modes."""

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors, radius_neighbors_graph
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import unchanged_on_error, validate_data, warn_caller
from vicinal.lca._density_mixin import DensityMixin
from vicinal.lca._lca import LCA

positive = Interval(Real, 0, None, closed="neither")


class ModeClustering(ClusterMixin, BaseEstimator):
    """Clustering by mean shift under a learned kernel.

    Each point ascends the density that :class:`vicinal.LCA` has learned to one of its
    modes; the points that arrive at one mode are a cluster. The number of clusters
    comes with the density, and clusters may have any shape.

    Parameters
    ----------
    density : estimator or None, default=None
        What learns the density: an :class:`vicinal.LCA` or :class:`vicinal.LCAGauss`;
        None is LCA with its defaults.
    width : float, default=2.0
        The kernels are taken this many times as wide as they were learned: what is
        best for a density has more modes than there are clusters. The wider, the fewer
        clusters.
    merge : float, default=0.5
        Modes nearer to each other than this, in widths of a kernel, are the same.
    max_iter : int, default=500
        Steps of mean shift at most.
    tol : float, default=1e-4
        A point has arrived when a step is shorter than this, in widths of a kernel.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each training point; the largest is 0.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    density_ : estimator
        The fitted density.
    n_iter_ : int
        The steps of mean shift until the last point had arrived.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.LCA : The density that it ascends.
    sklearn.cluster.MeanShift : Round kernels of a bandwidth that is given.

    Notes
    -----
    Cost: a fit of :class:`vicinal.LCA`, and O(n²D) for each step of the ascent.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from vicinal import ModeClustering
    >>> X, y = make_blobs(300, centers=[[-5, 0], [5, 0], [0, 8]], random_state=0)
    >>> model = ModeClustering(width=3).fit(X)
    >>> len(model.cluster_centers_)
    3
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "density": [DensityMixin, None],
        "width": [positive],
        "merge": [positive],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [positive],
    }

    def __init__(
        self,
        density: Any = None,
        *,
        width: float = 2.0,
        merge: float = 0.5,
        max_iter: int = 500,
        tol: float = 1e-4,
    ) -> None:
        self.density = density
        self.width = width
        self.merge = merge
        self.max_iter = max_iter
        self.tol = tol

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: ArrayLike, y: None = None) -> Self:  # noqa: ARG002
        """Learn the density and find its modes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with unchanged_on_error(self):
            points: FloatArray = validate_data(
                self, X, dtype=FLOATS, ensure_min_samples=2
            )
            density = LCA() if self.density is None else clone(self.density)
            density.fit(points)
            modes, n_steps = self._ascend(density, points)
            if n_steps > self.max_iter:
                warn_caller(
                    f"Some points have not reached a mode in {self.max_iter} steps; "
                    "raise max_iter, tol or width.",
                    ConvergenceWarning,
                )
            # Where many points arrive, one place is enough to look at.
            mapped = _mapped(density, modes)
            rounded = np.round(mapped / (self.merge * self.width / 8))
            _, first, place = np.unique(
                rounded, axis=0, return_index=True, return_inverse=True
            )
            graph = radius_neighbors_graph(
                mapped[first], self.merge * self.width, include_self=True
            )
            codes = connected_components(graph, directed=False)[1][place.ravel()]
            sizes = np.bincount(codes)
            rank = np.empty(len(sizes), dtype=np.intp)
            rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
            labels = rank[codes]
            score = density.score_samples(modes)
            highest = np.lexsort((-score, labels))
            starts = np.searchsorted(labels[highest], np.arange(len(sizes)))
        self.labels_: IntArray = labels
        self.cluster_centers_: FloatArray = modes[highest[starts]]
        self.density_ = density
        self.n_iter_ = min(n_steps, self.max_iter)
        return self

    def predict(self, X: ArrayLike) -> IntArray:
        """Return the cluster whose mode each point ascends to.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
            The cluster with the centre that is nearest to the mode.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        centers = _mapped(self.density_, self.cluster_centers_)
        nearest = NearestNeighbors(n_neighbors=1).fit(centers)
        arrived = _mapped(self.density_, self._ascend(self.density_, points)[0])
        return nearest.kneighbors(arrived, return_distance=False)[:, 0]

    def _ascend(self, density: Any, points: FloatArray) -> tuple[FloatArray, int]:
        found: tuple[FloatArray, int] = density._shift(
            points, self.width, self.max_iter, self.tol
        )
        return found


def _mapped(density: Any, points: FloatArray) -> FloatArray:
    """Return points where the kernels are round; a Gaussian has but one such place."""
    mapped: FloatArray = density.transform(points)
    return mapped if mapped.shape[1] else np.zeros((len(points), 1))
