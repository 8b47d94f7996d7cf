"""The engine's results for new points, whose neighbours are the points of a fit.

`average` returns the mean target of their soft neighbours, `log_sums` the logarithm of
their kernel density. Both at once, for gradients, are in `soft_neighbors`.
"""

from collections.abc import Callable, Iterator

import numpy as np

from vicinal._typing import FloatArray
from vicinal.neighborhood.pairs import (
    CenteredPoints,
    Pairs,
    float32_resolves,
    for_each_block,
    pass_by,
)
from vicinal.neighborhood.rules import NeighborWeights


def average(
    queries: FloatArray,
    points: FloatArray,
    targets: FloatArray,
    masses: NeighborWeights,
    n_threads: int = 1,
) -> FloatArray:
    """Return Σ_j p_ij t_j, the mean target of each new point's soft neighbours.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        New points, in the same space and of the same type as the old.
    points : array of shape (n_points, n_components)
        The points that can be picked.
    targets : array of shape (n_points, n_targets)
        What to average: indicators of the classes, or numbers.
    masses : NeighborWeights
        What the points weigh as neighbours.
    n_threads : int, default=1
        The result is the same for any number.

    Returns
    -------
    ndarray of shape (n_queries, n_targets)
        In float64 where float32 could not tell the distances apart.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    queries, points, log_offsets = resolved(queries, points, masses.log_offsets)
    targets = targets.astype(points.dtype, copy=False)

    def means_of(pairs: Pairs) -> FloatArray:
        means = np.empty((pairs.shape[0], targets.shape[1]), dtype=points.dtype)
        sums = np.empty(pairs.shape[0], dtype=points.dtype)

        def fill(block: FloatArray, rows: slice) -> None:
            norms = pairs.fill(block, rows)
            kernels.normalize(block, *norms, log_offsets, sums[rows])

        def consume(_: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
            for rows, block in weighed:
                np.matmul(block, targets, out=means[rows])

        for_each_block(pairs.shape, points.dtype, fill, lambda: consume, n_threads)
        return means

    return _of_new_points(queries, points, means_of)


def log_sums(
    queries: FloatArray, points: FloatArray, log_offsets: FloatArray, n_threads: int = 1
) -> FloatArray:
    """Return log Σ_j exp(−‖q − z_j‖² − offset_j) of each new point q.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        New points; one that equals an old one counts it as any other.
    points : array of shape (n_points, n_components)
        The points z_j, of the same type.
    log_offsets : ndarray of shape (n_points,)
        Not negative; zeros where all points weigh the same.
    n_threads : int, default=1
        The result is the same for any number.

    Returns
    -------
    ndarray of shape (n_queries,)
        Of the points' type.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    dtype = points.dtype
    queries, points, log_offsets = resolved(queries, points, log_offsets)

    def sums_of(pairs: Pairs) -> FloatArray:
        sums = np.empty(pairs.shape[0], dtype=points.dtype)

        def fill(block: FloatArray, rows: slice) -> None:
            norms = pairs.fill(block, rows)
            kernels.log_sums(block, *norms, log_offsets, sums[rows])

        for_each_block(pairs.shape, points.dtype, fill, lambda: pass_by, n_threads)
        return sums

    return _of_new_points(queries, points, sums_of).astype(dtype, copy=False)


def _of_new_points(
    queries: FloatArray, points: FloatArray, compute: Callable[[Pairs], FloatArray]
) -> FloatArray:
    """Return what is computed of each query, of those that are far out apart."""
    parts = CenteredPoints.center(points).pairs_of(queries)
    results = [(part, compute(pairs)) for part, pairs in parts]
    first = results[0][1]
    whole = np.empty((len(queries), *first.shape[1:]), dtype=first.dtype)
    for part, result in results:
        whole[part] = result
    return whole


def resolved(*arrays: FloatArray) -> tuple[FloatArray, ...]:
    """Return queries, points and what belongs to them, in float64 where it must be."""
    queries, points, *_ = arrays
    origin = points.mean(axis=0)
    if float32_resolves(queries - origin) and float32_resolves(points - origin):
        return arrays
    return tuple(array.astype(np.float64) for array in arrays)
