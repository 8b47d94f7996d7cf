"""Climbing in rounds, between which an objective may look around anew."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution, Solver
from vicinal.solvers.stopping import relative_change


class SolverForIterations(Protocol):
    """Makes a solver for some number of iterations."""

    def __call__(self, *, max_iter: int, tol: float) -> Solver:
        """Return the solver."""


@dataclass(frozen=True)
class Rounds:
    """Let a solver climb a few iterations at a time, with a fresh look before each.

    For objectives that are good around the map at which they last looked.

    Parameters
    ----------
    refresh : callable
        Makes the objective look around at a map.
    is_stale : callable
        Whether a map is too far from where the objective last looked: ends the round.
    solver : callable
        Makes a solver for a round.
    max_iter : int
        Iterations, over all rounds.
    tol : float
        Stop when a whole round gains less than this, relative to the objective.
    length : int, default=10
        Iterations in a round.
    """

    refresh: Callable[[FloatArray], None]
    is_stale: Callable[[FloatArray], bool]
    solver: SolverForIterations
    max_iter: int
    tol: float
    length: int = 10

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Climb the objective from a start; see `vicinal.solvers.base.Solver`."""
        A, stopped = start, False
        curve: list[float] = []

        def watch(components: FloatArray, latest: list[float]) -> bool:
            nonlocal stopped
            curve.extend(latest[-1:] if curve else latest)
            stopped = on_iteration(components, curve)
            return stopped or self.is_stale(components)

        while True:
            self.refresh(A)
            n_done = max(len(curve) - 1, 0)
            left = min(self.length, self.max_iter - n_done)
            solver = self.solver(max_iter=left, tol=self.tol)
            reached = solver.maximize(objective, A, watch)
            A = reached.components
            curve = curve or reached.curve
            n_iter = len(curve) - 1
            gain = relative_change(reached.curve[0], reached.curve[-1])
            if stopped or reached.n_iter == 0 or gain <= self.tol:
                self.refresh(A)
                return Solution(A, n_iter, curve, True, reached.message)
            if n_iter >= self.max_iter:
                self.refresh(A)
                return Solution(A, n_iter, curve, False, "the iterations are used up")
