"""Cells of a column: cleaned, typed, and converted to numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from vicinal._typing import FloatArray
from vicinal.app.tables._polars import pl
from vicinal.app.tables.inputs import Overrides
from vicinal.app.tables.names import CellError, Note, TableError, listed
from vicinal.app.tables.notation import (
    MISSING,
    common_date_form,
    looks_like_vectors,
    number_form,
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
class Table:
    """A table in memory.

    Attributes
    ----------
    frame : polars.DataFrame
        Its cells, cleaned by `clean`.
    name : str
        Stem of the file, or name of the data set.
    target : str or None
        The column that is known to be the label.
    notes : list of str
        Notes for the user.
    overrides : Overrides
        Decisions of the user, with existing names.
    skip : tuple of str
        Columns of categories or dates by type or by the user's word, which are never
        read as numbers.
    forms : dict of str to str
        Notation of numbers by column, unless they are plain: see
        `vicinal.app.tables.notation`.
    decimal : {",", "."}
        Decimal sign of numbers like ``1,234``.
    is_decimal_known : bool
        Whether the user or some cells determine `decimal`.
    padded : tuple of str
        Columns of integers with leading zeros.
    """

    frame: pl.DataFrame
    name: str = "the data"
    target: str | None = None
    notes: list[str] = field(default_factory=list)
    overrides: Overrides = field(default_factory=Overrides)
    skip: tuple[str, ...] = ()
    forms: dict[str, str] = field(default_factory=dict)
    decimal: str = "."
    is_decimal_known: bool = False
    padded: tuple[str, ...] = ()


def typed(table: Table) -> Table:  # noqa: C901
    """Convert columns of text whose cells are all numbers, or vectors.

    Parameters
    ----------
    table : Table
        Its `decimal` is the likely decimal sign.

    Returns
    -------
    Table
        Integers if they are whole and fit into 64 bits, else floats; long integers
        some of which would be equal as floats stay text. Vectors of one length become
        lists. If some cells of a column that the user calls numbers are not numbers,
        it stays text, and `forms` has the notation of the others.

    Examples
    --------
    >>> import polars as pl
    >>> table = typed(Table(pl.DataFrame({"a": ["3,5", "12"], "b": ["$1.50", "$2"]})))
    >>> table.frame["a"].to_list(), table.forms
    ([3.5, 12.0], {'a': ',', 'b': '.$'})
    """
    # Under other names: polars takes names like "*" and "^a.*$" for patterns.
    names, frame = table.frame.columns, table.frame.clone()
    frame.columns = [str(index) for index in range(frame.width)]
    columns, decimal = frame.get_columns(), table.overrides.decimal
    text = [
        i
        for i, one in enumerate(columns)
        if one.dtype == pl.String and names[i] not in table.skip
    ]
    integers, whole = _parse(frame, text, lambda x: x.cast(pl.Int64, strict=False))
    text = sorted({*text} - {*whole})
    floats, plain = _parse(frame, text, lambda x: x.cast(pl.Float64, strict=False))
    # Not two digits, such as those of months and hours.
    zeros = frame.select(pl.nth(i).str.contains(r"^0\d\d").any() for i in whole)
    padded = [names[int(one)] for one in zeros.columns if zeros[one][0]]

    samples = {}
    for i in text:
        # The cells that are not plain numbers first, wherever they are.
        odd = columns[i].filter(floats[i].is_null()).drop_nulls()
        samples[i] = list(dict.fromkeys(sample(odd) + sample(columns[i])))
    found = {i: one for i in text if (one := number_form(samples[i]))}
    signs = {x.sign for i, x in found.items() if 2 * x.n_read >= len(samples[i])} - {""}
    sign = decimal or ("," if "," in signs else "." if signs else table.decimal)
    known = decimal is not None or bool(signs)
    found = {i: number_form(samples[i], sign) or one for i, one in found.items()}

    for i in (*whole, *plain):
        columns[i] = (integers if i in {*whole} else floats)[i]
    forms: dict[int, str] = {}
    for form in {one.form for one in found.values() if one.form}:
        own = [i for i, one in found.items() if one.form == form]
        if form.endswith("k"):
            own = [i for i in own if names[i] in table.overrides.number]
        parsed, read = _parse(frame, own, partial(read_numbers, form=form))
        for i in read:
            columns[i], forms[i] = parsed[i], form
    for i, one in found.items():
        if names[i] in table.overrides.number and columns[i].dtype == pl.String:
            found[i] = number_form(samples[i], sign, decimal) or one
            forms |= {i: found[i].form} if found[i].form else {}
    for i in text:
        if looks_like_vectors(samples[i]):
            columns[i] = _lists(columns[i])
    result = pl.DataFrame(columns)
    # polars would rename a column without a name to column_0.
    result.columns = names

    notes = list(table.notes)
    contrary = [
        names[i]
        for i, one in found.items()
        if decimal and one.sign not in ("", decimal) and columns[i].dtype != pl.String
    ]
    if contrary:
        clear = "a point" if decimal == "," else "a comma"
        said = f"the decimal sign in {listed(contrary, length=None)} is clearly {clear}"
        said += ", and is read so"
        stated = [i for i, one in found.items() if i in forms and not one.sign]
        if stated:
            others = listed((names[i] for i in stated), length=None)
            said += f"; the other commas and points, in {others}, as you say"
        notes.append(Note(said, kind="decimal", column=contrary[0]))
    commas = [names[i] for i in sorted(forms) if forms[i].startswith(",")]
    unsure = [i for i in sorted(forms) if not (known or found[i].is_sure)]
    pointed = {i for i in unsure if not any("," in one for one in samples[i])}
    for several, mark in (({*unsure} - pointed, ","), (pointed, ".")):
        if several:
            notes.append(decimal_note([names[i] for i in sorted(several)], sign, mark))
    if commas and not unsure:
        notes.append(f"decimal commas in {listed(commas, length=None)}")
    return replace(
        table,
        frame=result,
        notes=notes,
        forms=table.forms | {names[i]: form for i, form in sorted(forms.items())},
        decimal=sign,
        is_decimal_known=known,
        padded=(*table.padded, *padded),
    )


def decimal_note(names: Iterable[str], sign: str, mark: str = ",") -> Note:
    """Return a note on columns whose decimal sign is not certain.

    Parameters
    ----------
    names : iterable of str
        The columns.
    sign : {",", "."}
        The sign that was assumed.
    mark : {",", "."}, default=","
        The sign in the cells.
    """
    noun, value = (
        "comma" if mark == "," else "point",
        "1.234" if sign == mark else "1234",
    )
    said = (
        f"numbers with a {noun} in {listed(names, length=None)}: 1{mark}234 is {value}"
    )
    other = "." if sign == "," else ","
    return Note(f"{said}; if not, state the sign", "decimal", other)


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
    cells = pl.Series(sample(present))
    for kind in ("number", "date"):
        form, is_sure = _common_form(cells, kind, decimal)
        if form is None or 2 * parse_text(cells, kind, form).count() < len(cells):
            continue
        read = parse_text(present, kind, form).is_not_null()
        n_read = int(read.sum())
        others = present.filter(~read).unique(maintain_order=True).to_list()
        # One repeated token, such as "k. A.", may fill most cells.
        most = 2 * n_read >= len(present) or (len(others) == 1 and n_read >= min_cells)
        if others and most:
            shown = listed(others, limit=2, length=20)
            return Mixed(kind, form, n_read, len(present), shown, is_sure)
    return None


def _common_form(
    cells: pl.Series, kind: str, decimal: str = "."
) -> tuple[str | None, bool]:
    """Return the form of most cells, None if there is none, and whether it is sure."""
    if kind == "date":
        return common_date_form(cells), True
    found = number_form(cells.to_list(), decimal)
    return (found.form, found.is_sure) if found else (None, True)


def parse_text(column: pl.Series, kind: str, form: str = "") -> pl.Series:
    """Parse text as numbers, dates or answers.

    Parameters
    ----------
    column : polars.Series
        Text, cleaned by `clean`.
    kind : {"number", "date", "yes/no"}
        The type of the result.
    form : str, default=""
        Notation of numbers or dates: see `vicinal.app.tables.notation`.

    Returns
    -------
    polars.Series
        Float64 or datetimes; null if a cell is missing or something else.
    """
    if kind == "date":
        return read_dates(column, form)
    if kind == "yes/no":
        words = dict.fromkeys([*YES, "1"], 1.0) | dict.fromkeys([*NO, "0"], 0.0)
        lower = column.str.to_lowercase()
        return lower.replace_strict(words, default=None, return_dtype=pl.Float64)
    frame = pl.DataFrame({"text": column})
    return frame.select(read_numbers(pl.col("text"), form)).to_series()


def read_cells(
    column: pl.Series, kind: str, form: str = "", *, asked: bool = False
) -> FloatArray:
    """Convert a column to finite numbers.

    Parameters
    ----------
    column : polars.Series
        Cleaned by `clean`.
    kind : {"number", "date", "yes/no"}
        Dates become days since 1970, durations and times of day become days, and
        answers become 0 or 1.
    form : str, default=""
        Notation of numbers or dates in text: see `vicinal.app.tables.notation`.
    asked : bool, default=False
        Whether other cells count as missing; else they raise `CellError`. Integers
        like 20241231 are then read as text if they should be dates.

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
    if asked and kind == "date" and column.dtype.is_integer():
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        parsed = parse_text(column, kind, form)
        if not asked:
            _check_cells(name, column, parsed.is_not_null(), kind, form)
        column = parsed
    dtype = column.dtype
    numeric = dtype.is_numeric() or dtype == pl.Boolean
    if dtype != pl.Null and not (dtype.is_temporal() if kind == "date" else numeric):
        before = "dates" if kind == "date" else "numbers"
        raise TableError(
            f"Column {name!r} held {before} and now holds {dtype_in_words(dtype)}; "
            f"write {before} there."
        )
    if dtype == pl.Time:
        column = column.cast(pl.Int64) / 86_400e9
    elif dtype == pl.Duration:
        column = column.dt.total_microseconds() / 86_400e6
    elif dtype.is_temporal():
        column = column.dt.epoch("us") / 86_400e6
    if column.dtype not in (pl.Float32, pl.Float64):
        column = column.cast(pl.Float64)
    # By NumPy, where a null is NaN: polars is slower for many short columns.
    values = column.to_numpy()
    finite = np.isfinite(values)
    return (
        values if finite.all() else np.where(finite, values, values.dtype.type("nan"))
    )


def check_notation(column: pl.Series, kind: str, form: str) -> None:
    """Raise CellError if text that cannot be read in one form can be in another.

    Parameters
    ----------
    column : polars.Series
        Cleaned by `clean`.
    kind : {"number", "date"}
        The type of the cells.
    form : str
        The form in which no cell can be read.
    """
    name, column = unnamed(column)
    if column.dtype != pl.String or column.null_count() == len(column):
        return
    other, _ = _common_form(pl.Series(sample(column)), kind)
    if other is not None:
        read = parse_text(column, kind, other)
        _check_cells(name, column, read.is_null(), kind, form)


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
    cells = present.explode(empty_as_null=False).cast(
        pl.Float32 if single else pl.Float64
    )
    flat = read_cells(cells, "number").reshape(-1, length)
    result[column.is_not_null().to_numpy()] = flat
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


def _check_cells(
    name: str, column: pl.Series, understood: pl.Series, kind: str, form: str = ""
) -> None:
    """Raise CellError at the first cell that is present and not understood."""
    wrong = (~understood.fill_null(False) & column.is_not_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise CellError(name, row, column[row], kind, form)
