"""Which column of a table is the label: the one named, or one that is called so."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from vicinal.app.tables.column_types import kind_of
from vicinal.app.tables.names import near, printable

if TYPE_CHECKING:
    import polars as pl

    from vicinal.app.tables.reading import Table

__all__ = ["UNCUT", "NoTargetError", "choose_target", "likely_targets", "may_be_cut"]

#: Of a table that seems to be cut by something else than what we know.
UNCUT = (
    "is its delimiter a comma, a semicolon, a tab or a bar? Cells that blanks or "
    "other signs delimit are not told apart."
)

_USUAL_NAMES = ("target", "label", "class", "y")
# Parts of names that a label often has.
_LIKELY_WORDS = re.compile(
    r"target|label|class|outcome|response|species|diagnosis|surviv|churn|default|"
    r"price|quality|rating|score|income|salary|sales|cost|value|status|result|"
    r"category|kind|type|grade|fraud|sentiment|^y$|_y$",
    re.IGNORECASE,
)
_SHOWN = 5
# What may delimit cells, beside those signs that do.
_SIGNS = " :^~#/\\\x01"


class NoTargetError(ValueError):
    """No column was named as the target, and none is called like one.

    Parameters
    ----------
    name : str
        The table's.
    likely : list of str
        Columns that may be it.
    method : str, default=""
        What learns from it, and has no use for being told that there is none.
    """

    def __init__(self, name: str, likely: list[str], method: str = "") -> None:
        self.name, self.likely = name, likely
        shown = ", ".join(printable(repr(one)) for one in likely)
        other = "or ask for densities without one with --no-target"
        if method:
            other = f"since {method} needs one, or choose a method that does without"
        python = "target= in Python" if method else "target= and task='none' in Python"
        super().__init__(
            f"{name} has no column called target, label, class or y; name the target "
            f"with --target ({shown or 'none looks like one'}), {other} ({python})."
        )

    def needed_by(self, method: str) -> NoTargetError:
        """Return the error for a method that cannot do without a target."""
        return NoTargetError(self.name, self.likely, method)


def choose_target(table: Table, asked: str | None) -> str | None:
    """Find the label's column.

    Parameters
    ----------
    table : Table
        What was read.
    asked : str or None
        A column's name.

    Returns
    -------
    str or None
        The one asked for; else the one known; else one that is called target,
        label, class or y; else None.

    Raises
    ------
    ValueError
        When there is no such column.
    """
    names = table.frame.columns
    if asked is not None:
        if asked not in names:
            hint = near(asked, names)
            if may_be_cut(table.frame):
                hint = f"; {UNCUT}"
            shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
            raise ValueError(
                f"{table.name} has no column {asked!r}{hint or f'; it has {shown}.'}"
            )
        return asked
    if table.target is not None:
        return table.target
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[x] for x in _USUAL_NAMES if x in by_lower), None)


def may_be_cut(frame: pl.DataFrame) -> bool:
    """Whether each cell of the only column, and its name, has the same odd sign.

    Parameters
    ----------
    frame : polars.DataFrame
        A table.

    Returns
    -------
    bool
        True where a text file seems to have another delimiter than those we know.
    """
    if frame.width != 1:
        return False
    cells = [frame.columns[0], *frame.to_series().cast(str).drop_nulls().head(20)]
    return any(all(sign in cell.strip() for cell in cells) for sign in _SIGNS)


def likely_targets(frame: pl.DataFrame) -> list[str]:
    """Return columns that may be the label, the likeliest first.

    Parameters
    ----------
    frame : polars.DataFrame
        As `vicinal.app.tables.cells.typed` returns it.

    Returns
    -------
    list of str
        At most five: those named like one, then the last, then others; no column of
        one value, no identifier, no date, no free text, no vectors.
    """
    names = frame.columns
    order = sorted(
        range(len(names)),
        key=lambda i: (
            not _LIKELY_WORDS.search(names[i]),
            i != len(names) - 1,
            i != 0,
            i,
        ),
    )
    found: list[str] = []
    for index in order:
        if kind_of(frame.to_series(index)).kind in ("number", "category", "yes/no"):
            found.append(names[index])
        if len(found) == _SHOWN:
            break
    return found
