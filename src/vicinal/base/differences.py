"""Differences of pairs of rows: mapped, summed back and scattered, without a copy.

The pairs are the edges of a graph on the rows. With B the matrix that has 1 and −1 in
the row of each edge, the differences are V = B X, and what is asked of them is asked
of X where the rows are fewer than the pairs: V Aᵀ = B (X Aᵀ), and Vᵀ diag(w) V = Xᵀ L X
with the graph's Laplacian L = Bᵀ diag(w) B.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import back_project, project

__all__ = ["Differences"]


@dataclass(frozen=True, eq=False)
class Differences:
    """x_i − x_j of some pairs of rows.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_features)
        The rows, float64.
    first, second : ndarray of shape (n_pairs,)
        i and j.
    n_threads : int
        Every result is the same for any number.
    """

    points: FloatArray
    first: IntArray
    second: IntArray
    n_threads: int = 1

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def _edges(self) -> Any:
        """B, of shape (n_pairs, n_points)."""
        n = len(self.first)
        signs = np.repeat([[1.0, -1.0]], n, axis=0).ravel()
        ends = np.column_stack([self.first, self.second]).ravel()
        shape = (n, len(self.points))
        return csr_array((signs, ends, np.arange(0, 2 * n + 1, 2)), shape=shape)

    @cached_property
    def _vectors(self) -> FloatArray | None:
        """V itself, where there are no more pairs than points."""
        if len(self.first) > len(self.points):
            return None
        moved: FloatArray = self.points[self.first] - self.points[self.second]
        return moved

    def vectors(self) -> FloatArray:
        """Return V itself, of shape (n_pairs, n_features)."""
        if self._vectors is not None:
            return self._vectors
        moved: FloatArray = self.points[self.first] - self.points[self.second]
        return moved

    def project(self, components: FloatArray) -> FloatArray:
        """Return V Aᵀ, of shape (n_pairs, n_components)."""
        if self._vectors is not None:
            return project(self._vectors, components, self.n_threads)
        Z = project(self.points, components, self.n_threads)
        moved: FloatArray = Z[self.first] - Z[self.second]
        return moved

    def back_project(self, G: FloatArray) -> FloatArray:
        """Return GᵀV, of shape (n_components, n_features)."""
        if self._vectors is not None:
            return back_project(G, self._vectors, self.n_threads)
        return back_project(self._edges.T @ G, self.points, self.n_threads)

    def squares(self, weights: FloatArray | None = None) -> FloatArray:
        """Return Σ w v², one number for each feature."""
        V = self._vectors
        w = np.ones(len(self.first)) if weights is None else weights
        if V is not None:
            return w @ np.square(V)
        X = self.points
        # v² = x_i² + x_j² − 2 x_i x_j, with the Laplacian in the place of two sums.
        squares: FloatArray = np.einsum("ij,ij->j", X, self._laplacian(w) @ X)
        return np.maximum(squares, 0.0)

    def scatter(self, weights: FloatArray | None = None) -> FloatArray:
        """Return Σ w v vᵀ, of shape (n_features, n_features)."""
        w = np.ones(len(self.first)) if weights is None else weights
        V = self._vectors
        if V is not None:
            found = back_project(V * w[:, None], V, self.n_threads)
        else:
            X = self.points
            found = back_project(self._laplacian(w) @ X, X, self.n_threads)
        symmetric: FloatArray = (found + found.T) / 2
        return symmetric

    def _laplacian(self, weights: FloatArray) -> Any:
        B = self._edges
        weighted = B.copy()
        weighted.data = B.data * np.repeat(weights, 2)
        return B.T @ weighted
