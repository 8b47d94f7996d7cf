"""Blocked pair engine: a kernel computes edge weights v_ij, block after block.

`pull` returns each row's value and L Z, the product of the graph's Laplacian with the
points; `row_values` the values alone; `average` the mean target of new points' soft
neighbours. No n×n array is ever held.
"""

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.parallel import (
    ReproducibleSum,
    blocks,
    partitions,
    rows_per_block,
    run_in_threads,
)
from vicinal.neighborhood.rules import NeighborWeights, far


class Rule(Protocol):
    """What a method says about the edges: a row of distances in, weights out."""

    @property
    def kernel(self) -> str:
        """Name of the function in `rows` that weighs a block.

        It is called with the block of inner products ⟨z_i, z_j⟩, the columns at which
        the rows' points stand, their squared norms, `query_args` of these rows, the
        columns' squared norms, `reference_args`, and an array for the rows' values; it
        leaves the weights v_ij in the block.
        """

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernel wants to know of the points that look for neighbours."""

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel wants to know of the points that are looked at."""


BlockConsumer: TypeAlias = Callable[[int, Iterator[tuple[slice, FloatArray]]], None]
"""Takes a lane's position, and its blocks of weights with the rows they are of."""


class Pull(NamedTuple):
    """What the engine returns."""

    values: FloatArray
    """The rule's value for each point that looks for neighbours."""
    laplacian_product: FloatArray
    """L Z, with L the Laplacian of the symmetric weights V + Vᵀ."""


def pull(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
) -> Pull:
    """Weigh the edges between the points and return the values and L Z.

    With V the rule's weights, L = diag((V + Vᵀ)1) − V − Vᵀ, so that
    ZᵀL X = Σ_ij v_ij (z_i − z_j)(x_i − x_j)ᵀ for any X.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The projected points z_i, float32 or float64.
    rule : Rule
        How distances become weights and values.
    n_threads : int, default=1
        The result is the same, bit for bit, for any number.
    queries : ndarray of int or None, default=None
        Which of the points look for neighbours, without repeats; None is all. They
        look at all points, and the edges from other points weigh nothing.

    Returns
    -------
    Pull
        Values of shape (n_queries,) and a product of the points' shape.
    """
    n, d = points.shape
    which = np.arange(n) if queries is None else queries
    # Neither the distances nor L Z depend on the origin, but their rounding does.
    Z = points - points.mean(axis=0)
    # A column of ones carries the row and column sums along with the products; zeros
    # fill up to a width that BLAS is quick at.
    width = -(-(d + 1) // 4) * 4
    padded = np.zeros((n, width), dtype=Z.dtype)
    padded[:, :d] = Z
    padded[:, d] = 1
    by_row = np.empty((len(which), width), dtype=Z.dtype)
    by_column = ReproducibleSum(np.zeros_like(padded))

    def multiplier() -> BlockConsumer:
        scratch = np.empty_like(padded)

        def multiply(
            position: int, weighed: Iterator[tuple[slice, FloatArray]]
        ) -> None:
            term = by_column.buffer()
            for k, (rows, block) in enumerate(weighed):
                np.matmul(block, padded, out=by_row[rows])
                product = np.matmul(
                    block.T, padded[which[rows]], out=scratch if k else term
                )
                if k:
                    term += product
            by_column.add(position, term)

        return multiply

    values = for_each_block(Z, rule, which, n_threads, multiplier)
    both = by_column.total
    both[which] += by_row
    return Pull(values, both[:, d : d + 1] * Z - both[:, :d])


def row_values(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
) -> FloatArray:
    """Return the rule's values alone; parameters as for `pull`."""

    def pass_by(_: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
        deque(weighed, maxlen=0)

    which = np.arange(len(points)) if queries is None else queries
    return for_each_block(
        points - points.mean(axis=0), rule, which, n_threads, lambda: pass_by
    )


def for_each_block(
    Z: FloatArray,
    rule: Rule,
    which: IntArray,
    n_threads: int,
    make_consumer: Callable[[], BlockConsumer],
) -> FloatArray:
    """Weigh block after block, hand them to the threads' users, and return the values.

    A lane is a run of blocks; a thread takes one lane after the other.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    weigh = getattr(kernels, rule.kernel)
    n, n_rows = len(Z), len(which)
    norms = squared_norms(Z)
    values = np.empty(n_rows, dtype=Z.dtype)
    size = rows_per_block(n_rows, n * Z.itemsize)
    query_args, reference_args = (
        (norms, *rule.query_args),
        (norms, *rule.reference_args),
    )

    def visitor() -> Callable[[int, slice], None]:
        buffer = np.empty((size, n), dtype=Z.dtype)
        use = make_consumer()

        def weighed(partition: slice) -> Iterator[tuple[slice, FloatArray]]:
            for rows in blocks(partition, size):
                block = buffer[: rows.stop - rows.start]
                own = which[rows]
                np.matmul(Z[own], Z.T, out=block)
                known = (known[own] for known in query_args)
                weigh(block, own, *known, *reference_args, values[rows])
                yield rows, block

        return lambda position, partition: use(position, weighed(partition))

    run_in_threads(visitor, partitions(n_rows, size), n_threads)
    return values


def average(
    queries: FloatArray,
    points: FloatArray,
    targets: FloatArray,
    masses: NeighborWeights,
    n_threads: int = 1,
) -> FloatArray:
    """Return Σ_j p_ij t_j: what each query sees in its soft neighbours.

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
    """
    from vicinal.neighborhood import kernels  # loads Numba

    origin = points.mean(axis=0)
    Q, Z = queries - origin, points - origin
    if not (float32_resolves(Q) and float32_resolves(Z)):
        Q, Z = queries.astype(np.float64), points.astype(np.float64)
        wide = NeighborWeights(*(part.astype(np.float64) for part in masses))
        return average(Q, Z, targets.astype(np.float64), wide, n_threads)
    query_norms, norms = squared_norms(Q), squared_norms(Z)
    size = rows_per_block(len(Q), len(Z) * Z.itemsize)
    out = np.empty((len(Q), targets.shape[1]), dtype=Z.dtype)

    def visitor() -> Callable[[int, slice], None]:
        buffer = np.empty((size, len(Z)), dtype=Z.dtype)

        def visit(_: int, rows: slice) -> None:
            block = buffer[: rows.stop - rows.start]
            np.matmul(Q[rows], Z.T, out=block)
            kernels.normalize(block, query_norms[rows], norms, masses.log_offsets)
            np.matmul(block, targets, out=out[rows])

        return visit

    run_in_threads(visitor, blocks(slice(0, len(Q)), size), n_threads)
    return out


def float32_resolves(Z: FloatArray) -> bool:
    """Return whether float32 can tell the distances between these points apart.

    ‖a‖² + ‖b‖² − 2ab rounds a squared distance by about eps · ‖z‖². Where that would
    change an exponential by a tenth, float64 is called for. Z has its origin in the
    middle; float64 has nothing to give way to.
    """
    if Z.dtype != np.float32 or not Z.size:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.square(np.abs(Z).max()) * Z.shape[1]
    return bool(np.finfo(np.float32).eps * spread < 0.1)


def squared_norms(Z: FloatArray) -> FloatArray:
    """Return ‖z_i‖², or raise an error where distances would overflow."""
    norms: FloatArray = np.einsum("ij,ij->i", Z, Z)
    if not norms.max(initial=0) < far(Z.dtype) / 8:
        raise ValueError(
            "Under this map the points are too far apart for their squared distances "
            f"to be {Z.dtype} numbers. Scale the data, for instance with "
            "sklearn.preprocessing.StandardScaler, or scale the map down."
        )
    return norms
