"""Stochastic ascent: Adam's steps on mini-batches, with scheduled step sizes."""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective, OnIteration, Solution, power_of_two

# Adam's memory of the gradient and of its square, as its authors chose them.
_MEAN, _SQUARE = 0.9, 0.999
_WARM_UP = 0.05
# Gradients that have grown by more than this are measured in another unit.
_GROWTH = 2.0**100


class Sampled(Protocol):
    """An objective that is a sum, of which mini-batches can be drawn."""

    def draw(self, rng: Generator) -> Objective:
        """Return a mini-batch: its value and gradient estimate those of the whole."""


@dataclass
class Adam:
    """The direction of Adam's next step, from the gradients so far.

    Each entry moves by its mean gradient in units of the gradient's own size, so that
    the objective's unit cancels. With `size_held`, a step changes the map's direction
    and keeps its size (Frobenius norm).
    """

    size_held: bool = False
    n_steps: int = 0
    unit: float = 1.0
    mean: FloatArray = field(default_factory=lambda: np.zeros(()))
    square: FloatArray = field(default_factory=lambda: np.zeros(()))

    def step(
        self, components: FloatArray, gradient: FloatArray, eta: float
    ) -> FloatArray:
        """Return the map after a step; entries move by about η at most."""
        self.n_steps += 1
        self._find_unit(gradient)
        gradient = gradient / self.unit
        self.mean = _MEAN * self.mean + (1 - _MEAN) * gradient
        self.square = _SQUARE * self.square + (1 - _SQUARE) * gradient**2
        mean = self.mean / (1 - _MEAN**self.n_steps)
        size = np.sqrt(self.square / (1 - _SQUARE**self.n_steps))
        # An entry whose gradient has always been zero does not move.
        moved = components + eta * mean / np.maximum(size, 1e-8 * size.max() + 1e-300)
        if not self.size_held:
            return moved
        if not (moved.any() and components.any()):
            return components.copy()
        return moved * (typical_entry(components) / typical_entry(moved))

    def in_unit(self, unit: float) -> Self:
        """Return the same memory of gradients measured in another unit."""
        if not self.mean.any():  # nothing seen yet: any unit will do
            return replace(self, unit=unit)
        factor = self.unit / unit
        return replace(
            self, unit=unit, mean=self.mean * factor, square=self.square * factor**2
        )

    def _find_unit(self, gradient: FloatArray) -> None:
        """Measure gradients in a unit in which squares neither overflow nor vanish."""
        largest = float(np.abs(gradient).max(initial=0))
        begun = bool(self.mean.any())
        if not largest or (begun and largest <= _GROWTH * self.unit):
            return
        unit = power_of_two(largest)
        if begun:
            grown = self.in_unit(unit)
            self.mean, self.square = grown.mean, grown.square
        self.unit = unit


def schedule(progress: float) -> float:
    """Return the part of the largest step to take: a short rise, and a long fall.

    Parameters
    ----------
    progress : float
        How many of the steps are done, from 0 to 1.
    """
    rise = min(1.0, (progress + 1e-3) / _WARM_UP)
    return float(rise * 0.5 * (1 + np.cos(np.pi * progress)))


class Progress(NamedTuple):
    """Where some steps have led.

    Attributes
    ----------
    components : ndarray
        The map.
    adam : Adam
        What the next steps need to know of these.
    batch_values : list of float
        The mini-batches' values, each before its step.
    finite : bool
        Whether all values and gradients were; otherwise the map is that before the
        first one which was not, or a mean of such.
    n_paths : int
        How many maps, led there by different steps, this is the mean of.
    """

    components: FloatArray
    adam: Adam
    batch_values: list[float]
    finite: bool = True
    n_paths: int = 1


TakeSteps = Callable[[Any, FloatArray, Adam, Sequence[float], Generator], Progress]
"""Takes a step of each size, as `take_steps` does."""


def take_steps(
    objective: Sampled,
    components: FloatArray,
    adam: Adam,
    etas: Sequence[float],
    rng: Generator,
) -> Progress:
    """Take steps, each on another mini-batch.

    Parameters
    ----------
    objective : Sampled
        What mini-batches are drawn from.
    components : ndarray of float64
        The map to start from.
    adam : Adam
        Of the steps before; it is not changed.
    etas : sequence of float
        The size of each step.
    rng : Generator
        Draws the mini-batches.
    """
    adam, values = copy(adam), []
    for eta in etas:
        part = objective.draw(rng)
        # Of data at the edge of what floats hold a step may be too long.
        with np.errstate(over="ignore"):
            value, gradient = part.value_and_gradient(components)
        values.append(value)
        if not (np.isfinite(value) and np.isfinite(gradient).all()):
            return Progress(components, adam, values, finite=False)
        components = adam.step(components, gradient.astype(np.float64), eta)
    return Progress(components, adam, values)


def average(*some: Progress) -> Progress:
    """Return the mean of maps that as many steps each have led from one place.

    Adam's memories are averaged, too. A map that is itself a mean counts as many times
    as its `n_paths`, so that means of means are those of all.
    """
    n = sum(one.n_paths for one in some)
    shares = [one.n_paths / n for one in some]

    def mean(parts: Iterable[Any]) -> Any:
        weighed = (k * np.asarray(part) for k, part in zip(shares, parts, strict=True))
        return reduce(np.add, weighed)

    # Who has seen no gradient but zeros has no unit of his own.
    units = [one.adam.unit for one in some if one.adam.mean.any()]
    unit = max(units, default=1.0)
    adams = [one.adam.in_unit(unit) for one in some]
    adam = replace(
        adams[0],
        mean=mean(one.mean for one in adams),
        square=mean(one.square for one in adams),
    )
    A = mean(one.components for one in some)
    if adam.size_held:  # a mean is shorter than what it is the mean of
        size = mean(typical_entry(one.components) for one in some)
        A *= size / typical_entry(A)
    n_values = min(len(one.batch_values) for one in some)
    values = mean(one.batch_values[:n_values] for one in some).tolist()
    return Progress(A, adam, values, all(one.finite for one in some), n)


@dataclass(frozen=True)
class Stochastic:
    """Adam's steps, each on a random mini-batch of the objective.

    Steps rise shortly, then fall along a cosine to nothing, so that the end is as good
    as an average over the last steps. An iteration is a number of steps; the curve has
    their mean value.

    Parameters
    ----------
    max_iter : int, default=50
        Iterations; all of them are done.
    seed : int, default=0
        For drawing the mini-batches.
    steps : int, default=25
        Steps in an iteration.
    first_step : float, default=0.3
        η of the largest step, in units of the start's typical entry.
    size_held : bool, default=False
        Leave the map's size as it is at the start.
    take : callable, default=take_steps
        Takes an iteration's steps.
    """

    max_iter: int = 50
    seed: int = 0
    steps: int = 25
    first_step: float = 0.3
    size_held: bool = False
    take: TakeSteps = take_steps

    def maximize(
        self, objective: Sampled, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Maximize the objective from a start; see `vicinal.solvers.base.Solver`."""
        rng = np.random.default_rng(self.seed)
        A: FloatArray = start.astype(np.float64)
        unit = typical_entry(A)
        adam = Adam(self.size_held)
        curve: list[float] = []
        n_steps = self.max_iter * self.steps
        for iteration in range(self.max_iter):
            first = iteration * self.steps
            etas = [
                self.first_step * unit * schedule(t / n_steps)
                for t in range(first, first + self.steps)
            ]
            A, adam, values, finite, _ = self.take(objective, A, adam, etas, rng)
            if not finite:
                message = "the objective is not finite"
                last = curve or values[-1:]
                return Solution(A, iteration, last, "not_finite", message)
            curve += [values[0]] if not curve else []
            curve.append(float(np.mean(values)))
            if on_iteration(A.copy(), curve):
                message = "stopped by a callback"
                return Solution(A, iteration + 1, curve, "callback", message)
        return Solution(A, self.max_iter, curve, "converged", "the schedule is done")


def typical_entry(A: FloatArray) -> float:
    """Return the root mean square of the entries; 1 for a map of zeros."""
    largest = float(np.abs(A).max(initial=0))
    if not largest:
        return 1.0
    unit = power_of_two(largest)
    return unit * float(np.sqrt(np.mean((A / unit) ** 2)))
