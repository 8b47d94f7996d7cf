"""LDG's eigenproblem: the directions that minimise the trace of V − γA."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from vicinal._typing import FloatArray
from vicinal.base.row_space import negligible, orthonormal

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class EigenProblem:
    """V and A of eq. 5, on the directions that the points vary in.

    Along any other direction both are 0, and so is their difference, which would come
    before every direction with more of V than of γA: a constant feature would be the
    first to be taken.

    Attributes
    ----------
    axes : ndarray of shape (n_coordinates, rank)
        An orthonormal basis of those directions, in columns.
    own, every : ndarray of shape (rank, rank)
        V and A in that basis.
    """

    axes: Matrix
    own: Matrix
    every: Matrix

    @classmethod
    def build(cls, axes: Matrix, own: FloatArray, every: FloatArray) -> "EigenProblem":
        """Build from V and A in coordinates."""
        return cls(axes, axes.T @ own @ axes, axes.T @ every @ axes)

    def mixed(self, other: "EigenProblem", alpha: float) -> "EigenProblem":
        """Return (1 − α) of this and α of another on the same axes (eq. 7)."""
        return EigenProblem(
            self.axes,
            (1 - alpha) * self.own + alpha * other.own,
            (1 - alpha) * self.every + alpha * other.every,
        )

    @property
    def rank(self) -> int:
        """How many directions there are."""
        return self.axes.shape[1]

    def smallest(self, gamma: float, n_directions: int) -> tuple[Matrix, Matrix]:
        """Return the smallest eigenvalues of V − γA, ascending, and their vectors.

        The solution of eq. 6 for any number of dimensions is as many leading columns.

        Parameters
        ----------
        gamma : float
            γ.
        n_directions : int
            How many; no more than the rank are found.
        """
        n_directions = min(n_directions, self.rank)
        if n_directions == 0:
            return np.zeros(0), np.zeros((len(self.axes), 0))
        values, vectors = eigh(
            self.own - gamma * self.every, subset_by_index=(0, n_directions - 1)
        )
        return values, self.axes @ vectors

    def ordered_in(self, gamma: float, subspace: Matrix) -> tuple[Matrix, Matrix]:
        """Return the same for the best directions inside a subspace.

        Parameters
        ----------
        gamma : float
            γ.
        subspace : ndarray of shape (n_coordinates, n_directions)
            Orthonormal columns.
        """
        inner = self.axes.T @ subspace
        values, vectors = eigh(inner.T @ (self.own - gamma * self.every) @ inner)
        return values, subspace @ vectors


def directions_of_varying(matrix: Matrix, points: FloatArray) -> FloatArray:
    """Return the eigenvectors, in columns by ascending eigenvalue, that points vary in.

    One decomposition in place of the two of `EigenProblem`, for choices between
    dimensions: a direction that points hardly vary in may be left out.

    Parameters
    ----------
    matrix : ndarray of shape (n_coordinates, n_coordinates)
        V − γA.
    points : ndarray of shape (n_points, n_coordinates)
        Centred.
    """
    B = eigh(matrix)[1].astype(points.dtype)
    lengths = np.linalg.norm(points @ B, axis=0)
    noise = np.sqrt(negligible(points.dtype, *points.shape))
    found: FloatArray = B[:, lengths > noise * lengths.max()]
    return found


def completed(components: Matrix, n_components: int) -> Matrix:
    """Return orthonormal rows, with more added along which no point varies.

    Where nothing can be learned, any direction is as good as any other.
    """
    missing = n_components - len(components)
    if missing <= 0:
        return components
    rng = np.random.RandomState(0)  # always the same arbitrary ones
    more = rng.standard_normal((components.shape[1], missing))
    return orthonormal(np.hstack([components.T, more])).T


def same_signs(components: Matrix) -> Matrix:
    """Return the rows with positive largest entries: eigenvectors have no sign."""
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * signs[:, None]
