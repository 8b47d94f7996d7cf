"""The nearest rows of many points, in a table that is read in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial.distance import cdist

from vicinal.app.tables.names import add_line_number
from vicinal.app.tables.reading import pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.models._saved import SavedModel
    from vicinal.app.models._vector_map import VectorMap
    from vicinal.app.tables.sources import Source

__all__ = ["search"]

# Distances that are held at once: 32 MB of them.
_DISTANCES = 4_000_000


def search(
    model: SavedModel | VectorMap,
    queries: FloatArray,
    source: Source,
    k: int,
    itself: IntArray | None,
    on_rows: Callable[[int], None] | None,
) -> tuple[IntArray, FloatArray]:
    """Find the nearest rows of some points in a table that is read in pieces.

    Parameters
    ----------
    model : SavedModel or VectorMap
        Maps the rows.
    queries : ndarray of shape (n_queries, n_components)
        Mapped points.
    source : Source
        The rows to look among.
    k : int
        How many of them.
    itself : ndarray of int of shape (n_queries,) or None
        Which row each query is, if it is one of them: it is no neighbour of itself.
    on_rows : callable or None
        Called with the number of rows that were looked through.

    Returns
    -------
    rows : ndarray of int of shape (n_queries, k)
        The nearest first, the earlier ones of equals; -1 where there are no more.
    distances : ndarray of shape (n_queries, k)
        Infinite where there are no more.
    """
    rows = np.zeros((len(queries), k), dtype=np.intp)
    distances = np.full((len(queries), k), np.inf)
    start = 0
    for piece in pieces(source):
        with add_line_number(source, start):
            Z = model.transform(piece)
        for block in _blocks(len(queries), len(Z)):
            found = cdist(queries[block], Z)
            if itself is not None:
                own = itself[block] - start
                here = np.flatnonzero((own >= 0) & (own < len(Z)))
                found[here, own[here]] = np.inf
            kept = _smallest(found, k)
            # Those of earlier rows first: of equals, they stay.
            both = np.hstack([distances[block], np.take_along_axis(found, kept, 1)])
            numbers = np.hstack([rows[block], kept + start])
            order = np.argsort(both, axis=1, kind="stable")[:, :k]
            distances[block] = np.take_along_axis(both, order, 1)
            rows[block] = np.take_along_axis(numbers, order, 1)
        start += piece.height
        if on_rows is not None:
            on_rows(start)
    rows[np.isinf(distances)] = -1
    return rows, distances


def _blocks(n_queries: int, n_rows: int) -> Iterator[slice]:
    size = max(1, _DISTANCES // max(n_rows, 1))
    for start in range(0, n_queries, size):
        yield slice(start, min(start + size, n_queries))


def _smallest(distances: FloatArray, k: int) -> IntArray:
    """Return the columns of each row's k smallest numbers, the first of equals."""
    n = distances.shape[1]
    if n <= k:
        return np.argsort(distances, axis=1, kind="stable")
    kept = np.argpartition(distances, k - 1, axis=1)[:, :k]
    last = np.take_along_axis(distances, kept[:, k - 1 : k], 1)
    for i in np.flatnonzero((distances <= last).sum(axis=1) > k):
        kept[i] = np.argsort(distances[i], kind="stable")[:k]
    kept.sort(axis=1)
    order = np.argsort(np.take_along_axis(distances, kept, 1), axis=1, kind="stable")
    return np.take_along_axis(kept, order, 1)
