"""The engine's results: sums over all pairs of points, weighed by a rule's kernel.

`pull` returns each row's value and L Z, the product of the graph's Laplacian with the
points; `scatter` the matrix ZᵀL Z alone, for half the work; `row_values` the values
alone. What comes out for new points is in `new_points`.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import NamedTuple, Protocol

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.pairs import (
    BlockConsumer,
    CenteredPoints,
    for_each_block,
    pass_by,
)
from vicinal.neighborhood.parallel import ReproducibleSum, back_project


class Rule(Protocol):
    """How a method weighs the edges of one row, given its distances."""

    @property
    def kernel(self) -> str:
        """Name of the function in `kernels` or `match_kernels` that weighs a block.

        It is called with the block of inner products ⟨z_i, z_j⟩, the columns at which
        the rows' points stand, their squared norms, `query_args` of these rows, the
        columns' squared norms, `reference_args`, and an array for the rows' values; it
        leaves the weights v_ij in the block.
        """

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernel needs to know of the points as rows."""

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""


class Pull(NamedTuple):
    """A rule's values, and the product of its graph's Laplacian with the points."""

    values: FloatArray
    """The rule's value for each query."""
    laplacian_product: FloatArray
    """L Z, with L the Laplacian of the symmetric weights V + Vᵀ."""


class Scatter(NamedTuple):
    """A rule's values, and the weighed scatter of the points' differences."""

    values: FloatArray
    """The rule's value for each query."""
    matrix: FloatArray
    """Σ_ij v_ij (z_i − z_j)(z_i − z_j)ᵀ; always float64."""


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
        The positions of the points whose rows are weighed, against all points, without
        repeats; None is all. The edges from other points weigh nothing.

    Returns
    -------
    Pull
        Values of shape (n_queries,) and a product of the points' shape.
    """
    centered = CenteredPoints.center(points)
    which = np.arange(len(points)) if queries is None else queries
    values = np.empty(len(which), dtype=points.dtype)
    products = []
    for part, exact in centered.split(centered.norms[which]):
        pull_part = _pull_by_differences if exact else _pull_by_products
        values[part], product = pull_part(centered, rule, which[part], n_threads)
        products.append(product)
    return Pull(values, reduce(np.add, products))


def scatter(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
    scattered: FloatArray | None = None,
) -> Scatter:
    """Weigh the edges between the points and return Σ_ij v_ij x_ij x_ijᵀ = XᵀL X.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        What the weights are computed from, float32 or float64.
    rule : Rule
        How distances become weights and values.
    n_threads : int, default=1
        The result is the same, bit for bit, for any number.
    queries : ndarray of int or None, default=None
        The positions of the points whose rows are weighed, without repeats; None is
        all.
    scattered : array of shape (n_points, n_features) or None, default=None
        The X whose differences are summed, of the points' type; None is the points.

    Returns
    -------
    Scatter
        Values of shape (n_queries,) and a matrix of shape (n_features, n_features).
    """
    centered = CenteredPoints.center(points)
    X = centered if scattered is None else CenteredPoints.center(scattered)
    which = np.arange(len(points)) if queries is None else queries
    values = np.empty(len(which), dtype=points.dtype)
    matrices = []
    for part, exact in centered.split(centered.norms[which]):
        scatter_part = _scatter_by_differences if exact else _scatter_by_products
        values[part], matrix = scatter_part(centered, rule, which[part], n_threads, X)
        matrices.append(matrix)
    return Scatter(values, reduce(np.add, matrices))


def row_values(
    points: FloatArray,
    rule: Rule,
    n_threads: int = 1,
    queries: IntArray | None = None,
) -> FloatArray:
    """Return the rule's values alone; parameters as for `pull`."""
    centered = CenteredPoints.center(points)
    which = np.arange(len(points)) if queries is None else queries
    values = np.empty(len(which), dtype=points.dtype)
    for part, exact in centered.split(centered.norms[which]):
        values[part] = _weigh(
            centered, rule, which[part], exact, n_threads, lambda: pass_by
        )
    return values


def _weigh(
    centered: CenteredPoints,
    rule: Rule,
    which: IntArray,
    exact: bool,
    n_threads: int,
    make_consumer: Callable[[], BlockConsumer],
) -> FloatArray:
    """Weigh some points' rows, hand the blocks to consumers, and return the values."""
    weigh = _kernel_named(rule.kernel)
    query_args, reference_args = rule.query_args, rule.reference_args
    pairs = centered.own_pairs(which, exact)
    values = np.empty(len(which), dtype=centered.Z.dtype)

    # Of all points in their order a slice is a view; numbers would copy them.
    everyone = np.array_equal(which, np.arange(len(centered.Z)))

    def fill(block: FloatArray, rows: slice) -> None:
        own = which[rows]
        query_norms, norms = pairs.fill(block, rows)
        known = (known[rows if everyone else own] for known in query_args)
        weigh(block, own, query_norms, *known, norms, *reference_args, values[rows])

    for_each_block(pairs.shape, values.dtype, fill, make_consumer, n_threads)
    return values


def _kernel_named(name: str) -> Callable[..., None]:
    """Return a compiled kernel."""
    from vicinal.neighborhood import kernels, match_kernels  # loads Numba

    home = match_kernels if hasattr(match_kernels, name) else kernels
    kernel: Callable[..., None] = getattr(home, name)
    return kernel


def _pull_by_products(
    centered: CenteredPoints, rule: Rule, which: IntArray, n_threads: int
) -> Pull:
    """Return some points' values, and L Z of their edges by matrix products."""
    Z = centered.Z
    d = Z.shape[1]
    padded = _with_ones(Z)
    by_row = np.empty((len(which), padded.shape[1]), dtype=Z.dtype)
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

    values = _weigh(centered, rule, which, False, n_threads, multiplier)
    both = by_column.total
    both[which] += by_row
    return Pull(values, both[:, d : d + 1] * Z - both[:, :d])


def _pull_by_differences(
    centered: CenteredPoints, rule: Rule, which: IntArray, n_threads: int
) -> Pull:
    """Return what `_pull_by_products` does, for points that are far out.

    The products would cancel: z_i and z_j are large against z_i − z_j.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    total = ReproducibleSum(np.zeros_like(centered.points))

    def add_up(position: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
        term = total.buffer()
        term[:] = 0
        for rows, block in weighed:
            kernels.add_differences(block, which[rows], centered.points, term)
        total.add(position, term)

    values = _weigh(centered, rule, which, True, n_threads, lambda: add_up)
    return Pull(values, total.total)


def _scatter_by_products(
    centered: CenteredPoints,
    rule: Rule,
    which: IntArray,
    n_threads: int,
    scattered: CenteredPoints,
) -> Scatter:
    """Return some points' values, and XᵀL X of their edges by matrix products.

    With half weights h = ½ (V + Vᵀ)1 it is twice the symmetric part of
    Xᵀ(diag(h) X − V X): of Vᵀ the column sums are enough. The d×d sums are in float64,
    since the points' distances to each other are small against those to the origin.
    """
    X = scattered.Z
    d = X.shape[1]
    padded = _with_ones(X)
    by_row = np.empty((len(which), padded.shape[1]), dtype=X.dtype)
    by_column = ReproducibleSum(np.zeros(len(X), dtype=np.float64))

    def add_up(position: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
        term = by_column.buffer()
        term[:] = 0
        for rows, block in weighed:
            np.matmul(block, padded, out=by_row[rows])
            term += np.ones(len(block), dtype=block.dtype) @ block
        by_column.add(position, term)

    values = _weigh(centered, rule, which, False, n_threads, lambda: add_up)
    half = by_column.total / 2
    half[which] += by_row[:, d].astype(np.float64) / 2
    product = half[:, None] * X
    product[which] -= by_row[:, :d]
    matrix = back_project(product, X, n_threads)
    return Scatter(values, matrix + matrix.T)


def _scatter_by_differences(
    centered: CenteredPoints,
    rule: Rule,
    which: IntArray,
    n_threads: int,
    scattered: CenteredPoints,
) -> Scatter:
    """Return what `_scatter_by_products` does, for points that are far out."""
    from vicinal.neighborhood import kernels  # loads Numba

    X = scattered.points
    total = ReproducibleSum(np.zeros((X.shape[1], X.shape[1])))

    def add_up(position: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
        term = total.buffer()
        term[:] = 0
        for rows, block in weighed:
            kernels.add_outer_products(block, which[rows], X, term)
        total.add(position, term)

    values = _weigh(centered, rule, which, True, n_threads, lambda: add_up)
    return Scatter(values, total.total)


def _with_ones(Z: FloatArray) -> FloatArray:
    """Return Z beside a column of ones, which carries row and column sums along.

    Zeros fill up to a width that BLAS is quick at.
    """
    n, d = Z.shape
    padded = np.zeros((n, -(-(d + 1) // 4) * 4), dtype=Z.dtype)
    padded[:, :d] = Z
    padded[:, d] = 1
    return padded
