"""One column at a time: what kind it is, and its cells as numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from vicinal.tables.cells import numbers_in
from vicinal.tables.names import printable

if TYPE_CHECKING:
    import polars as pl

    from vicinal._typing import FloatArray

__all__ = ["MOST_CATEGORIES", "days", "kind_of", "numbers", "yes_or_no"]

#: A column of text with more distinct values than this is not one-hot encoded.
MOST_CATEGORIES = 50
_IDENTIFIER = re.compile(
    r"(?i:(.*[_\s.-])?(id|uuid|guid|index|idx|rownum)|unnamed: \d+)|.*[a-z]I[dD]"
)
_YES = ["true", "yes", "y", "t"]
_NO = ["false", "no", "n", "f"]
# Fewer rows than this may be in order by chance.
_FEWEST_IN_ORDER = 20
_DATES = ("%Y-%m-%d", "%Y/%m/%d")
_TIMES = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
)
_DAY = 86_400_000_000


def kind_of(column: pl.Series) -> tuple[str, str]:
    """Decide what a column is.

    Parameters
    ----------
    column : polars.Series
        Of any type, of a frame that `vicinal.tables.cells.clean` returned.

    Returns
    -------
    kind, reason : str
        As in `vicinal.tables.columns.Decision`.
    """
    import polars as pl

    present = column.drop_nulls() if column.null_count() else column
    if len(present) == 0:
        return "empty", "no values"
    if (parsed := numbers_in(present)) is not None:
        present = parsed
    if present.dtype.is_numeric():
        return _kind_of_numbers(present, len(column))
    missing = _missing(len(column) - len(present))
    if present.dtype == pl.Boolean or _all_yes_or_no(present):
        kind, reason = "yes/no", missing
    elif present.dtype.is_temporal():
        kind, reason = "date", _join("in days", missing)
    elif present.dtype != pl.String:
        return "text", f"{present.dtype} is neither a number nor a category"
    elif _parsed_dates(present.unique()) is not None:
        kind, reason = "date", _join("in days", missing)
    else:
        return _kind_of_text(present, missing)
    if present.n_unique() == 1:
        return "constant", f"always {printable(present[0])}"
    return kind, reason


def _kind_of_numbers(present: pl.Series, n_rows: int) -> tuple[str, str]:
    import polars as pl

    n_infinite = 0
    if present.dtype.is_float():
        # By NumPy: a call of polars takes longer than a short column has numbers.
        values = present.to_numpy()
        if not (finite := np.isfinite(values)).all():
            n_infinite = int(np.isinf(values).sum())
            present = present.filter(pl.Series(finite))
    if len(present) == 0:
        return "empty", "no finite values"
    n_distinct = present.n_unique()
    if n_distinct == 1:
        return "constant", f"always {printable(present[0])}"
    if present.dtype.is_integer() and n_distinct == n_rows:
        if _IDENTIFIER.fullmatch(present.name.strip()):
            return "identifier", "named like one, and each row has its own value"
        span = int(present.max()) - int(present.min()) + 1  # type: ignore[arg-type]
        if n_rows >= _FEWEST_IN_ORDER and span == n_rows:
            return "identifier", "it counts the rows"
        if n_rows >= _FEWEST_IN_ORDER and _in_order(present):
            return "identifier", "it only grows, or only falls, from row to row"
    infinite = f"{n_infinite:,} infinite values count as missing" if n_infinite else ""
    missing = _missing(n_rows - len(present) - n_infinite)
    return "number", _join(infinite, missing)


def _kind_of_text(present: pl.Series, missing: str) -> tuple[str, str]:
    n_distinct = present.n_unique()
    if n_distinct == 1:
        return "constant", f"always {printable(present[0])}"
    if n_distinct == len(present):
        return "identifier", "each row has its own value"
    if n_distinct > MOST_CATEGORIES:
        return "text", f"{n_distinct:,} distinct values, more than {MOST_CATEGORIES}"
    if 2 * n_distinct > len(present):
        return "text", f"{n_distinct:,} distinct values in {len(present):,} rows"
    return "category", _join(f"{n_distinct} values", missing)


def _in_order(column: pl.Series) -> bool:
    return column.is_sorted() or column.is_sorted(descending=True)


def _missing(n: int) -> str:
    return f"{n:,} missing" if n else ""


def _join(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _all_yes_or_no(present: pl.Series) -> bool:
    import polars as pl

    if present.dtype != pl.String:
        return False
    words = present.unique().str.to_lowercase().unique().to_list()
    return any({yes, no} == set(words) for yes, no in zip(_YES, _NO, strict=True))


def yes_or_no(column: pl.Series) -> FloatArray:
    """Return ones and zeros from booleans, or from their names.

    Parameters
    ----------
    column : polars.Series
        Of a frame that `vicinal.tables.cells.clean` returned.

    Returns
    -------
    ndarray of shape (n_rows,)
        Float64; NaN where neither is said.
    """
    import polars as pl

    if column.dtype != pl.String:
        return numbers(column)
    words = column.str.to_lowercase()
    said = words.is_in([*_YES, "1"])
    _complain(column, said | words.is_in([*_NO, "0"]), "yes or no")
    return numbers(said)


def numbers(column: pl.Series) -> FloatArray:
    """Return finite numbers from numbers, booleans, or text that spells them.

    Parameters
    ----------
    column : polars.Series
        Of a frame that `vicinal.tables.cells.clean` returned.

    Returns
    -------
    ndarray of shape (n_rows,)
        Floating point; NaN where there is no finite number.

    Raises
    ------
    ValueError
        When a cell holds something else.
    """
    import polars as pl

    if column.dtype == pl.String:
        parsed = column.cast(pl.Float64, strict=False)
        _complain(column, parsed.is_not_null(), "a number")
        column = parsed
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise ValueError(
            f"Column {column.name!r} held numbers and now holds {column.dtype}; give "
            "it its old type."
        )
    if column.dtype not in (pl.Float32, pl.Float64):
        column = column.cast(pl.Float64)
    # By NumPy, where a null is NaN: polars takes longer for many short columns.
    values = column.to_numpy()
    finite = np.isfinite(values)
    return (
        values if finite.all() else np.where(finite, values, values.dtype.type("nan"))
    )


def days(column: pl.Series) -> FloatArray:
    """Return days since 1970 of dates and times, days of durations and times of day.

    Parameters
    ----------
    column : polars.Series
        Of a frame that `vicinal.tables.cells.clean` returned; text is read as ISO 8601.

    Returns
    -------
    ndarray of shape (n_rows,)
        Float64; NaN where there is no date.

    Raises
    ------
    ValueError
        When a cell holds something else.
    """
    import polars as pl

    dtype = column.dtype
    if dtype == pl.Null:
        return numbers(column)
    if dtype == pl.String:
        parsed = _dates(column)
        _complain(column, parsed.is_not_null(), "a date")
        return numbers(parsed.dt.epoch("us") / _DAY)
    if dtype == pl.Time:
        return numbers(column.cast(pl.Int64) / (1000 * _DAY))
    if dtype == pl.Duration:
        return numbers(column.dt.total_microseconds() / _DAY)
    if not dtype.is_temporal():
        raise ValueError(
            f"Column {column.name!r} held dates and now holds {dtype}; give it its "
            "old type."
        )
    return numbers(column.dt.epoch("us") / _DAY)


def _parsed_dates(values: pl.Series) -> pl.Series | None:
    """Parse text as dates, a few values first: most text is none."""
    for part in (values.head(20), values):
        parsed = _dates(part)
        if parsed.null_count():
            return None
    return parsed


def _dates(column: pl.Series) -> pl.Series:
    import polars as pl

    text = pl.col("text")
    parsed = pl.DataFrame({"text": column}).select(
        pl.coalesce(
            *(
                text.str.to_date(form, strict=False).cast(pl.Datetime("us"))
                for form in _DATES
            ),
            *(
                text.str.to_datetime(form, strict=False, time_unit="us")
                for form in _TIMES
            ),
        )
    )
    return parsed["text"].rename(column.name)


def _complain(column: pl.Series, understood: pl.Series, what: str) -> None:
    wrong = column.filter(~understood.fill_null(False) & column.is_not_null())
    if len(wrong):
        raise ValueError(
            f"Column {column.name!r} held {what} in each row of the table that was "
            f"learned from, but here holds {printable(wrong[0])!r}; mend it."
        )
