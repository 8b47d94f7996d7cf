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
by about eps · (‖a‖² + ‖b‖²). Points are therefore centered first, and rows that are
still too far out use differences instead. No n×n array is held, and the result does
not depend on the number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.rules import NeighborWeights, excluded_distance
from vicinal.neighborhood.threads import (
    ReproducibleSum,
    back_project,
    blocks,
    partitions,
    rows_per_block,
    run_in_threads,
)

# Tolerated rounding error of an exponent −‖a − b‖² before distances are computed from
# differences. float64 has digits to spare below it; float32 does not.
_TOLERATED = {np.dtype(np.float32): 0.1, np.dtype(np.float64): 1e-4}


class Rule(Protocol):
    """Edge weights of one row, given its distances."""

    @property
    def kernel(self) -> Any:
        """The name of a compiled kernel, or a function of squared distances.

        A compiled kernel is called with the block of inner products ⟨z_i, z_j⟩, the
        columns of the rows' own points, their squared norms, `query_args` of these
        rows, the columns' squared norms, `reference_args`, and an array for the rows'
        values; it overwrites the block with the weights v_ij. A function is called
        with the block of squared distances and the rows' positions, overwrites the
        block with the derivatives of each row's value, and returns the values.
        """

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """Arguments of the kernel with one entry for each row."""

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel about the columns."""


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


class Pairs(NamedTuple):
    """Queries and references with their squared norms."""

    queries: FloatArray
    references: FloatArray
    query_norms: FloatArray
    reference_norms: FloatArray
    exact: bool
    """Whether distances are computed from differences."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of queries and references."""
        return len(self.queries), len(self.references)

    def fill(self, block: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Write inner products into a block; return the norms that go with them.

        With `exact`, −½ ‖q − z‖² takes the products' place, and the norms are 0.
        """
        queries = self.queries[rows]
        if not self.exact:
            np.matmul(queries, self.references.T, out=block)
            return self.query_norms[rows], self.reference_norms
        from vicinal.neighborhood import kernels  # loads Numba

        kernels.half_distances(block, queries, self.references)
        zeros = np.zeros(max(block.shape), dtype=block.dtype)
        return zeros[: len(block)], zeros[: block.shape[1]]


@dataclass(frozen=True)
class CenteredPoints:
    """Points with the origin at their mean, or at the median if some are far out.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_components)
        The points as given; differences are taken of these.
    Z : ndarray of shape (n_points, n_components)
        The points relative to the origin.
    norms : ndarray of shape (n_points,)
        ‖z_i‖².
    origin : ndarray of shape (n_components,)
        Mean or median.
    far_out : bool
        Whether products would round some distances too much.
    """

    points: FloatArray
    Z: FloatArray
    norms: FloatArray
    origin: FloatArray
    far_out: bool

    @classmethod
    def center(cls, points: FloatArray) -> "CenteredPoints":
        """Center the points."""
        origin: FloatArray = points.mean(axis=0)
        Z = points - origin
        norms = squared_norms(Z)
        if not _too_large(norms).any():
            return cls(points, Z, norms, origin, far_out=False)
        # One outlier moves the mean away from all other points, but not the median.
        origin = np.median(points, axis=0).astype(points.dtype)
        Z = points - origin
        norms = squared_norms(Z)
        return cls(points, Z, norms, origin, bool(_too_large(norms).any()))

    def split(self, query_norms: FloatArray) -> list[tuple[IntArray | slice, bool]]:
        """Return groups of queries and whether each group needs differences."""
        # If no point is far out, products are accurate for distant queries, too.
        if not (self.far_out and len(query_norms)):
            return [(slice(None), False)]
        exact = _too_large(query_norms)
        parts = [(np.flatnonzero(~exact), False), (np.flatnonzero(exact), True)]
        return [(part, far_out) for part, far_out in parts if len(part)]

    def own_pairs(self, which: IntArray, exact: bool) -> Pairs:
        """Return the pairs of some of the points with all points."""
        Z = self.points if exact else self.Z
        return Pairs(Z[which], Z, self.norms[which], self.norms, exact)

    def pairs_of(self, queries: FloatArray) -> list[tuple[IntArray | slice, Pairs]]:
        """Return groups of new points and their pairs with all points."""
        Q = queries - self.origin
        norms = squared_norms(Q)
        found: list[tuple[IntArray | slice, Pairs]] = []
        for part, exact in self.split(norms):
            new, Z = (queries, self.points) if exact else (Q, self.Z)
            found.append((part, Pairs(new[part], Z, norms[part], self.norms, exact)))
        return found


def squared_norms(Z: FloatArray) -> FloatArray:
    """Return ‖z_i‖²; raise ValueError if squared distances would overflow."""
    norms: FloatArray = np.einsum("ij,ij->i", Z, Z)
    if not norms.max(initial=0) < excluded_distance(Z.dtype) / 8:
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
    return bool(np.finfo(np.float32).eps * spread < _TOLERATED[Z.dtype])


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


def _too_large(norms: FloatArray) -> NDArray[np.bool_]:
    large: NDArray[np.bool_] = (
        norms > _TOLERATED[norms.dtype] / np.finfo(norms.dtype).eps
    )
    return large


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
    centered = CenteredPoints.center(points)
    which = np.arange(len(points)) if queries is None else queries
    values = np.empty(len(which), dtype=points.dtype)
    Z = centered.Z
    d = Z.shape[1]
    product = np.zeros_like(Z)
    for part, exact in centered.split(centered.norms[which]):
        rows_of = which[part]
        if exact:  # products would cancel: z_i and z_j are large relative to z_i − z_j
            from vicinal.neighborhood import kernels  # loads Numba

            total = ReproducibleSum(np.zeros_like(points))

            def consume(  # type: ignore[no-untyped-def]
                block, rows, term, _, rows_of=rows_of, add=kernels.add_differences
            ):
                add(block, rows_of[rows], points, term)

            values[part] = _weigh(
                centered, rule, rows_of, exact, n_threads, consume, total
            )
            product += total.total
            continue
        padded = _with_ones(Z)
        by_row = np.empty((len(rows_of), padded.shape[1]), dtype=Z.dtype)
        total = ReproducibleSum(np.zeros_like(padded))

        def multiply(  # type: ignore[no-untyped-def]
            block, rows, term, scratch, rows_of=rows_of, padded=padded, by_row=by_row
        ):
            np.matmul(block, padded, out=by_row[rows])
            term += np.matmul(block.T, padded[rows_of[rows]], out=scratch)

        values[part] = _weigh(
            centered, rule, rows_of, exact, n_threads, multiply, total
        )
        both = total.total
        both[rows_of] += by_row
        product += both[:, d : d + 1] * Z - both[:, :d]
    return WeightedPairs(values, product)


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
    centered = CenteredPoints.center(points)
    other = centered if scattered is None else CenteredPoints.center(scattered)
    which = np.arange(len(points)) if queries is None else queries
    values = np.empty(len(which), dtype=points.dtype)
    d = other.Z.shape[1]
    matrix = np.zeros((d, d))
    for part, exact in centered.split(centered.norms[which]):
        rows_of = which[part]
        if exact:
            from vicinal.neighborhood import kernels  # loads Numba

            total = ReproducibleSum(np.zeros((d, d)))

            def consume(  # type: ignore[no-untyped-def]
                block, rows, term, _, rows_of=rows_of, add=kernels.add_outer_products
            ):
                add(block, rows_of[rows], other.points, term)

            values[part] = _weigh(
                centered, rule, rows_of, exact, n_threads, consume, total
            )
            matrix += total.total
            continue
        X = other.Z
        padded = _with_ones(X)
        by_row = np.empty((len(rows_of), padded.shape[1]), dtype=X.dtype)
        total = ReproducibleSum(np.zeros(len(X), dtype=np.float64))

        def multiply(  # type: ignore[no-untyped-def]
            block, rows, term, _, padded=padded, by_row=by_row
        ):
            np.matmul(block, padded, out=by_row[rows])
            term += np.ones(len(block), dtype=block.dtype) @ block

        values[part] = _weigh(
            centered, rule, rows_of, exact, n_threads, multiply, total
        )
        half = total.total / 2
        half[rows_of] += by_row[:, d].astype(np.float64) / 2
        weighted = half[:, None] * X
        weighted[rows_of] -= by_row[:, :d]
        one_half = back_project(weighted, X, n_threads)
        matrix += one_half + one_half.T
    return WeightedPairs(values, matrix)


def row_values(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
) -> FloatArray:
    """Return the rule's values alone; parameters as for `laplacian_product`."""
    centered = CenteredPoints.center(points)
    which = np.arange(len(points)) if queries is None else queries
    values = np.empty(len(which), dtype=points.dtype)
    for part, exact in centered.split(centered.norms[which]):
        values[part] = _weigh(centered, rule, which[part], exact, n_threads)
    return values


def _weigh(
    centered: CenteredPoints,
    rule: Rule,
    which: IntArray,
    exact: bool,
    n_threads: int,
    consume: Consume | None = None,
    total: ReproducibleSum | None = None,
) -> FloatArray:
    """Weight the rows of some points block by block; return their values."""
    from vicinal.neighborhood import kernels  # loads Numba

    query_args, reference_args = rule.query_args, rule.reference_args
    pairs = centered.own_pairs(which, exact)
    values = np.empty(len(which), dtype=centered.Z.dtype)
    # A slice of all points in their order is a view; an index array would copy them.
    everyone = np.array_equal(which, np.arange(len(centered.Z)))
    kernel = rule.kernel
    if isinstance(kernel, str):
        kernel = getattr(kernels, kernel)

        def fill(block: FloatArray, rows: slice) -> None:
            own = which[rows]
            query_norms, norms = pairs.fill(block, rows)
            known = [known[rows if everyone else own] for known in query_args]
            kernel(
                block, own, query_norms, *known, norms, *reference_args, values[rows]
            )

    else:

        def fill(block: FloatArray, rows: slice) -> None:
            query_norms, norms = pairs.fill(block, rows)
            kernels.squared_distances(block, query_norms, norms)
            block[np.arange(len(block)), which[rows]] = 0  # not rounding
            values[rows] = kernel(block, which[rows])

    shape = len(which), len(centered.Z)
    for_each_block(shape, values.dtype, fill, n_threads, consume, total)
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
    for part, pairs in CenteredPoints.center(points).pairs_of(queries):
        found = np.empty((pairs.shape[0], targets.shape[1]), dtype=points.dtype)
        sums = np.empty(pairs.shape[0], dtype=points.dtype)

        def fill(  # type: ignore[no-untyped-def]
            block, rows, pairs=pairs, sums=sums, found=found
        ):
            norms = pairs.fill(block, rows)
            kernels.normalize(block, *norms, log_offsets, sums[rows])
            np.matmul(block, targets, out=found[rows])

        for_each_block(pairs.shape, points.dtype, fill, n_threads)
        means[part] = found
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
    for part, pairs in CenteredPoints.center(points).pairs_of(queries):
        found = np.empty(pairs.shape[0], dtype=points.dtype)

        def fill(block, rows, pairs=pairs, found=found):  # type: ignore[no-untyped-def]
            norms = pairs.fill(block, rows)
            kernels.log_sums(block, *norms, log_offsets, found[rows])

        for_each_block(pairs.shape, points.dtype, fill, n_threads)
        sums[part] = found
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
    whole = SoftNeighbors(
        np.empty(len(queries), dtype=dtype),
        np.empty_like(queries),
        np.zeros((len(points), carried.shape[1]), dtype=dtype),
    )
    no_offsets = np.zeros(len(points), dtype=dtype)
    for part, pairs in CenteredPoints.center(points).pairs_of(queries):
        sums = np.empty(pairs.shape[0], dtype=dtype)
        means = np.empty_like(pairs.queries)
        received = ReproducibleSum(np.zeros_like(whole.received))

        def fill(block, rows, pairs=pairs, sums=sums):  # type: ignore[no-untyped-def]
            norms = pairs.fill(block, rows)
            kernels.normalize(block, *norms, no_offsets, sums[rows])

        def consume(  # type: ignore[no-untyped-def]
            block, rows, term, scratch, means=means, given=carried[part]
        ):
            np.matmul(block, points, out=means[rows])
            term += np.matmul(block.T, given[rows], out=scratch)

        for_each_block(pairs.shape, dtype, fill, n_threads, consume, received)
        whole.log_sums[part], whole.means[part] = sums, means
        whole.received[:] += received.total
    return whole


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
