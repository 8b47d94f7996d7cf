"""What the classic methods that follow a gradient share: start, scale, solver, result.

They work in coordinates of the rows' own: centred, in a unit in which rows are as far
from the middle as 1 on average and, with more features than rows, in as many
dimensions as the rows span.
"""

from abc import abstractmethod
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.callers import warn_caller
from vicinal.base.metric import of_unscaled
from vicinal.base.monitor import CallbackSupportMixin, Monitor
from vicinal.base.n_components import checked_n_components
from vicinal.base.row_space import RowSpace
from vicinal.classic._shared import SupervisedMetric, scattered_span
from vicinal.nca import STARTS, initial_components
from vicinal.solvers import Solution

at_least_one = Interval(Integral, 1, None, closed="left")
# How often a scale is halved or doubled at most, and how exactly it is found.
_DOUBLINGS, _HALVINGS = 40, 6

Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]


class GradientMetric(CallbackSupportMixin, SupervisedMetric):
    """Base of the metrics that maximise an objective of points and classes."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, None],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "max_iter": [at_least_one],
        "tol": [Interval(Real, 0, None, closed="left")],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    n_components: int | None
    init: str | ArrayLike
    max_iter: int
    tol: float
    callback: Callable[[FloatArray, int], object] | None
    verbose: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    n_iter_: int
    objective_curve_: FloatArray

    @abstractmethod
    def _problem(
        self, X: FloatArray, codes: IntArray, seed: int
    ) -> tuple[Any, Any, Evaluate]:
        """Return the objective, its solver, and what finds the scale of a start."""

    def _learn(self, X: FloatArray, codes: IntArray) -> None:
        random_state = check_random_state(self.random_state)
        seed = int(random_state.randint(2**31 - 1))
        span = scattered_span(X)
        points = span.coordinates
        # Solvers take their first steps in a unit of their own: here it is the data's.
        size = float(np.sqrt(np.mean(np.square(points)) * points.shape[1]))
        points /= size
        start = self._start(span, size, X, codes, random_state)
        objective, solver, evaluate = self._problem(points, codes, seed)
        if isinstance(self.init, str):
            start = scaled_along_ray(evaluate, start)

        def attributes_of(A: FloatArray) -> dict[str, Any]:
            rows = span.to_features(A.T)
            return {"components_": of_unscaled(rows, span.unit * size, X.dtype)}

        with Monitor(self, X, codes, start, attributes_of) as monitor:
            solution = solver.maximize(objective, start, monitor)
        found = attributes_of(solution.components)
        self.__dict__.update(found | self._more(objective, X, codes, **found))
        self.n_iter_ = max(1, solution.n_iter)
        self.objective_curve_ = -np.array(solution.curve)
        self._warn_unless_converged(solution)

    def _more(
        self,
        objective: Any,  # noqa: ARG002
        X: FloatArray,  # noqa: ARG002
        codes: IntArray,  # noqa: ARG002
        components_: FloatArray,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Return what else is kept of a fit."""
        return {}

    def _start(
        self,
        span: RowSpace,
        size: float,
        X: FloatArray,
        codes: IntArray,
        random_state: np.random.RandomState,
    ) -> FloatArray:
        """Return the first map, of the rows' coordinates."""
        d = self.n_components
        if isinstance(self.init, str):
            most = span.n_coordinates
            d = checked_n_components(d, most, f"X of shape {X.shape} allows")
            return initial_components(
                self.init, span.coordinates, codes, d, random_state
            )
        given = check_array(self.init, dtype=np.float64, input_name="init")
        if given.shape[1] != X.shape[1] or (d is not None and len(given) != d):
            rows = "n_components" if d is None else d
            raise ValueError(
                f"init must have shape ({rows}, {X.shape[1]}), got {given.shape}."
            )
        basis = span.basis_to_features(np.eye(span.n_coordinates))
        start: FloatArray = span.unit * size * (given @ basis.T)
        return start

    def _warn_unless_converged(self, found: Solution) -> None:
        """Warn where the iterations were too few, or a value is not finite."""
        if found.reason in ("max_iter", "not_finite"):
            warn_caller(
                f"{type(self).__name__} did not converge in {found.n_iter} iterations "
                f"({found.message}); raise max_iter or tol.",
                ConvergenceWarning,
            )


def scaled_along_ray(evaluate: Evaluate, A: FloatArray) -> FloatArray:
    """Return s A with the s > 0 that is best, for an objective concave in AᵀA.

    Its slope along the ray changes sign once. Where it never does, as far as one
    looks, the map comes back as it was.

    Parameters
    ----------
    evaluate : callable
        Value and gradient at a map.
    A : ndarray of shape (n_components, n_features)
        The map.
    """

    def rises(exponent: float) -> bool:
        gradient = evaluate(2.0**exponent * A)[1]
        return float((gradient * A).sum()) > 0

    below = above = 0.0
    if rises(0.0):
        while rises(above := above + 2):
            below = above
            if above > _DOUBLINGS:
                return A
    else:
        while not rises(below := below - 2):
            above = below
            if below < -_DOUBLINGS:
                return A
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        below, above = (middle, above) if rises(middle) else (below, middle)
    scaled: FloatArray = 2.0 ** ((below + above) / 2) * A
    return scaled
