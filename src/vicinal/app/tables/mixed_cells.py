"""What a column of text would be, were it not for some of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from vicinal.app.tables.dates import commonest_form as commonest_date_form
from vicinal.app.tables.dates import read_dates
from vicinal.app.tables.names import printable
from vicinal.app.tables.notation import number_form, read_numbers

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Mixed", "mixed_cells"]

# So many distinct cells show what most of them are.
_SAMPLE = 200
# Of the cells, at least this part.
_LEAST_SHARE = 0.5
_FEWEST = 5
_NAMED = 2


class Mixed(NamedTuple):
    """How many cells of a column of text are numbers, or dates.

    Attributes
    ----------
    kind : {"number", "date"}
        What they are.
    form : str
        How they are written, as `vicinal.app.tables.decisions.Decision` has it.
    n_read, n_cells : int
        How many cells are so, and how many are not missing.
    others : str
        Some of the cells that are not, for a person.
    """

    kind: str
    form: str
    n_read: int
    n_cells: int
    others: str

    def __str__(self) -> str:
        """Return what a person should know, without what to do about it."""
        return (
            f"{self.n_read:,} of {self.n_cells:,} cells are {self.kind}s, "
            f"but not {self.others}"
        )


def mixed_cells(present: pl.Series, decimal: str = ".") -> Mixed | None:
    """Find out whether most cells of a column of text are numbers or dates.

    Parameters
    ----------
    present : polars.Series
        Cells that are not missing, of a column of a frame that
        `vicinal.app.tables.cells.clean` returned.
    decimal : {",", "."}, default="."
        Decimal sign of cells like ``1,234`` if no other cell tells.

    Returns
    -------
    Mixed or None
        None where at least half of the cells are something else, or all of them are
        the same.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.app.tables.mixed_cells import mixed_cells
    >>> print(mixed_cells(pl.Series([*map(str, range(99)), "n/a?"])))
    99 of 100 cells are numbers, but not 'n/a?'
    """
    import polars as pl

    if present.dtype != pl.String or len(present) < _FEWEST:
        return None
    sample = present.head(10 * _SAMPLE).unique(maintain_order=True).head(_SAMPLE)
    for kind in ("number", "date"):
        if kind == "number":
            chosen = number_form(sample.to_list(), decimal)
            form = None if chosen is None else chosen[0]
        else:
            form = commonest_date_form(sample)
        # A few cells first: most text is neither.
        if form is None or 2 * _is_read(sample, kind, form).sum() < len(sample):
            continue
        read = _is_read(present, kind, form)
        n_read = int(read.sum())
        if _LEAST_SHARE * len(present) <= n_read < len(present):
            others = present.filter(~read).unique(maintain_order=True)
            return Mixed(kind, form, n_read, len(present), _listed(others))
    return None


def _is_read(cells: pl.Series, kind: str, form: str) -> pl.Series:
    import polars as pl

    if kind == "date":
        return read_dates(cells, form).is_not_null()
    frame = pl.DataFrame({"text": cells})
    return frame.select(read_numbers(pl.col("text"), form))["text"].is_not_null()


def _listed(others: pl.Series) -> str:
    shown = ", ".join(repr(printable(one, 20)) for one in others.head(_NAMED).to_list())
    more = len(others) - _NAMED
    return shown + (f" and {more:,} more" if more > 0 else "")
