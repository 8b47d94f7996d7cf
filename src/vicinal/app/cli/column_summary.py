"""What the command prints of a table: its size, its target, its columns."""

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import typer

from vicinal.app.tables.names import counted, printable

if TYPE_CHECKING:
    from vicinal.app.tables.decisions import Decision
    from vicinal.app.tables.prepared import Prepared

__all__ = ["column_lines", "print_decisions"]

# Of one kind and reason, as many columns as fit into a line.
_NAMED = 6


def print_decisions(prepared: "Prepared") -> None:
    """Print what the table is, and what became of its columns."""
    n, d = prepared.X.shape
    name = printable(prepared.name, None)
    typer.echo(
        f"{name}: {counted(n, 'row')}, {counted(d, 'feature')}, "
        f"{_target_line(prepared)}"
    )
    for line in [*prepared.notes, *column_lines(prepared.decisions)]:
        typer.echo(f"  {printable(line, None)}")


def _target_line(prepared: "Prepared") -> str:
    if prepared.target is None:
        return "no target"
    kinds = {"classification": "classes", "regression": "numbers"}
    return f"target {printable(prepared.target)!r} ({kinds[prepared.task]})"


def column_lines(decisions: Sequence["Decision"]) -> list[str]:
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
