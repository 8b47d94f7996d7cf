"""What kind of column a column is, by its cells or by a person's word."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from vicinal.app.tables.dates import ASKED, find_form
from vicinal.app.tables.dates import commonest_form as commonest_date_form
from vicinal.app.tables.mixed_cells import mixed_cells
from vicinal.app.tables.names import printable
from vicinal.app.tables.notation import number_form
from vicinal.app.tables.text_vectors import why_no_vectors
from vicinal.app.tables.values import (
    NO,
    YES,
    as_names,
    days,
    dtype_in_words,
    numbers,
    vector_length,
)

if TYPE_CHECKING:
    import polars as pl

__all__ = ["AS_MISSING", "MOST_CATEGORIES", "Kind", "asked_kind", "kind_of"]

AS_MISSING = "takes these as missing"
"""How a reason ends that a few cells of a column are no numbers or dates."""
#: A column of text with more distinct values than this is not one-hot encoded.
MOST_CATEGORIES = 50
_IDENTIFIER = re.compile(
    r"(?i:(.*[_\s.-])?(id|uuid|guid|index|idx|rownum)|unnamed: \d+)|.*[a-z]I[dD]"
)
# Fewer rows than this may be in order by chance.
_FEWEST_IN_ORDER = 20
# As many categories as a person may ask for.
_MOST_ASKED = 1_000


class Kind(NamedTuple):
    """What a column is: the fields are those of `vicinal.app.tables.decisions.Decision`.

    Attributes
    ----------
    kind, reason, form : str
        As there.
    length : int
        Of each vector; else 0.
    """

    kind: str
    reason: str = ""
    form: str = ""
    length: int = 0


def kind_of(column: pl.Series) -> Kind:
    """Decide what a column is.

    Parameters
    ----------
    column : polars.Series
        Of any type, of a frame that `vicinal.app.tables.cells.typed` returned.

    Returns
    -------
    Kind
        With the reason, for a person.
    """
    import polars as pl

    present = column.drop_nulls() if column.null_count() else column
    if len(present) == 0:
        return Kind("empty", "no values")
    if present.dtype.is_numeric():
        return _kind_of_numbers(present, len(column))
    missing = _missing(len(column) - len(present))
    if present.dtype in (pl.List, pl.Array):
        return _kind_of_lists(present, missing)
    form = ""
    if present.dtype == pl.Boolean or _all_yes_or_no(present):
        kind, reason = "yes/no", missing
    elif present.dtype.is_temporal():
        kind, reason = "date", _join("in days", missing)
    elif present.dtype != pl.String:
        what = dtype_in_words(present.dtype)
        return Kind("text", f"{what}, neither numbers nor categories")
    elif (found := find_form(present.unique(maintain_order=True))) is not None:
        form, other = found
        written = f"written {form}" if form else ""
        if other:
            written += f", or {other}: say which with --date"
        kind, reason = "date", _join("in days", written, missing)
    else:
        return _kind_of_text(present, missing)
    if present.n_unique() == 1:
        return Kind("constant", f"always {printable(present[0])}")
    return Kind(kind, reason, form)


def asked_kind(column: pl.Series, kind: str, form: str = "") -> Kind:
    """Make of a column what a person said it is.

    Parameters
    ----------
    column : polars.Series
        Of any type, of a frame that `vicinal.app.tables.cells.clean` returned.
    kind : {"dropped", "category", "number", "date"}
        What it shall be.
    form : str, default=""
        How its numbers or dates are written, where that is known.

    Returns
    -------
    Kind
        Of this kind; "empty" or "constant" where there is nothing else to be seen.

    Raises
    ------
    ValueError
        When no cell can be read so.
    """
    if kind == "dropped":
        return Kind(kind, "asked for")
    present = column.drop_nulls()
    if len(present) == 0:
        return Kind("empty", "no values")
    if present.dtype.is_nested():
        raise ValueError(
            f"Column {column.name!r} holds {dtype_in_words(present.dtype)}, which "
            f"cannot be read as a {kind}; leave it out with --drop."
        )
    if kind == "category":
        return _asked_category(present)
    form = form or _form_of(present, kind)
    read = numbers if kind == "number" else days
    values = read(column, form, asked=True)
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        raise ValueError(
            f"No cell of column {column.name!r} is a {kind}; the first one is "
            f"{printable(present[0])!r}."
        )
    if (finite == finite[0]).all():
        return Kind("constant", f"always {finite[0]:g}")
    lost = len(present) - finite.size
    unread = "1 cell that is none counts as missing" if lost == 1 else ""
    if lost > 1:
        unread = f"{lost:,} cells that are none count as missing"
    return Kind(
        kind, _join("asked for", unread, _missing(len(column) - len(present))), form
    )


def _asked_category(present: pl.Series) -> Kind:
    n = as_names(present).n_unique()
    if n == 1:
        return Kind("constant", f"always {printable(present[0])}")
    if n > _MOST_ASKED:
        raise ValueError(
            f"Column {present.name!r} has {n:,} values, more than the "
            f"{_MOST_ASKED:,} that can be categories."
        )
    return Kind("category", _join("asked for", f"{n} values"))


def _form_of(present: pl.Series, kind: str) -> str:
    """Find how numbers or dates are written, where a person says that there are."""
    import polars as pl

    if kind == "date" and present.dtype.is_integer():
        return "%Y%m%d"
    if present.dtype != pl.String:
        return ""
    distinct = present.unique(maintain_order=True)
    if kind == "number":
        chosen = number_form(distinct.head(1000).to_list())
        return "" if chosen is None else chosen[0]
    found = find_form(distinct, ASKED)
    return commonest_date_form(distinct, ASKED) or "" if found is None else found[0]


def _kind_of_lists(present: pl.Series, missing: str) -> Kind:
    length, reason = vector_length(present)
    if not length:
        return Kind("text", reason)
    return Kind("vector", _join(f"{length:,} components", missing), length=length)


def _kind_of_numbers(present: pl.Series, n_rows: int) -> Kind:
    import polars as pl

    n_infinite = 0
    if present.dtype.is_float():
        # By NumPy: a call of polars takes longer than a short column has numbers.
        values = present.to_numpy()
        if not (finite := np.isfinite(values)).all():
            n_infinite = int(np.isinf(values).sum())
            present = present.filter(pl.Series(finite))
    if len(present) == 0:
        return Kind("empty", "no finite values")
    n_distinct = present.n_unique()
    if n_distinct == 1:
        return Kind("constant", f"always {printable(present[0])}")
    if present.dtype.is_integer() and n_distinct == n_rows:
        if _IDENTIFIER.fullmatch(present.name.strip()):
            return Kind("identifier", "named like one, and each row has its own value")
        span = int(present.max()) - int(present.min()) + 1  # type: ignore[arg-type]
        if n_rows >= _FEWEST_IN_ORDER and span == n_rows:
            return Kind("identifier", "it counts the rows")
        if n_rows >= _FEWEST_IN_ORDER and _in_order(present):
            return Kind("identifier", "it only grows, or only falls, from row to row")
    infinite = "1 infinite value counts as missing" if n_infinite == 1 else ""
    if n_infinite > 1:
        infinite = f"{n_infinite:,} infinite values count as missing"
    missing = _missing(n_rows - len(present) - n_infinite)
    return Kind("number", _join(infinite, missing))


def _kind_of_text(present: pl.Series, missing: str) -> Kind:
    n_distinct = present.n_unique()
    if n_distinct == 1:
        return Kind("constant", f"always {printable(present[0])}")
    if reason := why_no_vectors(present):
        return Kind("text", reason)
    n, mixed = len(present), _mixed(present)
    if n_distinct == n and not mixed:
        return Kind("identifier", "each row has its own value")
    if n_distinct > MOST_CATEGORIES:
        many = f"{n_distinct:,} distinct values, more than {MOST_CATEGORIES}"
        return Kind("text", _join(many, mixed))
    if 2 * n_distinct > n:
        many = f"{n_distinct:,} distinct values in {n:,} rows"
        return Kind("text", _join(many, mixed))
    return Kind("category", _join(f"{n_distinct} values", missing, mixed))


def _mixed(present: pl.Series) -> str:
    """Say how many cells are numbers or dates, and how to have them taken so."""
    found = mixed_cells(present)
    if found is None:
        return ""
    return f"{found}: --{found.kind} {printable(present.name)!r} {AS_MISSING}"


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
    return any({yes, no} == set(words) for yes, no in zip(YES, NO, strict=True))
