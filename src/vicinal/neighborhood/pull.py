"""The pair engine: a rule weighs all edges, and the points feel the pull.

`pull` walks the rows of the n×n graph in blocks. The rule turns a block of inner
products into weights V; what is kept of them is each row's value and the product
of the graph's Laplacian with the points.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from vicinal._typing import FloatArray
from vicinal.neighborhood.blocks import OrderedSum, blocks, rows_per_block, share
from vicinal.neighborhood.rules import far


class Rule(Protocol):
    """What a method says about the edges: a row of distances in, weights out."""

    def weigh(
        self, block: FloatArray, norms: FloatArray, rows: slice, values: FloatArray
    ) -> None:
        """Replace a block of inner products by the weights of the edges, in place.

        Parameters
        ----------
        block : array of shape (n_rows, n_points)
            ⟨z_i, z_j⟩ for the rows i of the block and all points j. On return v_ij,
            the weight of the edge i→j, with v_ii = 0.
        norms : array of shape (n_points,)
            ‖z_j‖².
        rows : slice
            Which points the block's rows are.
        values : array of shape (n_rows,)
            On return, the rule's value for each row.
        """


class Pull(NamedTuple):
    """What the engine returns."""

    values: FloatArray
    """The rule's value for each point."""
    laplacian_product: FloatArray
    """L Z, with L the Laplacian of the symmetric weights V + Vᵀ."""


def pull(points: FloatArray, rule: Rule, n_threads: int = 1) -> Pull:
    """Weigh all edges between the points and return the values and L Z.

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

    Returns
    -------
    Pull
        Values of shape (n_points,) and a product of the points' shape.
    """
    n, d = points.shape
    # Neither the distances nor L Z depend on the origin, but their rounding does.
    Z = points - points.mean(axis=0)
    norms = np.einsum("ij,ij->i", Z, Z)
    if not norms.max() < far(Z.dtype) / 8:
        raise ValueError(
            "Under this map the points are too far apart for their squared distances "
            f"to be {Z.dtype} numbers. Scale the data, for instance with "
            "sklearn.preprocessing.StandardScaler, or scale the map down."
        )
    # A column of ones carries the row and column sums along with the products; zeros
    # fill up to a width that BLAS is quick at.
    width = -(-(d + 1) // 4) * 4
    carried = np.zeros((n, width), dtype=Z.dtype)
    carried[:, :d] = Z
    carried[:, d] = 1

    size = rows_per_block(n, n * Z.itemsize)
    values = np.empty(n, dtype=Z.dtype)
    by_row = np.empty_like(carried)
    by_column = OrderedSum(np.zeros_like(carried))

    def visitor() -> Callable[[int, slice], None]:
        buffer = np.empty((size, n), dtype=Z.dtype)

        def visit(position: int, rows: slice) -> None:
            block = buffer[: rows.stop - rows.start]
            np.matmul(Z[rows], Z.T, out=block)
            rule.weigh(block, norms, rows, values[rows])
            np.matmul(block, carried, out=by_row[rows])
            term = np.matmul(block.T, carried[rows], out=by_column.buffer())
            by_column.add(position, term)

        return visit

    share(visitor, blocks(n, size), n_threads)
    both = by_row + by_column.total
    return Pull(values, both[:, d : d + 1] * Z - both[:, :d])
