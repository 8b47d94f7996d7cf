"""LDG's sums as tasks: neighbours from a sample, or exactly from all chunks.

With a sample, each chunk is one task. Exactly, each two chunks are, after small
neighbouring ones were joined: the candidates that all chunks have for some queries are
merged, then the chosen ones are added up where they are, so that no row travels but
with its chunk.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.dask._chunks import Chunks
from vicinal.dask._moments import Frame, add
from vicinal.dask._sampling import Rows
from vicinal.dask._tasks import Handle, combined
from vicinal.ldg.local_gaussians import ClassPoints, Scatters, scatters, squared_norms
from vicinal.neighborhood import single_threaded_blas
from vicinal.neighborhood.nearest import capped

# How many queries of a chunk are looked at together, in a task with a sample.
_AT_ONCE = 8192
# The sums of neighbours of the queries of an exact task are no larger than this.
_SUM_BYTES = 2**25
# Neighbouring chunks are joined for exact tasks up to so many rows and bytes.
_JOINED_ROWS, _JOINED_BYTES = 4096, 2**26


def add_scatters(*parts: Scatters) -> Scatters:
    """Add both matrices up in their order."""
    return Scatters(*(add(*both) for both in zip(*parts, strict=True)))


@dataclass(frozen=True)
class Neighborhoods:
    """What is asked of the neighbours of each query.

    Attributes
    ----------
    n_neighbors : int
        k.
    sizes : ndarray of shape (n_classes,)
        How many points of each class can be neighbours.
    priors : ndarray of shape (n_classes,)
        p(j).
    least_spread : float
        The floor of d σ².
    n_features : int
        d.
    """

    n_neighbors: int
    sizes: IntArray
    priors: FloatArray
    least_spread: float
    n_features: int

    def k_of(self, code: int) -> int:
        """Return how many neighbours of this class each query has."""
        return capped(self.n_neighbors, int(self.sizes[code]), leave_one_out=True)


def scatters_against(
    X: FloatArray,
    codes: IntArray,
    offset: int,
    sample: Rows,
    frame: Frame,
    asked: Neighborhoods,
) -> Scatters:
    """Return V and A of a chunk's rows, with their neighbours in a sample.

    Parameters
    ----------
    X, codes, offset
        The chunk, and the number of its first row.
    sample : Rows
        The points that can be neighbours, in the frame, sorted by class.
    frame, asked
        The coordinates, and what is asked.
    """
    n_classes = len(asked.priors)
    subset = ClassPoints.build(sample.X, sample.codes, asked.least_spread, n_classes)
    by_number = np.argsort(sample.numbers)
    sizes = np.diff(subset.bounds).tolist()
    parts = []
    with single_threaded_blas():
        for start in range(0, len(X), _AT_ONCE):
            rows = np.arange(start, min(start + _AT_ONCE, len(X)))
            rows = rows[np.argsort(codes[rows], kind="stable")]
            queries = ClassPoints.build(
                frame.place(X[rows]), codes[rows], asked.least_spread, n_classes
            )
            own = _positions(rows + offset, sample.numbers, by_number)
            found = subset.nearest(asked.n_neighbors + 1, queries.points, 1)
            neighbors = [
                _without(own, nearest, capped(asked.n_neighbors, size, True))
                for nearest, size in zip(found, sizes, strict=True)
            ]
            parts.append(
                scatters(subset, neighbors, asked.priors, asked.n_features, 1, queries)
            )
    return add_scatters(*parts)


def _positions(numbers: IntArray, known: IntArray, by_number: IntArray) -> IntArray:
    """Return where rows are among known ones; −1 for those that are not."""
    at = np.searchsorted(known, numbers, sorter=by_number)
    positions = by_number[np.minimum(at, len(known) - 1)]
    return np.where(known[positions] == numbers, positions, -1)


def _without(own: IntArray, nearest: NDArray[np.int32], k: int) -> NDArray[np.int32]:
    """Return the k nearest other points of each query."""
    chosen = nearest[:, :k].copy()
    rows = np.flatnonzero((nearest == own[:, None]).any(axis=1))
    itself = nearest[rows] == own[rows, None]
    others = np.argsort(itself, axis=1, kind="stable")[:, :k]
    chosen[rows] = np.take_along_axis(nearest[rows], others, axis=1)
    return chosen


class Placed(NamedTuple):
    """A chunk in the frame, sorted by class."""

    points: FloatArray
    codes: IntArray
    numbers: IntArray


class Candidates(NamedTuple):
    """For each class, the nearest points to some queries, nearest first."""

    squares: list[FloatArray]
    """Squared distances, float64; infinity where a point is missing."""
    numbers: list[IntArray]
    """Which rows they are; −1 where one is missing."""


def place(X: FloatArray, codes: IntArray, offset: int, frame: Frame) -> Placed:
    """Return a chunk as exact tasks want it."""
    order = np.argsort(codes, kind="stable")
    return Placed(frame.place(X[order]), codes[order], order + offset)


def candidates(
    asking: Placed, rows: slice, asked: Placed, wanted: Neighborhoods
) -> Candidates:
    """Return the nearest points that one chunk has for some queries of another."""
    Q, own = asking.points[rows], asking.numbers[rows]
    bounds = np.searchsorted(asked.codes, np.arange(len(wanted.priors) + 1))
    squares, numbers = [], []
    with single_threaded_blas():
        for j in range(len(wanted.priors)):
            start, stop = bounds[j : j + 2]
            k = wanted.k_of(j)
            near = np.full((len(Q), k), np.inf)
            which = np.full((len(Q), k), -1, dtype=np.intp)
            if stop > start:
                part = ClassPoints.build(
                    asked.points[start:stop], np.zeros(stop - start, dtype=np.intp), 1.0
                )
                found = part.nearest(k + 1, Q, 1)[0]
                own_place = np.where(asked.numbers[start:stop][found] == own[:, None],
                                     found, -1).max(axis=1)  # fmt: skip
                there = min(k, stop - start)
                found = _without(own_place, found, there)
                positions = start + found
                which[:, :there] = asked.numbers[positions]
                near[:, :there] = _squares(Q, asked.points, positions)
                itself = which == own[:, None]  # the only point of its class here
                near[itself], which[itself] = np.inf, -1
            squares.append(near)
            numbers.append(which)
    return Candidates(squares, numbers)


def _squares(Q: FloatArray, points: FloatArray, positions: IntArray) -> FloatArray:
    """Return squared distances from differences: equal where points are."""
    found = np.empty(positions.shape)
    for column, place_of in enumerate(positions.T):
        found[:, column] = squared_norms(points[place_of] - Q)
    return found


def merge(*parts: Candidates) -> Candidates:
    """Return the nearest of what several chunks have; of equals, the first row."""
    squares, numbers = [], []
    for near, which in zip(
        zip(*(part.squares for part in parts), strict=True),
        zip(*(part.numbers for part in parts), strict=True),
        strict=True,
    ):
        k = near[0].shape[1]
        all_near, all_which = np.hstack(near), np.hstack(which)
        order = np.lexsort((all_which, all_near), axis=1)[:, :k]
        squares.append(np.take_along_axis(all_near, order, axis=1))
        numbers.append(np.take_along_axis(all_which, order, axis=1))
    return Candidates(squares, numbers)


def neighbor_sums(
    asking: Placed, rows: slice, asked: Placed, chosen: Candidates
) -> FloatArray:
    """Return Σ (x_n − x_i) over the chosen neighbours n that are in one chunk.

    Returns
    -------
    ndarray of shape (n_classes, n_queries, n_features)
    """
    Q = asking.points[rows]
    order = np.argsort(asked.numbers)
    sums = np.zeros((len(chosen.numbers), *Q.shape))
    for j, numbers in enumerate(chosen.numbers):
        positions = _positions(numbers.ravel(), asked.numbers, order).reshape(
            numbers.shape
        )
        i, column = np.nonzero((positions >= 0) & (numbers >= 0))
        ones = np.ones(len(i), dtype=Q.dtype)
        shape = (len(Q), len(asked.points))
        near = csr_array((ones, (i, positions[i, column])), shape=shape)
        counts = np.bincount(i, minlength=len(Q)).astype(Q.dtype)
        sums[j] = near @ asked.points - counts[:, None] * Q
    return sums


def scatters_of(
    asking: Placed,
    rows: slice,
    chosen: Candidates,
    sums: FloatArray,
    asked: Neighborhoods,
) -> Scatters:
    """Return V and A of some queries from the sums over their neighbours."""
    mine = asking.codes[rows]
    d = sums.shape[2]
    V, A = np.zeros((d, d)), np.zeros((d, d))
    with single_threaded_blas():
        for j, (total, squares, numbers) in enumerate(
            zip(sums, chosen.squares, chosen.numbers, strict=True)
        ):
            known = numbers >= 0
            n = np.maximum(known.sum(axis=1), 1)
            delta = total / n[:, None]
            spreads = np.where(known, squares, 0.0).sum(axis=1) / n
            spreads = np.maximum(spreads - squared_norms(delta), asked.least_spread)
            delta *= np.sqrt(asked.n_features / spreads)[:, None]
            A += asked.priors[j] * (delta.T @ delta)
            own = delta[mine == j]
            V += own.T @ own
    return Scatters(V, A)


def join_placed(*parts: Placed) -> Placed:
    """Join consecutive chunks into one, again sorted by class."""
    points, codes, numbers = (np.concatenate(one) for one in zip(*parts, strict=True))
    order = np.argsort(codes, kind="stable")
    return Placed(points[order], codes[order], numbers[order])


def n_exact_tasks(chunks: Chunks) -> int:
    """Return how many times a chunk is asked for its nearest points to some queries."""
    groups = _groups(chunks)
    return len(groups) * len(list(_blocks(chunks, groups)))


def exact_scatters(chunks: Chunks, frame: Frame, asked: Neighborhoods) -> Scatters:
    """Return V and A with the nearest of all rows as neighbours.

    The placed chunks stay on the cluster meanwhile: as much memory as the data. Beside
    them there are candidates and sums of two blocks of queries at most.
    """
    tasks = chunks.tasks
    groups = _groups(chunks)
    apart = chunks.map(place, chunks.offsets.tolist(), [frame] * len(chunks.X))
    placed = [combined(tasks, join_placed, apart[group]) for group in groups]
    del apart
    total: Handle = None
    before: list[Handle] = []
    for k, rows in _blocks(chunks, groups):
        asking = placed[k]
        near = tasks.map(candidates, [(asking, rows, one, asked) for one in placed])
        chosen = combined(tasks, merge, near)
        parts = tasks.map(
            neighbor_sums, [(asking, rows, one, chosen) for one in placed]
        )
        sums = combined(tasks, add, parts)
        [one] = tasks.map(scatters_of, [(asking, rows, chosen, sums, asked)])
        [total] = [one] if total is None else tasks.map(add_scatters, [(total, one)])
        # Workers would do the first tasks of all blocks, and hold what these return.
        tasks.result(before)
        before = tasks.map(_is_there, [(total,)])
    found: Scatters = tasks.result(total)
    return found


def _is_there(result: object) -> bool:
    """Return something small when a result has been computed."""
    return result is not None


def _groups(chunks: Chunks) -> list[slice]:
    """Return which neighbouring chunks are joined: any two groups are large."""
    row_bytes = chunks.shape[1] * chunks.dtype.itemsize
    most = min(_JOINED_ROWS, _JOINED_BYTES // row_bytes)
    starts, size = [0], 0
    for k, n_rows in enumerate(chunks.n_rows.tolist()):
        if size and size + n_rows > most:
            starts.append(k)
            size = 0
        size += n_rows
    return [slice(*ends) for ends in pairwise([*starts, len(chunks.n_rows)])]


def _blocks(chunks: Chunks, groups: list[slice]) -> Iterator[tuple[int, slice]]:
    """Return the queries that are looked at together: some rows of a group."""
    width = len(chunks.classes) * chunks.shape[1] * 8
    size = max(16, _SUM_BYTES // width)
    for k, group in enumerate(groups):
        n_rows = int(chunks.n_rows[group].sum())
        for start in range(0, n_rows, size):
            yield k, slice(start, min(start + size, n_rows))
