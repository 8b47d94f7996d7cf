"""How the iterative methods of this room are optimised, printed and warned about."""

import sys
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from vicinal._typing import FloatArray
from vicinal.base.metric import warn_caller
from vicinal.optimize import SOLVERS, Objective


def maximize(estimator: Any, objective: Objective, start: FloatArray) -> Any:
    """Maximize by L-BFGS, with the estimator's max_iter, tol and verbose."""
    solver = SOLVERS["lbfgs"](max_iter=estimator.max_iter, tol=estimator.tol)

    def say(_: FloatArray, curve: list[float]) -> bool:
        if estimator.verbose:
            name = type(estimator).__name__
            sys.stdout.write(f"[{name}] {len(curve) - 1:>10} {-curve[-1]:>16.6e}\n")
            sys.stdout.flush()
        return False

    found: Any = solver.maximize(objective, start, say)
    return found


def warn_unless_converged(
    estimator: Any, found: Any, otherwise: str = "Raise tol"
) -> None:
    """Warn where the solver ran out of iterations, or could not go on."""
    if found.success:
        return
    if found.n_iter >= estimator.max_iter:
        advice = f"did not converge in {found.n_iter} iterations; raise max_iter or tol"
    else:
        advice = (
            f"could not go on after {found.n_iter} iterations ({found.message}); "
            f"the metric is the best it found. {otherwise}"
        )
    warn_caller(f"{type(estimator).__name__} {advice}.", ConvergenceWarning)
