"""Gradients from differences of values."""

import numpy as np

from vicinal._typing import FloatArray
from vicinal.optimize import Objective


def by_differences(
    objective: Objective, A: FloatArray, step: float = 1e-6
) -> FloatArray:
    gradient = np.empty_like(A)
    for index in np.ndindex(A.shape):
        up, down = A.copy(), A.copy()
        up[index] += step
        down[index] -= step
        rise = objective.value_and_gradient(up)[0]
        rise -= objective.value_and_gradient(down)[0]
        gradient[index] = rise / (2 * step)
    return gradient
