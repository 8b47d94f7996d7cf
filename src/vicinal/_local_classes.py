"""What estimators with local Gaussians check of classes and parameters."""

import warnings
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets

from vicinal._ldg_choices import N_NEIGHBORS
from vicinal._typing import FloatArray, IntArray

LOCAL_CONSTRAINTS: dict[str, Any] = {
    "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
    "priors": ["array-like", None],
    "var_floor": [Interval(Real, 0, None, closed="neither")],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


def encoded(y: NDArray[Any], estimator: str) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted labels, of which there must be two, and the rows' codes."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{estimator} tells classes apart, but y holds one class only: {classes}."
        )
    return classes, codes


def checked_priors(priors: ArrayLike | None, codes: IntArray) -> NDArray[np.float64]:
    """Return p(j) of each class: what is given, or the share of the rows."""
    sizes = np.bincount(codes).astype(np.float64)
    if priors is None:
        return sizes / sizes.sum()
    given = np.asarray(priors, dtype=np.float64)
    if given.shape != sizes.shape:
        raise ValueError(
            f"priors must have one entry for each of the {len(sizes)} classes, got "
            f"shape {given.shape}."
        )
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ValueError(f"priors must be positive throughout, got {given}.")
    return given / given.sum()


def least_spread(points: FloatArray, var_floor: float) -> float:
    """Return the floor of d σ²: var_floor times the points' mean squared distance.

    That is from their mean. Where they are all equal, anything above 0 will do.
    """
    total = points.var(axis=0, dtype=np.float64).sum()
    return float(var_floor * total) or 1.0


def warn_of_small_classes(
    classes: NDArray[Any], codes: IntArray, n_neighbors: int | str, itself: int
) -> None:
    """Warn of classes that have fewer neighbours to give than was asked for.

    `itself` is 1 where a point is left out of its own neighbours, else 0. With
    n_neighbors="cv" the least that is tried counts: where more were chosen, that was
    with the small classes as they are.
    """
    wanted = N_NEIGHBORS[0] if isinstance(n_neighbors, str) else n_neighbors
    small = [
        f"{label!r} ({size})"
        for label, size in zip(classes.tolist(), np.bincount(codes), strict=True)
        if size - itself < wanted
    ]
    if small:
        warnings.warn(
            f"These classes have too few rows (in brackets) to give each point "
            f"{wanted} neighbours: {', '.join(small)}. They give as many as they have.",
            UserWarning,
            stacklevel=4,  # past this, fit, and scikit-learn's wrapper of fit
        )
