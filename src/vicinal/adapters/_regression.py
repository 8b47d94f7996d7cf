"""Closed forms of linear maps from one set of vectors to another."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vicinal._typing import FloatArray


@dataclass(frozen=True, eq=False)
class Regression:
    """Matrices without intercept from second moments; penalties share eigenvectors.

    Parameters
    ----------
    xx : ndarray of shape (n_features, n_features)
        Sum of x xᵀ.
    xy : ndarray of shape (n_features, n_targets)
        Sum of x yᵀ.
    """

    xx: FloatArray
    xy: FloatArray

    @cached_property
    def rotation(self) -> FloatArray:
        """Orthogonal Procrustes rotation with the scale of least squares."""
        U, s, V = np.linalg.svd(self.xy, full_matrices=False)
        W: FloatArray = U @ V
        return W * s.sum() / (np.einsum("ij,ij->", W, self.xx @ W) or 1.0)

    @cached_property
    def axes(self) -> tuple[FloatArray, FloatArray]:
        """Eigenvalues and eigenvectors of the second moments."""
        values, axes = np.linalg.eigh(self.xx)
        return np.maximum(values, 0), axes

    def solve(self, alpha: float, rank: int | None = None) -> FloatArray:
        """Return the matrix of shape (n_features, n_targets).

        Parameters
        ----------
        alpha : float
            Penalty on the distance from the rotation, in units of the mean variance of
            a feature; infinity is the rotation.
        rank : int or None, default=None
            Number of principal axes of the fitted values to keep; None keeps all.
        """
        if np.isinf(alpha):
            return self.rotation
        values, axes = self.axes
        residual = axes.T @ (self.xy - self.xx @ self.rotation)
        penalized = values + alpha * values.mean()
        W: FloatArray = self.rotation + axes @ (residual / penalized[:, None])
        if rank is not None:
            _, main = np.linalg.eigh(W.T @ self.xx @ W)
            main = main[:, -rank:]
            W = W @ main @ main.T
        return W
