"""LDG's true objective: the log-odds of local Gaussians, over subspaces."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr, solve_triangular
from scipy.special import logsumexp

from vicinal._typing import FloatArray, IntArray
from vicinal.ldg._local_gaussians import ClassPoints, summing
from vicinal.neighborhood.nearest_lists import Neighbors


@dataclass(frozen=True)
class LocalGaussianObjective:
    """Minus eq. 2 of the LDG paper, at the subspace that a map's rows span.

    f(B) = Σ_i log Σ_j p(Bᵀx_i | j) p(j) − log p(Bᵀx_i | y_i) p(y_i), where
    p(Bᵀx_i | j) = N(Bᵀx_i; Bᵀμ_ij, σ_ij² I) for orthonormal B. It depends on the
    subspace alone, and so it is defined, and can be optimised without constraints, for
    any map of full rank: B is an orthonormal basis of its rows.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Sorted by class.
    codes : ndarray of shape (n_points,)
        Their classes. The term of the only point of a class is left out.
    neighbors : list of ndarray
        The nearest points of each class.
    variances : ndarray of shape (n_points, n_classes)
        σ².
    priors : ndarray of shape (n_classes,)
        p(j).
    """

    points: FloatArray
    codes: IntArray
    neighbors: Neighbors
    variances: NDArray[np.float64]
    priors: NDArray[np.float64]

    @classmethod
    def build(
        cls,
        subset: ClassPoints,
        neighbors: Neighbors,
        priors: NDArray[np.float64],
        n_features: int,
        n_threads: int,
    ) -> "LocalGaussianObjective":
        """Build from points and their neighbours; each is left out of its own."""
        variances = subset.variances(neighbors, n_features, n_threads)
        return cls(subset.points, subset.codes, neighbors, variances, priors)

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return −f and its derivative with respect to the map.

        Only mapped points are averaged, never the points: Bᵀ(μ − x) is the mean of the
        mapped neighbours minus the mapped point.

        Parameters
        ----------
        components : ndarray of shape (n_components, n_coordinates)
            A map of full rank.
        """
        B, R = qr(np.asarray(components, dtype=np.float64).T, mode="economic")
        Z = self.points @ B
        n, n_components = Z.shape
        odds = np.log(self.priors) - n_components / 2 * np.log(
            2 * np.pi * self.variances
        )
        averages = [
            summing(nearest, n, np.float64) / nearest.shape[1]
            for nearest in self.neighbors
        ]
        differences = [average @ Z - Z for average in averages]
        for j, difference in enumerate(differences):
            squares = np.einsum("ij,ij->i", difference, difference)
            odds[:, j] -= squares / (2 * self.variances[:, j])
        rows = np.arange(n)
        counted = np.bincount(self.codes)[self.codes] > 1
        total = logsumexp(odds, axis=1)
        value = float((total - odds[rows, self.codes])[counted].sum())

        # ∂f/∂log p of each Gaussian: its posterior, minus one for the own class.
        pulls = np.exp(odds - total[:, None])
        pulls[rows, self.codes] -= 1
        pulls *= counted[:, None] / self.variances
        by_point = np.zeros_like(Z)
        for j, (average, difference) in enumerate(
            zip(averages, differences, strict=True)
        ):
            weighted = pulls[:, j, None] * difference
            by_point += average.T @ weighted - weighted
        # f falls where log p rises with a shorter difference: −½‖·‖²/σ².
        gradient = by_point.T @ self.points
        # Only what leads out of the subspace changes it.
        gradient -= (gradient @ B) @ B.T
        return -value, solve_triangular(R, gradient)
