"""A pool of rows on the cluster, from which steps draw queries and references.

Reading all chunks for each of many small steps would cost far more than the steps. So
some rows are drawn from all chunks, seldom, and stay on the cluster in shares of equal
make, whatever the order of the data; tasks draw from these.

A task has its queries and its references from one share, and so runs where that is.
References apart from it would be sent to workers over and over: Dask drops copies of
what no task is waiting for.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray
from vicinal.dask._chunks import Chunks
from vicinal.dask._sampling import Place, Rows, draw_parts, join
from vicinal.dask._tasks import Handle
from vicinal.objectives.base import sample_indices

POOL_BYTES = 2**26
"""The pool's size, unless a share would be too small: see `FEWEST_PER_REFERENCE`."""
FEWEST_PER_REFERENCE = 2
"""A share has so many times the references of one step, if there are as many rows."""


@dataclass(frozen=True)
class Share:
    """What one task at a time draws from.

    Attributes
    ----------
    rows : Rows
        Other shares have others, where there are enough for all.
    basis : ndarray or None
        Coordinates of the rows that maps are given in; see `vicinal.objectives`.
    """

    rows: Rows
    basis: FloatArray | None


@dataclass
class Pool:
    """Rows in shares, dealt out at random.

    Parameters
    ----------
    chunks : Chunks
        The data.
    place : callable or None
        Takes rows to the coordinates to keep instead of them.
    width : int
        How many coordinates a row has.
    n_shares : int
        How many tasks run at a time.
    n_references : int
        How many references a step looks at.
    refresh_every : int
        After so many calls of `next` other rows are drawn, unless the pool has all.
    rng : Generator
        Draws them.
    basis : ndarray or None, default=None
        Coordinates that maps are given in. Each share has them with it, so that they
        need not be sent with each task.

    Attributes
    ----------
    n_rows : int
        How many rows the pool holds.
    n_passes, n_calls : int
        How many times the chunks were read, and `next` called, so far.
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

    @property
    def n_rows(self) -> int:
        """How many rows the pool holds."""
        most = POOL_BYTES // (self.width * self.chunks.dtype.itemsize)
        return min(self.chunks.shape[0], max(most, self._fewest))

    @property
    def _fewest(self) -> int:
        """How many rows a share has at least, if there are as many."""
        return FEWEST_PER_REFERENCE * self.n_references

    def next(self) -> list[Handle]:
        """Return the shares for the next tasks."""
        has_all = self.n_rows == self.chunks.shape[0]
        due = not has_all and self.n_calls % self.refresh_every == 0
        if due or not self._shares:
            self._refresh()
        self.n_calls += 1
        return self._shares

    def _refresh(self) -> None:
        self._shares = []  # what was held is let go first
        parts = draw_parts(self.chunks, self.n_rows, self.rng, self.place)
        seed = int(self.rng.integers(2**63))
        # From parts that are on many workers, the shares come to be on as many. From
        # one, all would be where that is, and so would be all tasks.
        self._shares = self.chunks.tasks.map(
            share,
            [
                (seed, k, self.n_shares, self._fewest, self.basis, *parts)
                for k in range(self.n_shares)
            ],
        )
        self.n_passes += 1


def share(
    seed: int,
    k: int,
    n_shares: int,
    fewest: int,
    basis: FloatArray | None,
    *parts: Rows,
) -> Share:
    """Return one of equal shares of the rows, dealt out at random.

    Where shares would have fewer rows than they should, they overlap.
    """
    rows = join(*parts)
    order = np.random.default_rng(seed).permutation(len(rows))
    first, end = (i * len(rows) // n_shares for i in (k, k + 1))
    size = min(len(rows), max(end - first, fewest))
    dealt = np.roll(order, -first)[:size]
    return Share(rows[np.sort(dealt)], basis)


def some_of(rows: Rows, n: int, seed: Any) -> Rows:
    """Return n of the rows, at most all."""
    return rows[sample_indices(np.random.default_rng(seed), len(rows), n)]


def meeting(
    given: Rows, n_queries: int, n_references: int, seeds: Any
) -> tuple[Rows, int]:
    """Return some queries, followed by some references that are other rows.

    Parameters
    ----------
    given : Rows
        What to draw from.
    n_queries, n_references : int
        How many to draw; at most all.
    seeds : tuple of two
        For the queries and for the references.

    Returns
    -------
    rows : Rows
        The queries, then the references.
    n_queries : int
        How many of them are queries.
    """
    asking = some_of(given, n_queries, seeds[0])
    asked = some_of(given, n_references, seeds[1])
    others = asked[~np.isin(asked.numbers, asking.numbers)]
    rows = Rows(
        np.concatenate([asking.X, others.X]),
        np.concatenate([asking.codes, others.codes]),
        np.concatenate([asking.numbers, others.numbers]),
    )
    return rows, len(asking)
