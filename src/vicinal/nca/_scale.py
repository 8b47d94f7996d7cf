"""Scale of a map: the effective number of neighbors, and the scale that predicts best.

The size of A is the only bandwidth of p_ij ∝ exp(−‖A x_i − A x_j‖²). Gradients vanish
if all points are equally near, or if only the nearest neighbor has any weight.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.optimize import brentq, minimize_scalar
from scipy.sparse import issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.objectives.base import PairObjective, sample_indices
from vicinal.optimize import power_of_two

N_NEIGHBORS = 10
"""Target perplexity of a map whose own scale is not usable."""
# Minimum perplexity of a start with init="auto".
_FEW = 3.0
# Limits for other starts: only the nearest neighbor, or all points alike.
_BLIND, _ALIKE = 1 + 1e-6, 0.99
# Number of points whose perplexity is measured.
_N_QUERIES = 512
# Maximum number of pairs of an evaluation on all data, and minimum number of queries.
_PAIRS, _MIN_QUERIES = 2**25, 128
# An outlier is farther from the center than this multiple of the median distance.
_FAR_OUT = 100.0
# A variance below this, relative to the largest squared value, is rounding error.
_ROUNDING = 1e-28
# Maximum number of doublings in the search for a scale.
_DOUBLINGS = 24
# Initial grid of the search for the best scale: octaves of the size of the map.
_OCTAVES = np.arange(-2.0, 6.0)


def data_unit(X: Any, counts: FloatArray) -> float:
    """Return the unit of the data: a power of two, 1 for standardized data.

    It is the root mean variance of the features that vary, without outliers, and scales
    with X. If all rows are equal, it is 1, or the size of the rows if that is larger,
    since rounding may make them differ.
    """
    if issparse(X):  # not inspected row by row: outliers are not excluded
        X = X.astype(np.float64)
        largest = float(np.abs(X.data).max(initial=0))
        means = X.T @ counts / counts.sum()
        variances = X.power(2).T @ counts / counts.sum() - np.square(means)
    else:
        X, counts = without_outliers(X.astype(np.float64), counts)
        largest = float(np.abs(X).max(initial=0))
        Z = X - counts @ X / counts.sum()
        variances = counts @ np.square(Z) / counts.sum()
    varying = variances[variances > _ROUNDING * largest**2]
    if len(varying):
        return power_of_two(np.sqrt(varying.mean()))
    return max(1.0, power_of_two(largest or 1.0))


def without_outliers(
    Z: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the points and their weights, without outliers."""
    center = np.median(Z[:: max(1, len(Z) // _N_QUERIES)], axis=0)
    distances = np.square(Z - center).sum(axis=1)
    middle = np.median(distances)
    near = distances <= np.square(_FAR_OUT) * middle
    return (Z[near], counts[near]) if middle > 0 and not near.all() else (Z, counts)


def typical_distance(objective: PairObjective, A: FloatArray) -> float:
    """Return the root mean square distance of mapped points from their mean.

    Outliers are excluded. The result is 0 if the points differ by no more than the
    rounding error.
    """
    X = objective.X
    mapped = (X * A if A.ndim == 1 else X @ A.T.astype(X.dtype)).astype(np.float64)
    Z, counts = without_outliers(mapped, objective.row_counts)
    square = np.square(Z - counts @ Z / counts.sum()).sum(axis=1)
    distance = float(np.sqrt(np.average(square, weights=counts)))
    return distance if distance > np.sqrt(_ROUNDING) * np.abs(Z).max() else 0.0


def perplexity(objective: PairObjective, A: FloatArray, queries: IntArray) -> float:
    """Return the median perplexity of the points at A."""
    seen = objective.effective_neighbors(A, queries)
    known = np.flatnonzero(~np.isnan(seen))
    counts = objective.row_counts[known]
    order = np.argsort(seen[known])
    half = np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)
    return float(seen[known][order[half]])


def to_perplexity(
    objective: PairObjective,
    A: FloatArray,
    rng: Generator,
    n_neighbors: float = N_NEIGHBORS,
) -> FloatArray:
    """Return the map, scaled to a median perplexity of n_neighbors.

    Parameters
    ----------
    objective : PairObjective
        Objective with the points.
    A : ndarray of shape (n_components, n_features) or (n_features,)
        The map, or the diagonal of a diagonal one.
    rng : Generator
        Draws the queries.
    n_neighbors : float, default=10
        Target perplexity; at most half of the points.

    Returns
    -------
    ndarray of the shape of A
        A itself if no scale has this perplexity: a map of zeros, or equal points.
    """
    queries = sample_indices(rng, objective.n_rows, _N_QUERIES)
    few = min(n_neighbors, objective.row_counts.sum() / 2)
    distance = typical_distance(objective, A)
    if not (distance > 0 and np.isfinite(distance)):
        return A
    unit = power_of_two(distance)  # for the same digits in any unit
    A, distance = A / unit, distance / unit

    def excess(log_scale: float) -> float:
        return np.log(perplexity(objective, np.exp(log_scale) * A, queries) / few)

    low = -np.log(distance)
    if excess(low) <= 0:  # few points, all near
        return float(np.exp(low)) * A
    for high in low + np.log(2) * np.arange(1, _DOUBLINGS):
        if excess(high) <= 0:
            root = brentq(excess, low, high, xtol=0.02)
            return float(np.exp(_rounded(root, -np.log(distance)))) * A
        low = high
    return A * unit


def rescale_init(
    objective: PairObjective, A: FloatArray, rng: Generator, is_auto: bool
) -> FloatArray:
    """Return the map, rescaled if its perplexity is too small or too large.

    Parameters
    ----------
    objective, A, rng
        As for `to_perplexity`.
    is_auto : bool
        Whether `init` is "auto". If so, the perplexity should be at least 3; otherwise,
        it is sufficient that gradients do not vanish.
    """
    if not np.any(A):
        return A
    queries = sample_indices(rng, objective.n_rows, _N_QUERIES)
    with np.errstate(over="ignore"):
        try:
            seen = perplexity(objective, A, queries)
        except ValueError:  # distances overflow under this map
            seen = 1.0
    others = float(objective.row_counts.sum()) - 1
    fewest = min(_FEW, others / 4) if is_auto else _BLIND
    if max(fewest, _BLIND) <= seen <= max(_ALIKE * others, others - 1):
        return A
    return to_perplexity(objective, A, rng)


def best_scale(loss: Callable[[float], float], log_scale: float) -> float:
    """Return the logarithm of the scale with the least loss, with a precision of 5 %.

    Parameters
    ----------
    loss : callable
        Loss as a function of the logarithm of a scale.
    log_scale : float
        Center of the search, which covers a quarter to 32 times this scale.
    """
    grid = log_scale + np.log(2) * _OCTAVES
    losses = [loss(x) for x in grid]
    k = int(np.argmin(losses))
    around = (grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)])
    found = minimize_scalar(
        loss, bounds=around, method="bounded", options={"xatol": 0.05}
    )
    return _rounded(found.x if found.fun < losses[k] else grid[k], log_scale)


def _rounded(log_scale: float, origin: float) -> float:
    """Round a scale to one percent, since the search amplifies rounding errors."""
    return float(origin + 0.01 * np.round((log_scale - origin) / 0.01))


def fitted_scale(
    objective: PairObjective,
    A: FloatArray,
    rng: Generator,
    alpha: float = 0.0,
    squared_size: float | None = None,
) -> float:
    """Return the factor by which to multiply a map for the best scale on all data.

    For f, it is the best scale for g. Under f's own best scale, each point would have
    only its nearest neighbor, and the NCA rule would be as noisy as 1-NN.

    Parameters
    ----------
    objective : PairObjective
        Objective on all data.
    A : ndarray of shape (n_components, n_features) or (n_features,)
        The map, or the diagonal of a diagonal one.
    rng : Generator
        Draws the queries.
    alpha : float, default=0.0
        Penalty per point.
    squared_size : float or None, default=None
        ‖A‖² in the penalty; None is that of A.
    """
    surrogate = objective.warmup_surrogate()
    if surrogate is not None and not alpha:
        objective = surrogate[0]
    queries = queries_of_all(objective, rng)
    counts = objective.counts[queries]
    size = squared_size or 0.0
    if alpha and squared_size is None:
        size = float(np.square(A).sum())

    def loss(log_scale: float) -> float:
        factor = np.exp(log_scale)
        terms = objective.terms(factor * A, queries).astype(np.float64)
        penalty = alpha * float(factor) ** 2 * size
        return penalty - float(np.average(terms, weights=counts))

    found = minimize_scalar(
        loss, bounds=(-4, 4), method="bounded", options={"xatol": 0.05}
    )
    return float(np.exp(found.x)) if found.fun < loss(0) else 1.0


def queries_of_all(objective: PairObjective, rng: Generator) -> IntArray:
    """Return random queries for an evaluation against all data at a moderate cost."""
    return objective.sample_queries(rng, max(_MIN_QUERIES, _PAIRS // objective.n_rows))


def best_loss_scale(objective: PairObjective, A: FloatArray) -> FloatArray:
    """Return the map at the scale with the best leave-one-out terms.

    For f, it is the best scale for g, since f's own best scale is that of the nearest
    neighbor alone.
    """
    surrogate = objective.warmup_surrogate()
    judged = objective if surrogate is None else surrogate[0]
    distance = typical_distance(objective, A)
    if not (distance > 0 and np.isfinite(distance)):
        return A
    unit = power_of_two(distance)  # for the same digits in any unit
    A, distance = A / unit, distance / unit
    queries = sample_indices(np.random.default_rng(0), objective.n_rows, 1000)
    counts = judged.counts[queries]

    # A floor of log-probabilities, so that no outlier decides; not for custom losses.
    floor = -20.0 if isinstance(getattr(judged, "kind", "log"), str) else -np.inf

    def loss(log_scale: float) -> float:
        terms = judged.terms(np.exp(log_scale) * A, queries).astype(np.float64)
        return -float(np.average(np.maximum(terms, floor), weights=counts))

    return float(np.exp(best_scale(loss, -np.log(distance)))) * A


def scaled_starts(
    objective: PairObjective, starts: dict[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return starts, by name, each at the scale with the best leave-one-out terms.

    If all points look alike at that scale, the losses are moderate, but the gradient
    vanishes. The same start is then added at a scale at which points have several
    neighbors.
    """
    found = {}
    rng = np.random.default_rng(0)
    queries = sample_indices(rng, objective.n_rows, 1000)
    others = float(objective.row_counts.sum()) - 1
    for name, A in starts.items():
        found[name] = best_loss_scale(objective, A)
        if perplexity(objective, found[name], queries) > 0.5 * others:
            found[f"{name}, scaled up"] = to_perplexity(objective, found[name], rng)
    return found
