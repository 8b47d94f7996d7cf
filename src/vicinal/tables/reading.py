"""Tables from files that nobody has checked: text, Parquet, Arrow, `.npz`, or a name.

Nothing here decides what a column means (`vicinal.tables.columns`) or which is the
label (`vicinal.tables.targets`). No file is ever unpickled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vicinal.tables.cells import clean, typed
from vicinal.tables.sources import PIECE, Source, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl

__all__ = ["Table", "pieces", "read_table"]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and columns, as a file holds them.

    Attributes
    ----------
    name : str
        The file's stem, or the data set's name.
    frame : polars.DataFrame
        As `vicinal.tables.cells.clean` returns it. In a text file, cells that are
        all numbers have become numbers.
    target : str or None
        The column that is known to be the label.
    notes : list of str
        What a reader should know of how it was read.
    """

    name: str
    frame: pl.DataFrame
    target: str | None = None
    notes: list[str] = field(default_factory=list)


def read_table(source: str, *, limit: int | None = None) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str
        The path of a CSV, TSV, Parquet, Arrow or `.npz` file, or the name of a data
        set that `vicinal.datasets` knows.
    limit : int, default=None
        Keep a random sample of so many rows, always the same one, in their order.
        The others are never held at once.

    Returns
    -------
    Table
        With at least one row.

    Raises
    ------
    ValueError, OSError
        With one sentence that says what to do.

    Examples
    --------
    >>> from vicinal.tables.reading import read_table
    >>> wine = read_table("wine")
    >>> wine.frame.shape, wine.target
    ((178, 14), 'target')
    """
    opened = open_source(source)
    frame, n_rows = _gather(opened, limit)
    notes = list(opened.notes)
    if n_rows == 0:
        raise ValueError(f"{opened.name} has a header but no rows; add some.")
    if frame.height < n_rows:
        notes.append(f"{frame.height:,} of {n_rows:,} rows, drawn at random")
    frame = clean(frame)
    if opened.text:
        frame = typed(frame)
    return Table(Path(opened.name).stem, frame, opened.target, notes)


def pieces(source: str, *, rows: int = PIECE) -> Iterator[pl.DataFrame]:
    """Read a table some rows at a time, without holding all of it.

    Parameters
    ----------
    source : str
        As `read_table` takes it.
    rows : int, default=50_000
        At most so many in a piece of Parquet or Arrow. Delimited text comes in
        pieces of some megabytes, and its cells stay text.

    Yields
    ------
    polars.DataFrame
        The same columns each time.

    Examples
    --------
    >>> from vicinal.tables.reading import pieces
    >>> [piece.height for piece in pieces("wine", rows=100)]
    [100, 78]
    """
    for piece in open_source(source).pieces():
        yield from piece.iter_slices(rows)


def _gather(opened: Source, limit: int | None) -> tuple[pl.DataFrame, int]:
    """Join the pieces, or keep the rows that drew the smallest numbers."""
    import polars as pl

    parts: list[pl.DataFrame] = []
    n_rows = 0
    if limit is None:
        parts = list(opened.pieces())
        frame = pl.concat(parts, rechunk=True) if parts else pl.DataFrame()
        return frame, frame.height
    if limit < 1:
        raise ValueError(f"The limit of rows must be at least 1, not {limit}.")
    generator = np.random.default_rng(0)
    drawn = np.empty(0)
    for piece in opened.pieces():
        # One number a row, so that the sample does not depend on the pieces.
        drawn = np.concatenate([drawn, generator.random(piece.height)])
        n_rows += piece.height
        parts.append(piece)
        if len(drawn) > limit:
            kept = np.sort(np.argpartition(drawn, limit)[:limit])
            parts = [pl.concat(parts)[kept]]
            drawn = drawn[kept]
    return pl.concat(parts, rechunk=True) if parts else pl.DataFrame(), n_rows
