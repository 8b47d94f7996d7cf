"""An objective seen in other coordinates."""

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective


class InBasis:
    """An objective of maps that are given in other coordinates.

    Parameters
    ----------
    objective : Objective
        What to evaluate, at A = components @ basisᵀ.
    basis : ndarray of shape (n_features, n_coordinates) or (n_features,)
        The coordinates of x are xᵀ basis; for diagonal maps, x · basis entry by entry.
    """

    def __init__(self, objective: Objective, basis: FloatArray) -> None:
        self.objective = objective
        self.basis = basis

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate at a map; the gradient is in the coordinates, too."""
        if self.basis.ndim == 1:
            value, gradient = self.objective.value_and_gradient(components * self.basis)
            return value, gradient * self.basis
        value, gradient = self.objective.value_and_gradient(components @ self.basis.T)
        return value, gradient @ self.basis


class InUnit:
    """An objective of maps that are given in another unit.

    Parameters
    ----------
    objective : Objective
        What to evaluate, at A = unit · components.
    unit : float
        A power of two changes no digit.
    """

    def __init__(self, objective: Objective, unit: float) -> None:
        self.objective = objective
        self.unit = unit

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate at a map; the gradient is in the unit, too."""
        value, gradient = self.objective.value_and_gradient(self.unit * components)
        return value, gradient * self.unit
