"""Whether the first line of a text file names its columns, or is a row like others."""

from __future__ import annotations

from itertools import pairwise

from vicinal.app.tables.cells import MISSING
from vicinal.app.tables.notation import possible_forms

__all__ = ["has_header"]

_YEARS = range(1800, 2200)


def has_header(rows: list[list[str]]) -> bool:
    """Tell names from values.

    Parameters
    ----------
    rows : list of list of str
        The first lines of a file, as many cells in each.

    Returns
    -------
    bool
        False where the first line holds numbers that are no count of columns and no
        years, above numbers; or where most of its cells come again below.

    Examples
    --------
    >>> has_header([["5.1", "setosa"], ["4.9", "setosa"]])
    False
    >>> has_header([["width", "kind"], ["4.9", "setosa"]])
    True
    >>> has_header([["land", "2019", "2020"], ["Chad", "1.5", "2.5"]])
    True
    """
    first, rest = rows[0], rows[1:]
    columns = list(zip(*rest, strict=True)) if rest else [()] * len(first)
    numeric = [bool(cell) and _is_number(cell) for cell in first]
    if any(numeric):
        below = [
            all(map(_is_number, known)) if (known := _known(column)) else None
            for column in columns
        ]
        words = [cell.lower() not in MISSING for cell in first]
        for word, number, all_numbers in zip(words, numeric, below, strict=True):
            if word and not number and all_numbers:
                return True
        numbers = [cell for cell, is_one in zip(first, numeric, strict=True) if is_one]
        return _are_names(numbers) or any(
            n is False and number for n, number in zip(below, numeric, strict=True)
        )
    again = [
        bool(cell) and cell in column
        for cell, column in zip(first, columns, strict=True)
    ]
    return 2 * sum(again) <= len(first) or len(first) < 2


def _known(column: tuple[str, ...]) -> list[str]:
    return [cell for cell in column if cell.lower() not in MISSING]


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return bool(possible_forms([cell]))
    return cell.lower() not in MISSING


def _are_names(cells: list[str]) -> bool:
    """Whether numbers count columns, or are years in their order."""
    if not all(cell.isdecimal() for cell in cells):
        return False
    numbers = [int(cell) for cell in cells]
    first, last = numbers[0], numbers[-1]
    if numbers == list(range(first, first + len(numbers))) and first in (0, 1):
        return True
    rising = all(a < b for a, b in pairwise(numbers))
    return rising and first in _YEARS and last in _YEARS
