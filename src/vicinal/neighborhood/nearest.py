"""The exact nearest points of each class, found a block of queries at a time.

What LDG makes of them (means, variances) lives in `vicinal.ldg`.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.nearest_lists import Neighbors, list_nearest
from vicinal.neighborhood.parallel import blocks, rows_per_block, run_in_threads

# From so many pairs on, compiled code is worth loading.
MANY_PAIRS = 5e7


def capped(n_neighbors: int, size: int, leave_one_out: bool) -> int:
    """Return how many neighbours a class of this size can give to every query.

    A point that is left out of its own neighbours leaves one less, for the points of
    other classes as well, so that all Gaussians of a class are made of equally many.
    """
    return max(1, min(n_neighbors, size - leave_one_out))


def nearest_of_each_class(
    points: FloatArray,
    bounds: IntArray,
    n_neighbors: int,
    queries: FloatArray | None = None,
    n_threads: int = 1,
) -> Neighbors:
    """Find the nearest points of each class, in Euclidean distance.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        Sorted by class, with their origin in the middle.
    bounds : ndarray of shape (n_classes + 1,)
        Where each class begins, and the end.
    n_neighbors : int
        How many to find; for fewer, take the first columns of the result.
    queries : ndarray of shape (n_queries, n_features) or None
        Whose neighbours to find; None is the points, each left out of its own.
    n_threads : int
        The result is the same for any number.

    Returns
    -------
    list of ndarray of int32
        One for each class, nearest first and of equally near ones the first, of
        `capped` many columns. The only point of a class has itself as its "neighbour"
        there, for want of another: whoever leaves points out must leave out that term.
    """
    leave_one_out = queries is None
    Q = points if queries is None else queries
    found: Neighbors = [
        np.empty((len(Q), capped(n_neighbors, stop - start, leave_one_out)), np.int32)
        for start, stop in pairwise(bounds)
    ]
    if len(Q) * len(points) >= MANY_PAIRS:
        list_nearest(points, bounds, queries, found, n_threads)
        return found
    half_norms = np.einsum("ij,ij->i", points, points) / 2
    largest = int(np.diff(bounds).max())
    size = rows_per_block(len(Q), largest * points.itemsize)

    def searcher() -> Callable[[int, slice], None]:
        buffer = np.empty(size * largest, dtype=points.dtype)

        def search(_: int, rows: slice) -> None:
            n = rows.stop - rows.start
            for j, nearest in enumerate(found):
                start, stop = bounds[j], bounds[j + 1]
                near = buffer[: n * (stop - start)].reshape(n, stop - start)
                # ‖q‖²/2 − ‖q − x‖²/2: the same order in each row, and less work.
                np.matmul(Q[rows], points[start:stop].T, out=near)
                near -= half_norms[start:stop]
                if leave_one_out:
                    own = np.arange(max(start, rows.start), min(stop, rows.stop))
                    near[own - rows.start, own - start] = -np.inf
                nearest[rows] = _largest(near, nearest.shape[1]) + start

        return search

    run_in_threads(searcher, blocks(slice(0, len(Q)), size), n_threads)
    return found


def _largest(values: FloatArray, k: int) -> IntArray:
    """Return the columns of the k largest values of each row, the largest first.

    Of equals, the first: also of those of which only some are among the k largest.
    """
    n = values.shape[1]
    columns = np.broadcast_to(np.arange(n), values.shape)
    if k < n:
        columns = np.argpartition(values, n - k, axis=1)[:, n - k :]
        least = np.take_along_axis(values, columns, axis=1).min(axis=1)
        tied = np.count_nonzero(values >= least[:, None], axis=1) > k
        columns[tied] = np.argsort(-values[tied], axis=1, kind="stable")[:, :k]
        columns.sort(axis=1)
    kept = np.take_along_axis(values, columns, axis=1)
    return np.take_along_axis(columns, np.argsort(-kept, axis=1, kind="stable"), axis=1)
