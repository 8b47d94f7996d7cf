"""How the command tells what became of each column."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from vicinal.tables.columns import Decision
    from vicinal.tables.prepared import Prepared

__all__ = ["decisions_told", "print_decisions", "printable"]

# Of one kind and reason, as many columns as fit into a line.
_NAMED = 6


def print_decisions(prepared: "Prepared") -> None:
    """Print what the table is, and what became of its columns."""
    n, d = prepared.X.shape
    typer.echo(f"{prepared.name}: {n:,} rows, {d:,} features, {_target_told(prepared)}")
    for line in [*prepared.notes, *decisions_told(prepared.decisions)]:
        typer.echo(f"  {line}")


def _target_told(prepared: "Prepared") -> str:
    if prepared.target is None:
        return "no target"
    kinds = {"classification": "classes", "regression": "numbers"}
    return f"target {printable(prepared.target)!r} ({kinds[prepared.task]})"


def decisions_told(decisions: Sequence["Decision"]) -> list[str]:
    """Return a line for each kind of column and reason, with the columns' names.

    Parameters
    ----------
    decisions : sequence of Decision
        One for each column. Plain numbers and the target go without saying.

    Returns
    -------
    list of str
        Like ``"constant: a, b (the same value in every row)"``.
    """

    def sort(one: "Decision") -> tuple[str, str]:
        return one.kind, one.reason

    special = [
        one
        for one in decisions
        if one.kind != "target" and (one.kind != "number" or one.reason)
    ]
    lines = []
    for (kind, reason), group in groupby(sorted(special, key=sort), sort):
        names = [printable(one.column) for one in group]
        more = len(names) - _NAMED
        shown = ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{kind}: {shown}" + (f" ({reason})" if reason else ""))
    return lines


def printable(name: str) -> str:
    """Return a name on one line and of bearable length, whatever it holds."""
    line = "".join(letter if letter.isprintable() else "�" for letter in name)
    return line if len(line) <= 40 else line[:39] + "…"
