"""Conjugate gradients, by SciPy."""

from dataclasses import dataclass

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution
from vicinal.solvers.scipy_minimize import maximize_by_scipy
from vicinal.solvers.stopping import relative_change


@dataclass(frozen=True)
class ConjugateGradient:
    """Climb with the conjugate gradients of Polak and Ribière (thesis, section 3.3.1).

    Each iteration searches along a line for a map that satisfies Wolfe's conditions,
    which takes about two evaluations of the objective.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations at most.
    tol : float, default=1e-5
        Stop when an iteration gains less than this, relative to the objective, or
        when no entry of the gradient is larger.
    """

    max_iter: int = 50
    tol: float = 1e-5

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Climb the objective from a start; see `vicinal.solvers.base.Solver`."""
        return maximize_by_scipy(
            objective,
            start,
            on_iteration,
            # SciPy's CG knows a bound on the gradient only, which is a sum over points.
            is_enough=lambda curve: relative_change(*curve[-2:]) <= self.tol,
            method="CG",
            options={"maxiter": self.max_iter, "gtol": self.tol},
        )
