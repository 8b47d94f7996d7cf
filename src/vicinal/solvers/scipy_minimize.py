"""What the solvers that are SciPy's have in common."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution, StopReason


def maximize_by_scipy(
    objective: Objective,
    start: FloatArray,
    on_iteration: OnIteration,
    is_enough: Callable[[list[float]], bool] = lambda _: False,
    **how: Any,
) -> Solution:
    """Climb with `scipy.optimize.minimize`.

    Parameters
    ----------
    objective, start, on_iteration
        As for any solver's `maximize`.
    is_enough : callable
        Given the curve, whether the last iteration gained so little that it is time
        to stop, where SciPy's method has no such rule.
    **how
        SciPy's method, tolerance and options.

    Returns
    -------
    Solution
        The last map, which is the best: an iteration never descends.
    """
    curve: list[float] = []
    stopped: tuple[StopReason, str] | None = None

    def descend(flat: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = objective.value_and_gradient(flat.reshape(start.shape))
        if not curve:
            curve.append(value)
        # SciPy's line searches want float64, whatever the objective computes in.
        return -value, -gradient.ravel().astype(np.float64)

    def after_iteration(intermediate_result: OptimizeResult) -> None:
        nonlocal stopped
        curve.append(-float(intermediate_result.fun))
        components = intermediate_result.x.reshape(start.shape).copy()
        if on_iteration(components, curve):
            stopped = "callback", "stopped by a callback"
        elif is_enough(curve):
            stopped = "converged", "an iteration gained less than tol"
        if stopped:
            raise StopIteration

    result = minimize(
        descend,
        start.ravel().astype(np.float64),
        jac=True,
        callback=after_iteration,
        **how,
    )
    reason, message = stopped or (_reason(result), str(result.message))
    components = result.x.reshape(start.shape)
    return Solution(components, int(result.nit), curve, reason, message)


def _reason(result: OptimizeResult) -> StopReason:
    """Return why SciPy's L-BFGS-B or CG stopped by itself."""
    if result.success:
        return "converged"
    if not (np.isfinite(result.fun) and np.isfinite(result.jac).all()):
        return "not_finite"
    # Status 1 is a limit on iterations (or on evaluations, which nobody sets); beyond
    # it both methods know failed line searches only.
    return "max_iter" if result.status == 1 else "line_search"
