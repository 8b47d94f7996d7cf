"""Rows by what they are called in a column, and what rows are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vicinal.app.tables.cells import clean
from vicinal.app.tables.names import near
from vicinal.app.tables.reading import pieces
from vicinal.app.tables.sources import open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

__all__ = ["check_columns", "find_rows", "names_of_rows", "texts_of"]


def find_rows(source: str, column: str, values: Sequence[str]) -> list[int]:
    """Return the numbers of the rows that have some values in a column.

    Parameters
    ----------
    source : str
        As `vicinal.app.tables.reading.read_table` takes it.
    column : str
        A column of it, like one of identifiers.
    values : sequence of str
        What its cells read.

    Returns
    -------
    list of int
        In the order of `values`; all rows of a value that comes repeatedly.

    Raises
    ------
    ValueError
        When there is no such column or value.

    See Also
    --------
    vicinal.app.models.neighbor_table : Takes what it finds.

    Examples
    --------
    >>> from vicinal.app.models import find_rows
    >>> find_rows("iris", "target", ["setosa"])[:3]
    [0, 1, 2]
    """
    found: dict[str, list[int]] = {value: [] for value in values}
    opened = open_source(source)
    start = 0
    for piece in pieces(opened):
        check_columns(piece.columns, [column], opened.name)
        for row, text in enumerate(texts_of(piece, column), start=start):
            if text in found:
                found[text].append(row)
        start += piece.height
    for value, rows in found.items():
        if not rows:
            raise ValueError(
                f"{opened.name} has no row with {value!r} in its column {column!r}."
            )
    return [row for value in found for row in found[value]]


def names_of_rows(source: str, column: str, rows: Iterable[int]) -> dict[int, str]:
    """Return what rows of a table are called.

    Parameters
    ----------
    source : str
        As `vicinal.app.tables.reading.read_table` takes it; it is read in pieces.
    column : str
        That has the names.
    rows : iterable of int
        Numbers of rows, from 0.

    Returns
    -------
    dict of int to str
        By number; rows that the table does not have are not in it.

    Raises
    ------
    ValueError
        When there is no such column.

    See Also
    --------
    vicinal.app.models.find_rows : The other way round.

    Examples
    --------
    >>> from vicinal.app.models import names_of_rows
    >>> names_of_rows("iris", "target", [0, 149])
    {0: 'setosa', 149: 'virginica'}
    """
    wanted = set(rows)
    found: dict[int, str] = {}
    opened = open_source(source)
    start = 0
    for piece in pieces(opened):
        check_columns(piece.columns, [column], opened.name)
        inside = sorted(row for row in wanted if start <= row < start + piece.height)
        texts = texts_of(piece[[row - start for row in inside]], column)
        found |= dict(zip(inside, texts, strict=True))
        start += piece.height
        if len(found) == len(wanted):
            break
    return found


def texts_of(piece: pl.DataFrame, column: str) -> list[str]:
    """Return what the cells of a column read; nothing where they are missing."""
    import polars as pl

    cells = clean(piece.get_column(column).alias("column").to_frame()).to_series()
    return cells.cast(pl.String).fill_null("").to_list()


def check_columns(columns: list[str], wanted: Sequence[str], table: str) -> None:
    """Raise ValueError where a table does not have a column, and name one like it."""
    for one in wanted:
        if one not in columns:
            hint: Any = near(one, columns) or f"; it has {', '.join(columns[:10])}."
            raise ValueError(f"{table} has no column {one!r}{hint}")
