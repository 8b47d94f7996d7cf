"""What estimators with local Gaussians check of classes and parameters."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.callers import warn_caller
from vicinal.ldg._local_gaussians import squared_norms
from vicinal.ldg._model_selection import N_NEIGHBORS
from vicinal.objectives.nca import given_prior

LOCAL_CONSTRAINTS: dict[str, Any] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
    "priors": ["array-like", None],
    "var_floor": [Interval(Real, 0, None, closed="neither")],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}
LDG_CONSTRAINTS: dict[str, Any] = {
    **LOCAL_CONSTRAINTS,
    "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "gamma": [Interval(Real, 0, None, closed="left"), StrOptions({"cv"})],
}


def source_of_chance(random_state: int | RandomState | None) -> RandomState:
    """Return what draws the folds and rows for choices; with None, always the same.

    So a fit with defaults makes the same choices each time that it sees the same rows.
    """
    found: RandomState = check_random_state(0 if random_state is None else random_state)
    return found


def checked_priors(priors: ArrayLike | None, codes: IntArray) -> NDArray[np.float64]:
    """Return p(j) of each class: what is given, or the share of the rows."""
    sizes = np.bincount(codes).astype(np.float64)
    if priors is None:
        return sizes / sizes.sum()
    return given_prior(priors, len(sizes), "priors")


def without_rounding(X: Any) -> Any:
    """Return dense rows with features constant where they vary by rounding alone.

    Such a feature would be a direction like any other, and with its eigenvalue near 0
    come before all that have more of V than of γA.
    """
    if issparse(X):
        return X
    low, high = X.min(axis=0), X.max(axis=0)
    largest = np.maximum(np.abs(low), np.abs(high))
    with np.errstate(over="ignore"):  # what is too large is found later
        noise = (low < high) & (high - low <= 4 * np.finfo(X.dtype).eps * largest)
    return np.where(noise, low, X) if noise.any() else X


def least_spread(points: FloatArray, var_floor: float) -> float:
    """Return the floor of d σ²: var_floor times the points' mean squared distance.

    That is from their mean. Where they are all equal, anything above 0 will do.
    """
    mean = points.mean(axis=0, dtype=np.float64)
    total = squared_norms(points).mean() - mean @ mean
    return float(var_floor * max(total, 0.0)) or 1.0


def warn_of_small_classes(
    classes: NDArray[Any], sizes: IntArray, n_neighbors: int | str, itself: int
) -> None:
    """Warn of classes that have fewer neighbours to give than was asked for.

    `sizes` are those of the classes. `itself` is 1 where a point is left out of its
    own neighbours, else 0. With n_neighbors="cv" the least that is tried counts: where
    more were chosen, that was with the small classes as they are.
    """
    wanted = N_NEIGHBORS[0] if isinstance(n_neighbors, str) else n_neighbors
    small = [
        f"{label!r} ({size})"
        for label, size in zip(classes.tolist(), sizes, strict=True)
        if size - itself < wanted
    ]
    if small:
        warn_caller(
            f"These classes have too few rows (in brackets) to give each point "
            f"{wanted} neighbours: {', '.join(small)}. They give as many as they have.",
        )
