"""What a solver needs from an objective, and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

import numpy as np

from vicinal._typing import FloatArray


class Objective(Protocol):
    """What a solver maximizes: a number and its gradient at a map.

    See Also
    --------
    vicinal.objectives.NCAObjective : One of them.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.solvers import LBFGS
    >>> class Hill:
    ...     def value_and_gradient(self, components):
    ...         return -float(np.sum(components**2)), -2 * components
    >>> solution = LBFGS().maximize(Hill(), np.eye(2), on_iteration=lambda *_: False)
    >>> bool(np.allclose(solution.components, 0, atol=1e-3))
    True
    """

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at the map and the derivative, of the map's shape."""


OnIteration: TypeAlias = Callable[[FloatArray, list[float]], bool]
"""Called after each iteration with the map and the curve so far; True stops."""


StopReason: TypeAlias = Literal[
    "converged", "callback", "max_iter", "line_search", "not_finite", "stale"
]
"""Why a solver stopped.

- "converged": the gain or the gradient is within `tol`, or a fixed schedule is done;
- "callback": `on_iteration` returned True;
- "max_iter": the iterations are used up; more of them would go on from here;
- "line_search": no step along the search direction raises the objective enough, which
  is what rounding does near a maximum; more iterations would change nothing;
- "not_finite": the objective or its gradient is NaN or infinite;
- "stale": each refresh of the objective takes back what was gained since the last.
"""


@dataclass(frozen=True)
class Solution:
    """Where a solver ended, and why.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        The best map that was found.
    n_iter : int
        The optimiser's own count of iterations.
    curve : list of float
        The objective at the start and after each iteration.
    reason : StopReason
        Why it stopped, as one of a few names to act on.
    message : str
        Why it stopped, in words.

    See Also
    --------
    vicinal.solvers.LBFGS : Returns one.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective
    >>> from vicinal.solvers import LBFGS
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> solution = LBFGS().maximize(
    ...     NCAObjective(X, [0, 0, 1, 1]), np.eye(2), on_iteration=lambda *_: False
    ... )
    >>> solution.reason
    'converged'
    """

    components: FloatArray
    n_iter: int
    curve: list[float]
    reason: StopReason
    message: str

    @property
    def converged(self) -> bool:
        """False when the solver ran out of iterations or could not go on."""
        return self.reason in ("converged", "callback")


class Solver(Protocol):
    """A method of optimisation, with its settings in the constructor."""

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Maximize the objective from a start.

        Parameters
        ----------
        objective : Objective
            What to maximize.
        start : ndarray
            The first map, of any shape.
        on_iteration : callable
            Called after each iteration with the map and the objective's values so
            far, the start's first; True stops.

        Returns
        -------
        Solution
            The best map that was found.
        """


def relative_change(before: float, after: float) -> float:
    """Return how much an iteration changed the objective, relative to it.

    |f_{k+1} − f_k| / max(|f_k|, |f_{k+1}|, 1), which SciPy's L-BFGS-B stops on, too.
    """
    return abs(after - before) / max(abs(before), abs(after), 1.0)


def power_of_two(size: float) -> float:
    """Return the power of two nearest to a size: dividing by it rounds nothing."""
    fraction, exponent = np.frexp(size)
    nearest = int(exponent) - int(fraction < np.sqrt(0.5))
    return float(np.ldexp(1.0, min(nearest, 1023)))  # no float is larger
