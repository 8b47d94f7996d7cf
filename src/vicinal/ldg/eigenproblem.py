"""LDG's eigenproblem (eq. 6) and the objective that it approximates (eq. 2)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, qr, solve_triangular
from scipy.special import logsumexp

from vicinal._typing import FloatArray
from vicinal.base.linalg import negligible, orthonormal
from vicinal.ldg.local_gaussians import ClassPoints, summing
from vicinal.neighborhood.nearest import Neighbors

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class EigenProblem:
    """V and A of eq. 5, restricted to the span of the points.

    Outside of the span V − γA is 0, less than along directions with positive
    eigenvalues: without the restriction, a constant feature could come first.

    Attributes
    ----------
    axes : ndarray of shape (n_coordinates, rank)
        Orthonormal basis of the span, in columns.
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
        """Return (1 − α) times this plus α times another on the same axes (eq. 7)."""
        return EigenProblem(
            self.axes,
            (1 - alpha) * self.own + alpha * other.own,
            (1 - alpha) * self.every + alpha * other.every,
        )

    @property
    def rank(self) -> int:
        """Dimension of the span."""
        return self.axes.shape[1]

    def smallest(self, gamma: float, n_directions: int) -> tuple[Matrix, Matrix]:
        """Return the smallest eigenvalues of V − γA, ascending, and their vectors.

        The first d columns solve eq. 6 for d dimensions. At most `rank` are returned.
        """
        n_directions = min(n_directions, self.rank)
        if n_directions == 0:
            return np.zeros(0), np.zeros((len(self.axes), 0))
        values, vectors = eigh(
            self.own - gamma * self.every, subset_by_index=(0, n_directions - 1)
        )
        return values, self.axes @ vectors

    def ordered_in(self, gamma: float, subspace: Matrix) -> tuple[Matrix, Matrix]:
        """Return the same within a subspace, given by orthonormal columns."""
        inner = self.axes.T @ subspace
        values, vectors = eigh(inner.T @ (self.own - gamma * self.every) @ inner)
        return values, subspace @ vectors


def varying_eigenvectors(matrix: Matrix, points: FloatArray) -> FloatArray:
    """Return eigenvectors, by ascending eigenvalue, along which the points vary.

    This needs one decomposition where `EigenProblem` needs two. It is accurate enough
    to compare dimensions.

    Parameters
    ----------
    matrix : ndarray of shape (n_coordinates, n_coordinates)
        V − γA.
    points : ndarray of shape (n_points, n_coordinates)
        Centered.
    """
    B = eigh(matrix)[1].astype(points.dtype)
    lengths = np.linalg.norm(points @ B, axis=0)
    noise = np.sqrt(negligible(points.dtype, *points.shape))
    return B[:, lengths > noise * lengths.max()]


def complete_rows(components: Matrix, n_components: int) -> Matrix:
    """Return orthonormal rows with their largest entries positive.

    If there are fewer than n_components, arbitrary orthonormal rows are appended:
    along them no point varies.
    """
    missing = n_components - len(components)
    if missing > 0:
        rng = np.random.RandomState(0)
        more = rng.standard_normal((components.shape[1], missing))
        components = orthonormal(np.hstack([components.T, more])).T
    largest = np.abs(components).argmax(axis=1)
    signs = np.sign(components[np.arange(len(components)), largest])
    return components * signs[:, None]


class LocalGaussianObjective:
    """Minus eq. 2 of the LDG paper as a function of a map: the log posterior.

    −f(B) = Σ_i log p(Bᵀx_i | y_i) p(y_i) − log Σ_j p(Bᵀx_i | j) p(j), with
    p(Bᵀx_i | j) = N(Bᵀx_i; Bᵀμ_ij, σ_ij² I) for orthonormal B. It depends on the
    subspace alone. So it needs no constraint: B is an orthonormal basis of the rows of
    any map of full rank.

    Parameters
    ----------
    subset : ClassPoints
        The points. The only point of a class is left out of the sum.
    neighbors : list of ndarray
        The nearest points of each class.
    priors : ndarray of shape (n_classes,)
        p(j).
    n_features : int
        d, the number of features before any reduction to coordinates.
    """

    def __init__(
        self,
        subset: ClassPoints,
        neighbors: Neighbors,
        priors: FloatArray,
        n_features: int,
    ) -> None:
        self.points, self.codes, self.priors = subset.points, subset.codes, priors
        self.variances = subset.variances(neighbors, n_features)
        self.averages = [
            summing(nearest, len(nearest), np.float64) / nearest.shape[1]
            for nearest in neighbors
        ]

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return −f and its derivative with respect to the map.

        Only mapped points are averaged: Bᵀ(μ − x) is the mean of the mapped neighbors
        minus the mapped point.

        Parameters
        ----------
        components : ndarray of shape (n_components, n_coordinates)
            A map of full rank.
        """
        B, R = qr(np.asarray(components, dtype=np.float64).T, mode="economic")
        Z, variances = self.points @ B, self.variances
        n, n_components = Z.shape
        differences = [average @ Z - Z for average in self.averages]
        squares = [np.einsum("ij,ij->i", each, each) for each in differences]
        odds = np.log(self.priors) - n_components / 2 * np.log(2 * np.pi * variances)
        odds -= np.stack(squares, axis=1) / (2 * variances)
        own = np.arange(n), self.codes
        counted = np.bincount(self.codes)[self.codes] > 1
        total = logsumexp(odds, axis=1)
        value = float((odds[own] - total)[counted].sum())

        # ∂f/∂log p of each Gaussian: its posterior, minus 1 for the class of the point.
        weights = np.exp(odds - total[:, None])
        weights[own] -= 1
        weights *= counted[:, None] / variances
        by_point = np.zeros_like(Z)
        for j, average in enumerate(self.averages):
            weighted = weights[:, j, None] * differences[j]
            by_point += average.T @ weighted - weighted
        # The signs cancel: log p = −½‖·‖²/σ² + const, and −f is returned.
        gradient = by_point.T @ self.points
        # Changes within the subspace have no effect.
        gradient -= (gradient @ B) @ B.T
        return value, solve_triangular(R, gradient)
