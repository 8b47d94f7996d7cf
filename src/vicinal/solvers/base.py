"""What a solver needs from an objective, and what it gives back."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from vicinal._typing import FloatArray


class Objective(Protocol):
    """Something to climb: a number and its gradient at a map."""

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the value at the map and the derivative, of the map's shape."""


OnIteration: TypeAlias = Callable[[FloatArray, list[float]], bool]
"""Called after each iteration with the map and the curve so far; True stops."""


@dataclass(frozen=True)
class Solution:
    """Where a solver ended.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        The best map that was found.
    n_iter : int
        The optimiser's own count of iterations.
    curve : list of float
        The objective at the start and after each iteration.
    converged : bool
        False when the solver ran out of iterations or could not go on.
    message : str
        Why it stopped, in words.
    """

    components: FloatArray
    n_iter: int
    curve: list[float]
    converged: bool
    message: str


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
