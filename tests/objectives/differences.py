"""Gradients from differences of values."""

from collections.abc import Callable

import numpy as np

from vicinal._typing import FloatArray
from vicinal.optimize import Objective


def differences_of(
    value: Callable[[FloatArray], float], A: FloatArray, step: float = 1e-6
) -> FloatArray:
    gradient = np.empty_like(A)
    for index in np.ndindex(A.shape):
        up, down = A.copy(), A.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (value(up) - value(down)) / (2 * step)
    return gradient


def by_differences(
    objective: Objective, A: FloatArray, step: float = 1e-6
) -> FloatArray:
    return differences_of(lambda B: objective.value_and_gradient(B)[0], A, step)
