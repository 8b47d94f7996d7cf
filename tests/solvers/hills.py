"""Objectives whose summit is known, and a wrapper that takes notes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from vicinal._typing import FloatArray
from vicinal.optimize import Objective


class Hill:
    """−‖H (A − top)‖², which has one summit."""

    top = np.array([[1.0, -2.0, 3.0], [0.0, 5.0, -1.0]])
    steepness = np.array([1.0, 3.0, 10.0])

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        off = (components - self.top) * self.steepness
        return -float((off**2).sum()), -2 * off * self.steepness


class Plain:
    """A sum of entries that is the same everywhere: nothing to climb."""

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        return 3.0, np.zeros_like(components)


@dataclass
class Times:
    """An objective in another unit."""

    factor: float
    objective: Objective

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.objective.value_and_gradient(components)
        return self.factor * value, self.factor * gradient


@dataclass
class Scripted:
    """Values as written down, whatever the map is, on a slope that never changes."""

    script: Iterator[float]

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        return next(self.script), np.ones_like(components)


@dataclass
class Watched:
    """An objective that notes where it was evaluated, and what came out."""

    objective: Objective
    maps: list[FloatArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    gradients: list[FloatArray] = field(default_factory=list)

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.objective.value_and_gradient(components)
        self.maps.append(components.copy())
        self.values.append(value)
        self.gradients.append(gradient)
        return value, gradient


def go_on(_: FloatArray, __: list[float]) -> bool:
    """Let a solver run until it stops by itself."""
    return False


class WrongWay(Hill):
    """A hill whose gradient points down: no step along it gains anything."""

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = super().value_and_gradient(components)
        return value, -gradient
