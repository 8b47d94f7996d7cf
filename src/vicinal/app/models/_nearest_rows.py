"""A row's nearest rows in a file of any length, before and after learning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.tables.cells import clean
from vicinal.app.tables.names import add_line_number, counted
from vicinal.app.tables.reading import pieces
from vicinal.app.tables.sources import Source, open_source

if TYPE_CHECKING:
    import polars as pl

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.models._saved import SavedModel

__all__ = ["Found", "Neighborhoods", "nearest_rows"]


@dataclass(frozen=True, eq=False)
class Found:
    """The nearest rows under one metric.

    Attributes
    ----------
    rows : ndarray of int
        Their numbers in the table, from 0, the nearest first.
    distances : ndarray
        To the row that was asked about.
    labels : list of str or None
        Their targets, where the table has them.

    See Also
    --------
    vicinal.app.models.nearest_rows : Finds them.

    Examples
    --------
    >>> from vicinal.app.models import learn, nearest_rows
    >>> from vicinal.app.tables.prepared import prepare
    >>> found = nearest_rows(learn(prepare("iris"), "lda"), "iris", 0, 3)
    >>> found.learned.rows.shape, found.learned.distances.shape
    ((3,), (3,))
    """

    rows: IntArray
    distances: FloatArray
    labels: list[str] | None


@dataclass(frozen=True, eq=False)
class Neighborhoods:
    """A row's nearest rows before and after learning.

    Attributes
    ----------
    query : int
        The row.
    label : str or None
        Its target, where the table has one.
    euclidean : Found
        On the features as the model scales them.
    learned : Found
        Under the model's metric.

    See Also
    --------
    vicinal.app.models.nearest_rows : Returns it.

    Examples
    --------
    >>> from vicinal.app.models import learn, nearest_rows
    >>> from vicinal.app.tables.prepared import prepare
    >>> found = nearest_rows(learn(prepare("iris"), "lda"), "iris", 0, 3)
    >>> found.query, found.label
    (0, 'setosa')
    """

    query: int
    label: str | None
    euclidean: Found
    learned: Found


def nearest_rows(
    model: SavedModel, source: str, query: int, n_neighbors: int = 10
) -> Neighborhoods:
    """Find a row's nearest rows under the Euclidean and the learned metric.

    Parameters
    ----------
    model : SavedModel
        Holds the learned metric, and what scales the features.
    source : str
        As `vicinal.app.tables.reading.read_table` takes it; it is read in pieces, twice.
    query : int
        The row's number in the table, from 0.
    n_neighbors : int, default=10
        How many to find; fewer, where the table has no more.

    Returns
    -------
    Neighborhoods
        Without the row itself. Of rows that are equally near, the first ones.

    Raises
    ------
    ValueError, OSError
        With one sentence.

    See Also
    --------
    vicinal.app.models.neighbor_table : Of many rows at a time.

    Examples
    --------
    >>> from vicinal.app.models import learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> from vicinal.app.models import nearest_rows
    >>> model = learn(prepare("iris"), "lda")
    >>> found = nearest_rows(model, "iris", 0, 3)
    >>> found.label, found.learned.labels
    ('setosa', ['setosa', 'setosa', 'setosa'])
    """
    if n_neighbors < 1:
        raise ValueError(f"Ask for at least 1 neighbour, not {n_neighbors}.")
    opened = open_source(source)
    row = _row(opened, query)
    with add_line_number(opened, query):
        asked = model.prepare(row)
    asked_mapped = model.map(asked)
    best = [_TopK(n_neighbors), _TopK(n_neighbors)]
    start = 0
    for piece in pieces(opened):
        with add_line_number(opened, start):
            X = model.prepare(piece)
        labels = _labels(piece, model.target)
        for one, Z, center in (
            (best[0], X, asked),
            (best[1], model.map(X), asked_mapped),
        ):
            distances = np.sqrt(np.square(Z - center).sum(axis=1))
            if start <= query < start + len(distances):
                distances[query - start] = np.inf
            one.offer(distances, start, labels)
        start += piece.height
    label = _labels(row, model.target)
    euclidean, learned = (one.found(n_rows=start) for one in best)
    return Neighborhoods(query, label[0] if label else None, euclidean, learned)


def _row(source: Source, query: int) -> pl.DataFrame:
    n_rows = 0
    for piece in pieces(source):
        if 0 <= query < n_rows + piece.height:
            return piece[query - n_rows : query - n_rows + 1]
        n_rows += piece.height
    raise ValueError(
        f"There is no row {query}: {source.name} has {counted(n_rows, 'row')}, "
        "counted from 0."
    )


def _labels(piece: pl.DataFrame, target: str | None) -> list[str] | None:
    import polars as pl

    if target is None or target not in piece.columns:
        return None
    labels = clean(piece.get_column(target).alias("column").to_frame()).to_series()
    return labels.cast(pl.String).fill_null("").to_list()


class _TopK:
    """The k nearest rows so far."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.rows: IntArray = np.empty(0, dtype=np.intp)
        self.distances: FloatArray = np.empty(0)
        self.labels: list[str] | None = []

    def offer(
        self, distances: FloatArray, start: int, labels: list[str] | None
    ) -> None:
        rows = np.arange(start, start + len(distances))
        candidates = np.concatenate([self.distances, distances])
        numbers = np.concatenate([self.rows, rows])
        kept = np.argsort(candidates, kind="stable")[: self.k]
        if self.labels is None or labels is None:
            self.labels = None
        else:
            n = len(self.labels)
            self.labels = [
                self.labels[i] if i < n else labels[i - n] for i in kept.tolist()
            ]
        self.rows, self.distances = numbers[kept], candidates[kept]

    def found(self, n_rows: int) -> Found:
        """Return the rows without the one that was asked about."""
        stop = min(self.k, n_rows - 1)
        labels = None if self.labels is None else self.labels[:stop]
        return Found(self.rows[:stop], self.distances[:stop], labels)
