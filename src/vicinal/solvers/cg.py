"""Conjugate gradients, by SciPy."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution
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
        """Climb the objective from a start.

        Parameters
        ----------
        objective : Objective
            What to climb.
        start : ndarray
            The first map, of any shape.
        on_iteration : callable
            Called after each iteration with the map and the objective's values so
            far, the start's first; True stops.

        Returns
        -------
        Solution
            The last map, which is the best: an iteration never descends.
        """
        curve: list[float] = []
        reason = ""

        def descend(flat: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
            if not curve:
                curve.append(value)
            # The line search compares nearby values, whatever the objective's type.
            return -value, -gradient.ravel().astype(np.float64)

        def after_iteration(intermediate_result: OptimizeResult) -> None:
            nonlocal reason
            curve.append(-float(intermediate_result.fun))
            components = intermediate_result.x.reshape(start.shape).copy()
            if on_iteration(components, curve):
                reason = "stopped by a callback"
            # SciPy's CG knows a bound on the gradient only, which is a sum over points.
            elif relative_change(*curve[-2:]) <= self.tol:
                reason = "an iteration gained less than tol"
            if reason:
                raise StopIteration

        result = minimize(
            descend,
            start.ravel().astype(np.float64),
            jac=True,
            method="CG",
            options={"maxiter": self.max_iter, "gtol": self.tol},
            callback=after_iteration,
        )
        return Solution(
            components=result.x.reshape(start.shape),
            n_iter=int(result.nit),
            curve=curve,
            converged=bool(reason or result.success),
            message=reason or str(result.message),
        )
