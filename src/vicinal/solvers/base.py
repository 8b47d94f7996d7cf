"""What a solver needs from an objective, and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from vicinal._typing import FloatArray


class Objective(Protocol):
    """Something to climb: a number and its gradient at a map."""

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
    """How to climb, with what it wants to know in its constructor."""

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
            The best map that was found.
        """
