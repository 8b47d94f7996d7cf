"""Exact nearest neighbors, truncated sums over them, and impostors."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.engine import (
    EXCLUDED_DISTANCE,
    ClassSlices,
    NeighborWeights,
    Rule,
    WeightedPairs,
    center,
    for_each_block,
)
from vicinal.neighborhood.threads import blocks, map_in_order, rows_per_block

Neighbors = list[NDArray[np.int32]]
"""Indices of the nearest points of each class, of shape (n_queries, k_class)."""

# From this mean class size on, each block of products is used in both directions.
LARGE_CLASSES = 1024


def list_nearest(
    points: FloatArray,
    bounds: IntArray,
    queries: FloatArray | None,
    found: Neighbors,
    n_threads: int,
) -> None:
    """Write the nearest points of each class into given arrays.

    Parameters
    ----------
    points, bounds, queries, n_threads
        As for `nearest_of_each_class`.
    found : list of ndarray of int32
        One array for each class, with a column for each neighbor.
    """
    from vicinal.neighborhood import kernels  # loads Numba

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
        parts = [part for run in runs for part in blocks(run, size)]
        later = _LaterPoints(bounds, found, size, points.dtype)

    def search(rows: slice) -> None:
        n = rows.stop - rows.start
        # Queries that are not points have numbers beyond those of the points.
        first = rows.start if queries is None else -n
        for j, (start, stop) in enumerate(pairwise(bounds)):
            if later is not None and stop <= rows.start:
                continue  # the blocks of that class covered both directions
            block = Q[rows] @ points[start:stop].T
            nearest = found[j][rows]
            kernels.list_nearest(
                block, half_norms_of[rows], half_norms[start:stop], first, start,
                np.full(nearest.shape, EXCLUDED_DISTANCE[points.dtype]), nearest,
            )  # fmt: skip
            if later is not None and start >= rows.stop:
                with later.lists(rows, j) as (distances, numbers):
                    kernels.list_nearest_rows(block, rows.start, distances, numbers)
        if later is not None:
            later.done(rows)

    for _ in map_in_order(search, parts, n_threads):
        pass


class _LaterPoints:
    """Neighbor lists of each class for the points of later classes.

    Threads may add the blocks of a class in any order. The distances of a class's lists
    are held from its first block to its last.

    Parameters
    ----------
    bounds : ndarray of shape (n_classes + 1,)
        Position of the first point of each class, and the number of points.
    found : list of ndarray of int32
        Indices of the listed points.
    size : int
        Number of rows in a block.
    dtype : dtype
        Type of the distances.
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
        """Lock class j's lists for the points of the rows' class, for an update."""
        a, (start, stop) = self._class_of(rows), self._bounds[j : j + 2]
        first, numbers = self._bounds[a + 1], self._found[a]
        with self._lock:
            if a not in self._distances:
                shape = len(numbers) - first, numbers.shape[1]
                self._distances[a] = np.full(shape, EXCLUDED_DISTANCE[self._dtype])
            distances = self._distances[a]
        with self._locks[j]:
            yield distances[start - first : stop - first], numbers[start:stop]

    def done(self, rows: slice) -> None:
        """Record that a block has been added to all later classes."""
        a = self._class_of(rows)
        with self._lock:
            self._left[a] -= 1
            if not self._left[a]:
                self._distances.pop(a, None)

    def _class_of(self, rows: slice) -> int:
        return int(np.searchsorted(self._bounds, rows.start, side="right")) - 1


# From this number of pairs on, compiled code is worth loading.
MANY_PAIRS = 5e7


def capped(n_neighbors: int, size: int, leave_one_out: bool) -> int:
    """Return the number of neighbors that a class of this size has for every query.

    With leave-one-out, it is one less, also for points of other classes, so that all
    Gaussians of a class have the same number of points.
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
        Points, sorted by class and centered.
    bounds : ndarray of shape (n_classes + 1,)
        Position of the first point of each class, and the number of points.
    n_neighbors : int
        Number of neighbors; for fewer, use the first columns of the result.
    queries : ndarray of shape (n_queries, n_features) or None
        Query points; None is the points, each excluded from its own neighbors.
    n_threads : int
        Number of threads; the result does not depend on it.

    Returns
    -------
    list of ndarray of int32
        One array for each class, nearest first; ties are resolved in favor of the
        first point. The number of columns is given by `capped`. The only point of a
        class is listed as its own neighbor; callers that leave points out must exclude
        that term.
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

    def search(rows: slice) -> None:
        for j, nearest in enumerate(found):
            start, stop = bounds[j], bounds[j + 1]
            # ‖q‖²/2 − ‖q − x‖²/2: the same order within each row, with less work.
            near = Q[rows] @ points[start:stop].T
            near -= half_norms[start:stop]
            if leave_one_out:
                own = np.arange(max(start, rows.start), min(stop, rows.stop))
                near[own - rows.start, own - start] = -np.inf
            nearest[rows] = _largest(near, nearest.shape[1]) + start

    for _ in map_in_order(search, blocks(slice(0, len(Q)), size), n_threads):
        pass
    return found


def _largest(values: FloatArray, k: int) -> IntArray:
    """Return the columns of the k largest values of each row, in descending order.

    Ties are resolved in favor of the first column, also at the k-th value.
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


@dataclass(frozen=True)
class NearestLists:
    """Columns of each point's row: its nearest points, itself, one of its class.

    Attributes
    ----------
    columns : ndarray of shape (n_points, n_listed)
        Listed points of each point, in ascending order. Since the points are sorted
        by class, those of its own class are contiguous.
    own : ndarray of shape (n_points,)
        Position of each point in its own list.
    runs : ClassSlices
        Start and stop of each point's class in its list.
    """

    columns: IntArray
    own: IntArray
    runs: ClassSlices

    @classmethod
    def find(
        cls, points: FloatArray, classes: ClassSlices, k: int, n_jobs: int
    ) -> Self:
        """Find the lists of k other points, including at least one of the same class.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_components)
            The points, sorted by class.
        classes : ClassSlices
            Class runs of the points.
        k : int
            Number of other points to list, below the number of points.
        n_jobs : int
            Number of threads, for queries of a tree.
        """
        from sklearn.neighbors import NearestNeighbors  # slow to import

        n = len(points)
        itself = np.arange(n)[:, None]
        search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(points)
        columns = search.kneighbors(return_distance=False)
        starts, stops = classes.starts[:, None], classes.stops[:, None]
        matched = ((columns >= starts) & (columns < stops)).any(axis=1)
        # log p_i needs a match, however far. It replaces the farthest point.
        for start in np.unique(classes.starts[~matched]):
            stop = classes.stops[start]
            lone = np.flatnonzero(~matched[start:stop]) + start
            if stop - start > 1:
                search = NearestNeighbors(n_neighbors=2).fit(points[start:stop])
                found = search.kneighbors(points[lone], return_distance=False) + start
                other = np.where(found[:, 0] == lone, found[:, 1], found[:, 0])
                columns[lone, -1] = other
        columns = np.sort(np.hstack([columns, itself]), axis=1)
        return cls(
            columns,
            np.argmax(columns == itself, axis=1),
            ClassSlices((columns < starts).sum(axis=1), (columns < stops).sum(axis=1)),
        )


def pull_nearest(
    points: FloatArray, rule: Rule, lists: NearestLists, n_threads: int = 1
) -> WeightedPairs:
    """Weight the listed edges only, and return values and L Z, as `laplacian_product`.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The projected points, sorted by class.
    rule : Rule
        Weights and values.
    lists : NearestLists
        Columns of each point's row.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    weigh = getattr(kernels, rule.kernel)
    n, k = lists.columns.shape
    # Distances are passed as inner products of points with norm 0.
    nothing = np.zeros(max(n, k), dtype=points.dtype)
    weights = np.empty((n, k), dtype=points.dtype)
    values = np.empty(n, dtype=points.dtype)
    _, _, *own_args = rule.query_args
    log_offsets, power = rule.reference_args

    def visit(block: FloatArray, rows: slice, _: Any) -> None:
        kernels.gather(block, rows.start, lists.columns[rows], points, log_offsets)
        weigh(
            block,
            lists.own[rows],
            nothing[rows],
            lists.runs.starts[rows],
            lists.runs.stops[rows],
            *(known[rows] for known in own_args),
            nothing[:k],
            nothing[:k],
            power,
            values[rows],
        )
        weights[rows] = block

    for_each_block((n, k), points.dtype, visit, n_threads)
    ends = np.arange(0, n * k + 1, k)
    V = csr_array((weights.ravel(), lists.columns.ravel(), ends), shape=(n, n))
    degrees = V.sum(axis=1) + V.sum(axis=0)
    # L Z does not depend on the origin, but its rounding error does.
    Z = center(points)[0]
    return WeightedPairs(values, degrees[:, None] * Z - V @ Z - V.T @ Z)


def sorted_masses(
    points: FloatArray, masses: NeighborWeights, queries: IntArray, n_threads: int = 1
) -> FloatArray:
    """Return the mean share of p_i that the k heaviest neighbors have, for each k.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The projected points.
    masses : NeighborWeights
        Weights of the points as neighbors.
    queries : ndarray of int
        Points whose rows are computed.
    n_threads : int, default=1
        Number of threads.

    Returns
    -------
    ndarray of shape (n_points,)
        Mean share of p_i of the k heaviest neighbors, for k = 1, 2, …
    """
    size = rows_per_block(len(queries), 8 * len(points) * points.itemsize)
    total = np.zeros(len(points))

    def shares(rows: slice) -> FloatArray:
        p = probabilities(points, masses, queries[rows])
        heaviest = np.sort(p, axis=1)[:, ::-1]
        return np.cumsum(heaviest, axis=1, dtype=np.float64).sum(axis=0)

    parts = blocks(slice(0, len(queries)), size)
    for part in map_in_order(shares, parts, n_threads):
        total += part
    return total / len(queries)


def probabilities(
    points: FloatArray, masses: NeighborWeights, queries: IntArray
) -> FloatArray:
    """Return the rows p_i of some points, of shape (n_queries, n_points)."""
    from vicinal.neighborhood import kernels  # loads Numba

    Z, norms, _ = center(points)
    found = np.empty((len(queries), len(Z)), dtype=Z.dtype)
    sums = np.empty(len(queries), dtype=Z.dtype)
    # Weight of a point in its own sum, as in `kernels.to_distances_of`.
    itself = masses.self_log_offsets[queries] - masses.log_offsets[queries]

    def visit(block: FloatArray, rows: slice, _: Any, *both: FloatArray) -> None:
        own = both[0] - itself[rows] / 2
        block[np.arange(len(block)), queries[rows]] = own
        kernels.normalize(block, *both, masses.log_offsets, sums[rows])
        found[rows] = block

    pairs = Z[queries], norms[queries], Z, norms
    for_each_block(found.shape, Z.dtype, visit, 1, pairs=pairs)
    return found


# Number of rows for an estimate of the number of impostors.
_SAMPLE = 512


@dataclass(frozen=True)
class Impostors:
    """Lists of the impostors of some points.

    Attributes
    ----------
    ends : ndarray of shape (n_queries + 1,)
        Start of each query's list, and the end of the last.
    columns : ndarray of int32
        Indices of the listed points.
    share : float
        Share of all impostors that is listed; 1 unless there are too many.
    """

    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    share: float = 1.0

    @classmethod
    def find(
        cls,
        points: FloatArray,
        classes: ClassSlices,
        queries: IntArray,
        radii: FloatArray,
        most: int,
        n_threads: int = 1,
    ) -> "Impostors":
        """List the points of other classes within a squared distance of each query.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_components)
            Points, sorted by class.
        classes : ClassSlices
            Class runs of the points.
        queries : ndarray of int
            Indices of points, without repeats.
        radii : ndarray of shape (n_queries,)
            Squared distances.
        most : int
            Approximate maximum number of impostors. If there are more, a deterministic
            sample is listed, and `share` is its share.
        n_threads : int, default=1
            Number of threads; the result does not depend on it.
        """
        share = 1.0
        if len(queries) * len(points) > most:
            sample = np.unique(np.linspace(0, len(queries) - 1, _SAMPLE).astype(int))
            counts = _search(
                points, classes, queries[sample], radii[sample], None, n_threads
            )[0]
            expected = float(counts.mean()) * len(queries)
            share = min(1.0, most / max(expected, 1.0))
        counts, columns = _search(points, classes, queries, radii, share, n_threads)
        return cls(np.concatenate([[0], np.cumsum(counts)]), columns, share)


def _search(
    points: FloatArray,
    classes: ClassSlices,
    queries: IntArray,
    radii: FloatArray,
    share: float | None,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the number of impostors of each query, and lists unless share is None."""
    from vicinal.neighborhood import kernels  # loads Numba

    Z, norms, _ = center(points)
    radii = radii.astype(points.dtype)
    kept = np.uint64(2**32 if share is None else round(share * 2**32))
    counts = np.zeros(len(queries), dtype=np.int64)
    lists: dict[int, NDArray[np.int32]] = {}

    def visit(block: FloatArray, rows: slice, _: Any, *both: FloatArray) -> None:
        own = queries[rows]
        of_class = classes.starts[own], classes.stops[own]
        kernels.count_within(block, *both, radii[rows], *of_class, counts[rows])
        if share is not None:
            columns = np.empty(int(counts[rows].sum()), dtype=np.int32)
            n = kernels.list_within(
                block, own, radii[rows], *of_class, kept, counts[rows], columns
            )
            lists[rows.start] = columns[:n].copy() if n < len(columns) else columns

    pairs = Z[queries], norms[queries], Z, norms
    shape = len(queries), len(Z)
    for_each_block(shape, points.dtype, visit, n_threads, pairs=pairs)
    found = [lists[start] for start in sorted(lists)]
    return counts, np.concatenate(found) if found else np.empty(0, dtype=np.int32)


def pull_hinges(
    points: FloatArray,
    queries: IntArray,
    targets: NDArray[np.int32],
    impostors: Impostors,
    weights: tuple[float, float],
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return the LMNN loss of each query, and L Z of the graph of its edges.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_components)
        The projected points.
    queries : ndarray of int
        Points whose terms are summed.
    targets : ndarray of shape (n_queries, n_neighbors)
        Target neighbors of the queries; −1 marks empty entries.
    impostors : Impostors
        Impostors of the queries.
    weights : tuple of two floats
        Weights of the pull and the push terms.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        Losses in float64.
    laplacian_product : ndarray of the points' shape
    """
    from vicinal.neighborhood import kernels  # loads Numba

    values = np.empty(len(queries))
    total = np.zeros_like(points)
    pull, push = weights

    def add_up(rows: slice) -> FloatArray:
        term = np.zeros_like(points)
        kernels.hinges(
            points,
            queries[rows],
            targets[rows],
            impostors.ends[rows.start : rows.stop + 1],
            impostors.columns,
            1.0,
            pull,
            push / impostors.share,
            values[rows],
            term,
        )
        return term

    # Few partial sums, since each has the size of the points.
    parts = blocks(slice(0, len(queries)), max(1, -(-len(queries) // 8)))
    for term in map_in_order(add_up, parts, n_threads):
        total += term
    return values, total


def hinge_energies(
    queries: FloatArray,
    points: FloatArray,
    bounds: IntArray,
    reach: FloatArray,
    n_neighbors: int,
    weights: tuple[float, float],
    n_threads: int = 1,
) -> FloatArray:
    """Return the energy of each new point in each class under the LMNN loss.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_components)
        New points.
    points : ndarray of shape (n_points, n_components)
        Training points, sorted by class; of the queries' type.
    bounds : ndarray of shape (n_classes + 1,)
        Position of the first point of each class, and the number of points.
    reach : ndarray of shape (n_points, n_targets)
        Squared distances to target neighbors, plus the margin; −1 for empty entries.
    n_neighbors : int
        Number of nearest points of the class whose distances count.
    weights : tuple of two floats
        Weights of the pull and the push terms.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        In float64.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    edges = np.asarray(bounds)
    if len(reach) != len(points) or edges[0] != 0 or edges[-1] != len(points):
        raise ValueError("The points of the fit and their targets differ in number.")
    if queries.shape[1:] != points.shape[1:] or (np.diff(edges) < 0).any():
        raise ValueError("Queries and points differ in dimension, or classes overlap.")
    pull, push = weights
    energies = np.empty((len(queries), len(bounds) - 1))
    Z, norms, origin = center(points)
    Q = queries - origin
    pairs = Q, np.einsum("ij,ij->i", Q, Q), Z, norms

    def visit(block: FloatArray, rows: slice, _: Any, *both: FloatArray) -> None:
        kernels.energies(
            block, *both, bounds, reach, n_neighbors, pull, push, energies[rows]
        )

    for_each_block((len(Q), len(Z)), Z.dtype, visit, n_threads, pairs=pairs)
    return energies
