"""The engine between two sets of points, with all that gradients need.

Queries pick points with p_ij ∝ exp(−‖q_i − z_j‖²): what they find, and what they bring.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from vicinal._typing import FloatArray
from vicinal.neighborhood.new_points import resolved
from vicinal.neighborhood.pairs import (
    BlockConsumer,
    CenteredPoints,
    Pairs,
    for_each_block,
)
from vicinal.neighborhood.parallel import ReproducibleSum


class SoftNeighbors(NamedTuple):
    """What queries find among points, and what the points get from them."""

    log_sums: FloatArray
    """log Σ_j exp(−‖q_i − z_j‖²) of each query."""
    means: FloatArray
    """Σ_j p_ij z_j of each query."""
    received: FloatArray
    """Σ_i p_ij t_i of each point, for the t_i that the queries carry."""


def soft_neighbors(
    queries: FloatArray,
    points: FloatArray,
    n_threads: int = 1,
    carried: FloatArray | None = None,
) -> SoftNeighbors:
    """Return what queries find among points, in one pass over all pairs.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        The points q_i that pick, float32 or float64.
    points : array of shape (n_points, n_components)
        The points z_j that can be picked, of the same type.
    n_threads : int, default=1
        The result is the same for any number.
    carried : array of shape (n_queries, n_carried) or None, default=None
        The t_i that the queries carry to the points they pick; None is nothing.

    Returns
    -------
    SoftNeighbors
        In float64 where float32 could not tell the distances apart.
    """
    queries, points = resolved(queries, points)
    if carried is None:
        carried = np.empty((len(queries), 0))
    carried = carried.astype(points.dtype, copy=False)
    whole = SoftNeighbors(
        np.empty(len(queries), dtype=points.dtype),
        np.empty_like(queries),
        np.zeros((len(points), carried.shape[1]), dtype=points.dtype),
    )
    for part, pairs in CenteredPoints.center(points).pairs_of(queries):
        found = _find(pairs, points, carried[part], n_threads)
        whole.log_sums[part], whole.means[part] = found.log_sums, found.means
        whole.received[:] += found.received
    return whole


def _find(
    pairs: Pairs, points: FloatArray, carried: FloatArray, n_threads: int
) -> SoftNeighbors:
    """Return what those queries find whose distances are had in the same manner."""
    from vicinal.neighborhood import kernels  # loads Numba

    dtype = points.dtype
    sums, means = np.empty(pairs.shape[0], dtype=dtype), np.empty_like(pairs.queries)
    received = ReproducibleSum(np.zeros((len(points), carried.shape[1]), dtype=dtype))
    no_offsets = np.zeros(len(points), dtype=dtype)

    def fill(block: FloatArray, rows: slice) -> None:
        norms = pairs.fill(block, rows)
        kernels.normalize(block, *norms, no_offsets, sums[rows])

    def make_consumer() -> BlockConsumer:
        scratch = np.empty_like(received.total)

        def consume(position: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
            term = received.buffer()
            term[:] = 0
            for rows, block in weighed:
                np.matmul(block, points, out=means[rows])
                term += np.matmul(block.T, carried[rows], out=scratch)
            received.add(position, term)

        return consume

    for_each_block(pairs.shape, dtype, fill, make_consumer, n_threads)
    return SoftNeighbors(sums, means, received.total)
