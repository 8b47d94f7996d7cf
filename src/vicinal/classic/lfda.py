"""Local Fisher discriminant analysis."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.knn_vote import nearest_points
from vicinal.base.metric import of_unscaled
from vicinal.base.n_components import checked_n_components
from vicinal.base.row_space import RowSpace
from vicinal.classic._shared import (
    SupervisedMetric,
    cholesky_of_scatter,
    held_out_hits,
    scattered_span,
)
from vicinal.neighborhood import (
    Affinities,
    effective_n_threads,
    scatter,
)

# Points are in a unit in which the largest coordinate is about 1.
LEAST_SCALE = 1e-150


class LFDA(SupervisedMetric):
    """Local Fisher discriminant analysis.

    Fisher's ratio of the scatter between classes to the scatter within them, with
    every pair of one class weighed by how near the two are [1]_. A class of several
    clusters is not forced into one, and there can be more components than classes.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of the map. None is the number of features or, with more features than
        rows, of the dimensions that the rows differ in.
    n_neighbors : int, default=7
        The neighbour, in its class, whose distance from a point is that point's scale
        σ_i. A class of no more rows than that uses its last.
    alpha : float, default=0.01
        Ridge: added to the diagonal of the within-class scatter, relative to its mean
        eigenvalue tr(S) / min(n_samples − 1, n_features). With 0, the scatter has no
        inverse if there are more features than rows.
    embedding : {"auto", "weighted", "orthonormalized", "plain"}, default="auto"
        The rows of the map: generalised eigenvectors times the square roots of their
        eigenvalues; an orthonormal basis of those, which is the Euclidean distance
        when all components are kept; or the eigenvectors themselves, under which the
        within-class scatter is the identity. "auto" is "weighted", unless all
        components are kept and the features as they are do better for 3-NN on rows held
        out: then it is "orthonormalized".

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map, the most discriminating direction first; float32 if X is.
    eigenvalues_ : ndarray of shape (n_components,)
        Scatter between over scatter within classes, along each row. Where it is not
        positive, the weighted row is 0.
    embedding_ : str
        The embedding in use.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    vicinal.classic.FDA : The scatter of whole classes.
    vicinal.LDG : The other local eigenproblem.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "embedding": [StrOptions({"auto", "weighted", "orthonormalized", "plain"})],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 7,
        alpha: float = 0.01,
        embedding: str = "auto",
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.alpha = alpha
        self.embedding = embedding

    def _learn(self, X: FloatArray, codes: IntArray) -> None:
        embedding = "weighted" if self.embedding == "auto" else self.embedding
        if self.embedding == "auto" and self.n_components is None:
            hits = held_out_hits(
                X, codes, lambda X, codes: [self._map(X, codes, "weighted")[1]]
            )
            better = hits.sum(axis=1).argmax()
            embedding = ("weighted", "orthonormalized")[better]
        self.eigenvalues_, self.components_ = self._map(X, codes, embedding)
        self.embedding_ = embedding

    def _map(
        self, X: FloatArray, codes: IntArray, embedding: str
    ) -> tuple[FloatArray, FloatArray]:
        """Return eigenvalues and components."""
        n, n_features = X.shape
        seen = scattered_span(X)
        d = checked_n_components(
            self.n_components, seen.n_coordinates, f"X of shape {X.shape} allows"
        )
        between, within = local_scatters(seen.coordinates, codes, self.n_neighbors)
        # Classes without any inner scatter still leave a scale to go by.
        eps = np.finfo(np.float64).eps
        size = max(np.trace(within), eps * np.trace(between))
        ridge = self.alpha * size / min(n - 1, n_features)
        within[np.diag_indices_from(within)] += ridge
        values, vectors = _leading(between, within, d)
        rows, unit = _embedded(values, vectors, seen, embedding)
        return values, of_unscaled(rows, unit, X.dtype)


def _embedded(
    values: FloatArray, vectors: FloatArray, seen: RowSpace, embedding: str
) -> tuple[FloatArray, float]:
    """Return the rows of the map, over the features, and the points' unit."""
    if embedding == "plain":
        return seen.to_features(vectors), seen.unit
    weighted = vectors * np.sqrt(np.maximum(values, 0))
    if embedding == "weighted":
        return seen.to_features(weighted), seen.unit
    # Of the eigenvectors: weights of 0 would leave the basis to chance.
    return seen.basis_to_features(np.linalg.qr(vectors)[0]), 1.0


def local_scatters(
    X: FloatArray, codes: IntArray, n_neighbors: int
) -> tuple[FloatArray, FloatArray]:
    """Return Sugiyama's local scatters, between and within classes.

    Both are ½ Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ. Within, W_ij is A_ij / n_c for two
    points of class c, else 0; between, A_ij (1/n − 1/n_c) for two of class c, else
    1/n. A_ij = exp(−‖x_i − x_j‖² / (σ_i σ_j)) is non-zero only inside a class as far
    as it matters here, so no array larger than a block of one class's pairs is held.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred points.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0.
    n_neighbors : int
        Which neighbour gives σ_i.

    Returns
    -------
    between, within : ndarray of shape (n_features, n_features)
        In float64.
    """
    n, n_features = X.shape
    n_threads = effective_n_threads(None)
    within = np.zeros((n_features, n_features))
    between = np.zeros_like(within)
    for c in range(codes.max() + 1):
        points = X[codes == c]
        n_c = len(points)
        affine = _scatter_of_affine(points, n_neighbors, n_threads)
        total = points.sum(axis=0, dtype=np.float64)
        within += affine / n_c
        # Of all pairs with other classes, what is left when X is centred: the terms
        # in the sum of all points vanish.
        between += (1 - n_c / n) * (points.T @ points) + np.outer(total, total) / n
        between += (1 / n - 1 / n_c) * affine
    return (between + between.T) / 2, (within + within.T) / 2


def _scatter_of_affine(X: FloatArray, n_neighbors: int, n_threads: int) -> FloatArray:
    """Return ½ Σ_ij A_ij (x_i − x_j)(x_i − x_j)ᵀ of the pairs of one class."""
    n = len(X)
    if n == 1:
        return np.zeros((X.shape[1], X.shape[1]))
    X = X.astype(np.float64)
    nearest = nearest_points(X, X, n_neighbors, own=np.arange(n), n_threads=n_threads)
    sigma = np.linalg.norm(X - X[nearest[0, :, -1]], axis=1)
    # A scale of 0, of points with many duplicates, makes A 1 for those and 0 for all
    # others.
    sharpness = 1 / np.maximum(sigma, LEAST_SCALE)
    return scatter(X, Affinities(sharpness), n_threads).matrix / 2


def _leading(
    between: FloatArray, within: FloatArray, d: int
) -> tuple[FloatArray, FloatArray]:
    """Return the d largest of S_b v = λ S_w v, with vᵀ S_w v = 1."""
    cholesky_of_scatter(within, "Use a larger alpha.")
    last = len(within) - 1
    values, vectors = linalg.eigh(between, within, subset_by_index=(last - d + 1, last))
    return values[::-1], vectors[:, ::-1]
