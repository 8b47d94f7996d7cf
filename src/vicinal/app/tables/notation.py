"""Numbers as people write them: `3,14`, `1,234.50`, `$12.30`, `7 %`.

A *form* says how the cells of one column are read. It is empty for what every program
writes (`-1.5e3`); else it is the decimal sign, followed by the unit that each cell
has: `","`, `"."`, `".$"`, `",€"`, `".%"`. A model keeps it, so that a table that comes
later is read in the same way.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

__all__ = [
    "FORMS",
    "decisive",
    "number_form",
    "grouped_by_points",
    "possible_forms",
    "read_numbers",
]

_CODES = "USD|EUR|GBP|CHF|JPY|CNY|INR|CAD|AUD|SEK|NOK|DKK|PLN|BRL"
_SYMBOLS = "$€£¥₹₽₩₺₪₫฿₴₦₱"
_UNIT = re.compile(rf"[{_SYMBOLS}%]|(?<![A-Za-z])(?:{_CODES})(?![A-Za-z])")
#: What a form looks like.
FORMS = re.compile(rf"(?:[.,](?:[{_SYMBOLS}%]|{_CODES})?)?")
_BLANK = r" \u00a0\u202f'’"
_POINT_GROUPS = re.compile(r"[+-]?\d{1,3}(?:\.\d{3})*")
# Cells that can be read in one way only.
_DECISIVE = {
    ",": re.compile(
        rf"\D*(?:\d{{1,3}}(?:[.{_BLANK}]\d{{3}})+,\d+|\d*,(?:\d{{1,2}}|\d{{4,}})"
        r"|0,\d+|\d{4,},\d+)\D*"
    ),
    ".": re.compile(
        rf"\D*(?:\d{{1,3}}(?:[,{_BLANK}]\d{{3}})+\.\d+|\d*\.(?:\d{{1,2}}|\d{{4,}})"
        r"|0\.\d+|\d{4,}\.\d+|\d{1,3}(?:,\d{3}){2,})\D*"
    ),
}


def _pattern(decimal: str) -> str:
    groups = {".": ",", ",": "."}[decimal] + _BLANK
    whole = rf"(?:\d{{1,3}}(?:[{groups}]\d{{3}})+|\d+)"
    sign = re.escape(decimal)
    return rf"^[+-]?(?:{whole}(?:{sign}\d*)?|{sign}\d+)(?:[eE][+-]?\d+)?$"


_PATTERNS = {decimal: re.compile(_pattern(decimal)) for decimal in ".,"}


def possible_forms(cells: Iterable[str]) -> list[str]:
    """Return the forms in which all of some cells are numbers.

    Parameters
    ----------
    cells : iterable of str
        Some values of one column, without blanks around them.

    Returns
    -------
    list of str
        None, one, or two that differ in the decimal sign.

    Examples
    --------
    >>> possible_forms(["$1,234.50", "-$7"]), possible_forms(["3,14", "2"])
    (['.$'], [','])
    >>> possible_forms(["1,234"]), possible_forms(["red"])
    ([',', '.'], [])
    """
    units = set()
    bare = []
    for cell in cells:
        found = _UNIT.search(cell)
        units.add(found[0] if found else "")
        if len(units) > 1:
            return []
        text = cell.replace("−", "-")
        if found:
            text = text.replace(found[0], "", 1)
        text = text.strip().replace("- ", "-")
        if text.startswith("(") and text.endswith(")"):
            text = "-" + text[1:-1].strip()
        bare.append(text)
    unit = "".join(units)
    return [
        decimal + unit
        for decimal in ",."
        if bare and all(_PATTERNS[decimal].match(one) for one in bare)
    ]


def decisive(cells: Iterable[str]) -> str:
    """Return the decimal sign that some numbers show, or nothing where none does.

    Parameters
    ----------
    cells : iterable of str
        Some values of one column.

    Returns
    -------
    str
        ``","``, ``"."`` or ``""``: in ``1,234`` it cannot be seen.
    """
    texts = list(cells)
    for decimal, pattern in _DECISIVE.items():
        if any(pattern.fullmatch(one) for one in texts):
            return decimal
    return ""


def number_form(
    cells: Iterable[str], sign: str = ".", decimal: str | None = None
) -> tuple[str, bool] | None:
    """Choose the form that reads most of some cells as numbers.

    Parameters
    ----------
    cells : iterable of str
        Distinct cells of one column; some may be no numbers.
    sign : {",", "."}, default="."
        Decimal sign of cells like ``1,234`` if no other cell tells.
    decimal : {",", "."}, default=None
        Decimal sign that the user has stated; it precedes all other evidence.

    Returns
    -------
    form : str
        The form, empty for plain numbers.
    is_sure : bool
        Whether the cells or `decimal` determine the decimal sign.

    Examples
    --------
    >>> number_form(["2,793", "n/a"], sign=","), number_form(["red"])
    ((',', False), None)
    """
    readable = {one: found for one in cells if (found := possible_forms([one]))}
    counts = Counter(form for forms in readable.values() for form in forms)
    plain = sum(map(_is_plain, cells))
    if not counts:
        return ("", True) if plain else None
    most = max(counts.values())
    stated = [form for form in counts if form[0] == decimal]
    if any(2 * counts[form] >= most for form in stated):
        counts = Counter({form: counts[form] for form in stated})
    shown = decimal or decisive(readable)
    form = max(counts, key=lambda one: (counts[one], one[0] == (shown or sign)))
    if counts[form] <= plain:
        grouped = (shown or sign) == "," and grouped_by_points(readable)
        return ("," if grouped else ""), True
    other = {".": ",", ",": "."}[form[0]] + form[1:]
    return form, bool(shown) or counts[other] < counts[form]


def _is_plain(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def grouped_by_points(cells: Iterable[str]) -> bool:
    """Whether points may stand between thousands, as in ``12.500``."""
    texts = list(cells)
    return any("." in one for one in texts) and all(
        _POINT_GROUPS.fullmatch(one) for one in texts
    )


def read_numbers(text: pl.Expr, form: str) -> pl.Expr:
    """Read cells of text as numbers.

    Parameters
    ----------
    text : polars.Expr
        Of a column of text, as `vicinal.app.tables.cells.clean` leaves it.
    form : str
        How they are written; see above.

    Returns
    -------
    polars.Expr
        Float64; null where a cell is not a number that is written so.
    """
    import polars as pl

    if not form:
        return text.cast(pl.Float64, strict=False)
    decimal, unit = form[0], form[1:]
    bare = text.str.replace_all("−", "-", literal=True)
    if unit:
        bare = pl.when(bare.str.contains(unit, literal=True)).then(
            bare.str.replace(unit, "", literal=True)
        )
    bare = bare.str.strip_chars().str.replace("- ", "-", literal=True)
    bare = bare.str.replace(r"^\(\s*(.*?)\s*\)$", "-$1")
    groups = {".": ",", ",": "."}[decimal] + _BLANK
    plain = bare.str.replace_all(f"[{groups}]", "")
    if decimal == ",":
        plain = plain.str.replace(",", ".", literal=True)
    return (
        pl.when(bare.str.contains(_pattern(decimal)))
        .then(plain)
        .cast(pl.Float64, strict=False)
    )
