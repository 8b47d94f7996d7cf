"""Names in messages, and the notes and errors about a table."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from datetime import datetime

#: Endings of tables that can be written, and of arrays.
TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".ipc")
ARRAYS = (".npy", ".npz")


def counted(n: int, noun: str) -> str:
    """Return a number with its noun, in the singular or the plural.

    Parameters
    ----------
    n : int
        The number.
    noun : str
        The singular; its plural ends in an s.

    Examples
    --------
    >>> counted(1, "cell"), counted(2000, "cell")
    ('1 cell', '2,000 cells')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def distinct_names(names: list[str]) -> list[str]:
    """Name columns without a name, and number columns that share one.

    Parameters
    ----------
    names : list of str
        The names in the header.

    Returns
    -------
    list of str
        The same number of names, all distinct and none empty.

    Examples
    --------
    >>> distinct_names(["", "a", "a", "a_2"])
    ['Unnamed: 0', 'a', 'a_3', 'a_2']
    """
    taken = set(names)
    seen: set[str] = set()
    result = []
    for index, name in enumerate(names):
        new = name
        if not new or new in seen:
            stem, number = (f"{name}_", 2) if name else ("Unnamed: ", index)
            while (new := f"{stem}{number}") in taken:
                number += 1
            taken.add(new)
        seen.add(new)
        result.append(new)
    return result


def near(name: str, known: list[str]) -> str:
    """Suggest existing names that are similar to one that does not exist.

    Parameters
    ----------
    name : str
        The unknown name.
    known : list of str
        The existing names.

    Returns
    -------
    str
        A clause that begins with a semicolon, or an empty string.

    Examples
    --------
    >>> near("speces", ["species", "width"])
    "; did you mean 'species'?"
    """
    by_lower = {one.lower(): one for one in reversed(known)}
    found = difflib.get_close_matches(name.lower(), list(by_lower), 3, 0.6)
    names = " or ".join(repr(by_lower[one]) for one in found)
    return f"; did you mean {names}?" if names else ""


def check_column(name: str, columns: list[str], table: str = "The table") -> None:
    """Raise TableError if a table has no such column.

    Parameters
    ----------
    name : str
        The column.
    columns : list of str
        The existing names.
    table : str, default="The table"
        Subject of the message.
    """
    if name not in columns:
        shown = ", ".join(columns[:10]) + (", …" if len(columns) > 10 else "")
        hint = uncut_hint(columns) or near(name, columns) or f"; it has {shown}."
        raise TableError(f"{table} has no column {name!r}{hint}")


def uncut_hint(columns: list[str]) -> str:
    """Return a hint if a text file seems to have an unknown delimiter.

    Parameters
    ----------
    columns : list of str
        If the only name contains a sign, that sign may be the delimiter.
    """
    if len(columns) == 1 and re.search(r"[ :^~#/\\\x01]", columns[0]):
        return (
            "; is its delimiter a comma, a semicolon, a tab or a bar? Other delimiters "
            "are not supported."
        )
    return ""


def printable(text: object, limit: int | None = 40) -> str:
    """Return text on one line without control characters.

    Parameters
    ----------
    text : object
        A name or a cell of a file, which may contain terminal escape sequences.
    limit : int or None, default=40
        Maximum number of characters.

    Returns
    -------
    str
        With � for each character that is not printable.

    Examples
    --------
    >>> printable("a name" + chr(27) + "[2J")
    'a name�[2J'
    >>> printable("x" * 99, limit=5)
    'xxxx…'
    """
    shown = str(text)
    if limit is not None and len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return "".join(letter if letter.isprintable() else "�" for letter in shown)


def listed(names: Iterable[str], limit: int = 5, length: int | None = 40) -> str:
    """Return quoted names with commas between them.

    Parameters
    ----------
    names : iterable of str
        All names.
    limit : int, default=5
        Further names are counted.
    length : int or None, default=40
        Maximum number of characters of each name.

    Examples
    --------
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = [repr(printable(name, length)) for name in names]
    more = f" and {len(shown) - limit:,} more" if len(shown) > limit else ""
    return ", ".join(shown[:limit]) + more


class Note(str):
    """A sentence about a table, with the option that changes the decision.

    Attributes
    ----------
    option : str
        Name of a field of `Overrides` or of a parameter of `prepare`; may be empty.
    value : str
        The value to give to that option; may be empty.
    kind : str
        The kind of a hint, such as "leak": see `vicinal.app.tables.hints`.
    column : str
        The column of a hint.
    """

    __slots__ = ("column", "kind", "option", "value")
    option: str
    value: str
    kind: str
    column: str

    def __new__(
        cls,
        text: str,
        option: str = "",
        value: str = "",
        kind: str = "",
        column: str = "",
    ) -> Note:
        """Attach the fields to the text."""
        note = super().__new__(cls, text)
        note.option, note.value, note.kind, note.column = option, value, kind, column
        return note


def doubts(notes: Iterable[str]) -> list[Note]:
    """Return the notes that belong beside a verdict, because they may change it.

    Parameters
    ----------
    notes : iterable of str
        Some are `Note`.
    """
    kinds = ("spoiled", "leak", "density")
    return [one for one in notes if isinstance(one, Note) and one.kind in kinds]


class TableError(ValueError):
    """A table cannot be used as it is.

    Parameters
    ----------
    message : str
        One sentence.
    option : str, default=""
        Name of a field of `Overrides` or of a parameter of `prepare` that helps.
    value : str, default=""
        The value to give to that option.
    """

    def __init__(self, message: str, option: str = "", value: str = "") -> None:
        super().__init__(message)
        self.option, self.value = option, value


class NoTargetError(TableError):
    """No column was named as the target, and none has a usual name.

    Parameters
    ----------
    name : str
        Name of the table.
    likely : list of str
        Columns that may be the target.
    """

    def __init__(self, name: str, likely: list[str]) -> None:
        self.name, self.likely = name, likely
        super().__init__(
            f"{name} has no column called target, label, class or y; name the target "
            f"({listed(likely) or 'no column looks like one'}), or learn densities "
            "without one (target= and task='none' in Python).",
            option="target",
        )


class CellError(TableError):
    """A cell does not have the type of the column that was learned from.

    Parameters
    ----------
    column : str
        Name of the column.
    row : int
        Row in the frame, from 0.
    cell : object
        Content of the cell.
    kind : {"number", "date", "yes/no", "vector"}
        Type of the column.
    form : str, default=""
        Notation of numbers or dates; of vectors, their length.

    Attributes
    ----------
    place : str
        File and line, if known.

    Examples
    --------
    >>> print(CellError("price", 7, "3,5", "number"))
    Column 'price' was learned from numbers like 3.5, but row 7 (from 0) has '3,5'; ...
    """

    def __init__(
        self, column: str, row: int, cell: object, kind: str, form: str = ""
    ) -> None:
        super().__init__(column, kind if kind in ("number", "date") else "", column)
        self.args = (column, row, cell, kind, form)
        self.row, self.place = row, f"row {row} (from 0)"

    def __str__(self) -> str:
        """Name the column, the place and the cell."""
        column, _, cell, kind, form = self.args
        like = "answers like yes and no, or true and false"
        if kind == "number":
            example = {"": "3.5", ".": "1,234.5", ",": "1.234,5"}[form[:1]]
            like = f"numbers like {example} {form[1:]}".rstrip()
        elif kind == "date":
            day = datetime(2024, 12, 31, 18, 30).strftime(form or "%Y-%m-%d")
            like = f"dates like {day}"
        elif kind == "vector":
            like = f"vectors like [0.1, 0.2, …] with {counted(int(form), 'number')}"
        other = ", leave the cell empty, or learn again with such cells as missing"
        return (
            f"Column {printable(column)!r} was learned from {like}, but {self.place} "
            f"has {printable(cell)!r}; write it so{other if self.option else ''}."
        )
