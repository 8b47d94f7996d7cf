"""Limited-memory BFGS, by SciPy."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution


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
        """Climb the objective from a start.

        Parameters
        ----------
        objective : Objective
            What to climb.
        start : ndarray of shape (n_components, n_features)
            The first map.
        on_iteration : callable
            Called after each iteration with the map and the objective's values so
            far, the start's first; True stops.

        Returns
        -------
        Solution
            The last map, which is the best: an iteration never descends.
        """
        curve: list[float] = []
        stopped = False

        def descend(flat: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
            if not curve:
                curve.append(value)
            # SciPy's L-BFGS is written for float64, whatever the objective computes in.
            return -value, -gradient.ravel().astype(np.float64)

        def after_iteration(intermediate_result: OptimizeResult) -> None:
            nonlocal stopped
            curve.append(-float(intermediate_result.fun))
            components = intermediate_result.x.reshape(start.shape).copy()
            if on_iteration(components, curve):
                stopped = True
                raise StopIteration

        result = minimize(
            descend,
            start.ravel().astype(np.float64),
            jac=True,
            method="L-BFGS-B",
            tol=self.tol,
            options={"maxiter": self.max_iter},
            callback=after_iteration,
        )
        return Solution(
            components=result.x.reshape(start.shape),
            n_iter=int(result.nit),
            curve=curve,
            converged=stopped or bool(result.success),
            message="stopped by a callback" if stopped else str(result.message),
        )
