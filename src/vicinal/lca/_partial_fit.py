"""Points that come one part after the other: what `partial_fit` does with a part."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from vicinal._typing import FLOATS
from vicinal.base.metric import validate_data
from vicinal.lca._data import ScaledData
from vicinal.lca._em import Model, Reached, Start
from vicinal.lca._ridge_path import STREAM_RIDGE


def is_first(estimator: Any) -> bool:
    """Return whether nothing was fitted before."""
    return not hasattr(estimator, "components_")


def ridge_of(estimator: Any, name: str) -> float:
    """Return a ridge for points that keep coming: "cv" has none to hold out."""
    value = getattr(estimator, name)
    if value == "cv":
        raise ValueError(f"partial_fit cannot choose {name}: set it to a number.")
    return STREAM_RIDGE if value == "auto" else float(value)


def grown_data(estimator: Any, X: ArrayLike, isotropic: bool) -> tuple[ScaledData, int]:
    """Return all points so far with the new ones last, and how many are new.

    Parameters
    ----------
    estimator : LCA or LCAGauss
        Whose points so far, and in whose units; the first part sets them.
    X : array-like of shape (n_samples, n_features)
        The new points.
    isotropic : bool
        As for `Scaler.of`.
    """
    first = is_first(estimator)
    points = validate_data(
        estimator, X, dtype=FLOATS, reset=first, ensure_min_samples=1 + first
    )
    if first:
        data = ScaledData.build(points, isotropic, estimator.n_jobs, (X, None))
    else:
        units = estimator._density.units
        U = np.concatenate([estimator._density.U, units.transform(points)])
        data = ScaledData.of(units, U, estimator.n_jobs, (X, None))
    return data, len(points)


def add_points(
    estimator: Any, data: ScaledData, n_new: int, model: Model, start: Start | None
) -> tuple[Reached, float]:
    """Update C_L with the last n_new points as locations (eq. 7).

    Parameters
    ----------
    estimator : LCA or LCAGauss
        What was learned so far, and how mini-batches are drawn.
    data : ScaledData
        All points.
    n_new : int
        How many of them are new.
    model : Model
        The M-step.
    start : Start or None
        Where to begin with the first part; None goes on.

    Returns
    -------
    Reached, float
        The kernel and C_L, and of how much C_L is the average.
    """
    n = len(data.U)
    sampling = estimator._minibatches(data)
    if start is not None:
        kernel, C, _ = start
        weight = sampling.weight_of_start(n)
    else:
        kernel, C = estimator._density.kernel, estimator._local_scatter
        weight = estimator._weight
    rng = check_random_state(estimator.random_state)
    new = rng.permutation(np.arange(n - n_new, n))
    kernel, C, weight = sampling.update(
        model, data.U, kernel, C, weight, new, rng, data.n_threads
    )
    return Reached(kernel, C, [], converged=True), weight
