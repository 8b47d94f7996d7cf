"""Local Gaussians, section 2 of the LDG paper.

Around each query, each class is a Gaussian fitted to its nearest points, with a scaled
identity as covariance.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.nearest import Neighbors, nearest_of_each_class
from vicinal.neighborhood.threads import (
    blocks,
    map_in_order,
    rows_per_block,
)


@dataclass(frozen=True)
class ClassPoints:
    """Points sorted by class, the candidates for neighbors.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        Centered.
    bounds : ndarray of shape (n_classes + 1,)
        The first point of each class, and the number of points.
    squared_norms : ndarray of shape (n_points,)
        ‖x‖², in float64.
    least_spread : float
        The floor of d σ².
    """

    points: FloatArray
    bounds: IntArray
    squared_norms: NDArray[np.float64]
    least_spread: float

    @classmethod
    def build(
        cls,
        points: FloatArray,
        codes: IntArray,
        least_spread: float,
        n_classes: int | None = None,
    ) -> "ClassPoints":
        """Build from points sorted by class and their codes.

        Only queries may lack a class; they need `n_classes`.
        """
        n_classes = codes[-1] + 1 if n_classes is None else n_classes
        bounds = np.searchsorted(codes, np.arange(n_classes + 1))
        return cls(points, bounds, squared_norms(points), least_spread)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.bounds) - 1

    @property
    def codes(self) -> IntArray:
        """The class of each point."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.bounds))

    def nearest(
        self, n_neighbors: int, queries: FloatArray | None, n_threads: int
    ) -> Neighbors:
        """Return the nearest points of each class; see `nearest_of_each_class`."""
        return nearest_of_each_class(
            self.points, self.bounds, n_neighbors, queries, n_threads
        )

    def gaussians(
        self, neighbors: NDArray[np.int32], sizes: Sequence[int]
    ) -> Iterator[tuple[FloatArray, NDArray[np.float64]]]:
        """Yield μ and d σ² of the nearest k points of each query, for each k.

        The estimates are those of maximum likelihood: d σ² is the mean squared
        distance of the neighbors from μ, but at least `least_spread`.

        Parameters
        ----------
        neighbors : ndarray of shape (n_queries, k)
            Indices of the neighbors, nearest first.
        sizes : sequence of int
            The values of k, ascending. Sums are updated from one to the next.
        """
        points = self.points
        sums = np.zeros((len(neighbors), points.shape[1]), dtype=points.dtype)
        before = 0
        for size in sizes:
            k = min(size, neighbors.shape[1])
            if k > before:
                more = neighbors[:, before:k]
                sums += summing(more, len(points), points.dtype) @ points
                before = k
            means = sums / points.dtype.type(k)
            spreads = self._spreads(neighbors[:, :k], means)
            yield means, np.maximum(spreads, self.least_spread)

    def log_densities(
        self,
        queries: FloatArray,
        neighbors: Neighbors,
        sizes: Sequence[int],
        n_features: int,
        n_threads: int,
    ) -> NDArray[np.float64]:
        """Return log N(x; μ, σ²I) of the queries for each k and class.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_coordinates)
            The x.
        neighbors : list of ndarray
            The nearest points of each class.
        sizes : sequence of int
            The values of k, ascending.
        n_features : int
            d; larger than n_coordinates if X has more features than rows.
        n_threads : int
            Number of threads. It does not affect the result.

        Returns
        -------
        ndarray of shape (n_sizes, n_queries, n_classes)
        """
        found = np.empty((len(sizes), len(queries), self.n_classes))

        def evaluate(rows: slice) -> None:
            for j, nearest in enumerate(neighbors):
                local = self.gaussians(nearest[rows], sizes)
                for a, (means, spreads) in enumerate(local):
                    variances = spreads / n_features
                    found[a, rows, j] = -0.5 * (
                        squared_norms(means - queries[rows]) / variances
                        + n_features * np.log(2 * np.pi * variances)
                    )

        # Means and differences of a block fit the working memory.
        n = len(queries)
        size = rows_per_block(n, 4 * queries.shape[1] * queries.itemsize)
        for _ in map_in_order(evaluate, blocks(slice(0, n), size), n_threads):
            pass
        return found

    def variances(self, neighbors: Neighbors, n_features: int) -> NDArray[np.float64]:
        """Return σ² of the given neighbors, of shape (n_queries, n_classes)."""
        spreads = [
            next(self.gaussians(nearest, [nearest.shape[1]]))[1]
            for nearest in neighbors
        ]
        return np.stack(spreads, axis=1) / n_features

    def _spreads(
        self, neighbors: NDArray[np.int32], means: FloatArray
    ) -> NDArray[np.float64]:
        """Return mean ‖x‖² − ‖μ‖², or the mean ‖x − μ‖² if that would cancel."""
        mean_norms = self.squared_norms[neighbors].mean(axis=1)
        spreads: NDArray[np.float64] = mean_norms - squared_norms(means)
        noise = 1e4 * np.finfo(means.dtype).eps
        doubtful = np.flatnonzero(spreads < noise * mean_norms)
        bytes_per_row = 8 * neighbors.shape[1] * means.shape[1]
        size = rows_per_block(len(doubtful), bytes_per_row) if doubtful.size else 1
        for part in blocks(slice(0, len(doubtful)), size):
            rows = doubtful[part]
            near = self.points[neighbors[rows]].astype(np.float64)
            near -= near.mean(axis=1, keepdims=True)
            spreads[rows] = np.einsum("ijk,ijk->i", near, near) / near.shape[1]
        return spreads


class Scatters(NamedTuple):
    """The matrices V and A of LDG (between eq. 4 and 5)."""

    own: FloatArray
    """V = Σ_i Δ Δᵀ / σ², with the Gaussian of the class of x_i."""
    every: FloatArray
    """A = Σ_i Σ_j p(j) Δ Δᵀ / σ², with the Gaussians of all classes."""


def scatters(
    subset: ClassPoints,
    neighbors: Neighbors,
    priors: FloatArray,
    n_features: int,
    n_threads: int,
    queries: ClassPoints | None = None,
) -> Scatters:
    """Return V and A, with Δ_ij = μ_ij − x_i.

    Parameters
    ----------
    subset : ClassPoints
        The points among which the neighbors are.
    neighbors : list of ndarray
        The nearest points of each class for each query.
    priors : ndarray of shape (n_classes,)
        p(j).
    n_features : int
        d, the number of features before any reduction to coordinates.
    n_threads : int
        Number of threads. It does not affect the result.
    queries : ClassPoints or None
        The x_i; None means the points themselves. The only point of a class is then
        its own neighbor: Δ = 0, so it contributes nothing.
    """
    centers = subset if queries is None else queries
    n, d = centers.points.shape
    own, every = np.zeros((d, d)), np.zeros((d, d))
    # Adding d×d matrices is expensive: use large blocks, and several classes at once.
    size = max(4 * d, 1024)
    at_once = max(1, size // min(n, size))
    codes = centers.codes

    def scatters_of(rows: slice) -> tuple[FloatArray, FloatArray]:
        A = np.zeros((d, d))
        x, mine = centers.points[rows], codes[rows]
        of_own = np.zeros_like(x)
        stacked = np.empty((min(at_once, len(neighbors)), *x.shape), dtype=x.dtype)
        for group in blocks(slice(0, len(neighbors)), at_once):
            for scaled, j in zip(stacked, range(group.start, group.stop), strict=False):
                nearest = neighbors[j][rows]
                means, spreads = next(subset.gaussians(nearest, [nearest.shape[1]]))
                means -= x
                weights = np.sqrt(n_features / spreads)[:, None].astype(x.dtype)
                its = np.flatnonzero(mine == j)
                of_own[its] = means[its] * weights[its]
                weights *= x.dtype.type(np.sqrt(priors[j]))
                np.multiply(means, weights, out=scaled)
            filled = stacked[: group.stop - group.start].reshape(-1, d)
            A += filled.T @ filled
        return of_own.T @ of_own, A

    for V, A in map_in_order(scatters_of, blocks(slice(0, n), size), n_threads):
        own += V
        every += A
    return Scatters(own, every)


def summing(neighbors: NDArray[np.int32], n_points: int, dtype: Any) -> csr_array:
    """Return the matrix that maps points to the sums over each row's neighbors."""
    n, k = neighbors.shape
    starts = np.arange(0, neighbors.size + 1, k)
    ones = np.ones(neighbors.size, dtype=dtype)
    return csr_array((ones, neighbors.ravel(), starts), shape=(n, n_points))


def squared_norms(points: FloatArray) -> NDArray[np.float64]:
    """Return ‖x‖² of each row, summed in float64."""
    return np.einsum("ij,ij->i", points, points, dtype=np.float64)


def least_spread(points: FloatArray, var_floor: float) -> float:
    """Return the floor of d σ²: var_floor times the total variance of the points.

    If all points are equal, any positive number will do.
    """
    mean = points.mean(axis=0, dtype=np.float64)
    total = float(squared_norms(points).mean() - mean @ mean)
    return float(var_floor * max(total, 0.0)) or 1.0
