"""Limited-memory BFGS, by SciPy."""

from dataclasses import dataclass

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution
from vicinal.solvers.scipy_minimize import maximize_by_scipy


@dataclass(frozen=True)
class LBFGS:
    """Climb with L-BFGS-B.

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
            method="L-BFGS-B",
            tol=self.tol,
            # Iterations are the limit; SciPy has one on evaluations, too.
            options={"maxiter": self.max_iter, "maxfun": 100 * (self.max_iter + 1)},
        )
