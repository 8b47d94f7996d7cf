"""Cells of text: which of them are missing, and which are numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from vicinal.app.tables.notation import (
    decisive,
    grouped_by_points,
    number_form,
    possible_forms,
    read_numbers,
)
from vicinal.app.tables.text_vectors import looks_like_vectors, read_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    import polars as pl

__all__ = ["MISSING", "Cells", "clean", "typed"]

#: Text that stands for a missing value, in small letters.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", "#n/a", "<na>")
# So many rows show how a column's numbers are written, before all are read.
_SAMPLE = 200


@dataclass(frozen=True, eq=False)
class Cells:
    """A table whose numbers are numbers.

    Attributes
    ----------
    frame : polars.DataFrame
        Columns of text whose cells are all numbers have become numbers; those whose
        cells are all vectors of numbers, lists.
    forms : dict of str to str
        How these were written, where no program writes them so: see
        `vicinal.app.tables.notation`.
    decimal : {",", "."}
        The decimal sign of numbers in text whose cells do not show it.
    unsure : tuple of str
        Columns like ``1,234``, which may mean two numbers.
    """

    frame: pl.DataFrame
    forms: dict[str, str] = field(default_factory=dict)
    decimal: str = "."
    unsure: tuple[str, ...] = ()


def clean(frame: pl.DataFrame) -> pl.DataFrame:
    """Take the spaces around text away, and write null where it means missing.

    All that reads cells (`vicinal.app.tables.columns`, `vicinal.app.tables.targets`) takes
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
    >>> from vicinal.app.tables.cells import clean
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


def typed(
    frame: pl.DataFrame,
    *,
    decimal: str | None = None,
    likely: str = ".",
    skip: Collection[str] = (),
    number: Collection[str] = (),
) -> Cells:
    """Turn columns of text whose cells are all numbers into numbers.

    Parameters
    ----------
    frame : polars.DataFrame
        As `clean` returns it.
    decimal : {",", "."}, default=None
        What stands before a fraction; by default, the cells tell.
    likely : {",", "."}, default="."
        What it is where no cell tells.
    skip : collection of str, default=()
        Columns to leave as they are.
    number : collection of str, default=()
        Columns of numbers by the user's word. If some of their cells are not numbers,
        they stay text, and `Cells.forms` has the form of the others.

    Returns
    -------
    Cells
        Integers where they are whole and fit, else floats. Long integers some of
        which would be equal as floats stay text.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.app.tables.cells import typed
    >>> cells = typed(pl.DataFrame({"a": ["3,5", "12"], "b": ["$1.50", "$2"]}))
    >>> cells.frame["a"].to_list(), cells.forms
    ([3.5, 12.0], {'a': ',', 'b': '.$'})
    """
    import polars as pl

    columns = frame.get_columns()
    text = [
        index
        for index, one in enumerate(columns)
        if one.dtype == pl.String and one.name not in skip
    ]
    samples: dict[int, list[str]] = {}
    fractions = []
    numbers = columns
    # All columns at once: thousands of calls of polars take seconds.
    for kind in (pl.Int64, pl.Float64):
        numbers, read = _read(frame, text, lambda x, to=kind: x.cast(to, strict=False))  # type: ignore[misc]
        for index in read:
            if kind == pl.Float64:
                fractions.append(index)
                samples[index] = _sample(columns[index])
            columns[index] = numbers[index]
        text = [index for index in text if columns[index].dtype == pl.String]
    for index in text:
        # What keeps them from being numbers, wherever it stands.
        odd = columns[index].filter(numbers[index].is_null())
        samples[index] = _sample(odd.drop_nulls())
    forms, sign, unsure, is_known = _forms(text, fractions, samples, decimal, likely)
    for form in sorted(set(forms.values())):
        own = [index for index, one in forms.items() if one == form]
        numbers, read = _read(frame, own, lambda x, form=form: read_numbers(x, form))  # type: ignore[misc]
        for index in own:
            if index in read:
                columns[index] = numbers[index]
            else:
                del forms[index]
    for index in text:
        if looks_like_vectors(samples[index]):
            columns[index] = _vectors(columns[index])
    for index in text:
        if frame.columns[index] in number and columns[index].dtype == pl.String:
            cells = _sample(columns[index])
            if (found := number_form(cells, sign, decimal)) is not None and found[0]:
                forms[index], is_sure = found
                if not (is_sure or is_known):
                    unsure.append(index)
    result = pl.DataFrame(columns)
    # polars would call a column without a name column_0.
    result.columns = names = frame.columns
    return Cells(
        result,
        {names[index]: form for index, form in sorted(forms.items())},
        sign,
        tuple(names[index] for index in unsure if index in forms),
    )


def _read(
    frame: pl.DataFrame, chosen: list[int], change: Callable[[pl.Expr], pl.Expr]
) -> tuple[list[pl.Series], list[int]]:
    """Read columns as numbers; return all columns, and which of them were all read."""
    parsed = _changed(frame, chosen, change)
    numbers, texts = parsed.get_columns(), frame.get_columns()
    nulls, missing = parsed.null_count().row(0), frame.null_count().row(0)
    return numbers, [
        index
        for index in chosen
        if nulls[index] == missing[index] < frame.height
        and not _merged(texts[index], numbers[index])
    ]


def _vectors(column: pl.Series) -> pl.Series:
    """Return lists where all cells are lists of equally many numbers."""
    read = read_vectors(column)
    same = read.list.len().drop_nulls().n_unique() == 1
    return read if same and read.null_count() == column.null_count() else column


def _sample(column: pl.Series) -> list[str]:
    sample = column.head(10 * _SAMPLE).drop_nulls().unique(maintain_order=True)
    return sample.head(_SAMPLE).to_list()


def _forms(
    text: list[int],
    fractions: list[int],
    samples: dict[int, list[str]],
    decimal: str | None,
    likely: str,
) -> tuple[dict[int, str], str, list[int], bool]:
    """Choose how the numbers of each column are written, by what some cells show."""
    possible = {}
    spoiled = set()
    for index in text:
        if able := possible_forms(samples[index]):
            possible[index] = able
        elif len(samples[index]) > 1:
            # A column of numbers but for a few cells.
            readable = [one for one in samples[index] if possible_forms([one])]
            if 2 * len(readable) >= len(samples[index]):
                spoiled |= {decisive(readable)} - {""}
    shown = {index: decisive(samples[index]) for index in [*possible, *fractions]}
    if decimal is None:
        # Only a column whose cells allow no other reading speaks for the others.
        single = {able[0][0] for able in possible.values() if len(able) == 1} | spoiled
        seen = {one for one in shown.values() if one} | single
        if seen and "," in {*single, *(shown[index] for index in possible)}:
            sign = ","
        else:
            sign = "." if seen else likely
    else:
        seen, sign = {decimal}, decimal
    forms, unsure = {}, []
    for index, able in possible.items():
        preferred = [form for form in able if form[0] == (shown[index] or sign)]
        forms[index] = (preferred or able)[0]
        if len(able) > 1 and not shown[index] and _comma(samples[index]) and not seen:
            unsure.append(index)
    if sign == ",":
        # In such a table, 12.500 is twelve thousand and five hundred.
        for index in fractions:
            if not shown[index] and grouped_by_points(samples[index]):
                forms[index] = ","
    return forms, sign, unsure, bool(seen)


def _comma(cells: list[str]) -> bool:
    return any("," in one for one in cells)


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
