"""A cell that a model cannot read: which, where, and what to do about it."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.tables.names import counted, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vicinal._typing import IntArray
    from vicinal.app.tables.sources import Source

__all__ = ["CellError", "located"]

_EXAMPLES = {"": "3.5", ".": "1,234.5", ",": "1.234,5"}
_OPTIONS = ("number", "date")


class CellError(ValueError):
    """A cell holds something else than the column did that was learned from.

    Parameters
    ----------
    column : str
        Its column's name.
    row : int
        Its row in the frame, from 0.
    cell : object
        What it holds.
    kind : {"number", "date", "yes/no", "vector"}
        What the column held.
    form : str, default=""
        How that was written; of vectors, how many components they have.
    place : str, default=""
        The file and the line, where they are known.
    example : str, default=""
        A number like those of the column, written plainly.

    Examples
    --------
    >>> print(CellError("price", 7, "3,5", "number", place="line 9 of next.csv"))
    Column 'price' was learned from numbers like 3.5, but line 9 of next.csv has...
    """

    def __init__(
        self,
        column: str,
        row: int,
        cell: object,
        kind: str,
        form: str = "",
        place: str = "",
        example: str = "",
    ) -> None:
        self.arguments = (column, row, cell, kind, form)
        self.place, self.example = place, example
        self.row = row
        name = printable(column)
        advice = "write it so"
        if kind in _OPTIONS:
            advice += (
                f", leave the cell empty, or learn again with --{kind} {name!r}, which "
                "takes such cells as missing"
            )
        like = example if kind == "number" and not form else ""
        super().__init__(
            f"Column {name!r} was learned from {_plural(kind)} like "
            f"{like or _example(kind, form)}, but {place or f'row {row} (from 0)'} has "
            f"{printable(cell)!r}; {advice}."
        )

    def __reduce__(self) -> tuple[type[CellError], tuple[object, ...]]:
        """Keep what it was made of, which `ValueError` would not."""
        return type(self), (*self.arguments, self.place, self.example)

    def like(self, example: str) -> CellError:
        """Return it with an example of what the column held.

        Parameters
        ----------
        example : str
            A number like those of the column; empty where none is known.
        """
        return CellError(*self.arguments, self.place, example)


@contextmanager
def located(source: Source | str, rows: int | IntArray) -> Iterator[None]:
    """Say where in a file a cell is that cannot be read.

    Parameters
    ----------
    source : Source or str
        What the rows come from, opened or to be opened where there is such a cell.
    rows : int or ndarray of int
        The number of the first of them in the file, from 0, or of each.
    """
    try:
        yield
    except CellError as error:
        if isinstance(rows, int | np.integer):
            row = int(rows) + error.row
        else:
            row = int(rows[error.row])
        if isinstance(source, str):
            from vicinal.app.tables.sources import open_source

            source = open_source(source)
        column, _, cell, kind, form = error.arguments
        place = f"row {row:,} (from 0) of {source.name}"
        if (line := source.line_of(row)) is not None:
            place = f"line {line:,} of {source.name}"
        raise CellError(column, row, cell, kind, form, place, error.example) from None


def _plural(kind: str) -> str:
    return {"yes/no": "answers", "vector": "vectors"}.get(kind, f"{kind}s")


def _example(kind: str, form: str) -> str:
    if kind == "number":
        return _EXAMPLES[form[:1]] + (f" {form[1:]}" if form[1:] else "")
    if kind == "date":
        return datetime(2024, 12, 31, 18, 30).strftime(form or "%Y-%m-%d")
    if kind == "vector":
        return f"[0.1, 0.2, …] with {counted(int(form), 'number')}"
    return "yes and no, or true and false"
