"""The cells of one column as numbers, once it is known what they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.tables.cell_error import CellError
from vicinal.app.tables.dates import read_dates
from vicinal.app.tables.notation import read_numbers
from vicinal.app.tables.text_vectors import read_vectors

if TYPE_CHECKING:
    import polars as pl

    from vicinal._typing import FloatArray

__all__ = [
    "NO",
    "YES",
    "as_names",
    "days",
    "dtype_in_words",
    "numbers",
    "vector_length",
    "vectors",
    "yes_or_no",
]

#: Words for yes, and for no in the same order.
YES = ["true", "yes", "y", "t"]
NO = ["false", "no", "n", "f"]
_DAY = 86_400_000_000
_MOST_COMPONENTS = 100_000


def yes_or_no(column: pl.Series, _form: str = "", *, asked: bool = False) -> FloatArray:
    """Return ones and zeros from booleans, or from their names.

    Parameters
    ----------
    column : polars.Series
        Of a frame that `vicinal.app.tables.cells.clean` returned.

    asked : bool, default=False
        Whether other cells count as missing, rather than as a mistake.

    Returns
    -------
    ndarray of shape (n_rows,)
        Float64; NaN where neither is said.
    """
    import polars as pl

    if column.dtype != pl.String:
        return numbers(column)
    words = column.str.to_lowercase()
    said = words.is_in([*YES, "1"])
    understood = said | words.is_in([*NO, "0"])
    if not asked:
        _complain(column, understood, "yes/no")
    return np.where(understood.fill_null(False).to_numpy(), numbers(said), np.nan)


def numbers(column: pl.Series, form: str = "", *, asked: bool = False) -> FloatArray:
    """Return finite numbers from numbers, booleans, or text that spells them.

    Parameters
    ----------
    column : polars.Series
        Of a frame that `vicinal.app.tables.cells.clean` returned.
    form : str, default=""
        How text spells them: see `vicinal.app.tables.notation`.
    asked : bool, default=False
        Whether other cells count as missing, rather than as a mistake.

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
        cells = pl.DataFrame({"text": column})
        parsed = cells.select(read_numbers(pl.col("text"), form))["text"]
        if not asked:
            _complain(column, parsed.is_not_null(), "number", form)
        column = parsed
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise ValueError(
            f"Column {column.name!r} held numbers and now holds "
            f"{dtype_in_words(column.dtype)}; write numbers there."
        )
    if column.dtype not in (pl.Float32, pl.Float64):
        column = column.cast(pl.Float64)
    # By NumPy, where a null is NaN: polars takes longer for many short columns.
    values = column.to_numpy()
    finite = np.isfinite(values)
    return (
        values if finite.all() else np.where(finite, values, values.dtype.type("nan"))
    )


def days(column: pl.Series, form: str = "", *, asked: bool = False) -> FloatArray:
    """Return days since 1970 of dates and times, days of durations and times of day.

    Parameters
    ----------
    column : polars.Series
        Of a frame that `vicinal.app.tables.cells.clean` returned.
    form : str, default=""
        How text spells them: see `vicinal.app.tables.dates`.
    asked : bool, default=False
        Whether other cells count as missing, rather than as a mistake; whole numbers
        are then read like text, as in 20241231.

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

    if asked and column.dtype.is_integer():
        column = column.cast(pl.String)
    dtype = column.dtype
    if dtype == pl.Null:
        return numbers(column)
    if dtype == pl.String:
        parsed = read_dates(column, form)
        if not asked:
            _complain(column, parsed.is_not_null(), "date", form)
        return numbers(parsed.dt.epoch("us") / _DAY)
    if dtype == pl.Time:
        return numbers(column.cast(pl.Int64) / (1000 * _DAY))
    if dtype == pl.Duration:
        return numbers(column.dt.total_microseconds() / _DAY)
    if not dtype.is_temporal():
        raise ValueError(
            f"Column {column.name!r} held dates and now holds "
            f"{dtype_in_words(dtype)}; write dates there."
        )
    return numbers(column.dt.epoch("us") / _DAY)


def vectors(column: pl.Series, length: int) -> FloatArray:
    """Return the components of a column of lists or arrays of numbers.

    Parameters
    ----------
    column : polars.Series
        Of lists, arrays, text that spells them, or nothing.
    length : int
        How many numbers each of them has.

    Returns
    -------
    ndarray of shape (n_rows, length)
        Floating point; NaN where there is no finite number.

    Raises
    ------
    ValueError
        When there is anything else.
    """
    import polars as pl

    if column.dtype == pl.String:
        # As a text file holds them, which comes in pieces.
        read = read_vectors(column)
        _complain(column, read.list.len() == length, "vector", str(length))
        column = read
    single = getattr(column.dtype, "inner", None) == pl.Float32
    kind = pl.Float32 if single else pl.Float64
    result = np.full((len(column), length), np.nan, "f4" if single else "f8")
    present = column.drop_nulls()
    if len(present) == 0:
        return result
    found, reason = vector_length(present)
    if found != length:
        raise ValueError(
            f"Column {column.name!r} held vectors of {length:,} numbers, but now "
            f"holds {reason or f'vectors of {found:,}'}; mend it."
        )
    flat = numbers(present.explode().cast(kind))
    result[column.is_not_null().to_numpy()] = flat.reshape(-1, length)
    return result


def vector_length(present: pl.Series) -> tuple[int, str]:
    """Return how many numbers each list of a column holds.

    Parameters
    ----------
    present : polars.Series
        At least one value, and no null.

    Returns
    -------
    length : int
        Zero where they are no vectors.
    reason : str
        What they are then.
    """
    import polars as pl

    dtype = present.dtype
    inner = getattr(dtype, "inner", None)
    if inner is None or not inner.is_numeric():
        return 0, f"{dtype_in_words(dtype)}, neither numbers nor categories"
    if dtype == pl.Array:
        return dtype.size, ""  # type: ignore[attr-defined]
    lengths = present.list.len()
    shortest, longest = int(lengths.min() or 0), int(lengths.max() or 0)  # type: ignore[arg-type]
    if shortest != longest or not 0 < longest <= _MOST_COMPONENTS:
        return 0, f"lists of {shortest:,} to {longest:,} numbers, no vectors"
    return longest, ""


def as_names(column: pl.Series) -> pl.Series:
    """Write values as text; whole numbers without a decimal point.

    Parameters
    ----------
    column : polars.Series
        Of any type but lists and structures.

    Returns
    -------
    polars.Series
        Of text; null where there is no value.
    """
    import polars as pl

    if not column.dtype.is_float():
        return column.cast(pl.String)
    column = column.cast(pl.Float64)
    labels = column.drop_nulls().unique().to_list()
    # Digits beyond 1e16 would be made up: 64 bits do not hold them.
    names = [
        str(int(x)) if x.is_integer() and abs(x) < 1e16 else repr(x) for x in labels
    ]
    return column.replace_strict(labels, names, return_dtype=pl.String)


def dtype_in_words(dtype: pl.DataType) -> str:
    """Say what a column of some type holds, to somebody who knows no polars.

    Parameters
    ----------
    dtype : polars.DataType
        The column's.

    Returns
    -------
    str
        A noun.
    """
    import polars as pl

    words = (
        (dtype.is_numeric(), "numbers"),
        (dtype == pl.Boolean, "true and false"),
        (dtype == pl.Duration, "durations"),
        (dtype == pl.Time, "times of day"),
        (dtype.is_temporal(), "dates"),
        (dtype in (pl.String, pl.Categorical, pl.Enum), "text"),
        (dtype in (pl.List, pl.Array), "lists"),
        (dtype == pl.Struct, "structures of several values"),
    )
    return next((word for holds, word in words if holds), str(dtype))


def _complain(
    column: pl.Series, understood: pl.Series, kind: str, form: str = ""
) -> None:
    """Raise an error at the first cell that is present and not understood."""
    wrong = (~understood.fill_null(False) & column.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise CellError(column.name, row, column[row], kind, form)
