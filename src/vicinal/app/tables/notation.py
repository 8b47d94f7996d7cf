"""Numbers, dates and vectors as text.

A *form* says how the cells of one column are read. A model stores it, so that later
tables are read in the same way.

- Numbers (`3,14`, `1,234.50`, `$12.30`, `7 %`): empty for the notation that every
  program writes (`-1.5e3`); else the decimal sign, followed by the unit of each cell:
  `","`, `"."`, `".$"`, `",€"`, `".%"`. With a k at the end (`".k"`, `",€k"`), cells
  may be in thousands, millions or billions (`12.5k`, `3,2M €`).
- Dates: empty for ISO 8601, else a format of `datetime.strptime`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from vicinal.app.tables._polars import pl
from vicinal.app.tables.names import printable

#: Text for a missing value, in lower case.
MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", "#n/a", "<na>")

_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
_SYMBOLS = "$€£¥₹₽₩₺₪₫฿₴₦₱"
_UNIT = re.compile(rf"[{_SYMBOLS}%]|(?<![A-Za-z])(?:{_CODES})(?![A-Za-z])")
#: Forms of numbers that a file may state.
NUMBER_FORM = re.compile(rf"(?:[.,](?:[{_SYMBOLS}%]|{_CODES})?k?)?")
# The end of a number in thousands, millions or billions.
_SCALED = r"(\d)\s?([kKmMbB])([^A-Za-z0-9]*)$"
_SCALES = {"k": 1e3, "m": 1e6, "b": 1e9}
_BLANK = r" \u00a0\u202f'’"
_GROUPS = {".": f",{_BLANK}", ",": f".{_BLANK}"}
_POINT_GROUPS = re.compile(r"[+-]?(?:[1-9]\d{0,2}(?:\.\d{3})+|\d{1,3})")
_PATTERNS = {
    sign: re.compile(
        rf"^[+-]?(?:(?:[1-9]\d{{0,2}}(?:[{groups}]\d{{3}})+|\d+)(?:[{sign}]\d*)?"
        rf"|[{sign}]\d+)(?:[eE][+-]?\d+)?$"
    )
    for sign, groups in _GROUPS.items()
}


def possible_forms(cell: str) -> list[str]:
    """Return the forms in which a cell is a number.

    Parameters
    ----------
    cell : str
        A cell without surrounding blanks.

    Returns
    -------
    list of str
        No form, one, or two that differ in the decimal sign.

    Examples
    --------
    >>> possible_forms("-$1,234.50"), possible_forms("3,14"), possible_forms("red")
    (['.$'], [','], [])
    >>> possible_forms("1,234")
    [',', '.']
    """
    found = _UNIT.search(cell)
    unit = found[0] if found else ""
    text = cell.replace("−", "-").replace(unit, "", 1).strip().replace("- ", "-")
    if text.startswith("(") and text.endswith(")"):
        text = "-" + text[1:-1].strip()
    return [sign + unit for sign in ",." if _PATTERNS[sign].match(text)]


def is_number(cell: str) -> bool:
    """Whether a cell is a number in some form; text for missing values is not."""
    return bool(_is_plain(cell) or possible_forms(cell)) and cell.lower() not in MISSING


def _is_plain(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


class NumberForm(NamedTuple):
    """The form of most cells of a column.

    Attributes
    ----------
    form : str
        The form; empty for plain numbers.
    sign : str
        The decimal sign that the cells determine, or an empty string.
    n_read : int
        Number of cells that can be read.
    is_sure : bool
        Whether the meaning of all commas is known.
    """

    form: str
    sign: str
    n_read: int
    is_sure: bool


def number_form(
    cells: Collection[str], sign: str = ".", decimal: str | None = None
) -> NumberForm | None:
    """Choose the form that reads most cells as numbers.

    Parameters
    ----------
    cells : collection of str
        Distinct cells of one column; some may not be numbers.
    sign : {",", "."}, default="."
        Decimal sign of cells like ``1,234`` if the other cells do not determine it.
    decimal : {",", "."}, default=None
        Decimal sign stated by the user. It precedes the evidence if it reads at least
        half as many cells.

    Returns
    -------
    NumberForm or None
        None if no cell is a number.

    Examples
    --------
    >>> number_form(["2,793", "n/a"], sign=",")
    NumberForm(form=',', sign='', n_read=1, is_sure=False)
    """
    bare = [re.sub(_SCALED, r"\1\3", one) for one in cells]
    both = zip(cells, bare, strict=True)
    scaled = [one for one, rest in both if rest != one and is_number(rest)]
    units = {re.findall(_SCALED, one)[0][1].lower() for one in scaled}
    # 12b alone may be the number of a house, and 38M a size.
    if "k" in units or len(units) > 1 or any(re.search("[.,]", x) for x in scaled):
        found = number_form(bare, sign, decimal) or NumberForm("", "", 0, True)
        return found._replace(form=(found.form or ".") + "k")
    readable = {one: forms for one in cells if (forms := possible_forms(one))}
    counts = Counter(form for forms in readable.values() for form in forms)
    plain = sum(map(_is_plain, cells))
    if not counts:
        return NumberForm("", "", plain, True) if plain else None
    stated = {form: n for form, n in counts.items() if form[0] == decimal}
    if any(2 * n >= max(counts.values()) for n in stated.values()):
        counts = Counter(stated)
    # A cell determines the sign if it is a number with one sign only.
    signs = {forms[0][0] for forms in readable.values() if len(forms) == 1}
    shown = next((one for one in ",." if one in signs), "")
    likely = decimal or shown or sign
    form = max(counts, key=lambda one: (counts[one], one[0] == likely))
    if counts[form] <= plain:
        # With decimal commas, 12.500 is twelve thousand and five hundred.
        grouped = any("." in one for one in readable)
        grouped &= all(map(_POINT_GROUPS.fullmatch, readable))
        form = "," if grouped and likely == "," else ""
        return NumberForm(form, shown, plain, not form or bool(decimal or shown))
    is_sure = bool(decimal or shown) or not any("," in one for one in readable)
    return NumberForm(form, shown, counts[form], is_sure)


def read_numbers(text: pl.Expr, form: str) -> pl.Expr:
    """Read text as numbers.

    Parameters
    ----------
    text : polars.Expr
        A column of text, cleaned by `vicinal.app.tables.cells.clean`.
    form : str
        Notation of the numbers.

    Returns
    -------
    polars.Expr
        Float64; null if a cell is not a number of that form.
    """
    if not form:
        return text.cast(pl.Float64, strict=False)
    if form.endswith("k"):
        scale = text.str.extract(_SCALED, 2).str.to_lowercase()
        factor = scale.replace_strict(_SCALES, default=1.0, return_dtype=pl.Float64)
        return read_numbers(text.str.replace(_SCALED, "${1}${3}"), form[:-1]) * factor
    sign, unit = form[0], form[1:]
    bare = text.str.replace_all("−", "-", literal=True)
    if unit:
        bare = pl.when(bare.str.contains(unit, literal=True)).then(
            bare.str.replace(unit, "", literal=True)
        )
    bare = bare.str.strip_chars().str.replace("- ", "-", literal=True)
    bare = bare.str.replace(r"^\(\s*(.*?)\s*\)$", "-$1")
    plain = bare.str.replace_all(f"[{_GROUPS[sign]}]", "")
    if sign == ",":
        plain = plain.str.replace(",", ".", literal=True)
    is_number = bare.str.contains(_PATTERNS[sign].pattern)
    return pl.when(is_number).then(plain).cast(pl.Float64, strict=False)


_ISO_DATES = ("%Y-%m-%d", "%Y/%m/%d")
_ISO_TIMES = (
    "%Y-%m-%d %H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.f",
    "%Y-%m-%dT%H:%M:%S%.fZ",
    "%Y-%m-%d %H:%M",
    "%Y-%m-%dT%H:%M",
)
# Patterns of dates, and their formats; the first of two formats is more common.
# %B reads the name of a month and its first three letters.
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
#: Formats that are tried only if the user says that a column holds dates.
RARE_DATES = ("%Y%m%d", "%Y-%m", "%Y")


def date_forms(values: pl.Series, more: tuple[str, ...] = ()) -> list[str]:
    """Return the forms in which all values are dates, the most common form first.

    Parameters
    ----------
    values : polars.Series
        Distinct values of a column of text.
    more : tuple of str, default=()
        Further formats to try.
    """
    # A few values first: most text is not a date.
    forms = [*_forms_like(str(values[0])), *more]
    if not read_dates(values.head(20), "").null_count():
        forms = [""]
    return [form for form in forms if not read_dates(values, form).null_count()]


def common_date_form(values: pl.Series, more: tuple[str, ...] = ()) -> str | None:
    """Return the form in which most values are dates; None if there are no dates.

    Parameters
    ----------
    values : polars.Series
        Distinct values of a column of text.
    more : tuple of str, default=()
        Further formats to try.
    """
    sample = values.head(200)
    possible = ["", *more]
    for one in sample.head(20).to_list():
        possible += _forms_like(str(one))
    counts = {form: read_dates(sample, form).count() for form in possible}
    best = max(counts, key=lambda form: counts[form])
    return best if counts[best] else None


def _forms_like(value: str) -> list[str]:
    return [
        day + hour
        for shape, days in _DAYS
        for end, hour in _HOURS
        if re.fullmatch(shape + end, value)
        for day in days
    ]


def read_dates(column: pl.Series, form: str) -> pl.Series:
    """Read text as dates.

    Parameters
    ----------
    column : polars.Series
        Text, cleaned by `vicinal.app.tables.cells.clean`.
    form : str
        Notation of the dates.

    Returns
    -------
    polars.Series
        Datetimes in microseconds; null if a cell is not a date of that form.
    """
    text = pl.col("text")
    if form:
        comma = text if ", " in form else text.str.replace(", ", " ", literal=True)
        read = [_parse_date(comma, form)]
    else:
        read = [_parse_date(text, one) for one in (*_ISO_DATES, *_ISO_TIMES)]
    parsed = pl.DataFrame({"text": column}).select(pl.coalesce(*read))
    return parsed["text"].rename(column.name)


def _parse_date(text: pl.Expr, form: str) -> pl.Expr:
    if "%Y" in form and not form.startswith("%Y"):
        # A year of two digits is not in the first century.
        text = pl.when(text.str.contains(r"\d{4}")).then(text)
    if re.search(r"%[HITS]", form):
        return text.str.to_datetime(form, strict=False, time_unit="us")
    # A year or a month alone stands for its first day.
    if form == "%Y":
        text, form = text + "-01-01", "%Y-%m-%d"
    elif form == "%Y-%m":
        text, form = text + "-01", "%Y-%m-%d"
    return text.str.to_date(form, strict=False).cast(pl.Datetime("us"))


def looks_like_vectors(cells: Collection[str]) -> bool:
    """Whether all cells are in brackets."""
    return bool(cells) and all(
        one.startswith("[") and one.endswith("]") for one in cells
    )


def read_vectors(column: pl.Series) -> pl.Series:
    """Read cells like ``[0.1, 0.2]`` or ``[0.1 0.2]`` as lists of numbers.

    Parameters
    ----------
    column : polars.Series
        Text, cleaned by `vicinal.app.tables.cells.clean`.

    Returns
    -------
    polars.Series
        Lists of float64; null if a cell is not a list of numbers.

    Examples
    --------
    >>> import polars as pl
    >>> read_vectors(pl.Series(["[1, 2.5]", "[ 1. 2e-3]", "[1, red]"])).to_list()
    [[1.0, 2.5], [1.0, 0.002], None]
    """
    text = pl.col("text")
    bare = text.str.strip_chars("[] \t\r\n").str.replace_all(r"[\s,;]+", ",")
    numbers = bare.str.split(",").list.eval(pl.element().cast(pl.Float64, strict=False))
    gaps = numbers.list.eval(pl.element().is_null()).list.any()
    whole = text.str.contains(r"(?s)^\[.*\]$") & ~gaps
    read = pl.DataFrame({"text": column}).select(pl.when(whole).then(numbers))
    return read.to_series().rename(column.name)


def why_no_vectors(present: pl.Series) -> str:
    """Explain why cells that look like vectors are not vectors of one length.

    Parameters
    ----------
    present : polars.Series
        Cells of a column of text that are not missing.

    Returns
    -------
    str
        Empty if the cells look different.
    """
    if not looks_like_vectors(present.head(20).to_list()):
        return ""
    read = read_vectors(present)
    wrong = present.filter(read.is_null())
    if len(wrong):
        return (
            f"like lists of numbers, but {printable(wrong[0])!r} is not one; write all "
            "numbers, or use Parquet or JSON"
        )
    lengths = sorted(read.list.len().unique().to_list())
    return f"lists of {lengths[0]:,} to {lengths[-1]:,} numbers, not vectors"
