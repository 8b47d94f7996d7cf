"""Cells of text: which of them are missing, and which are numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl

__all__ = ["MISSING", "clean", "numbers_in", "typed"]

#: Text that stands for a missing value, in small letters.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", "#n/a", "<na>")


def clean(frame: pl.DataFrame) -> pl.DataFrame:
    """Take the spaces around text away, and write null where it means missing.

    All that reads cells (`vicinal.tables.columns`, `vicinal.tables.targets`) takes
    them cleaned, so that it is done once.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns of any type; only text and categories are changed.

    Returns
    -------
    polars.DataFrame
        With the same columns; categories have become text.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.tables.cells import clean
    >>> clean(pl.DataFrame({"a": [" red", "N/A", "blue "]}))["a"].to_list()
    ['red', None, 'blue']
    """
    import polars as pl

    def cleaned(column: pl.Expr) -> pl.Expr:
        stripped = column.cast(pl.String).str.strip_chars()
        present = ~stripped.str.to_lowercase().is_in(list(MISSING))
        return pl.when(present).then(stripped)

    kinds = (pl.String, pl.Categorical, pl.Enum)
    chosen = [index for index, kind in enumerate(frame.dtypes) if kind in kinds]
    return _changed(frame, chosen, cleaned)


def typed(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn columns of text whose cells are all numbers into numbers.

    Parameters
    ----------
    frame : polars.DataFrame
        As `clean` returns it.

    Returns
    -------
    polars.DataFrame
        With the same columns; see `numbers_in`.
    """
    import polars as pl

    columns = frame.get_columns()
    text = [i for i, one in enumerate(columns) if one.dtype == pl.String]
    missing = frame.null_count().row(0)
    # All columns at once: thousands of calls of polars take seconds.
    for kind in (pl.Int64, pl.Float64):
        parsed = _changed(frame, text, lambda one, to=kind: one.cast(to, strict=False))  # type: ignore[misc]
        nulls, numbers = parsed.null_count().row(0), parsed.get_columns()
        for index in text:
            whole = nulls[index] == missing[index] < frame.height
            if whole and not _merged(columns[index], numbers[index]):
                columns[index] = numbers[index]
        text = [i for i in text if columns[i].dtype == pl.String]
    result = pl.DataFrame(columns)
    # polars would call a column without a name column_0.
    result.columns = frame.columns
    return result


def numbers_in(column: pl.Series) -> pl.Series | None:
    """Return the numbers of a column of text, when all of its cells are numbers.

    Parameters
    ----------
    column : polars.Series
        Of a frame that `clean` returned.

    Returns
    -------
    polars.Series or None
        Integers where they are whole and fit, else floats. None for a column that
        is not text, that holds other text, or nothing; and for long integers some
        of which would be equal as floats.
    """
    number = typed(column.to_frame()).to_series()
    return None if number.dtype == column.dtype else number


def _changed(
    frame: pl.DataFrame, chosen: Iterable[int], change: Callable[[pl.Expr], pl.Expr]
) -> pl.DataFrame:
    """Apply an expression to the columns at these indexes."""
    import polars as pl

    # Under names of our own: some columns' names mean more to polars, like "*".
    numbered = frame.clone()
    numbered.columns = [str(index) for index in range(frame.width)]
    result = numbered.with_columns(change(pl.col(str(index))) for index in chosen)
    result.columns = frame.columns
    return result


def _merged(text: pl.Series, numbers: pl.Series) -> bool:
    """Whether integers beyond 64 bits became equal when they became floats."""
    import polars as pl

    if not numbers.dtype.is_float():
        return False
    # Most columns hold no such number, and text is slow to look through.
    if max(-numbers.min(), numbers.max()) < 2**53:  # type: ignore[operator, type-var]
        return False
    long = text.drop_nulls().unique()
    long = long.filter(long.str.contains(r"^[+-]?\d{16,}$"))
    exact = {int(one) for one in long.to_list()}
    return long.cast(pl.Float64).n_unique() < len(exact)
