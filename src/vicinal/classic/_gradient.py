"""Fit of the classic methods that use gradients.

They work in coordinates of the rows: centered, scaled to a mean distance of 1 from the
center and, with more features than rows, reduced to the span of the rows.
"""

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import RowSpace
from vicinal.base.metric import (
    Monitor,
    labeled,
    unscale_components,
    warn_caller,
)
from vicinal.base.selection import checked_n_components
from vicinal.classic._shared import scattered_span
from vicinal.nca import STARTS, initial_components
from vicinal.neighborhood import single_threaded_blas

at_least_one = Interval(Integral, 1, None, closed="left")
# Maximum number of doublings or halvings of a scale, and the precision of the search.
_DOUBLINGS, _HALVINGS = 40, 6

Evaluate = Callable[[FloatArray], tuple[float, FloatArray]]


GRADIENT_CONSTRAINTS: dict[str, Any] = {
    "n_components": [at_least_one, None],
    "init": [StrOptions(set(STARTS)), "array-like"],
    "max_iter": [at_least_one],
    "tol": [Interval(Real, 0, None, closed="left")],
    "callback": [callable, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


def fit_by_gradient(est: Any, X: Any, y: ArrayLike) -> None:
    """Validate, maximize the estimator's objective, and set the fitted attributes.

    `est._problem(points, codes, seed)` returns the objective, its solver, and a
    function that scales the start.
    """
    with est._unchanged_on_error(), single_threaded_blas():
        X, _, codes = labeled(est, X, y)
        random_state = check_random_state(est.random_state)
        seed = int(random_state.randint(2**31 - 1))
        span = scattered_span(X)
        points = span.coordinates
        # The first steps of the solvers assume the unit of the data.
        size = float(np.sqrt(np.mean(np.square(points)) * points.shape[1]))
        points /= size
        start = _start(est, span, size, X, codes, random_state)
        objective, solver, evaluate = est._problem(points, codes, seed)
        if isinstance(est.init, str):
            start = scaled_along_ray(evaluate, start)

        def attributes_of(A: FloatArray) -> dict[str, Any]:
            rows = span.to_features(A.T)
            return {"components_": unscale_components(rows, span.unit * size, X.dtype)}

        with Monitor(est, X, codes, start, attributes_of) as monitor:
            result = solver.maximize(objective, start, monitor)
        found = attributes_of(result.x)
        vars(est).update(found | est._more(objective, X, codes, **found))
        est.n_iter_ = max(1, result.nit)
        est.objective_curve_ = np.array(result.curve)
    if result.reason in ("max_iter", "not_finite"):
        warn_caller(
            f"{type(est).__name__} did not converge in {result.nit} iterations "
            f"({result.message}); raise max_iter or tol.",
            ConvergenceWarning,
        )


def _start(
    est: Any,
    span: RowSpace,
    size: float,
    X: FloatArray,
    codes: IntArray,
    random_state: np.random.RandomState,
) -> FloatArray:
    """Return the initial map, in coordinates of the rows."""
    d = est.n_components
    if isinstance(est.init, str):
        most = span.n_coordinates
        d = checked_n_components(d, most, f"X of shape {X.shape} allows")
        return initial_components(est.init, span.coordinates, codes, d, random_state)
    given = check_array(est.init, dtype=np.float64, input_name="init")
    if given.shape[1] != X.shape[1] or (d is not None and len(given) != d):
        rows = "n_components" if d is None else d
        raise ValueError(
            f"init must have shape ({rows}, {X.shape[1]}), got {given.shape}."
        )
    basis = span.basis_to_features(np.eye(span.n_coordinates))
    start: FloatArray = span.unit * size * (given @ basis.T)
    return start


def scaled_along_ray(evaluate: Evaluate, A: FloatArray) -> FloatArray:
    """Return s A with the best s > 0, for an objective that is concave in AᵀA.

    The slope along the ray changes sign once. If it does not within the search range,
    the map is returned unchanged.

    Parameters
    ----------
    evaluate : callable
        Returns value and gradient at a map.
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
