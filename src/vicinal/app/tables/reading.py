"""Tables from files, from frames in memory, or by name.

Decisions about columns are in `vicinal.app.tables.columns`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.cells import clean, typed
from vicinal.app.tables.columns import Overrides
from vicinal.app.tables.names import Note, TableError, listed
from vicinal.app.tables.sources import PIECE, Source, open_source

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Table", "decimal_note", "pieces", "read_table"]


@dataclass(frozen=True, eq=False)
class Table:
    """A table as it was read.

    Attributes
    ----------
    name : str
        Stem of the file, or name of the data set.
    frame : polars.DataFrame
        From `vicinal.app.tables.cells.typed`.
    target : str or None
        The column that is known to be the label.
    notes : list of str
        Notes for the user.
    forms : dict of str to str
        Notation of numbers by column: see `vicinal.app.tables.notation`.
    overrides : Overrides
        Decisions of the user, with existing names.
    names : tuple of str
        Columns of categories or dates by type or by the user's word, which are never
        read as numbers.
    decimal : {",", "."}
        Decimal sign of numbers like ``1,234``.
    is_decimal_known : bool
        Whether the user or some cells determine `decimal`.
    """

    name: str
    frame: pl.DataFrame
    target: str | None = None
    notes: list[str] = field(default_factory=list)
    forms: dict[str, str] = field(default_factory=dict)
    overrides: Overrides = field(default_factory=Overrides)
    names: tuple[str, ...] = ()
    decimal: str = "."
    is_decimal_known: bool = True

    def part(self, kept: NDArray[np.bool_]) -> Table:
        """Return some rows; text in other rows no longer spoils numbers.

        Parameters
        ----------
        kept : ndarray of bool of shape (n_rows,)
            The rows.

        Returns
        -------
        Table
            The table of these rows.
        """
        cells = typed(
            self.frame.filter(kept),
            decimal=self.overrides.decimal,
            likely=self.decimal,
            skip=set(self.names),
            number=self.overrides.number,
        )
        return replace(self, frame=cells.frame, forms=self.forms | cells.forms)


def read_table(
    source: Any, *, limit: int | None = None, overrides: Overrides | None = None
) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str, path-like or DataFrame
        Path of a CSV or TSV file (also compressed with gzip), of a JSON, Parquet,
        Arrow, Excel, `.npy` or `.npz` file; name of a data set of `vicinal.datasets`;
        or a frame of pandas or polars.
    limit : int, default=None
        Size of a random sample of rows, always the same, in their order. The other rows
        are never in memory at once.
    overrides : Overrides, default=None
        Decisions of the user about columns.

    Returns
    -------
    Table
        With at least one row.

    Raises
    ------
    ValueError, OSError
        With one sentence for the user.

    Examples
    --------
    >>> from vicinal.app.tables.reading import read_table
    >>> wine = read_table("wine")
    >>> wine.frame.shape, wine.target
    ((178, 14), 'target')
    """
    import polars as pl

    opened = open_source(source)
    frame, n_rows = _gather(opened, limit)
    notes = list(opened.notes)
    if n_rows == 0:
        raise TableError(f"{opened.name} has a header but no rows; add some.")
    if frame.height < n_rows:
        notes.append(f"{frame.height:,} of {n_rows:,} rows, drawn at random")
    asked = (overrides or Overrides()).resolved(frame.columns)
    declared = (pl.Categorical, pl.Enum)
    names = {name for name, kind in frame.schema.items() if kind in declared}
    names |= {*asked.categorical, *asked.date}
    cells = typed(
        clean(frame),
        decimal=asked.decimal,
        likely=opened.decimal,
        skip=names,
        number=asked.number,
    )
    commas = [name for name, form in cells.forms.items() if form.startswith(",")]
    if cells.unsure:
        notes.append(decimal_note(cells.unsure, cells.decimal))
    elif commas:
        notes.append(f"decimal commas in {listed(commas, length=None)}")
    return Table(
        opened.stem,
        cells.frame,
        opened.target,
        notes,
        cells.forms,
        asked,
        tuple(sorted(names)),
        cells.decimal,
        cells.is_decimal_known,
    )


def decimal_note(names: Iterable[str], sign: str) -> Note:
    """Return a note on columns whose decimal sign is not certain.

    Parameters
    ----------
    names : iterable of str
        The columns.
    sign : {",", "."}
        The sign that was assumed.
    """
    example, other = ("1.234", ".") if sign == "," else ("1234", ",")
    shown = listed(names, length=None)
    said = (
        f"numbers with a comma in {shown}: 1,234 is {example}; if not, state the sign"
    )
    return Note(said, "decimal", other)


def pieces(source: Any, *, rows: int = PIECE) -> Iterator[pl.DataFrame]:
    """Read a table in pieces.

    Parameters
    ----------
    source : str, path-like, DataFrame or Source
        As for `read_table`, or a source from `open_source`, which can be read again
        without opening it again.
    rows : int, default=50_000
        Maximum number of rows of a piece.

    Yields
    ------
    polars.DataFrame
        Cells of delimited text stay text.

    Examples
    --------
    >>> from vicinal.app.tables.reading import pieces
    >>> [piece.height for piece in pieces("wine", rows=100)]
    [100, 78]
    """
    opened = source if isinstance(source, Source) else open_source(source)
    for piece in opened.pieces():
        yield from piece.iter_slices(rows)


def _gather(opened: Source, limit: int | None) -> tuple[pl.DataFrame, int]:
    """Join the pieces, or keep the rows with the smallest random numbers."""
    import polars as pl

    if limit is not None and limit < 1:
        raise TableError(f"The limit of rows must be at least 1, not {limit}.")
    parts: list[pl.DataFrame] = []
    n_rows = n_bytes = 0
    generator = np.random.default_rng(0)
    drawn = np.empty(0)
    for piece in opened.pieces():
        parts.append(piece)
        n_rows += piece.height
        if limit is None:
            n_bytes += int(piece.estimated_size())
            _check_memory(n_bytes, opened.name)
            continue
        # One number for each row, so that the sample does not depend on the pieces.
        drawn = np.concatenate([drawn, generator.random(piece.height)])
        if len(drawn) > limit:
            kept = np.sort(np.argpartition(drawn, limit)[:limit])
            parts, drawn = [pl.concat(parts)[kept]], drawn[kept]
    return pl.concat(parts, rechunk=True) if parts else pl.DataFrame(), n_rows


def _check_memory(n_bytes: int, name: str) -> None:
    try:
        memory = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if n_bytes > memory:
        raise TableError(
            f"{name} is larger than the {memory / 1e9:,.0f} GB of memory of this "
            "machine; use a part of its rows, or fewer columns."
        )
