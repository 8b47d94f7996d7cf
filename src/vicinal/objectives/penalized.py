"""A penalty on the size of the map, or on its distance from another."""

import numpy as np
from numpy.typing import ArrayLike

from vicinal._typing import FloatArray
from vicinal.solvers.base import Objective


class Penalized:
    """An objective minus λ_i times the squared size of each row i of the map.

    g(A) = f(A) − Σ_i λ_i Σ_j A_ij² (thesis, eq. 3.26 and 3.27); with one λ for all rows
    it is eq. 3.22 and 3.23. Without it nothing keeps the map from growing.

    Parameters
    ----------
    objective : Objective
        The objective without the penalty.
    penalty : float or array-like of shape (n_components,)
        λ, or one for each row.
    center : ndarray or float, default=0.0
        The map that costs nothing.

    See Also
    --------
    vicinal.objectives.NCAObjective : What is penalised.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.objectives import NCAObjective, Penalized
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]])
    >>> plain = NCAObjective(X, [0, 0, 1, 1])
    >>> less = Penalized(plain, 0.1).value_and_gradient(np.eye(2))[0]
    >>> round(plain.value_and_gradient(np.eye(2))[0] - less, 6)
    0.2
    """

    def __init__(
        self,
        objective: Objective,
        penalty: ArrayLike,
        center: FloatArray | float = 0.0,
    ) -> None:
        self.objective = objective
        self.penalty = np.asarray(penalty, dtype=np.float64)
        self.center = center

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate at a map; see the unpenalised objective."""
        value, gradient = self.objective.value_and_gradient(components)
        moved = components - self.center
        weighted = (
            self.penalty[..., None] * moved
            if self.penalty.ndim
            else (self.penalty * moved)
        )
        return value - float((weighted * moved).sum()), gradient - 2 * weighted
