"""Cells of text: which of them are missing, and which are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MISSING", "cells", "numbers_in", "typed"]

#: Text that stands for a missing value, in small letters.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", "#n/a", "<na>")


def cells(column: pl.Series) -> pl.Series:
    """Text without the spaces around it, and null where it says that it is missing.

    Parameters
    ----------
    column : polars.Series
        Of any type; only text is changed.

    Returns
    -------
    polars.Series
        Of the same name.
    """
    import polars as pl

    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        return column
    stripped = column.str.strip_chars()
    missing = stripped.str.to_lowercase().is_in(list(MISSING))
    # Under a name of its own: some columns' names mean more to polars, like "*".
    frame = pl.DataFrame({"text": stripped, "missing": missing})
    kept = frame.select(pl.when(~pl.col("missing")).then(pl.col("text")).alias("text"))
    return kept["text"].rename(column.name)


def numbers_in(column: pl.Series) -> pl.Series | None:
    """Numbers, when all the text of a column is numbers.

    Parameters
    ----------
    column : polars.Series
        As `cells` returns it.

    Returns
    -------
    polars.Series or None
        Integers where they are whole and fit, else floats. None for a column that
        is not text, that holds other text, or nothing; and for long integers some
        of which would be equal as floats.
    """
    import polars as pl

    if column.dtype != pl.String or column.null_count() == len(column):
        return None
    for kind in (pl.Int64, pl.Float64):
        numbers = column.cast(kind, strict=False)
        if numbers.null_count() == column.null_count():
            return None if _merged(column, numbers) else numbers
    return None


def _merged(text: pl.Series, numbers: pl.Series) -> bool:
    """Whether integers beyond 64 bits became equal when they became floats."""
    import polars as pl

    # Most columns hold no such number, and text is slow to look through.
    if not numbers.dtype.is_float() or numbers.abs().max() < 2**53:  # type: ignore[operator]
        return False
    long = text.drop_nulls().unique()
    long = long.filter(long.str.contains(r"^[+-]?\d{16,}$"))
    exact = {int(one) for one in long.to_list()}
    return long.cast(pl.Float64).n_unique() < len(exact)


def typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Give text that is all numbers its type, and nulls to text that says so.

    Parameters
    ----------
    frame : polars.DataFrame
        Rows of a text file.

    Returns
    -------
    polars.DataFrame
        With the same columns.
    """
    columns = [cells(column) for column in frame.iter_columns()]
    numbers = [numbers_in(column) for column in columns]
    return frame.with_columns(
        column if number is None else number
        for column, number in zip(columns, numbers, strict=True)
    )
