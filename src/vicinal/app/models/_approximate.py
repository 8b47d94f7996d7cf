"""Approximate nearest rows of many rows in a long table, by an index of usearch."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.names import add_line_number
from vicinal.app.tables.reading import pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.models._saved import SavedModel
    from vicinal.app.models._vector_map import VectorMap
    from vicinal.app.tables.sources import Source

__all__ = ["Recall", "approximate_search", "is_worth_an_index", "measured_recall"]

# Comparing every row with all of more rows than this takes minutes.
_MANY_ROWS = 50_000
# An index is not worth building for fewer questions.
_MANY_QUERIES = 1000
# Questions that are also answered exactly, to tell what the index misses.
N_CHECKED = 100
# What is looked at besides the wanted ones, when building and when asking.
_BUILDING, _ASKING = 128, 128


@dataclass(frozen=True)
class Recall:
    """How many of the nearest rows an index has found.

    Attributes
    ----------
    recall : float
        The share, over the rows that were checked.
    n_checked : int
        How many of the rows were also answered exactly.

    See Also
    --------
    vicinal.app.models.neighbor_table : Tells it, where an index answered.

    Examples
    --------
    >>> from vicinal.app.models import Recall
    >>> Recall(recall=0.98, n_checked=100).recall
    0.98
    """

    recall: float
    n_checked: int


def is_worth_an_index(n_queries: int, source: Source) -> bool:
    """Return whether questions and rows are so many that an index saves time.

    Parameters
    ----------
    n_queries : int
        How many rows are asked about.
    source : Source
        The rows to look among; read once to count them.
    """
    if n_queries < _MANY_QUERIES or find_spec("usearch") is None:
        return False
    return sum(piece.height for piece in pieces(source)) > _MANY_ROWS


def approximate_search(
    model: SavedModel | VectorMap,
    queries: FloatArray,
    source: Source,
    k: int,
    itself: IntArray | None,
    on_rows: Callable[[int], None] | None,
) -> tuple[IntArray, FloatArray]:
    """Return about the nearest rows of each query, −1 where there are no more.

    Parameters
    ----------
    model : SavedModel or VectorMap
        Maps the rows.
    queries : ndarray of shape (n_queries, n_components)
        Mapped.
    source : Source
        The rows to look among, read in pieces.
    k : int
        How many.
    itself : ndarray of int or None
        The queries' own numbers among the rows, which are no neighbours.
    on_rows : callable or None
        Called with the number of rows that are in the index.

    Returns
    -------
    rows, distances : ndarray of shape (n_queries, k)
        The nearest first.
    """
    from usearch.index import Index

    index = Index(
        ndim=queries.shape[1],
        metric="l2sq",
        dtype="f32",
        expansion_add=_BUILDING,
        expansion_search=max(_ASKING, 2 * k),
    )
    start = 0
    # About the queries' middle: float32 must tell near rows apart.
    middle = queries.mean(axis=0)
    for piece in pieces(source):
        with add_line_number(source, start):
            Z = _single(model.transform(piece) - middle)
        index.add(np.arange(start, start + len(Z)), Z)
        start += len(Z)
        if on_rows is not None:
            on_rows(start)
    rows = np.full((len(queries), k), -1)
    distances = np.full((len(queries), k), np.inf)
    found = index.search(_single(queries - middle), min(k + 1, start))
    keys = np.asarray(found.keys).astype(np.int64).reshape(len(queries), -1)
    squares = _double(found.distances).reshape(keys.shape)
    if itself is not None:
        squares[keys == itself[:, None]] = np.inf
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    width = order.shape[1]
    rows[:, :width] = np.take_along_axis(keys, order, 1)
    nearest = np.take_along_axis(squares, order, 1)
    distances[:, :width] = np.sqrt(np.maximum(nearest, 0))
    # Where the index knows fewer rows, it pads with NaN.
    nobody = ~np.isfinite(distances)
    rows[nobody], distances[nobody] = -1, np.inf
    return rows, distances


def measured_recall(found: IntArray, exact: IntArray) -> Recall:
    """Return how many of the exact nearest rows were found.

    Parameters
    ----------
    found, exact : ndarray of int of shape (n_checked, k)
        Rows by number, −1 for none.
    """
    there = exact >= 0
    hits = (exact[:, :, None] == found[:, None, :]).any(axis=2) & there
    return Recall(float(hits.sum() / max(there.sum(), 1)), len(exact))


def _double(squares: Any) -> FloatArray:
    """Return what an index found in float64; it pads with NaN that signals."""
    with np.errstate(invalid="ignore"):
        return np.asarray(squares, dtype=np.float64)


def _single(Z: FloatArray) -> FloatArray:
    return np.ascontiguousarray(Z, dtype=np.float32)
