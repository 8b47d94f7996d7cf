"""The solvers that are SciPy's: L-BFGS and conjugate gradients."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from vicinal._typing import FloatArray
from vicinal.solvers.base import (
    Objective,
    OnIteration,
    Solution,
    StopReason,
    relative_change,
)


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS, SciPy's L-BFGS-B.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations at most.
    tol : float, default=1e-5
        Stop when an iteration gains less than this, relative to the objective, or
        when no entry of the gradient is larger.

    See Also
    --------
    vicinal.solvers.ConjugateGradient : Two evaluations an iteration, often a little
        higher.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.solvers import LBFGS
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> solution = LBFGS(max_iter=20).maximize(
    ...     objective, np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.curve[-1] >= solution.curve[0]
    True
    """

    max_iter: int = 50
    tol: float = 1e-5

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Maximize the objective from a start; see `vicinal.solvers.base.Solver`."""
        return _maximize(
            objective,
            start,
            on_iteration,
            method="L-BFGS-B",
            tol=self.tol,
            # Iterations are the limit; SciPy has one on evaluations, too.
            options={"maxiter": self.max_iter, "maxfun": 100 * (self.max_iter + 1)},
        )


@dataclass(frozen=True)
class ConjugateGradient:
    """Conjugate gradients of Polak and Ribière, SciPy's CG (thesis, section 3.3.1).

    Each iteration searches along a line for a map that satisfies Wolfe's conditions,
    which takes about two evaluations of the objective.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations at most.
    tol : float, default=1e-5
        Stop when an iteration gains less than this, relative to the objective, or
        when no entry of the gradient is larger.

    See Also
    --------
    vicinal.solvers.LBFGS : Fewer evaluations.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.solvers import ConjugateGradient
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> objective = NCAObjective(X, [0, 0, 1, 1])
    >>> solution = ConjugateGradient(max_iter=20).maximize(
    ...     objective, np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.curve[-1] >= solution.curve[0]
    True
    """

    max_iter: int = 50
    tol: float = 1e-5

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Maximize the objective from a start; see `vicinal.solvers.base.Solver`."""
        return _maximize(
            objective,
            start,
            on_iteration,
            # SciPy's CG knows a bound on the gradient only, which is a sum over points.
            is_enough=lambda curve: relative_change(*curve[-2:]) <= self.tol,
            method="CG",
            options={"maxiter": self.max_iter, "gtol": self.tol},
        )


def _maximize(
    objective: Objective,
    start: FloatArray,
    on_iteration: OnIteration,
    is_enough: Callable[[list[float]], bool] = lambda _: False,
    **how: Any,
) -> Solution:
    """Maximize with `scipy.optimize.minimize`.

    Parameters
    ----------
    objective, start, on_iteration
        As for any solver's `maximize`.
    is_enough : callable
        Given the curve, whether the last iteration gained too little to go on; for
        methods to which SciPy gives no such rule.
    **how
        SciPy's method, tolerance and options.

    Returns
    -------
    Solution
        The last map, which is the best: no iteration lowers the objective.
    """
    curve: list[float] = []
    stopped: tuple[StopReason, str] | None = None

    def negated(flat: FloatArray) -> tuple[float, FloatArray]:
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

    # Norms of gradients that SciPy takes may overflow; `_reason` then says so.
    with np.errstate(over="ignore", invalid="ignore"):
        result = minimize(
            negated,
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
