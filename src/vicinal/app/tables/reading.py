"""Tables that nobody has checked: from files, from frames in memory, or by a name.

Nothing here decides what a column means (`vicinal.app.tables.columns`) or which is the
label (`vicinal.app.tables.targets`). No file is ever unpickled.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.cells import Cells, clean, typed
from vicinal.app.tables.overrides import Overrides
from vicinal.app.tables.sizes import check_memory
from vicinal.app.tables.sources import PIECE, Source, open_source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Table", "pieces", "read_table"]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows and columns, as a file holds them.

    Attributes
    ----------
    name : str
        The file's stem, or the data set's name.
    frame : polars.DataFrame
        As `vicinal.app.tables.cells.typed` returns it.
    target : str or None
        The column that is known to be the label.
    notes : list of str
        What a reader should know of how it was read.
    forms : dict of str to str
        How numbers were written, column by column: see `vicinal.app.tables.notation`.
    overrides : Overrides
        What a person said of the columns, checked against their names.
    names : tuple of str
        Columns that hold names, by their type or a person's word, and are never read as
        numbers.
    decimal : {",", "."}
        The decimal sign of numbers in text whose cells do not show it.
    """

    name: str
    frame: pl.DataFrame
    target: str | None = None
    notes: list[str] = field(default_factory=list)
    forms: dict[str, str] = field(default_factory=dict)
    overrides: Overrides = field(default_factory=Overrides)
    names: tuple[str, ...] = ()
    decimal: str = "."

    def part(self, kept: NDArray[np.bool_]) -> Table:
        """Return some rows; what was text for the sake of others may be numbers.

        Parameters
        ----------
        kept : ndarray of bool of shape (n_rows,)
            Which rows.

        Returns
        -------
        Table
            Of these rows.
        """
        asked = self.overrides
        cells = typed(
            self.frame.filter(kept),
            decimal=asked.decimal,
            likely=self.decimal,
            skip=set(self.names),
            number=asked.number,
        )
        return replace(self, frame=cells.frame, forms=self.forms | cells.forms)


def read_table(
    source: Any, *, limit: int | None = None, overrides: Overrides | None = None
) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str, path-like or DataFrame
        The path of a CSV or TSV file (also compressed with gzip), of a JSON, Parquet,
        Arrow, Excel, `.npy` or `.npz` file; the name of a data set that
        `vicinal.datasets` knows; or a frame of pandas or polars.
    limit : int, default=None
        Keep a random sample of so many rows, always the same one, in their order.
        The others are never held at once.
    overrides : Overrides, default=None
        What a person says about the columns.

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
        raise ValueError(f"{opened.name} has a header but no rows; add some.")
    if frame.height < n_rows:
        notes.append(f"{frame.height:,} of {n_rows:,} rows, drawn at random")
    asked = (overrides or Overrides()).resolved(frame.columns)
    # Who declares categories, means names.
    declared = [
        name for name, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum)
    ]
    cells = typed(
        clean(frame),
        decimal=asked.decimal,
        likely=opened.decimal,
        skip=(names := {*declared, *asked.categorical, *asked.date}),
        number=asked.number,
    )
    notes += _decimal_notes(cells)
    return Table(
        opened.stem,
        cells.frame,
        opened.target,
        notes,
        cells.forms,
        asked,
        tuple(sorted(names)),
        cells.decimal,
    )


def _decimal_notes(cells: Cells) -> list[str]:
    """Say how numbers were read that other programs would not have read so."""
    commas = [name for name, form in cells.forms.items() if form.startswith(",")]
    notes = []
    if cells.unsure:
        example = "1,234 is 1.234" if cells.decimal == "," else "1,234 is 1234"
        other = "." if cells.decimal == "," else ","
        notes.append(
            f"numbers with a comma in {_listed(cells.unsure)}: {example}; if not, say "
            f"--decimal {other}"
        )
    elif commas:
        notes.append(f"decimal commas in {_listed(commas)}")
    return notes


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:5]))
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def pieces(source: Any, *, rows: int = PIECE) -> Iterator[pl.DataFrame]:
    """Read a table some rows at a time, without holding all of it.

    Parameters
    ----------
    source : str, path-like, DataFrame or Source
        As `read_table` takes it, or what `open_source` made of it: then it can be
        read again without being opened again.
    rows : int, default=50_000
        At most so many in a piece of Parquet or Arrow. Delimited text comes in
        pieces of some megabytes, and its cells stay text.

    Yields
    ------
    polars.DataFrame
        The same columns each time.

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
    """Join the pieces, or keep the rows that drew the smallest numbers."""
    import polars as pl

    parts: list[pl.DataFrame] = []
    n_rows = 0
    if limit is None:
        size = 0
        for piece in opened.pieces():
            size += int(piece.estimated_size())
            check_memory(size, opened.name)
            parts.append(piece)
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
