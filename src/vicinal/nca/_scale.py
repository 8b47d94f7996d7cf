"""The scale of a map: how many neighbours points see, and which scale predicts best.

p_ij ∝ exp(−‖A x_i − A x_j‖²) has no bandwidth but the size of A. Where all points look
equally near, or only the nearest is seen at all, gradients vanish.
"""

import math
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
"""The perplexity that a map is scaled to where its own scale is of no use."""
# Fewer neighbours than this are too few to learn from, in a start that is ours.
_FEW = 3.0
# With any other start: when next to nothing but the nearest, or all alike, is seen.
_BLIND, _ALIKE = 1 + 1e-6, 0.99
# Points whose perplexity is measured.
_N_QUERIES = 512
# The pairs that one look at the whole may cost, and the fewest points worth a look.
_PAIRS, _MIN_QUERIES = 2**25, 128
# A row is far out, beyond so many times the median distance from the middle.
_FAR_OUT = 100.0
# A variance below this, beside the largest number, is a matter of rounding.
_ROUNDING = 1e-28
# How often the scale is doubled in search, from where all points are near.
_DOUBLINGS = 24
# The grid on which the best scale is first looked for: octaves of the map's size.
_OCTAVES = np.arange(-2.0, 6.0)


def data_unit(objective: PairObjective) -> float:
    """Return the unit of the data: a power of two, 1 where they are standardised.

    It is the root mean variance of the features that vary, without rows far out. What
    is measured in it, is multiplied by 2 where all of X is. Rows that are all equal
    have none: it is 1, or larger where they are, which rounding may tell apart.
    """
    known = vars(objective).get("_data_unit")  # the start and the solver both ask
    if known is None or known[0] is not objective.X:
        known = objective.X, _unit_of(objective)
        vars(objective)["_data_unit"] = known
    unit: float = known[1]
    return unit


def _unit_of(objective: PairObjective) -> float:
    X: Any = objective.X.astype(np.float64)
    counts = objective.row_counts
    if issparse(X):
        # No row is looked at by itself: rows far out count as any other.
        largest = float(np.abs(X.data).max(initial=0))
        if not (X.max(axis=0) != X.min(axis=0)).nnz:
            return max(1.0, power_of_two(largest or 1.0))
        unit = power_of_two(largest or 1.0)
        scaled, weights = X / unit, counts / counts.sum()
        variances = scaled.power(2).T @ weights - np.square(scaled.T @ weights)
    elif (X[:1] == X).all():
        return max(1.0, power_of_two(float(np.abs(X).max())))
    else:
        Z, counts, unit = _centered(X, counts)
        variances = counts @ np.square(Z) / counts.sum()
    varying = variances[variances > _ROUNDING]
    return unit * (power_of_two(np.sqrt(varying.mean())) if len(varying) else 1.0)


def typical_distance(objective: PairObjective, A: FloatArray) -> float:
    """Return the root mean square distance of mapped points from their mean.

    Rows so far out that nothing else would be seen beside them do not count. It is 0
    where points differ by no more than rounding.
    """
    X, counts = objective.X, objective.row_counts
    with np.errstate(over="ignore", invalid="ignore"):
        mapped = (X * A if A.ndim == 1 else X @ A.T.astype(X.dtype)).astype(np.float64)
    if not np.isfinite(mapped).all():
        return np.inf
    Z, counts, unit = _centered(mapped, counts)
    square = float(np.average(np.square(Z).sum(axis=1), weights=counts))
    return unit * math.sqrt(square) if square > _ROUNDING else 0.0


def _centered(
    Z: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray, float]:
    """Return points around their mean, their weights, and the unit they are in.

    Rows far out are left out. The unit is a power of two in which squares neither
    overflow nor vanish.
    """
    unit = power_of_two(float(np.abs(Z).max(initial=0)) or 1.0)
    Z = Z / unit
    sample = Z[:: max(1, len(Z) // _N_QUERIES)]
    distances = np.square(Z - np.median(sample, axis=0)).sum(axis=1)
    near = distances <= np.square(_FAR_OUT) * np.median(distances)
    if np.median(distances) > 0 and not near.all():
        Z, counts = Z[near], counts[near]
        closer = power_of_two(float(np.abs(Z).max(initial=0)) or 1.0)
        Z, unit = Z / closer, unit * closer
    return Z - counts @ Z / counts.sum(), counts, unit


def perplexity(objective: PairObjective, A: FloatArray, queries: IntArray) -> float:
    """Return the median number of neighbours that points effectively have at A."""
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
    """Return the map, scaled so that the median point has so many neighbours.

    Parameters
    ----------
    objective : PairObjective
        Whose points see each other.
    A : ndarray of shape (n_components, n_features) or (n_features,)
        The map, or the diagonal of a diagonal one.
    rng : Generator
        Draws the points that are asked.
    n_neighbors : float, default=10
        The perplexity to reach; at most half of the points.

    Returns
    -------
    ndarray of the shape of A
        A itself where no scale gives that many: a map of zeros, or equal points.
    """
    queries = sample_indices(rng, objective.n_rows, _N_QUERIES)
    few = min(n_neighbors, objective.row_counts.sum() / 2)
    distance = typical_distance(objective, A)
    if not (distance > 0 and np.isfinite(distance)):
        return A
    start = A
    unit = power_of_two(distance)
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
    return start


def rescale_init(
    objective: PairObjective, A: FloatArray, rng: Generator, is_auto: bool
) -> FloatArray:
    """Return the map as it is where points see neighbours under it, or else scaled.

    Parameters
    ----------
    objective, A, rng
        As for `to_perplexity`.
    is_auto : bool
        Whether `init` is "auto": then points should see a few neighbors, and not only
        have a gradient that does not vanish.
    """
    if not np.any(A):
        return A
    queries = sample_indices(rng, objective.n_rows, _N_QUERIES)
    with np.errstate(over="ignore"):
        try:
            seen = perplexity(objective, A, queries)
        except ValueError:  # under this map distances overflow
            seen = 1.0
    others = float(objective.row_counts.sum()) - 1
    fewest = min(_FEW, others / 4) if is_auto else _BLIND
    if max(fewest, _BLIND) <= seen <= max(_ALIKE * others, others - 1):
        return A
    return to_perplexity(objective, A, rng)


def best_scale(loss: Callable[[float], float], log_scale: float) -> float:
    """Return the logarithm of the scale with the least loss, to about 5 %.

    Parameters
    ----------
    loss : callable
        Takes the logarithm of a scale.
    log_scale : float
        Where to look: from a quarter of this scale to 32 times it.
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
    """Return a scale to a percent: searches magnify the rounding of what they see."""
    return float(origin + 0.01 * np.round((log_scale - origin) / 0.01))


def fitted_scale(
    objective: PairObjective,
    A: FloatArray,
    rng: Generator,
    alpha: float = 0.0,
    squared_size: float | None = None,
) -> float:
    """Return what to multiply a map by so that it suits all of the data best.

    For f that is the scale which g likes best: under f's own, each point would have
    its nearest neighbour alone, and the NCA rule be as noisy as 1-NN.

    Parameters
    ----------
    objective : PairObjective
        All of the data.
    A : ndarray of shape (n_components, n_features) or (n_features,)
        The map, or the diagonal of a diagonal one.
    rng : Generator
        Draws the points that are asked.
    alpha : float, default=0.0
        The penalty, for each point.
    squared_size : float or None, default=None
        ‖A‖² of the penalty; None is that of A.
    """
    surrogate = objective.warmup_surrogate()
    if surrogate is not None and not alpha:
        objective = surrogate[0]
    queries = queries_of_all(objective, rng)
    counts = objective.counts[queries]
    size = squared_size or 0.0
    if alpha and squared_size is None:
        size = squared_length(A)

    def loss(log_scale: float) -> float:
        factor = np.exp(log_scale)
        terms = objective.terms(factor * A, queries).astype(np.float64)
        # Python's product: of what overflows, no scale is better than another.
        penalty = alpha * float(factor) ** 2 * size
        return penalty - float(np.average(terms, weights=counts))

    found = minimize_scalar(
        loss, bounds=(-4, 4), method="bounded", options={"xatol": 0.05}
    )
    return float(np.exp(found.x)) if found.fun < loss(0) else 1.0


def squared_length(A: FloatArray) -> float:
    """Return ‖A‖², or infinity where that is too large for a float."""
    with np.errstate(over="ignore"):
        return float((A**2).sum())


def queries_of_all(objective: PairObjective, rng: Generator) -> IntArray:
    """Return as many points as can look at all of the data at a moderate cost."""
    return objective.sample_queries(rng, max(_MIN_QUERIES, _PAIRS // objective.n_rows))


def best_loss_scale(objective: PairObjective, A: FloatArray) -> FloatArray:
    """Return the map at the scale with the best leave-one-out terms.

    For f that is the scale which g likes best: f's own is that of the nearest
    neighbour alone.
    """
    surrogate = objective.warmup_surrogate()
    judged = objective if surrogate is None else surrogate[0]
    distance = typical_distance(objective, A)
    if not (distance > 0 and np.isfinite(distance)):
        return A
    unit = power_of_two(distance)
    A, distance = A / unit, distance / unit
    queries = sample_indices(np.random.default_rng(0), objective.n_rows, 1000)
    counts = judged.counts[queries]

    def loss(log_scale: float) -> float:
        terms = judged.terms(np.exp(log_scale) * A, queries).astype(np.float64)
        return -float(np.average(np.maximum(terms, -20.0), weights=counts))

    return float(np.exp(best_scale(loss, -np.log(distance)))) * A


def scaled_starts(
    objective: PairObjective, starts: dict[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return starts, by name, each at the scale with the best leave-one-out terms.

    Where all points look alike at that scale, every loss is moderate and nothing can be
    learned from there. Then the same start is offered at a scale at which a point sees
    several neighbours, too.
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
