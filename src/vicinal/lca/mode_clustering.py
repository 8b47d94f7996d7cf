"""Clustering by the modes of a density."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context, clone
from sklearn.neighbors import NearestNeighbors, radius_neighbors_graph
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import unchanged_on_error, validate_data
from vicinal.lca._shared import ParzenMetric
from vicinal.lca.lca import LCA

__all__ = ["ModeClustering"]

positive = Interval(Real, 0, None, closed="neither")


@dataclass(eq=False, repr=False)
class ModeClustering(ClusterMixin, BaseEstimator):
    """Clustering by mean shift under a learned kernel.

    Each point ascends the density of :class:`vicinal.LCA` to one of its modes; the
    points that arrive at the same mode form a cluster. The density determines the
    number of clusters, and clusters may have any shape.

    Parameters
    ----------
    density : estimator or None, default=None
        The density estimator: a :class:`vicinal.LCA` or :class:`vicinal.LCAGauss`; None
        is LCA with its defaults.
    width : float, default=2.0
        Factor by which the kernels are widened. The best kernels for a density have
        more modes than there are clusters; wider kernels give fewer clusters.
    merge : float, default=0.5
        Modes closer to each other than this, in kernel widths, are merged.
    max_iter : int, default=500
        Maximum number of mean-shift steps.
    tol : float, default=1e-4
        A point stops when a step is shorter than this, in kernel widths.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        The cluster of each training point; the largest is 0.
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The modes.
    density_ : estimator
        The fitted density.
    n_iter_ : int
        The number of mean-shift steps until the last point stopped.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.LCA : The density.
    sklearn.cluster.MeanShift : Spherical kernels with a given bandwidth.

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
        "density": [ParzenMetric, None],
        "width": [positive],
        "merge": [positive],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [positive],
    }

    density: Any = None
    _: KW_ONLY
    width: float = 2.0
    merge: float = 0.5
    max_iter: int = 500
    tol: float = 1e-4

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
            modes, n_iter = density._ascend(points, self.width, self.max_iter, self.tol)
            # Points that arrived at the same place are compared once.
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
        self.n_iter_ = n_iter
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
            The cluster whose center is nearest to the mode.
        """
        check_is_fitted(self)
        points = validate_data(self, X, reset=False, dtype=FLOATS)
        centers = _mapped(self.density_, self.cluster_centers_)
        nearest = NearestNeighbors(n_neighbors=1).fit(centers)
        modes, _ = self.density_._ascend(points, self.width, self.max_iter, self.tol)
        arrived = _mapped(self.density_, modes)
        return nearest.kneighbors(arrived, return_distance=False)[:, 0]


def _mapped(density: Any, points: FloatArray) -> FloatArray:
    """Map points so that the kernels are spherical; all to 0 if there are none."""
    mapped: FloatArray = density.transform(points)
    return mapped if mapped.shape[1] else np.zeros((len(points), 1))
