"""Samples of rows, stratified by class, and pools of rows that tasks draw from.

The client draws the number of rows of each chunk, and the task of a chunk its rows.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray, IntArray
from vicinal.dask._chunks import Chunks
from vicinal.dask._tasks import FAN_IN, Handle
from vicinal.neighborhood import single_threaded_blas

POOL_BYTES = 2**26
"""Size of a pool, unless a share would be too small."""
QUERIES_PER_TASK = 1024
"""Queries of a step for which there is a task; both by `benchmarks.speed.dask`."""

Place = Callable[[FloatArray], FloatArray]
"""Transforms rows to the coordinates that they are kept in."""


@dataclass(frozen=True)
class Basis:
    """Coordinates X @ basis of rows, in their type."""

    matrix: FloatArray

    def __call__(self, X: FloatArray) -> FloatArray:
        return X @ self.matrix.astype(X.dtype)


@dataclass(frozen=True)
class Rows:
    """Some of the rows.

    Attributes
    ----------
    X : ndarray of shape (n_rows, n_features)
        Their values.
    codes : ndarray of shape (n_rows,)
        Their classes.
    numbers : ndarray of shape (n_rows,)
        Their positions in all of the data.
    """

    X: FloatArray
    codes: IntArray
    numbers: IntArray

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, rows: Any) -> "Rows":
        return Rows(self.X[rows], self.codes[rows], self.numbers[rows])


def draw_sample(
    chunks: Chunks,
    n_wanted: int,
    rng: Generator,
    place: Place | None = None,
) -> Handle:
    """Draw rows, and leave them on the cluster.

    Parameters
    ----------
    chunks : Chunks
        The data.
    n_wanted : int
        Number of rows; all if there are not more. Small classes may add a few.
    rng : Generator
        Draws them.
    place : callable or None, default=None
        Transforms rows to the coordinates to leave there.

    Returns
    -------
    Handle
        `Rows` in the order of the data.
    """
    [sample] = chunks.tasks.combine(join, _drawn(chunks, n_wanted, rng, place))
    return sample


def _drawn(
    chunks: Chunks, n_wanted: int, rng: Generator, place: Place | None
) -> list[Handle]:
    """Draw the rows of each chunk that has any in the sample."""
    quotas = share_out(chunks.counts, n_wanted, rng)
    seeds = rng.integers(2**63, size=len(quotas))
    taken = np.flatnonzero(quotas.sum(axis=1))
    some = replace(
        chunks, X=[chunks.X[k] for k in taken], y=[chunks.y[k] for k in taken]
    )
    return some.map(
        take,
        list(quotas[taken]),
        seeds[taken].tolist(),
        chunks.offsets[taken].tolist(),
        common=(place,),
    )


def share_out(counts: IntArray, n_wanted: int, rng: Generator) -> IntArray:
    """Return the number of rows of each class that each chunk gives to a sample.

    A class has its share of the sample, but at least 2 rows, so that each has another
    of its class. A chunk has its share of the class, rounded up or down at random.

    Parameters
    ----------
    counts : ndarray of shape (n_chunks, n_classes)
        Number of rows.
    n_wanted : int
        Number of rows to draw.
    rng : Generator
        Rounds.

    Returns
    -------
    ndarray of shape (n_chunks, n_classes)
    """
    sizes = counts.sum(axis=0)
    if n_wanted >= sizes.sum():
        return counts
    shares = np.rint(n_wanted * (sizes / sizes.sum())).astype(np.intp)
    shares = np.minimum(sizes, np.maximum(shares, 2))
    ends = np.cumsum(counts, axis=0) * (shares / sizes)
    # The rounding of the last end must not lose a row.
    ends[-1] = shares
    steps = np.floor(ends + rng.uniform(0, 1 - 1e-9, size=len(sizes)))
    return np.diff(steps, axis=0, prepend=0).astype(np.intp)


def take(
    X: FloatArray,
    codes: IntArray,
    quotas: IntArray,
    seed: int,
    offset: int,
    place: Place | None,
) -> Rows:
    """Draw the rows of a chunk, a given number of each class."""
    rng = np.random.default_rng(seed)
    found = []
    for code in np.flatnonzero(quotas):
        rows = np.flatnonzero(codes == code)
        if quotas[code] < len(rows):
            rows = rng.choice(rows, quotas[code], replace=False, shuffle=False)
        found.append(rows)
    rows = np.sort(np.concatenate(found))
    points = X[rows]
    if place is not None:
        with single_threaded_blas():
            points = place(points)
    return Rows(points, codes[rows], rows + offset)


def join(*parts: Rows) -> Rows:
    """Join the rows of consecutive chunks."""
    return Rows(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.numbers for part in parts]),
    )


class Share(NamedTuple):
    """The rows that one task at a time draws from.

    Attributes
    ----------
    rows : Rows
        Shares are disjoint if there are enough rows.
    basis : ndarray or None
        Coordinates of the rows that maps are given in; see `vicinal.objectives`.
    """

    rows: Rows
    basis: FloatArray | None


@dataclass
class Pool:
    """A pool of rows on the cluster, in shares that tasks draw from.

    Reading all chunks for each of many small steps would cost far more than the steps.
    Rows are therefore drawn from all chunks a few times, and stay on the cluster in
    random shares of equal size. A task has its queries and its references from one
    share, and so runs on the worker that holds it.

    Parameters
    ----------
    chunks : Chunks
        The data.
    place : callable or None
        Transforms rows to the coordinates that are kept.
    width : int
        Number of these coordinates.
    n_shares : int
        Number of tasks that run at a time.
    n_references : int
        Number of references of a step.
    refresh_every : int
        Calls of `next` after which other rows are drawn, unless the pool has all.
    rng : Generator
        Draws them.
    basis : ndarray or None, default=None
        Coordinates that maps are given in. Each share holds them, so that they are not
        sent with each task.

    Attributes
    ----------
    n_rows : int
        Number of rows in the pool.
    n_passes, n_calls : int
        Number of passes over the chunks, and of calls of `next`, so far.
    """

    chunks: Chunks
    place: Place | None
    width: int
    n_shares: int
    n_references: int
    refresh_every: int
    rng: Generator
    basis: FloatArray | None = None
    n_passes: int = 0
    n_calls: int = 0
    _shares: list[Handle] = field(default_factory=list)

    def __post_init__(self) -> None:
        # A share has twice the references of a step, if there are as many rows.
        self._fewest = 2 * self.n_references
        most = POOL_BYTES // (self.width * self.chunks.dtype.itemsize)
        self.n_rows = min(self.chunks.shape[0], max(most, self._fewest))

    def next(self) -> list[Handle]:
        """Return the shares for the next tasks."""
        has_all = self.n_rows == self.chunks.shape[0]
        due = not has_all and self.n_calls % self.refresh_every == 0
        if due or not self._shares:
            self._shares = []  # released before new ones are made
            drawn = _drawn(self.chunks, self.n_rows, self.rng, self.place)
            parts = self.chunks.tasks.combine(join, drawn, few=FAN_IN)
            seed = int(self.rng.integers(2**63))
            # Made from parts on many workers, shares come to be on as many. Made from
            # one, all would be on its worker, and so would be all tasks.
            self._shares = self.chunks.tasks.map(
                share,
                [
                    (seed, k, self.n_shares, self._fewest, self.basis, *parts)
                    for k in range(self.n_shares)
                ],
            )
            self.n_passes += 1
        self.n_calls += 1
        return self._shares


def share(
    seed: int,
    k: int,
    n_shares: int,
    fewest: int,
    basis: FloatArray | None,
    *parts: Rows,
) -> Share:
    """Return one of equal random shares of the rows.

    Shares that would have fewer rows than `fewest` overlap.
    """
    rows = join(*parts)
    order = np.random.default_rng(seed).permutation(len(rows))
    first, end = (i * len(rows) // n_shares for i in (k, k + 1))
    size = min(len(rows), max(end - first, fewest))
    dealt = np.roll(order, -first)[:size]
    return Share(rows[np.sort(dealt)], basis)
