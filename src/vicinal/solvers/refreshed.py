"""Climbing in rounds, between which an objective may look around anew."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution, Solver, StopReason
from vicinal.solvers.stopping import relative_change


class SolverForIterations(Protocol):
    """Makes a solver for some number of iterations."""

    def __call__(self, *, max_iter: int, tol: float) -> Solver:
        """Return the solver."""


@dataclass(frozen=True)
class Refreshed:
    """Let a solver climb a few iterations at a time, with a fresh look before each.

    For objectives that are good around the map at which they last looked. A round
    after which a fresh look finds the objective lower is taken back, and those that
    follow are half as long.

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
        Iterations in a round, at first.
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
        A, stopped, ends = start, False, False
        length = self.length
        curve: list[float] = []
        n_done, before = 0, 0
        reason: StopReason = "converged"
        message = ""
        good, height = start, -np.inf

        def watch(components: FloatArray, latest: list[float]) -> bool:
            nonlocal stopped, n_done
            n_done += 1
            curve.extend(latest[-1:] if curve else latest)
            stopped = on_iteration(components, curve)
            return stopped or self.is_stale(components)

        while True:
            self.refresh(A)
            value = objective.value_and_gradient(A)[0]
            if value >= height:
                good, height = A, value
            else:
                # What was gained by the old look is lost by the new: so far one cannot
                # go without looking.
                A, length = good, length // 2
                del curve[max(before, 1) :]
                self.refresh(A)
                if not length:
                    reason = "stale"
                    message = "neighbours change faster than the map can; keep more"
            if ends or not length:
                return Solution(A, max(len(curve) - 1, 0), curve, reason, message)
            before = len(curve)
            left = min(length, self.max_iter - n_done)
            solver = self.solver(max_iter=left, tol=self.tol)
            reached = solver.maximize(objective, A, watch)
            A, message = reached.components, reached.message
            curve = curve or reached.curve
            gain = relative_change(reached.curve[0], reached.curve[-1])
            if stopped:
                ends, reason = True, "callback"
            elif reached.n_iter == 0:
                ends, reason = True, reached.reason
            elif gain <= self.tol:
                ends = True
            elif n_done >= self.max_iter:
                ends, reason = True, "max_iter"
                message = "the iterations are used up"
