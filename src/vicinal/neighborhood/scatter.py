"""Scatters of the weighed graph, ZᵀLZ, and what new points see of the density.

Where the product L Z itself is not wanted, its second half Vᵀ Z need not be formed: of
Vᵀ the column sums are enough. It is half the work of `pull`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.engine import (
    BlockConsumer,
    Rule,
    for_each_block,
    squared_norms,
)
from vicinal.neighborhood.parallel import (
    ReproducibleSum,
    back_project,
    blocks,
    rows_per_block,
    run_in_threads,
)


class Scatter(NamedTuple):
    """What the engine returns."""

    values: FloatArray
    """The rule's value for each point that looks for neighbours."""
    matrix: FloatArray
    """Σ_ij v_ij (z_i − z_j)(z_i − z_j)ᵀ; always float64."""


def scatter(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
    scattered: FloatArray | None = None,
) -> Scatter:
    """Weigh the edges between the points and return Σ_ij v_ij z_ij z_ijᵀ = ZᵀLZ.

    With half weights h = ½ (V + Vᵀ)1, ZᵀLZ is twice the symmetric part of
    Zᵀ(diag(h) Z − V Z), whose d×d sums are in float64 whatever the points are: the
    points' distances to each other are small against those to the origin.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        What the weights are computed from, float32 or float64.
    rule : Rule
        How distances become weights and values.
    n_threads : int, default=1
        The result is the same, bit for bit, for any number.
    queries : ndarray of int or None, default=None
        Which of the points look for neighbours, without repeats; None is all.
    carried : array of shape (n_points, n_features) or None, default=None
        What is scattered, of the points' type; None is the points themselves.

    Returns
    -------
    Scatter
        Values of shape (n_queries,) and a matrix of shape (n_features, n_features).
    """
    values, pulled, Z = _pulled(points, rule, n_threads, queries, scattered)
    half = back_project(pulled, Z, n_threads)
    return Scatter(values, half + half.T)


def _pulled(
    points: FloatArray,
    rule: Rule,
    n_threads: int,
    queries: IntArray | None,
    scattered: FloatArray | None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the values, diag(h) Z − V Z in float64, and the centred Z it is of."""
    n = len(points)
    which = np.arange(n) if queries is None else queries
    Y = points - points.mean(axis=0)
    Z = Y if scattered is None else scattered - scattered.mean(axis=0)
    # As in `pull`, a column of ones carries the row sums along.
    d = Z.shape[1]
    wide = np.zeros((n, -(-(d + 1) // 4) * 4), dtype=Z.dtype)
    wide[:, :d] = Z
    wide[:, d] = 1
    by_row = np.empty((len(which), wide.shape[1]), dtype=Z.dtype)
    by_column = ReproducibleSum(np.zeros(n, dtype=np.float64))

    def summer() -> BlockConsumer:
        def add_up(position: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
            term = by_column.buffer()
            term[:] = 0
            for rows, block in weighed:
                np.matmul(block, wide, out=by_row[rows])
                term += np.ones(len(block), dtype=block.dtype) @ block
            by_column.add(position, term)

        return add_up

    values = for_each_block(Y, rule, which, n_threads, summer)
    half = by_column.total / 2
    half[which] += by_row[:, d].astype(np.float64) / 2
    pulled = half[:, None] * Z
    pulled[which] -= by_row[:, :d]
    return values, pulled, Z


def log_sums(
    queries: FloatArray, points: FloatArray, log_offsets: FloatArray, n_threads: int = 1
) -> FloatArray:
    """Return log Σ_j exp(−‖q − z_j‖² − offset_j) of each query.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        New points; one that equals an old one counts it as any other.
    points : array of shape (n_points, n_components)
        The points z_j, of the same type.
    offsets : ndarray of shape (n_points,)
        Not negative; zeros where all points weigh the same.
    n_threads : int, default=1
        The result is the same for any number.

    Returns
    -------
    ndarray of shape (n_queries,)
    """
    from vicinal.neighborhood import kernels  # loads Numba

    origin = points.mean(axis=0)
    Q, Z = queries - origin, points - origin
    query_norms, norms = squared_norms(Q), squared_norms(Z)
    size = rows_per_block(len(Q), len(Z) * Z.itemsize)
    values = np.empty(len(Q), dtype=Z.dtype)

    def visitor() -> Callable[[int, slice], None]:
        buffer = np.empty((size, len(Z)), dtype=Z.dtype)

        def visit(_: int, rows: slice) -> None:
            block = buffer[: rows.stop - rows.start]
            np.matmul(Q[rows], Z.T, out=block)
            kernels.log_sums(block, query_norms[rows], norms, log_offsets, values[rows])

        return visit

    run_in_threads(visitor, blocks(slice(0, len(Q)), size), n_threads)
    return values
