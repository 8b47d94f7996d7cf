"""Gradient ascent (thesis, algorithm 3.1): the loop that all rules for steps share.

The rules themselves live in `step_rules`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import numpy as np

from vicinal._typing import FloatArray
from vicinal.solvers.base import (
    Objective,
    OnIteration,
    Solution,
    StopReason,
    relative_change,
)

# A step that changes the map by less than this part of it leads nowhere.
_NEGLIGIBLE = 1e-10


class Place(NamedTuple):
    """A map, and the objective there."""

    components: FloatArray
    value: float
    gradient: FloatArray

    @property
    def is_finite(self) -> bool:
        """Whether the value and the gradient are finite."""
        return bool(np.isfinite([self.value, _norm(self.gradient)]).all())


def evaluate(objective: Objective, components: FloatArray) -> Place:
    """Evaluate the objective at a map, in float64 whatever it computes in."""
    value, gradient = objective.value_and_gradient(components)
    return Place(components, float(value), gradient.astype(np.float64))


def natural_step(place: Place) -> float:
    """Return the η whose step is as long as the map itself.

    In this unit, step sizes do not depend on the units of the objective or the data.
    A map of zeros has no length; its first step is measured against 1.
    """
    return (_norm(place.components) or 1.0) / _norm(place.gradient)


class StepSizes(Protocol):
    """The step sizes of one run, which change from step to step."""

    @property
    def eta(self) -> float | FloatArray:
        """η of the next step: one for all entries of the map, or one for each."""

    def after_move(self, gradient: FloatArray) -> None:
        """Adapt after a step that was taken, to the gradient where it led."""

    def after_retreat(self) -> None:
        """Shorten the steps, after one that was taken back."""


@dataclass(frozen=True)
class GradientAscent(ABC):
    """Follow the gradient, A ← A + η ∂f/∂A, with η by some rule.

    One iteration is one evaluation of the objective. A step that loses too much, or
    leads to where the objective is not finite, is taken back: the next one starts from
    the best map, and is shorter.

    See Also
    --------
    vicinal.solvers.BoldDriver : A rule.
    vicinal.solvers.DeltaBarDelta : A rule.
    vicinal.solvers.DecayingSteps : A rule.

    Examples
    --------
    >>> from vicinal.solvers import BoldDriver, GradientAscent
    >>> issubclass(BoldDriver, GradientAscent)
    True
    """

    max_iter: int = 50
    tol: float = 1e-5
    first_step: float = 0.1

    tolerated_loss: ClassVar[float] = 0.0
    """How much may be lost before a step is taken back, as part of the gain so far."""

    @abstractmethod
    def step_sizes(self, objective: Objective, start: Place) -> StepSizes:
        """Return the rule's step sizes for a run from a start."""

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Maximize the objective from a start; see `vicinal.solvers.base.Solver`."""
        first = here = best = evaluate(objective, start.astype(np.float64))
        curve = [first.value]

        def end(message: str, reason: StopReason = "converged") -> Solution:
            return Solution(best.components, len(curve) - 1, curve, reason, message)

        if not first.is_finite:
            return end("the objective is not finite at the start", "not_finite")
        if _norm(first.gradient) == 0:
            return end("the gradient is zero at the start")

        sizes = self.step_sizes(objective, first)
        n_idle = 0
        while len(curve) <= self.max_iter:
            step = sizes.eta * here.gradient
            if _norm(step) <= _NEGLIGIBLE * _norm(here.components):
                return end("the step has become negligible")
            there = evaluate(objective, here.components + step)
            floor = best.value - self.tolerated_loss * (best.value - first.value)
            moved = there.is_finite and there.value >= floor
            if moved:
                here = there
                best = max(best, here, key=lambda place: place.value)
                sizes.after_move(here.gradient)
            else:
                here = best
                sizes.after_retreat()
            curve.append(here.value)
            if on_iteration(here.components.copy(), curve):
                return end("stopped by a callback", "callback")
            # Stop only after two small gains in a row: one may be an overshoot, across
            # the maximum along this direction to a point about as high.
            if moved:
                small = relative_change(*curve[-2:]) <= self.tol
                n_idle = n_idle + 1 if small else 0
            if n_idle == 2:
                return end("two iterations in a row gained less than tol")
        return end("the iterations are used up", "max_iter")


def _norm(entries: FloatArray) -> float:
    with np.errstate(over="ignore"):  # beyond all numbers is infinite, no error
        return float(np.linalg.norm(entries.ravel()))
