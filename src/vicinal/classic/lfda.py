"""Local Fisher discriminant analysis."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import (
    LinearMetric,
    labeled,
    unscale_components,
)
from vicinal.base.selection import checked_n_components, nearest_points
from vicinal.classic._shared import (
    at_least_one,
    cholesky_of_scatter,
    held_out_hits,
    scattered_span,
)
from vicinal.neighborhood import (
    affinities,
    effective_n_threads,
    scatter,
    single_threaded_blas,
)


@dataclass(eq=False, repr=False)
class LFDA(LinearMetric):
    """Local Fisher discriminant analysis.

    Fisher's ratio of the scatter between classes to the scatter within them, with
    each pair of the same class weighted by the affinity of the two points [1]_. A class
    may have several clusters, and there can be more components than classes.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components. None is the number of features or, with more features
        than rows, the dimension of the span of the rows.
    n_neighbors : int, default=7
        The distance of a point to this neighbor of its class is the scale σ_i of the
        point. Smaller classes use the last neighbor.
    alpha : float, default=0.01
        Ridge: added to the diagonal of the within-class scatter, relative to its mean
        eigenvalue tr(S) / min(n_samples − 1, n_features). With 0, the scatter has no
        inverse if there are more features than rows.
    embedding : {"auto", "weighted", "orthonormalized", "plain"}, default="auto"
        The rows of the map: generalized eigenvectors times the square roots of their
        eigenvalues; an orthonormal basis of their span, which is the Euclidean distance
        if all components are kept; or the eigenvectors themselves, under which the
        within-class scatter is the identity. "auto" is "weighted", unless all
        components are kept and 3-NN on held-out rows is better with the features as
        they are: then it is "orthonormalized".

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map, with the most discriminative direction first; float32 if X is.
    eigenvalues_ : ndarray of shape (n_components,)
        Ratio of the scatter between to the scatter within classes, along each row. If
        it is not positive, the weighted row is 0.
    embedding_ : str
        The embedding in use.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.FDA : Uses the scatter of whole classes.
    vicinal.LDG : Another local eigenproblem.

    Notes
    -----
    Cost: O(n²D) inside the classes, in blocks of rows, O(nD²), and an eigenproblem of
    min(n, D).

    References
    ----------
    .. [1] Sugiyama. Dimensionality Reduction of Multimodal Labeled Data by Local
       Fisher Discriminant Analysis. Journal of Machine Learning Research 8, 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import LFDA
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LFDA(3), KNeighborsClassifier(3))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _requires_y: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, None],
        "n_neighbors": [at_least_one],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "embedding": [StrOptions({"auto", "weighted", "orthonormalized", "plain"})],
    }

    n_components: int | None = None
    _: KW_ONLY
    n_neighbors: int = 7
    alpha: float = 0.01
    embedding: str = "auto"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the map.

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
        with self._unchanged_on_error(), single_threaded_blas():
            points, _, codes = labeled(self, X, y)
            embedding = "weighted" if self.embedding == "auto" else self.embedding
            if self.embedding == "auto" and self.n_components is None:
                hits = held_out_hits(
                    points, codes, lambda X, y: [self._map(X, y, "weighted")[1]]
                )
                if hits.sum(axis=1).argmax() == 1:
                    embedding = "orthonormalized"
            self.eigenvalues_, self.components_ = self._map(points, codes, embedding)
            self.embedding_ = embedding
        return self

    def _map(
        self, X: FloatArray, codes: IntArray, embedding: str
    ) -> tuple[FloatArray, FloatArray]:
        """Return eigenvalues and components."""
        n, n_features = X.shape
        span = scattered_span(X)
        d = checked_n_components(
            self.n_components, span.n_coordinates, f"X of shape {X.shape} allows"
        )
        between, within = local_scatters(span.coordinates, codes, self.n_neighbors)
        # Classes without inner scatter still need a scale.
        eps = np.finfo(np.float64).eps
        size = max(np.trace(within), eps * np.trace(between))
        ridge = self.alpha * size / min(n - 1, n_features)
        within[np.diag_indices_from(within)] += ridge
        cholesky_of_scatter(within, "Use a larger alpha.")
        last = len(within) - 1
        values, vectors = linalg.eigh(
            between, within, subset_by_index=(last - d + 1, last)
        )
        values, vectors, unit = values[::-1], vectors[:, ::-1], span.unit
        if embedding == "orthonormalized":
            # Of the eigenvectors, as weights may be 0.
            rows, unit = span.basis_to_features(np.linalg.qr(vectors)[0]), 1.0
        elif embedding == "weighted":
            rows = span.to_features(vectors * np.sqrt(np.maximum(values, 0)))
        else:
            rows = span.to_features(vectors)
        return values, unscale_components(rows, unit, X.dtype)


def local_scatters(
    X: FloatArray, codes: IntArray, n_neighbors: int
) -> tuple[FloatArray, FloatArray]:
    """Return Sugiyama's local scatters, between and within classes.

    Both are ½ Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ. Within, W_ij is A_ij / n_c for two
    points of class c, else 0; between, A_ij (1/n − 1/n_c) for two points of class c,
    else 1/n. Affinities A_ij = exp(−‖x_i − x_j‖² / (σ_i σ_j)) are only needed inside
    the classes, so that memory is bounded by a block of the pairs of one class.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centered points, with a largest coordinate of about 1.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0.
    n_neighbors : int
        The neighbor whose distance is σ_i.

    Returns
    -------
    between, within : ndarray of shape (n_features, n_features)
        In float64.
    """
    n, n_features = X.shape
    n_threads = effective_n_threads(None)
    within = np.zeros((n_features, n_features))
    between = np.zeros_like(within)
    # The root of the smallest float: a scale of 0, of points with many duplicates,
    # makes A 1 for duplicates and 0 for all others.
    least = np.sqrt(np.finfo(np.float64).tiny)
    for c in range(codes.max() + 1):
        points = X[codes == c]
        n_c = len(points)
        total = points.sum(axis=0, dtype=np.float64)
        # Of all pairs with other classes; terms in the sum of all points vanish.
        between += (1 - n_c / n) * (points.T @ points) + np.outer(total, total) / n
        if n_c == 1:
            continue
        Z, itself = points.astype(np.float64), np.arange(n_c)
        nearest = nearest_points(Z, Z, n_neighbors, own=itself, n_threads=n_threads)
        sigma = np.linalg.norm(Z - Z[nearest[0, :, -1]], axis=1)
        rule = affinities(1 / np.maximum(sigma, least))
        affine = scatter(Z, rule, n_threads).matrix / 2
        within += affine / n_c
        between += (1 / n - 1 / n_c) * affine
    return (between + between.T) / 2, (within + within.T) / 2
