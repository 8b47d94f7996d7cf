"""A pool of rows on the cluster, from which steps draw queries and references.

Reading all chunks for each of many small steps would cost far more than the steps. So
some rows are drawn from all chunks, seldom, and stay on the cluster in shares of equal
make, whatever the order of the data; steps are tasks of these.

A task has its queries and its references from one share, and so runs where that is.
References apart from it would be sent to workers over and over: Dask drops copies of
what no task is waiting for.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator

from vicinal.dask._chunks import Chunks
from vicinal.dask._sampling import Place, Rows, draw_parts, join
from vicinal.dask._tasks import Handle
from vicinal.objectives.minibatch import sample_indices

POOL_BYTES = 2**26
"""The pool's size: it holds no more rows than fit in here."""
REFERENCES_PER_STEP = 4
"""The shared references are so many times those of one step."""


@dataclass(frozen=True)
class Share:
    """What one task of each step draws from.

    Attributes
    ----------
    queries : Rows
        Those that no other share has.
    references : Rows
        Those that all shares have.
    """

    queries: Rows
    references: Rows


@dataclass
class Pool:
    """Rows in shares, each with the references that all look at.

    Parameters
    ----------
    chunks : Chunks
        The data.
    place : callable or None
        Takes rows to the coordinates to keep instead of them.
    width : int
        How many coordinates a row has.
    n_shares : int
        How many tasks a step has.
    n_references : int
        How many references a step looks at.
    refresh_every : int
        After so many steps other rows are drawn, unless the pool has all.
    rng : Generator
        Draws them.

    Attributes
    ----------
    n_rows : int
        How many rows the pool holds.
    n_passes : int
        How many times the chunks were read so far.
    """

    chunks: Chunks
    place: Place | None
    width: int
    n_shares: int
    n_references: int
    refresh_every: int
    rng: Generator
    n_passes: int = 0
    _shares: list[Handle] = field(default_factory=list)
    _n_steps: int = 0

    @property
    def n_rows(self) -> int:
        """How many rows the pool holds."""
        most = POOL_BYTES // (self.width * self.chunks.dtype.itemsize)
        return min(self.chunks.shape[0], max(most, 2 * self.n_references))

    def next(self) -> tuple[list[Handle], int]:
        """Return the shares for the next step, and its number."""
        has_all = self.n_rows == self.chunks.shape[0]
        due = not has_all and self._n_steps % self.refresh_every == 0
        if due or not self._shares:
            self._refresh()
        self._n_steps += 1
        return self._shares, self._n_steps

    def _refresh(self) -> None:
        self._shares = []  # what was held is let go first
        parts = draw_parts(self.chunks, self.n_rows, self.rng, self.place)
        seed = int(self.rng.integers(2**63))
        n_shared = REFERENCES_PER_STEP * self.n_references
        # From parts that are on many workers, the shares come to be on as many. From
        # one, all would be where that is, and so would be all tasks.
        self._shares = self.chunks.tasks.map(
            share,
            [(seed, k, self.n_shares, n_shared, *parts) for k in range(self.n_shares)],
        )
        self.n_passes += 1


def share(seed: int, k: int, n_shares: int, n_references: int, *parts: Rows) -> Share:
    """Return one of equal shares of the rows, dealt out at random."""
    rows = join(*parts)
    order = np.random.default_rng(seed).permutation(len(rows))
    queries = rows[np.sort(order[k::n_shares])]
    return Share(queries, some_of(rows, n_references, seed))


def some_of(rows: Rows, n: int, seed: Any) -> Rows:
    """Return n of the rows, at most all."""
    return rows[sample_indices(np.random.default_rng(seed), len(rows), n)]


def meeting(
    given: Share, n_queries: int, n_references: int, seeds: Any
) -> tuple[Rows, int]:
    """Return some queries, followed by some references that are other rows.

    Parameters
    ----------
    given : Share
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
    asking = some_of(given.queries, n_queries, seeds[0])
    asked = some_of(given.references, n_references, seeds[1])
    others = asked[~np.isin(asked.numbers, asking.numbers)]
    rows = Rows(
        np.concatenate([asking.X, others.X]),
        np.concatenate([asking.codes, others.codes]),
        np.concatenate([asking.numbers, others.numbers]),
    )
    return rows, len(asking)
