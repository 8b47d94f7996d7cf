"""The nearest points of each class where there are many: by compiled, sorted lists.

Between two large classes each inner product is computed once, and offered to the lists
of both points: half of the multiplications of a search around every point.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.parallel import blocks, rows_per_block, run_in_threads
from vicinal.neighborhood.rules import excluded_distance

Neighbors = list[NDArray[np.int32]]
"""For each class, of shape (n_queries, k_class): numbers of points, nearest first."""

# From so many points in a class on, on average, products serve both points.
LARGE_CLASSES = 1024


def list_nearest(
    points: FloatArray,
    bounds: IntArray,
    queries: FloatArray | None,
    found: Neighbors,
    n_threads: int,
) -> None:
    """Write the nearest points of each class into arrays for them.

    Parameters
    ----------
    points, bounds, queries, n_threads
        As for `nearest_of_each_class`.
    found : list of ndarray of int32
        One for each class, with as many columns as neighbours are wanted.
    """
    from vicinal.neighborhood import nearest_kernels  # loads Numba

    Q = points if queries is None else queries
    half_norms = np.einsum("ij,ij->i", points, points) / 2
    half_norms_of = half_norms
    if queries is not None:
        half_norms_of = np.einsum("ij,ij->i", Q, Q) / 2
    for nearest, (start, stop) in zip(found, pairwise(bounds), strict=True):
        nearest.fill(np.iinfo(np.int32).max if stop - start > 1 else start)
    largest = int(np.diff(bounds).max())
    size = rows_per_block(len(Q), largest * points.itemsize)
    parts = blocks(slice(0, len(Q)), size)
    later = None
    if queries is None and len(points) >= LARGE_CLASSES * len(found):
        runs = [slice(start, stop) for start, stop in pairwise(bounds)]
        parts = chain.from_iterable(blocks(run, size) for run in runs)
        later = _LaterPoints(bounds, found, size, points.dtype)

    def searcher() -> Callable[[int, slice], None]:
        buffer = np.empty(size * largest, dtype=points.dtype)

        def search(_: int, rows: slice) -> None:
            n = rows.stop - rows.start
            # Queries that are no points have numbers that no point has.
            first = rows.start if queries is None else -n
            for j, (start, stop) in enumerate(pairwise(bounds)):
                if later is not None and stop <= rows.start:
                    continue  # the blocks of that class have found both ways
                block = buffer[: n * (stop - start)].reshape(n, stop - start)
                np.matmul(Q[rows], points[start:stop].T, out=block)
                nearest = found[j][rows]
                nearest_kernels.list_nearest(
                    block, half_norms_of[rows], half_norms[start:stop], first, start,
                    np.full(nearest.shape, excluded_distance(points.dtype)), nearest,
                )  # fmt: skip
                if later is not None and start >= rows.stop:
                    with later.lists(rows, j) as (distances, numbers):
                        nearest_kernels.list_nearest_rows(
                            block, rows.start, distances, numbers
                        )
            if later is not None:
                later.done(rows)

        return search

    run_in_threads(searcher, parts, n_threads)


class _LaterPoints:
    """Lists of one class's points for the points of the classes after it.

    Threads may add a class's blocks in any order. The distances of a class's lists are
    held from its first block to its last.

    Parameters
    ----------
    bounds : ndarray of shape (n_classes + 1,)
        Where each class begins, and the end.
    found : list of ndarray of int32
        The lists' numbers of points.
    size : int
        How many rows make a block.
    dtype : dtype
        Of the distances.
    """

    def __init__(
        self, bounds: IntArray, found: Neighbors, size: int, dtype: DTypeLike
    ) -> None:
        self._bounds, self._found, self._dtype = bounds, found, np.dtype(dtype)
        self._left = -(-np.diff(bounds) // size)
        self._distances: dict[int, FloatArray] = {}
        self._lock = threading.Lock()
        self._locks = [threading.Lock() for _ in found]

    @contextmanager
    def lists(
        self, rows: slice, j: int
    ) -> Iterator[tuple[FloatArray, NDArray[np.int32]]]:
        """Hold class j's lists of the points of the rows' class, to be added to."""
        a, (start, stop) = self._class_of(rows), self._bounds[j : j + 2]
        first, numbers = self._bounds[a + 1], self._found[a]
        with self._lock:
            if a not in self._distances:
                shape = len(numbers) - first, numbers.shape[1]
                self._distances[a] = np.full(shape, excluded_distance(self._dtype))
            distances = self._distances[a]
        with self._locks[j]:
            yield distances[start - first : stop - first], numbers[start:stop]

    def done(self, rows: slice) -> None:
        """Note that a block has been offered to all classes after its own."""
        a = self._class_of(rows)
        with self._lock:
            self._left[a] -= 1
            if not self._left[a]:
                self._distances.pop(a, None)

    def _class_of(self, rows: slice) -> int:
        return int(np.searchsorted(self._bounds, rows.start, side="right")) - 1
