"""Dimensionality annealing: from full rank down, one dimension at a time."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vicinal._typing import FloatArray
from vicinal.objectives import Penalized
from vicinal.solvers import ConjugateGradient, Objective

ANNEALED = ("magnitude", "data-variance", "projected-variance")


@dataclass(frozen=True)
class Annealing:
    """Algorithm 3.2 of the thesis: press one row of the map after another to nothing.

    A row's penalty λ is raised in steps; after each raise, a few conjugate-gradient
    iterations let the other rows take over what it did. Then the row is dropped.

    Parameters
    ----------
    choose : callable
        Given the map, returns the number of the row to press next.
    n_raises : int, default=5
        P: how often λ is raised for a row.
    n_steps : int, default=3
        Conjugate-gradient iterations after each raise.
    """

    choose: Callable[[FloatArray], int]
    n_raises: int = 5
    n_steps: int = 3

    def reduce(
        self, objective: Objective, start: FloatArray, n_components: int
    ) -> FloatArray:
        """Return a map of n_components rows, made from one of more.

        Parameters
        ----------
        objective : Objective
            What to maximise meanwhile.
        start : ndarray of shape (n_rows, n_features)
            A map of full rank, or of more rows than wanted.
        n_components : int
            How many rows to keep.

        Returns
        -------
        ndarray of shape (n_components, n_features)
            Where to start the final optimisation.
        """
        A: FloatArray = np.asarray(start, dtype=np.float64)
        solver = ConjugateGradient(max_iter=self.n_steps, tol=0.0)
        while len(A) > n_components:
            row = self.choose(A)
            for raised in range(1, self.n_raises + 1):
                penalty = np.zeros(len(A))
                penalty[row] = raised * self._raise(objective, A, row)
                A = solver.maximize(
                    Penalized(objective, penalty), A, lambda *_: False
                ).components
            A = np.delete(A, row, axis=0)
        return A

    @staticmethod
    def _raise(objective: Objective, A: FloatArray, row: int) -> float:
        """Return Δλ: what makes the penalty pull as hard as the objective does.

        The text leaves Δλ open; a fixed one would depend on the data's unit.
        """
        size = np.linalg.norm(A[row])
        if size == 0:
            return 0.0
        value, gradient = objective.value_and_gradient(A)
        pull = np.linalg.norm(gradient[row])
        # At a maximum the gradient vanishes; a percent of the objective then does.
        return float(max(pull / (2 * size), 0.01 * abs(value) / size**2))


def least_row(X: FloatArray, measure: bool | str, A: FloatArray) -> int:
    """Return the row of the map to anneal next (thesis, after algorithm 3.2)."""
    if measure == "projected-variance":
        return int(np.argmin((X @ A.T).var(axis=0)))
    if measure == "data-variance":
        directions = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
        return int(np.argmin((X @ directions.T).var(axis=0)))
    return int(np.argmin(np.linalg.norm(A, axis=1)))
