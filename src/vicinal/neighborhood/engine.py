"""The pair engine: sums over all pairs of points, one block of rows at a time.

::

                         references Z (n points, or their nearest neighbors)
                        ┌──────────────────────────────────────────────┐
     queries      rows  │  block: inner products ⟨z_i, z_j⟩   (BLAS)    │
     (all points, ────► │    │ kernel, one row after the other (Numba)  │
     some, or new)      │    ▼                                          │
                        │  block: weights v_ij, and a value for each i  │
                        └──────┬───────────────────────────────────────┘
     a run of blocks is a      │ consumer, before the next block (BLAS)
     partition; threads take   ▼
     one after the other     laplacian_product  values, L Z   gradients
                             scatter     values, XᵀL X     covariances
                             row_values  values            perplexities, terms
                             average     Σ_j p_ij t_j      predictions
                             log_sums    log Σ_j exp(−d²)  densities
                             soft_neighbors  both          gradients between two sets

‖a − b‖² = ‖a‖² + ‖b‖² − 2⟨a, b⟩ turns distances into a matrix product and rounds them
by about eps · (‖a‖² + ‖b‖²). Points are therefore centered first, and blocks with rows
that are still too far out use differences instead. No n×n array is held, and the
result does not depend on the number of threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse import issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.rules import EXCLUDED_DISTANCE, NeighborWeights, Rule
from vicinal.neighborhood.threads import (
    ReproducibleSum,
    back_project,
    blocks,
    partitions,
    rows_per_block,
    run_in_threads,
)


class WeightedPairs(NamedTuple):
    """The values of a rule, and a matrix made of its weights V."""

    values: FloatArray
    """One value for each query."""
    matrix: FloatArray
    """L Z with L the Laplacian of V + Vᵀ, or Σ_ij v_ij x_ij x_ijᵀ in float64."""


Fill: TypeAlias = Callable[[FloatArray, slice], None]
Consume: TypeAlias = Callable[[FloatArray, slice, Any, Any], None]


def for_each_block(
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    fill: Fill,
    n_threads: int,
    consume: Consume | None = None,
    total: ReproducibleSum | None = None,
) -> None:
    """Fill the blocks of a matrix one after the other, and consume each.

    Parameters
    ----------
    shape : tuple of int
        Numbers of queries (rows) and references (columns).
    dtype : dtype
        Type of the blocks.
    fill : callable
        Called with a block and its rows; writes the block.
    n_threads : int
        Number of threads. Neither blocks nor partitions depend on it.
    consume : callable, optional
        Called with a block, its rows, the partition's term of `total`, initially zero,
        and a scratch array of the same shape.
    total : ReproducibleSum, optional
        Sums the partitions' terms in a fixed order.
    """
    n_rows, n_columns = shape
    size = rows_per_block(n_rows, n_columns * dtype.itemsize)

    def worker() -> Callable[[int, slice], None]:
        buffer = np.empty((size, n_columns), dtype=dtype)
        scratch = None if total is None else np.empty_like(total.total)

        def visit(position: int, partition: slice) -> None:
            term = None
            if total is not None:
                term = total.buffer()
                term[...] = 0
            for rows in blocks(partition, size):
                block = buffer[: rows.stop - rows.start]
                fill(block, rows)
                if consume is not None:
                    consume(block, rows, term, scratch)
            if total is not None and term is not None:
                total.add(position, term)

        return visit

    run_in_threads(worker, partitions(n_rows, size), n_threads)


def center(points: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the points relative to their mean, their squared norms, and the mean.

    If some points are far out, the origin is the median: one outlier moves the mean
    away from all other points, but not the median.
    """
    origin: FloatArray = points.mean(axis=0)
    Z = points - origin
    norms = squared_norms(Z)
    if far_out(norms):
        origin = np.median(points, axis=0).astype(points.dtype)
        Z = points - origin
        norms = squared_norms(Z)
    return Z, norms, origin


def far_out(norms: FloatArray) -> bool:
    """Return whether products would round some exponent −‖a − b‖² by over 1e-4.

    Points that float32 does not resolve are in float64; see `float32_resolves`.
    """
    return bool(norms.max(initial=0) > 1e-4 / np.finfo(np.float64).eps)


def inner_products(
    block: FloatArray,
    Q: FloatArray,
    query_norms: FloatArray,
    Z: FloatArray,
    norms: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Write ⟨q, z⟩ into a block; return the squared norms that go with them.

    If a query is far out, −½ ‖q − z‖² from differences takes the place of the products,
    and the norms are 0.
    """
    if not far_out(query_norms):
        np.matmul(Q, Z.T, out=block)
        return query_norms, norms
    from vicinal.neighborhood import kernels  # loads Numba

    kernels.half_distances(block, Q, Z)
    return np.zeros_like(query_norms), np.zeros_like(norms)


def squared_norms(Z: FloatArray) -> FloatArray:
    """Return ‖z_i‖²; raise ValueError if squared distances would overflow."""
    norms: FloatArray = np.einsum("ij,ij->i", Z, Z)
    if not norms.max(initial=0) < EXCLUDED_DISTANCE[Z.dtype] / 8:
        raise ValueError(
            "Under this map the points are too far apart for their squared distances "
            f"to be {Z.dtype} numbers. Scale the data, for instance with "
            "sklearn.preprocessing.StandardScaler, or scale the map down."
        )
    return norms


def float32_resolves(Z: FloatArray) -> bool:
    """Return whether float32 resolves the distances between centered points Z.

    It does if rounding changes an exponential by less than a tenth.
    """
    if Z.dtype != np.float32 or not Z.size:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.square(np.abs(Z).max()) * Z.shape[1]
    return bool(np.finfo(np.float32).eps * spread < 0.1)


def center_float32(X: Any) -> tuple[Any, Any]:
    """Center float32 rows that are far from the origin, where products lose digits.

    Other rows are not copied.

    Returns
    -------
    X : ndarray or sparse array
        The rows, centered if the mean of a feature exceeds four times its range, or,
        for a constant feature, four times the largest range.
    offset : ndarray of shape (n_features,) or None
        The mean that was subtracted.
    """
    if issparse(X) or X.dtype != np.float32:
        return X, None
    mean = X.mean(axis=0, dtype=np.float64)
    extent = X.max(axis=0).astype(np.float64) - X.min(axis=0)
    extent = np.where(extent > 0, extent, extent.max(initial=0))
    if not (extent.any() and (np.abs(mean) > 4 * extent).any()):
        return X, None
    # Rounded to float32, so that subtracting it from new rows gives the same.
    offset = mean.astype(np.float32)
    return X - offset, offset


def laplacian_product(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
) -> WeightedPairs:
    """Weight the edges between the points; return the values and L Z.

    With V the rule's weights, L = diag((V + Vᵀ)1) − V − Vᵀ, so that
    ZᵀL X = Σ_ij v_ij (z_i − z_j)(x_i − x_j)ᵀ for any X.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The projected points z_i, float32 or float64.
    rule : Rule
        Weights and values.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.
    queries : ndarray of int or None, default=None
        Positions of the points whose rows are weighted, without repeats; None is all.
        Edges from other points have weight zero.

    Returns
    -------
    WeightedPairs
        Values of shape (n_queries,) and L Z.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    Z, norms, _ = center(points)
    which = np.arange(len(Z)) if queries is None else queries
    d = Z.shape[1]
    padded = _with_ones(Z)
    by_row = np.empty((len(which), padded.shape[1]), dtype=Z.dtype)
    total = ReproducibleSum(np.zeros_like(padded))

    def consume(block: FloatArray, rows: slice, term: Any, scratch: Any) -> None:
        if far_out(norms[which[rows]]):  # products would cancel
            kernels.add_differences(-block, which[rows], Z, term)
            by_row[rows] = 0
            return
        np.matmul(block, padded, out=by_row[rows])
        term += np.matmul(block.T, padded[which[rows]], out=scratch)

    values = _weigh(Z, norms, rule, which, n_threads, consume, total)
    both = total.total
    both[which] += by_row
    return WeightedPairs(values, both[:, d : d + 1] * Z - both[:, :d])


def scatter(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
    scattered: FloatArray | None = None,
) -> WeightedPairs:
    """Weight the edges between the points; return Σ_ij v_ij x_ij x_ijᵀ = XᵀL X.

    With half weights h = ½ (V + Vᵀ)1 it is twice the symmetric part of
    Xᵀ(diag(h) X − V X): of Vᵀ the column sums are enough. The d×d sums are in float64.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The points whose distances give the weights, float32 or float64.
    rule, n_threads, queries
        As for `laplacian_product`.
    scattered : array of shape (n_points, n_features) or None, default=None
        X, of the points' type; None is the points.

    Returns
    -------
    WeightedPairs
        Values of shape (n_queries,) and a matrix of shape (n_features, n_features).
    """
    from vicinal.neighborhood import kernels  # loads Numba

    Z, norms, _ = center(points)
    X = Z if scattered is None else center(scattered)[0]
    which = np.arange(len(Z)) if queries is None else queries
    d = X.shape[1]
    padded = _with_ones(X)
    by_row = np.empty((len(which), padded.shape[1]), dtype=X.dtype)
    # L X of blocks that use differences, and the column sums of the others.
    total = ReproducibleSum(np.zeros((len(X), d + 1), dtype=np.float64))

    def consume(block: FloatArray, rows: slice, term: Any, _: Any) -> None:
        if far_out(norms[which[rows]]):  # products would cancel
            kernels.add_differences(block, which[rows], X, term)
            by_row[rows] = 0
            return
        np.matmul(block, padded, out=by_row[rows])
        term[:, d] += np.ones(len(block), dtype=block.dtype) @ block

    values = _weigh(Z, norms, rule, which, n_threads, consume, total)
    half = total.total / 2
    half[which, d] += by_row[:, d].astype(np.float64) / 2
    weighted = half[:, d:] * X + half[:, :d]
    weighted[which] -= by_row[:, :d]
    one_half = back_project(weighted, X, n_threads)
    return WeightedPairs(values, one_half + one_half.T)


def row_values(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
) -> FloatArray:
    """Return the rule's values alone; parameters as for `laplacian_product`."""
    Z, norms, _ = center(points)
    which = np.arange(len(Z)) if queries is None else queries
    return _weigh(Z, norms, rule, which, n_threads)


def _weigh(
    Z: FloatArray,
    norms: FloatArray,
    rule: Rule,
    queries: IntArray,
    n_threads: int,
    consume: Consume | None = None,
    total: ReproducibleSum | None = None,
) -> FloatArray:
    """Weight the rows of some points block by block; return their values."""
    from vicinal.neighborhood import kernels  # loads Numba

    values = np.empty(len(queries), dtype=Z.dtype)
    # A slice of all points in their order is a view; an index array would copy them.
    everyone = np.array_equal(queries, np.arange(len(Z)))
    compiled = isinstance(rule.kernel, str)
    kernel = getattr(kernels, rule.kernel) if compiled else rule.kernel

    def fill(block: FloatArray, rows: slice) -> None:
        own = queries[rows]
        which = rows if everyone else own
        own_norms, all_norms = inner_products(block, Z[own], norms[own], Z, norms)
        if compiled:
            args = [known[which] for known in rule.query_args]
            kernel(
                block, own, own_norms, *args, all_norms, *rule.reference_args,
                values[rows],
            )  # fmt: skip
        else:
            kernels.squared_distances(block, own_norms, all_norms)
            block[np.arange(len(block)), own] = 0  # not rounding
            values[rows] = kernel(block, own)

    for_each_block((len(queries), len(Z)), Z.dtype, fill, n_threads, consume, total)
    return values


def _with_ones(Z: FloatArray) -> FloatArray:
    """Append a column of ones, which sums rows and columns, padded for fast BLAS."""
    n, d = Z.shape
    padded = np.zeros((n, -(-(d + 1) // 4) * 4), dtype=Z.dtype)
    padded[:, :d] = Z
    padded[:, d] = 1
    return padded


def average(
    queries: FloatArray,
    points: FloatArray,
    targets: FloatArray,
    weights: NeighborWeights,
    n_threads: int = 1,
) -> FloatArray:
    """Return Σ_j p_ij t_j, the mean target of each new point's soft neighbors.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        New points, of the type of `points`.
    points : array of shape (n_points, n_components)
        The points that can be picked.
    targets : array of shape (n_points, n_targets)
        Indicators of the classes, or numbers.
    weights : NeighborWeights
        Weights of the points as neighbors.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_queries, n_targets)
        In float64 if float32 cannot resolve the distances.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    check_shapes(queries, points, weights.log_offsets, targets)
    queries, points, log_offsets = resolved(queries, points, weights.log_offsets)
    targets = targets.astype(points.dtype, copy=False)
    means = np.empty((len(queries), targets.shape[1]), dtype=points.dtype)
    Z, norms, origin = center(points)
    Q = queries - origin
    query_norms = squared_norms(Q)
    sums = np.empty(len(Q), dtype=points.dtype)

    def fill(block: FloatArray, rows: slice) -> None:
        both = inner_products(block, Q[rows], query_norms[rows], Z, norms)
        kernels.normalize(block, *both, log_offsets, sums[rows])
        np.matmul(block, targets, out=means[rows])

    for_each_block((len(Q), len(Z)), points.dtype, fill, n_threads)
    return means


def log_sums(
    queries: FloatArray, points: FloatArray, log_offsets: FloatArray, n_threads: int = 1
) -> FloatArray:
    """Return log Σ_j exp(−‖q − z_j‖² − offset_j) of each new point q.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        New points.
    points : array of shape (n_points, n_components)
        The points z_j, of the same type.
    log_offsets : ndarray of shape (n_points,)
        Not negative; zeros if all points have the same weight.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_queries,)
        Of the points' type.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    check_shapes(queries, points, log_offsets)
    dtype = points.dtype
    queries, points, log_offsets = resolved(queries, points, log_offsets)
    sums = np.empty(len(queries), dtype=points.dtype)
    Z, norms, origin = center(points)
    Q = queries - origin
    query_norms = squared_norms(Q)

    def fill(block: FloatArray, rows: slice) -> None:
        both = inner_products(block, Q[rows], query_norms[rows], Z, norms)
        kernels.log_sums(block, *both, log_offsets, sums[rows])

    for_each_block((len(Q), len(Z)), points.dtype, fill, n_threads)
    return sums.astype(dtype, copy=False)


class SoftNeighbors(NamedTuple):
    """Averages of soft neighbors between two sets of points."""

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
    """Return averages of queries' soft neighbors, in one pass over all pairs.

    Parameters
    ----------
    queries : array of shape (n_queries, n_components)
        The points q_i that pick with p_ij ∝ exp(−‖q_i − z_j‖²), float32 or float64.
    points : array of shape (n_points, n_components)
        The points z_j that can be picked, of the same type.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.
    carried : array of shape (n_queries, n_carried) or None, default=None
        The t_i that are summed at the points.

    Returns
    -------
    SoftNeighbors
        In float64 if float32 cannot resolve the distances.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    queries, points = resolved(queries, points)
    if carried is None:
        carried = np.empty((len(queries), 0))
    carried = carried.astype(points.dtype, copy=False)
    dtype = points.dtype
    Z, norms, origin = center(points)
    Q = queries - origin
    query_norms = squared_norms(Q)
    sums = np.empty(len(Q), dtype=dtype)
    means = np.empty_like(Q)
    received = ReproducibleSum(np.zeros((len(Z), carried.shape[1]), dtype=dtype))
    no_offsets = np.zeros(len(Z), dtype=dtype)

    def fill(block: FloatArray, rows: slice) -> None:
        both = inner_products(block, Q[rows], query_norms[rows], Z, norms)
        kernels.normalize(block, *both, no_offsets, sums[rows])

    def consume(block: FloatArray, rows: slice, term: Any, scratch: Any) -> None:
        np.matmul(block, points, out=means[rows])
        term += np.matmul(block.T, carried[rows], out=scratch)

    for_each_block((len(Q), len(Z)), dtype, fill, n_threads, consume, received)
    return SoftNeighbors(sums, means, received.total)


def check_shapes(
    queries: FloatArray, points: FloatArray, *of_points: FloatArray
) -> None:
    """Raise ValueError if arrays do not belong together: kernels check no bounds."""
    lengths = {len(one) for one in (points, *of_points)}
    if len(lengths) > 1 or queries.shape[1:] != points.shape[1:]:
        raise ValueError(
            "The points that predict and their weights or targets differ in number, or "
            "queries and points in dimension."
        )


def resolved(*arrays: FloatArray) -> tuple[FloatArray, ...]:
    """Return queries, points and related arrays, in float64 if distances need it."""
    queries, points, *_ = arrays
    origin = points.mean(axis=0)
    if float32_resolves(queries - origin) and float32_resolves(points - origin):
        return arrays
    return tuple(array.astype(np.float64) for array in arrays)
