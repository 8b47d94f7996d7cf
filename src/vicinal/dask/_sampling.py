"""Samples of rows, drawn chunk by chunk by tasks: each class has its share.

How many rows each chunk gives is drawn here; which ones, the chunk's task draws.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray, IntArray
from vicinal.dask._chunks import Chunks
from vicinal.dask._tasks import Handle, combined, combined_to_few
from vicinal.neighborhood import single_threaded_blas

FEWEST = 2
"""So many rows of each class a sample has at least, if there are as many."""


Place = Callable[[FloatArray], FloatArray]
"""Takes rows to the coordinates that they are kept in."""


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
        What they are.
    codes : ndarray of shape (n_rows,)
        Their classes.
    numbers : ndarray of shape (n_rows,)
        Which of all rows they are.
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
    """Draw rows, and leave them on the cluster; nothing but their number is random.

    Parameters
    ----------
    chunks : Chunks
        The data.
    n_wanted : int
        How many rows; all where there are not more. Small classes may add a few.
    rng : Generator
        Draws them.
    place : callable or None, default=None
        Takes rows to the coordinates to leave instead of them.

    Returns
    -------
    Handle
        `Rows` in the order of the data.
    """
    return combined(chunks.tasks, join, _drawn(chunks, n_wanted, rng, place))


def draw_parts(
    chunks: Chunks, n_wanted: int, rng: Generator, place: Place | None = None
) -> list[Handle]:
    """Draw the same rows, and leave them in a few parts; see `draw_sample`."""
    drawn = _drawn(chunks, n_wanted, rng, place)
    return combined_to_few(chunks.tasks, join, drawn)


def _drawn(
    chunks: Chunks, n_wanted: int, rng: Generator, place: Place | None
) -> list[Handle]:
    """Return the rows of each chunk that gives some."""
    quotas = share_out(chunks.counts, n_wanted, rng)
    seeds = rng.integers(2**63, size=len(quotas))
    taken = np.flatnonzero(quotas.sum(axis=1))
    some = chunks if len(taken) == len(quotas) else _only(chunks, taken)
    return some.map(
        take,
        list(quotas[taken]),
        seeds[taken].tolist(),
        chunks.offsets[taken].tolist(),
        [place] * len(taken),
    )


def share_out(counts: IntArray, n_wanted: int, rng: Generator) -> IntArray:
    """Return how many rows of each class each chunk gives to a sample.

    A class has its share of the sample, and `FEWEST` at least; a chunk its share of
    the class, rounded up or down by chance.

    Parameters
    ----------
    counts : ndarray of shape (n_chunks, n_classes)
        How many rows there are.
    n_wanted : int
        How many rows to draw.
    rng : Generator
        What is drawn.

    Returns
    -------
    ndarray of shape (n_chunks, n_classes)
    """
    sizes = counts.sum(axis=0)
    if n_wanted >= sizes.sum():
        return counts
    shares = np.rint(n_wanted * (sizes / sizes.sum())).astype(np.intp)
    shares = np.minimum(sizes, np.maximum(shares, FEWEST))
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
    """Draw a chunk's rows: so many of each class."""
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


def _only(chunks: Chunks, taken: IntArray) -> Chunks:
    return replace(
        chunks,
        X=[chunks.X[k] for k in taken],
        y=[chunks.y[k] for k in taken],
        n_rows=chunks.n_rows[taken],
        counts=chunks.counts[taken],
    )
