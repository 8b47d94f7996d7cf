"""Cells of a column: cleaned, typed, and converted to numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import numpy as np

from vicinal._typing import FloatArray
from vicinal.app.tables._polars import pl
from vicinal.app.tables.names import CellError, TableError, listed
from vicinal.app.tables.notation import (
    MISSING,
    common_date_form,
    decisive,
    grouped_by_points,
    looks_like_vectors,
    number_form,
    possible_forms,
    read_dates,
    read_numbers,
    read_vectors,
)

#: Words for yes, and for no in the same order.
YES = ["true", "yes", "y", "t"]
NO = ["false", "no", "n", "f"]


def clean(frame: pl.DataFrame) -> pl.DataFrame:
    """Strip text, and replace text for missing values by null.

    Parameters
    ----------
    frame : polars.DataFrame
        Columns of any type; only text and categories are changed.

    Returns
    -------
    polars.DataFrame
        The same columns; categories have become text.

    Examples
    --------
    >>> import polars as pl
    >>> clean(pl.DataFrame({"a": [" red", "N/A", "blue "]}))["a"].to_list()
    ['red', None, 'blue']
    """
    kinds = (pl.String, pl.Categorical, pl.Enum)
    # By position: polars takes names like "*" and "^a.*$" for patterns.
    stripped = [
        pl.nth(index).cast(pl.String).str.strip_chars()
        for index, kind in enumerate(frame.dtypes)
        if kind in kinds
    ]
    return frame.with_columns(
        pl.when(~one.str.to_lowercase().is_in(list(MISSING))).then(one)
        for one in stripped
    )


@dataclass(frozen=True, eq=False)
class Cells:
    """A table whose numbers are numbers.

    Attributes
    ----------
    frame : polars.DataFrame
        Columns of text whose cells are all numbers have become numbers, and columns
        whose cells are all vectors of one length have become lists.
    forms : dict of str to str
        Notation of the numbers of a column, unless they are plain.
    decimal : {",", "."}
        Decimal sign of numbers like ``1,234``.
    is_decimal_known : bool
        Whether the user or some cells determine `decimal`.
    unsure : tuple of str
        Columns of numbers like ``1,234``, if `decimal` is not known.
    contrary : tuple of str
        Columns that are clearly written with the other sign than the user stated.
    padded : tuple of str
        Columns of integers with leading zeros.
    """

    frame: pl.DataFrame
    forms: dict[str, str] = field(default_factory=dict)
    decimal: str = "."
    is_decimal_known: bool = True
    unsure: tuple[str, ...] = ()
    contrary: tuple[str, ...] = ()
    padded: tuple[str, ...] = ()


def typed(
    frame: pl.DataFrame,
    *,
    decimal: str | None = None,
    likely: str = ".",
    skip: Collection[str] = (),
    number: Collection[str] = (),
) -> Cells:
    """Convert columns of text whose cells are all numbers to numbers.

    Parameters
    ----------
    frame : polars.DataFrame
        Cleaned by `clean`.
    decimal : {",", "."}, default=None
        Decimal sign; by default, the cells determine it.
    likely : {",", "."}, default="."
        Decimal sign if the cells do not determine it.
    skip : collection of str, default=()
        Columns to leave as they are.
    number : collection of str, default=()
        Columns that the user calls numbers. If some of their cells are not numbers,
        they stay text, and `Cells.forms` has the notation of the others.

    Returns
    -------
    Cells
        Integers if they are whole and fit into 64 bits, else floats. Long integers
        some of which would be equal as floats stay text.

    Examples
    --------
    >>> import polars as pl
    >>> cells = typed(pl.DataFrame({"a": ["3,5", "12"], "b": ["$1.50", "$2"]}))
    >>> cells.frame["a"].to_list(), cells.forms
    ([3.5, 12.0], {'a': ',', 'b': '.$'})
    """
    # Under other names: polars takes names like "*" and "^a.*$" for patterns.
    names, frame = frame.columns, frame.clone()
    frame.columns = [str(index) for index in range(frame.width)]
    columns = frame.get_columns()
    text = [
        i
        for i, one in enumerate(columns)
        if one.dtype == pl.String and names[i] not in skip
    ]
    integers, whole = _parse(frame, text, lambda x: x.cast(pl.Int64, strict=False))
    text = sorted({*text} - {*whole})
    floats, fractions = _parse(frame, text, lambda x: x.cast(pl.Float64, strict=False))
    samples = {i: sample(columns[i]) for i in fractions}
    odd = [i for i in text if i not in samples]
    for i in odd:
        # The cells that are not plain numbers, wherever they are.
        samples[i] = sample(columns[i].filter(floats[i].is_null()).drop_nulls())
    zeros = frame.select(pl.nth(i).str.contains(r"^0\d").any() for i in whole)
    padded = [names[int(one)] for one in zeros.columns if zeros[one][0]]
    for i in whole:
        columns[i] = integers[i]
    for i in fractions:
        columns[i] = floats[i]

    chosen, unsure, sign, known, contrary = _choose_forms(
        samples, fractions, decimal, likely
    )
    forms = {}
    for form in {*chosen.values()}:
        own = [i for i, one in chosen.items() if one == form]
        parsed, read = _parse(frame, own, partial(read_numbers, form=form))
        for i in read:
            columns[i], forms[i] = parsed[i], form
    for i in odd:
        if looks_like_vectors(samples[i]):
            columns[i] = _lists(columns[i])
        if names[i] in number and columns[i].dtype == pl.String:
            found = number_form(sample(columns[i]), sign, decimal)
            if found is not None and found[0]:
                forms[i], is_sure = found
                unsure += [] if known or is_sure else [i]
    result = pl.DataFrame(columns)
    # polars would rename a column without a name to column_0.
    result.columns = names
    return Cells(
        result,
        {names[i]: form for i, form in sorted(forms.items())},
        sign,
        known,
        tuple(names[i] for i in unsure if i in forms),
        tuple(names[i] for i in contrary if columns[i].dtype != pl.String),
        tuple(padded),
    )


def _choose_forms(
    samples: dict[int, list[str]],
    fractions: list[int],
    decimal: str | None,
    likely: str,
) -> tuple[dict[int, str], list[int], str, bool, list[int]]:
    """Choose the notation of the columns of numbers, given some cells of each.

    Returns
    -------
    chosen : dict of int to str
        Forms by column.
    unsure : list of int
        Columns that can be read with both decimal signs.
    sign : {",", "."}
        The decimal sign of the table.
    known : bool
        Whether the user or some cells determine it.
    contrary : list of int
        Columns whose cells contradict `decimal`.
    """
    evidence = {i: decisive(samples[i]) for i in fractions}
    possible = {i: possible_forms(x) for i, x in samples.items() if i not in evidence}
    for i, able in possible.items():
        evidence[i] = able[0][0] if len(able) == 1 else _shown_sign(samples[i])
    signs = {*evidence.values()} - {""}
    known = decimal is not None or bool(signs)
    sign = decimal or ("," if "," in signs else "." if signs else likely)
    chosen = {
        i: next((one for one in able if one[0] == (evidence[i] or sign)), able[0])
        for i, able in possible.items()
        if able
    }
    unsure = [
        i
        for i, able in possible.items()
        if len(able) > 1 and not known and any("," in one for one in samples[i])
    ]
    if sign == ",":
        # In such a table, 12.500 is twelve thousand and five hundred.
        grouped = (i for i in fractions if grouped_by_points(samples[i]))
        chosen |= {i: "," for i in grouped if not evidence[i]}
    contrary = [
        i for i, one in evidence.items() if decimal and one not in ("", decimal)
    ]
    return chosen, unsure, sign, known, contrary


def _parse(
    frame: pl.DataFrame, chosen: list[int], change: Callable[[pl.Expr], pl.Expr]
) -> tuple[list[pl.Series], list[int]]:
    """Parse columns; return all columns, and the indexes of those parsed in full."""
    # All columns at once: thousands of calls of polars take seconds.
    parsed = frame.with_columns(change(pl.nth(i)) for i in chosen).get_columns()
    texts = frame.get_columns()
    return parsed, [
        i
        for i in chosen
        if parsed[i].null_count() == texts[i].null_count() < frame.height
        and not _loses_digits(texts[i], parsed[i])
    ]


def _loses_digits(text: pl.Series, parsed: pl.Series) -> bool:
    """Whether different integers beyond 64 bits are equal as floats."""
    if not parsed.dtype.is_float():
        return False
    # Most columns have no such number, and searching text is slow.
    if max(-parsed.min(), parsed.max()) < 2**53:  # type: ignore[operator, type-var]
        return False
    long = text.drop_nulls().unique()
    long = long.filter(long.str.contains(r"^[+-]?\d{16,}$"))
    exact = {int(one) for one in long.to_list()}
    return long.cast(pl.Float64).n_unique() < len(exact)


def _shown_sign(cells: list[str]) -> str:
    """Return the decimal sign that the numbers determine if they are half the cells."""
    readable = [one for one in cells if possible_forms([one])]
    return decisive(readable) if 2 * len(readable) >= len(cells) else ""


def _lists(column: pl.Series) -> pl.Series:
    """Return lists if all cells are lists of numbers of one length."""
    read = read_vectors(column)
    same = read.list.len().drop_nulls().n_unique() == 1
    return read if same and read.null_count() == column.null_count() else column


def sample(column: pl.Series, size: int = 200) -> list[str]:
    """Return distinct values of the first rows, without nulls.

    Parameters
    ----------
    column : polars.Series
        Text.
    size : int, default=200
        Maximum number of values; ten times as many rows are searched.
    """
    distinct = column.head(10 * size).drop_nulls().unique(maintain_order=True)
    return distinct.head(size).to_list()


class Mixed(NamedTuple):
    """A column of text most of whose cells are numbers, or dates.

    Attributes
    ----------
    kind : {"number", "date"}
        Type of most cells.
    form : str
        Notation of these cells.
    n_read, n_cells : int
        Number of these cells, and of all that are not missing.
    others : str
        Some of the other cells, quoted.
    is_sure : bool
        Whether the cells determine the decimal sign.
    """

    kind: str
    form: str
    n_read: int
    n_cells: int
    others: str
    is_sure: bool

    def __str__(self) -> str:
        """Describe the column."""
        return (
            f"{self.n_read:,} of {self.n_cells:,} cells are {self.kind}s, "
            f"but not {self.others}"
        )


def mixed_cells(
    present: pl.Series, decimal: str = ".", min_cells: int = 5
) -> Mixed | None:
    """Find out whether most cells of a column of text are numbers or dates.

    Parameters
    ----------
    present : polars.Series
        Cells that are not missing.
    decimal : {",", "."}, default="."
        Decimal sign of cells like ``1,234`` if the other cells do not determine it.
    min_cells : int, default=5
        Columns with fewer cells are not described.

    Returns
    -------
    Mixed or None
        None if more than half of the cells are something else, unless they are all
        equal; or if all cells are numbers or dates.

    Examples
    --------
    >>> import polars as pl
    >>> print(mixed_cells(pl.Series([*map(str, range(99)), "n/a?"])))
    99 of 100 cells are numbers, but not 'n/a?'
    """
    if present.dtype != pl.String or len(present) < min_cells:
        return None
    # A sample first: most text is neither.
    cells = sample(present)
    for kind in ("number", "date"):
        if kind == "number":
            form, is_sure = number_form(cells, decimal) or (None, True)
        else:
            form, is_sure = common_date_form(pl.Series(cells)), True
        if form is None or 2 * _is_read(pl.Series(cells), kind, form).sum() < len(
            cells
        ):
            continue
        read = _is_read(present, kind, form)
        n_read = int(read.sum())
        others = present.filter(~read).unique(maintain_order=True).to_list()
        # One repeated token, such as "k. A.", may fill most cells.
        most = 2 * n_read >= len(present) or (len(others) == 1 and n_read >= min_cells)
        if others and most:
            shown = listed(others, limit=2, length=20)
            return Mixed(kind, form, n_read, len(present), shown, is_sure)
    return None


def _is_read(cells: pl.Series, kind: str, form: str) -> pl.Series:
    if kind == "date":
        return read_dates(cells, form).is_not_null()
    return _parse_numbers(cells, form).is_not_null()


def _parse_numbers(cells: pl.Series, form: str) -> pl.Series:
    frame = pl.DataFrame({"text": cells})
    return frame.select(read_numbers(pl.col("text"), form)).to_series()


def yes_or_no(column: pl.Series, _form: str = "", *, asked: bool = False) -> FloatArray:
    """Convert booleans, or words for yes and no, to ones and zeros.

    Parameters
    ----------
    column : polars.Series
        Cleaned by `clean`.
    asked : bool, default=False
        Whether other cells count as missing; else they raise `CellError`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Float64; NaN if missing.
    """
    name, column = unnamed(column)
    if column.dtype != pl.String:
        return numbers(column)
    words = column.str.to_lowercase()
    is_yes = words.is_in([*YES, "1"])
    understood = is_yes | words.is_in([*NO, "0"])
    if not asked:
        _check_cells(name, column, understood, "yes/no")
    return np.where(understood.fill_null(False).to_numpy(), numbers(is_yes), np.nan)


def numbers(column: pl.Series, form: str = "", *, asked: bool = False) -> FloatArray:
    """Convert numbers, booleans or text to finite numbers.

    Parameters
    ----------
    column : polars.Series
        Cleaned by `clean`.
    form : str, default=""
        Notation of numbers in text: see `vicinal.app.tables.notation`.
    asked : bool, default=False
        Whether other cells count as missing; else they raise `CellError`.

    Returns
    -------
    ndarray of shape (n_rows,)
        Floating point; NaN if missing or infinite.

    Raises
    ------
    ValueError
        If a cell holds something else.
    """
    name, column = unnamed(column)
    if column.dtype == pl.String:
        parsed = _parse_numbers(column, form)
        if not asked:
            _check_cells(name, column, parsed.is_not_null(), "number", form)
        column = parsed
    elif not (column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null)):
        raise _changed_type(name, column, "numbers")
    if column.dtype not in (pl.Float32, pl.Float64):
        column = column.cast(pl.Float64)
    # By NumPy, where a null is NaN: polars is slower for many short columns.
    values = column.to_numpy()
    finite = np.isfinite(values)
    return (
        values if finite.all() else np.where(finite, values, values.dtype.type("nan"))
    )


def days(column: pl.Series, form: str = "", *, asked: bool = False) -> FloatArray:
    """Convert dates to days since 1970, and durations and times of day to days.

    Parameters
    ----------
    column : polars.Series
        Cleaned by `clean`.
    form : str, default=""
        Notation of dates in text: see `vicinal.app.tables.notation`.
    asked : bool, default=False
        Whether other cells count as missing; else they raise `CellError`. Integers
        like 20241231 are then read as text.

    Returns
    -------
    ndarray of shape (n_rows,)
        Float64; NaN if missing.

    Raises
    ------
    ValueError
        If a cell holds something else.
    """
    name, column = unnamed(column)
    if asked and column.dtype.is_integer():
        column = column.cast(pl.String)
    dtype = column.dtype
    if dtype == pl.Null:
        return numbers(column)
    if dtype == pl.String:
        parsed = read_dates(column, form)
        if not asked:
            _check_cells(name, column, parsed.is_not_null(), "date", form)
        microseconds = parsed.dt.epoch("us")
    elif dtype == pl.Time:
        microseconds = column.cast(pl.Int64) / 1000
    elif dtype == pl.Duration:
        microseconds = column.dt.total_microseconds()
    elif dtype.is_temporal():
        microseconds = column.dt.epoch("us")
    else:
        raise _changed_type(name, column, "dates")
    return numbers(microseconds / (timedelta(days=1) / timedelta(microseconds=1)))


def vectors(column: pl.Series, length: int) -> FloatArray:
    """Convert a column of lists of numbers to a matrix.

    Parameters
    ----------
    column : polars.Series
        Lists, arrays, or text of lists.
    length : int
        Number of components of each vector.

    Returns
    -------
    ndarray of shape (n_rows, length)
        Floating point; NaN if missing or infinite.

    Raises
    ------
    ValueError
        If a cell holds something else.
    """
    name, column = unnamed(column)
    if column.dtype == pl.String:
        # From a text file, which is read in pieces.
        read = read_vectors(column)
        _check_cells(name, column, read.list.len() == length, "vector", str(length))
        column = read
    single = getattr(column.dtype, "inner", None) == pl.Float32
    result = np.full((len(column), length), np.nan, "f4" if single else "f8")
    present = column.drop_nulls()
    if len(present) == 0:
        return result
    found, reason = vector_length(present)
    if found != length:
        raise ValueError(
            f"Column {name!r} held vectors of {length:,} numbers, but now "
            f"holds {reason or f'vectors of {found:,}'}; correct it."
        )
    flat = numbers(present.explode().cast(pl.Float32 if single else pl.Float64))
    result[column.is_not_null().to_numpy()] = flat.reshape(-1, length)
    return result


def vector_length(present: pl.Series, max_length: int = 100_000) -> tuple[int, str]:
    """Return the length of the vectors of a column.

    Parameters
    ----------
    present : polars.Series
        At least one value, and no null.
    max_length : int, default=100_000
        Longer lists are not taken for vectors.

    Returns
    -------
    length : int
        Zero if they are not vectors.
    reason : str
        Description of the values in that case.
    """
    dtype = present.dtype
    inner = getattr(dtype, "inner", None)
    if inner is None or not inner.is_numeric():
        return 0, f"{dtype_in_words(dtype)}, neither numbers nor categories"
    if dtype == pl.Array:
        return dtype.size, ""  # type: ignore[attr-defined]
    lengths = present.list.len()
    shortest, longest = int(lengths.min() or 0), int(lengths.max() or 0)  # type: ignore[arg-type]
    if shortest != longest or not 0 < longest <= max_length:
        return 0, f"lists of {shortest:,} to {longest:,} numbers, not vectors"
    return longest, ""


def as_names(column: pl.Series) -> pl.Series:
    """Convert values to text; whole numbers without a decimal point.

    Parameters
    ----------
    column : polars.Series
        Any type but lists and structures.

    Returns
    -------
    polars.Series
        Text; null if missing.
    """
    name, column = unnamed(column)
    if not column.dtype.is_float():
        return column.cast(pl.String).alias(name)
    column = column.cast(pl.Float64)
    labels = column.drop_nulls().unique().to_list()
    # Digits beyond 1e16 would be made up: 64 bits do not hold them.
    names = [
        str(int(x)) if x.is_integer() and abs(x) < 1e16 else repr(x) for x in labels
    ]
    return column.replace_strict(labels, names, return_dtype=pl.String).alias(name)


def as_texts(column: pl.Series) -> list[str]:
    """Convert values to stripped text; missing ones are empty.

    Parameters
    ----------
    column : polars.Series
        Any type but lists and structures.
    """
    cells = as_names(unnamed(column)[1]).to_frame()
    return clean(cells).to_series().fill_null("").to_list()


def unnamed(column: pl.Series) -> tuple[str, pl.Series]:
    """Return the name of a column, and the column under a neutral name.

    polars looks up the column of a method of Series by its name, and takes names like
    ``^a.*$`` for patterns.

    Parameters
    ----------
    column : polars.Series
        Any type.
    """
    return column.name, column.alias("column")


def dtype_in_words(dtype: pl.DataType) -> str:
    """Return a plain noun for the values of a polars type.

    Parameters
    ----------
    dtype : polars.DataType
        Type of a column.
    """
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


def _changed_type(name: str, column: pl.Series, before: str) -> TableError:
    return TableError(
        f"Column {name!r} held {before} and now holds "
        f"{dtype_in_words(column.dtype)}; write {before} there."
    )


def _check_cells(
    name: str, column: pl.Series, understood: pl.Series, kind: str, form: str = ""
) -> None:
    """Raise CellError at the first cell that is present and not understood."""
    wrong = (~understood.fill_null(False) & column.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise CellError(name, row, column[row], kind, form)
