"""Eq. 7 of the LDG paper: two eigenproblems on the same axes, and how to weigh them."""

from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from vicinal.base.domains import Domain
from vicinal.base.folds import held_out
from vicinal.base.knn_vote import majority, nearest_points
from vicinal.base.row_space import RowSpace, span_of, varying_axes
from vicinal.ldg._eigenproblem import EigenProblem, Matrix
from vicinal.ldg._local_gaussians import ClassPoints, scatters
from vicinal.ldg._model_selection import (
    DIMENSIONS_BEYOND_CLASSES,
    KNN_K,
    best_largest,
)
from vicinal.ldg._validation import least_spread

ALPHAS = (0.0, 0.1, 0.3, 0.5)


@dataclass(frozen=True)
class TransferProblem:
    """The points of both domains in common coordinates.

    Attributes
    ----------
    span : RowSpace
        All points, the source's first.
    axes : ndarray of shape (n_coordinates, rank)
        The directions that they vary in.
    source, target : ClassPoints
        The points of each; the target has no rows where there is no target.
    priors : ndarray of shape (n_classes,)
        p(j).
    n_threads : int
        The result is the same for any number.
    """

    span: RowSpace
    axes: Matrix
    source: ClassPoints
    target: ClassPoints
    priors: NDArray[np.float64]
    n_threads: int

    @classmethod
    def build(
        cls,
        source: Domain,
        target: Domain,
        kept: NDArray[np.bool_],
        priors: NDArray[np.float64],
        var_floor: float,
        n_threads: int,
    ) -> "TransferProblem":
        """Build from two domains and the features that count."""
        span = span_of(np.vstack([source.points(kept), target.points(kept)]))
        points = span.coordinates
        n = len(source.codes)
        floor = least_spread(points[:n], var_floor)
        return cls(
            span,
            varying_axes(points),
            ClassPoints.build(points[:n], source.codes, floor),
            ClassPoints.build(points[n:], target.codes, floor, len(priors)),
            priors,
            n_threads,
        )

    def of_source(self, n_neighbors: int) -> EigenProblem:
        """Return V_s and A_s: source points and their source neighbours, as in LDG."""
        neighbors = self.source.nearest(n_neighbors, None, self.n_threads)
        V, A = scatters(
            self.source, neighbors, self.priors, self.span.n_features, self.n_threads
        )
        return EigenProblem.build(self.axes, V, A)

    def of_target(self, n_neighbors: int, rows: NDArray[np.bool_]) -> EigenProblem:
        """Return V_t and A_t: the given target rows and their source neighbours."""
        codes = self.target.codes[rows]
        queries = ClassPoints.build(
            self.target.points[rows], codes, 0, self.target.n_classes
        )
        neighbors = self.source.nearest(n_neighbors, queries.points, self.n_threads)
        V, A = scatters(
            self.source,
            neighbors,
            self.priors,
            self.span.n_features,
            self.n_threads,
            queries,
        )
        return EigenProblem.build(self.axes, V, A)

    def choose_alpha(
        self,
        of_source: EigenProblem,
        n_neighbors: int,
        gamma: float,
        random_state: RandomState,
    ) -> float:
        """Return the α of ALPHAS whose 3-NN errs least in folds of the target rows.

        Of equals, the largest. What is held out serves neither the map nor as a
        neighbour.
        """
        if len(self.target.codes) == 1:
            return ALPHAS[-1]  # nobody can be held out
        d = self.source.n_classes + DIMENSIONS_BEYOND_CLASSES
        right = np.zeros(len(ALPHAS), dtype=np.intp)
        for held in held_out(self.target.codes, random_state):
            of_target = self.of_target(n_neighbors, ~held)
            for a, alpha in enumerate(ALPHAS):
                B = of_target.mixed(of_source, alpha).smallest(gamma, d)[1]
                right[a] += self._count_correct(B, held)
        return best_largest(ALPHAS, right)

    def _count_correct(self, directions: Matrix, held: NDArray[np.bool_]) -> int:
        """Return how many of the held points 3-NN over all others gets right."""
        B = directions.astype(self.source.points.dtype)
        source, target = self.source.points @ B, self.target.points @ B
        others = np.vstack([source, target[~held]])
        codes = np.concatenate([self.source.codes, self.target.codes[~held]])
        nearest = nearest_points(target[held], others, KNN_K, n_threads=self.n_threads)
        return int((majority(codes[nearest[0]]) == self.target.codes[held]).sum())
