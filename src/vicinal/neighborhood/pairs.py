"""Blocks of pairs: the one loop over queries × references, and how distances are had.

‖a − b‖² = ‖a‖² + ‖b‖² − 2⟨a, b⟩ makes the distances a matrix product, and rounds them
by about eps · (‖a‖² + ‖b‖²). So points have their origin in the middle; and where some
lie so far out that their distances to each other would be lost, their rows are computed
from differences instead.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.parallel import (
    blocks,
    partitions,
    rows_per_block,
    run_in_threads,
)
from vicinal.neighborhood.rules import far

BlockConsumer: TypeAlias = Callable[[int, Iterator[tuple[slice, FloatArray]]], None]
"""Takes a partition's position, and its blocks of weights with the rows they are of."""

# By how much rounding may change an exponent −‖a − b‖² before distances are computed
# from differences. Below it float64 has digits to spare; float32 has not.
_TOLERATED = {np.dtype(np.float32): 0.1, np.dtype(np.float64): 1e-4}


def for_each_block(
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    fill: Callable[[FloatArray, slice], None],
    make_consumer: Callable[[], BlockConsumer],
    n_threads: int,
) -> None:
    """Weigh block after block, and hand each to the thread's consumer.

    Parameters
    ----------
    shape : tuple of int
        How many queries (rows) and references (columns) there are.
    dtype : dtype
        Of the blocks.
    fill : callable
        Given a block and the queries that are its rows, writes the weights into it.
    make_consumer : callable
        Called once on each thread; returns what takes a partition's blocks. A block is
        overwritten by the next.
    n_threads : int
        Neither the blocks nor the partitions depend on it.
    """
    n_rows, n_columns = shape
    size = rows_per_block(n_rows, n_columns * dtype.itemsize)

    def visitor() -> Callable[[int, slice], None]:
        buffer = np.empty((size, n_columns), dtype=dtype)
        consume = make_consumer()

        def weighed(partition: slice) -> Iterator[tuple[slice, FloatArray]]:
            for rows in blocks(partition, size):
                block = buffer[: rows.stop - rows.start]
                fill(block, rows)
                yield rows, block

        return lambda position, partition: consume(position, weighed(partition))

    run_in_threads(visitor, partitions(n_rows, size), n_threads)


def pass_by(_: int, weighed: Iterator[tuple[slice, FloatArray]]) -> None:
    """Let the kernel write its values, and use no weights."""
    deque(weighed, maxlen=0)


class Pairs(NamedTuple):
    """Queries and references, with their squared norms.

    With `exact`, distances are computed from differences.
    """

    queries: FloatArray
    references: FloatArray
    query_norms: FloatArray
    reference_norms: FloatArray
    exact: bool

    @property
    def shape(self) -> tuple[int, int]:
        """How many queries and references there are."""
        return len(self.queries), len(self.references)

    def fill(self, block: FloatArray, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Write inner products into a block, as the kernels want them.

        Returns
        -------
        query_norms, reference_norms : ndarray
            The norms with which the products make distances: ‖q‖² + ‖z‖² − 2⟨q, z⟩.
            With `exact`, −½ ‖q − z‖² takes the products' place, and the norms are 0.
        """
        queries = self.queries[rows]
        if not self.exact:
            np.matmul(queries, self.references.T, out=block)
            return self.query_norms[rows], self.reference_norms
        from vicinal.neighborhood import kernels  # loads Numba

        kernels.half_distances(block, queries, self.references)
        nothing = np.zeros(max(block.shape), dtype=block.dtype)
        return nothing[: len(block)], nothing[: block.shape[1]]


@dataclass(frozen=True)
class CenteredPoints:
    """Points with their origin in the middle.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_components)
        The points as they were given. Differences are taken of these: to move the
        origin rounds them.
    Z : ndarray of shape (n_points, n_components)
        The points, relative to the origin.
    norms : ndarray of shape (n_points,)
        ‖z_i‖².
    origin : ndarray of shape (n_components,)
        The middle: the mean, or the median where some points are far out.
    far_out : bool
        Whether some points are so far out that products round their distances to each
        other too much.
    """

    points: FloatArray
    Z: FloatArray
    norms: FloatArray
    origin: FloatArray
    far_out: bool

    @classmethod
    def center(cls, points: FloatArray) -> "CenteredPoints":
        """Move the origin to the middle of the points."""
        origin: FloatArray = points.mean(axis=0)
        Z = points - origin
        norms = squared_norms(Z)
        if not _too_large(norms).any():
            return cls(points, Z, norms, origin, far_out=False)
        # One far point takes the mean away from all others, but not the median.
        origin = np.median(points, axis=0).astype(points.dtype)
        Z = points - origin
        norms = squared_norms(Z)
        far_out = bool(_too_large(norms).any())
        return cls(points, Z, norms, origin, far_out)

    def split(self, query_norms: FloatArray) -> list[tuple[IntArray | slice, bool]]:
        """Return which queries take products, and which differences.

        Parameters
        ----------
        query_norms : ndarray of shape (n_queries,)
            The queries' squared distances to the origin.

        Returns
        -------
        list of (ndarray of int or slice, bool)
            Queries, and whether their distances are computed from differences.
        """
        # A query far out among points that are not gets the same from products.
        if not (self.far_out and len(query_norms)):
            return [(slice(None), False)]
        exact = _too_large(query_norms)
        parts = [(np.flatnonzero(~exact), False), (np.flatnonzero(exact), True)]
        return [(part, far_out) for part, far_out in parts if len(part)]

    def own_pairs(self, which: IntArray, exact: bool) -> Pairs:
        """Return the pairs of some of the points and all points."""
        Z = self.points if exact else self.Z
        return Pairs(Z[which], Z, self.norms[which], self.norms, exact)

    def pairs_of(self, queries: FloatArray) -> list[tuple[IntArray | slice, Pairs]]:
        """Return the pairs of new points and all points, and which queries they are."""
        Q = queries - self.origin
        norms = squared_norms(Q)
        found: list[tuple[IntArray | slice, Pairs]] = []
        for part, exact in self.split(norms):
            new, Z = (queries, self.points) if exact else (Q, self.Z)
            found.append((part, Pairs(new[part], Z, norms[part], self.norms, exact)))
        return found


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


def float32_resolves(Z: FloatArray) -> bool:
    """Return whether float32 can tell the distances between these points apart.

    Where rounding would change an exponential by a tenth, float64 is called for. Z has
    its origin in the middle; float64 has nothing to give way to.
    """
    if Z.dtype != np.float32 or not Z.size:
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.square(np.abs(Z).max()) * Z.shape[1]
    return bool(np.finfo(np.float32).eps * spread < _TOLERATED[Z.dtype])


def _too_large(norms: FloatArray) -> NDArray[np.bool_]:
    large: NDArray[np.bool_] = (
        norms > _TOLERATED[norms.dtype] / np.finfo(norms.dtype).eps
    )
    return large
