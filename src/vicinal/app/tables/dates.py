"""Dates as people write them: ISO 8601, `31.12.2024`, `12/31/2024`, `31 Dec 2024`.

A *form* says how the cells of one column are read: empty for ISO 8601, else a format
as `datetime.strptime` takes it. A model keeps it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ASKED", "check_form", "commonest_form", "find_form", "read_dates"]

_ISO_DATES = ("%Y-%m-%d", "%Y/%m/%d")
_ISO_TIMES = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
)
# The shape of a date, and what may be written so; of two, the first is the likelier.
# %B reads a month's whole name and its first three letters.
_DAYS = (
    (r"\d{1,2}\.\d{1,2}\.\d{4}", ("%d.%m.%Y",)),
    (r"\d{1,2}/\d{1,2}/\d{4}", ("%m/%d/%Y", "%d/%m/%Y")),
    (r"\d{1,2}-\d{1,2}-\d{4}", ("%d-%m-%Y", "%m-%d-%Y")),
    (r"\d{2}\.\d{2}\.\d{2}", ("%d.%m.%y",)),
    (r"\d{1,2}/\d{1,2}/\d{2}", ("%m/%d/%y", "%d/%m/%y")),
    (r"\d{1,2} [A-Za-z]{3,9} \d{4}", ("%d %B %Y",)),
    (r"\d{1,2}-[A-Za-z]{3}-\d{4}", ("%d-%b-%Y",)),
    (r"\d{1,2}-[A-Za-z]{3}-\d{2}", ("%d-%b-%y",)),
    (r"[A-Za-z]{3,9} \d{1,2}, \d{4}", ("%B %d, %Y",)),
)
_HOURS = (
    ("", ""),
    (r",? \d{1,2}:\d{2}", " %H:%M"),
    (r",? \d{1,2}:\d{2}:\d{2}", " %H:%M:%S"),
    (r",? \d{1,2}:\d{2} ?[AaPp][Mm]", " %I:%M %p"),
    (r",? \d{1,2}:\d{2}:\d{2} ?[AaPp][Mm]", " %I:%M:%S %p"),
)
#: Tried where a column is said to hold dates, beside the others.
ASKED = ("%Y%m%d", "%Y-%m", "%Y")
_DIRECTIVES = re.compile(r"(?:%[dmyYbBHIMSpjfT]|%\.f|[ .,:/TZ-])+")
_LONGEST = 40


def check_form(form: str) -> bool:
    """Whether a date can be read by a format that somebody else has written."""
    return not form or (len(form) <= _LONGEST and bool(_DIRECTIVES.fullmatch(form)))


def find_form(values: pl.Series, more: tuple[str, ...] = ()) -> tuple[str, str] | None:
    """Find out how dates are written.

    Parameters
    ----------
    values : polars.Series
        Distinct values of a column of text.
    more : tuple of str, default=()
        Further formats to try.

    Returns
    -------
    form, other : str
        Of the format that reads all values, and of another one that does so too; it is
        empty where there is none. None where the values are no dates.
    """
    # A few values first: most text is no date.
    if not _all_read(values.head(20), ""):
        candidates = [*_candidates(str(values[0])), *more]
        able = [form for form in candidates if _all_read(values, form)]
        return (able[0], able[1] if len(able) > 1 else "") if able else None
    return ("", "") if _all_read(values, "") else None


def commonest_form(values: pl.Series, more: tuple[str, ...] = ()) -> str | None:
    """Return the form in which most of some cells are dates, or None.

    Parameters
    ----------
    values : polars.Series
        Distinct values of a column of text.
    more : tuple of str, default=()
        Further formats to try.

    Returns
    -------
    str or None
        None where no cell is a date.
    """
    sample = values.head(200)
    possible = ["", *more]
    for one in sample.head(20).to_list():
        possible += _candidates(str(one))
    counts = {
        form: read_dates(sample, form).count() for form in dict.fromkeys(possible)
    }
    best = max(counts, key=lambda form: counts[form])
    return best if counts[best] else None


def _candidates(value: str) -> list[str]:
    return [
        day + hour
        for shape, days in _DAYS
        for end, hour in _HOURS
        if re.fullmatch(shape + end, value)
        for day in days
    ]


def _all_read(values: pl.Series, form: str) -> bool:
    return read_dates(values, form).null_count() == 0


def read_dates(column: pl.Series, form: str) -> pl.Series:
    """Read cells of text as dates.

    Parameters
    ----------
    column : polars.Series
        Of text, as `vicinal.app.tables.cells.clean` leaves it.
    form : str
        How they are written; see above.

    Returns
    -------
    polars.Series
        Datetimes in microseconds; null where a cell is not such a date.
    """
    import polars as pl

    text = pl.col("text")
    if form:
        read = [_moment(text.str.replace(", ", " ", literal=True), form)]
        if ", " in form:
            read = [_moment(text, form)]
    else:
        read = [
            *(
                text.str.to_date(one, strict=False).cast(pl.Datetime("us"))
                for one in _ISO_DATES
            ),
            *(_moment(text, one) for one in _ISO_TIMES),
        ]
    parsed = pl.DataFrame({"text": column}).select(pl.coalesce(*read))
    return parsed["text"].rename(column.name)


def _moment(text: pl.Expr, form: str) -> pl.Expr:
    import polars as pl

    if "%Y" in form and not form.startswith("%Y"):
        # A year of two digits is none of the first century.
        text = pl.when(text.str.contains(r"\d{4}")).then(text)
    if re.search(r"%[HITS]", form):
        return text.str.to_datetime(form, strict=False, time_unit="us")
    # A month or a year alone begins with its first day.
    start = "".join(f"-{part}" for part in ("%m", "%d")[_parts(form) - 1 :])
    if start:
        end = {"-%m-%d": "-01-01", "-%d": "-01"}[start]
        text, form = text + end, form + start
    return text.str.to_date(form, strict=False).cast(pl.Datetime("us"))


def _parts(form: str) -> int:
    """How much of a date a format tells: the year, the month, the day."""
    if form == "%Y":
        return 1
    return 2 if form == "%Y-%m" else 3
