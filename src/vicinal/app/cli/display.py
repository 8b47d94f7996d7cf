"""Output of the command: errors, progress, columns of a table and neighbours."""

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

import typer

from vicinal.app.tables.names import Note, TableError, counted, printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal.app.models import Neighborhoods, Predicted, SavedModel
    from vicinal.app.tables.columns import Decision
    from vicinal.app.tables.prepared import Prepared


def with_option(message: object) -> str:
    """Return the text of a note or an error, with the option that it suggests.

    Parameters
    ----------
    message : object
        A `Note`, a `TableError`, or anything that has a text.

    Examples
    --------
    >>> with_option(Note("1,234 is 1234; if not, state it", "decimal", ","))
    '1,234 is 1234; if not, state it (--decimal ,)'
    """
    text = str(message)
    if not isinstance(message, Note | TableError) or not message.option:
        return text
    value = shlex.quote(printable(message.value, None)) if message.value else ""
    end = "." if text.endswith(".") else ""
    return f"{text.removesuffix('.')} ({f'--{message.option} {value}'.rstrip()}){end}"


@contextmanager
def report_errors() -> Iterator[None]:
    """Print errors that the user can act on in one line, and exit with code 2."""
    try:
        yield
    except (ValueError, OSError, MemoryError) as error:
        # The first line: scikit-learn adds advice for programmers.
        first = with_option(error).strip().partition("\n")[0] or type(error).__name__
        if isinstance(error, MemoryError):
            first = f"not enough memory ({first}). Give fewer rows or columns."
        # It may contain the text of a file.
        typer.echo(f"vicinal: {printable(first, None)}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("vicinal: interrupted; nothing was written.", err=True)
        raise typer.Exit(130) from None


@contextmanager
def warnings_printed(prepared: "Prepared | None" = None) -> Iterator[None]:
    """Print each warning in a line after the work, with the names of the table."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    lines = tuple(dict.fromkeys(" ".join(str(one.message).split()) for one in caught))
    if prepared is not None and caught:
        from vicinal.app.comparison.data import encode_target
        from vicinal.app.comparison.runs import merge_warnings

        _, _, classes = encode_target(prepared.y, prepared.task)
        lines = merge_warnings(caught, classes, prepared.feature_names)
    for line in lines:
        typer.echo(f"note: {printable(line, None)}", err=True)


@contextmanager
def progress_bar() -> Iterator["Callable[[int, int, str], None]"]:
    """Show the progress of the work and the remaining time.

    Yields
    ------
    callable
        Call it with the completed steps, all steps, and a description.
    """
    with _progress("{task.completed:.0f}/{task.total:.0f}") as progress:
        task = progress.add_task("starting", total=1)

        def show(done: int, total: int, what: str) -> None:
            progress.update(task, completed=done, total=total, description=what)

        yield show


@contextmanager
def waiting(what: str) -> Iterator["Callable[[str], None]"]:
    """Show a description of the work and the elapsed time.

    Parameters
    ----------
    what : str
        Description.

    Yields
    ------
    callable
        Call it with a new description.
    """
    with _progress() as progress:
        task = progress.add_task(what, total=None)
        yield lambda now: progress.update(task, description=now)


def _progress(*counts: str) -> Any:
    from rich import progress
    from rich.console import Console

    # On standard error, so that standard output can be redirected to a file.
    console = Console(stderr=True)
    console.quiet = not console.is_terminal  # rich < 14.3 ends with an empty line
    texts = [progress.TextColumn(one, markup=False) for one in counts]
    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        *([progress.BarColumn(), *texts] if counts else []),
        progress.TimeElapsedColumn(),
        *([progress.TimeRemainingColumn()] if counts else []),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def print_decisions(prepared: "Prepared") -> None:
    """Print the size of the table, its target and the decisions about its columns."""
    n, d = prepared.X.shape
    name = printable(prepared.name, None)
    target = "no target"
    if prepared.target is not None:
        kind = {"classification": "classes", "regression": "numbers"}[prepared.task]
        target = f"target {printable(prepared.target)!r} ({kind})"
    typer.echo(f"{name}: {counted(n, 'row')}, {counted(d, 'feature')}, {target}")
    notes = map(with_option, prepared.notes)
    for line in [*notes, *column_lines(prepared.decisions)]:
        typer.echo(f"  {printable(line, None)}")


def column_lines(decisions: Sequence["Decision"], limit: int = 6) -> list[str]:
    """Return a line for each kind of column and reason, with the columns' names.

    Parameters
    ----------
    decisions : sequence of Decision
        One for each column. Plain numbers and the target are not listed.
    limit : int, default=6
        Maximum number of names in a line.

    Returns
    -------
    list of str
        Like ``"constant: a, b (the same value in every row)"``.
    """

    def reason(one: "Decision") -> tuple[str, str]:
        said = one.reason
        if one.option:
            use = (
                "states the format" if one.kind == "date" else "takes these as missing"
            )
            said += f": --{one.option} {printable(one.column)!r} {use}"
        return one.kind, said

    special = [
        one
        for one in decisions
        if one.kind != "target" and (one.kind != "number" or one.reason)
    ]
    lines = []
    for (kind, said), group in groupby(sorted(special, key=reason), reason):
        names = [printable(one.column) for one in group]
        more = len(names) - limit
        shown = ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"{kind}: {shown}" + (f" ({said})" if said else ""))
    return lines


def print_neighbors(
    found: "Neighborhoods", model: "SavedModel", called: dict[int, str]
) -> None:
    """Print the nearest rows of a row under both metrics, side by side.

    Parameters
    ----------
    found : Neighborhoods
        The rows.
    model : SavedModel
        The learned metric.
    called : dict of int to str
        Names of rows; others are called by their numbers.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sides = (found.euclidean, found.learned)
    both = set(found.euclidean.rows.tolist()) & set(found.learned.rows.tolist())
    labeled = all(side.labels is not None for side in sides)
    heading = "" if model.target is None else printable(model.target)
    title = f"nearest to row {printable(called.get(found.query) or found.query, None)}"
    if found.label is not None:
        title += f" ({heading}: {printable(found.label)})"
    table = Table(title=Text(title))
    table.add_column("", justify="right")
    for name in ("Euclidean", model.method):
        row_heading = Text(f"{printable(name)}: row")
        table.add_column(row_heading, justify="right", overflow="fold")
        if labeled:
            table.add_column(Text(heading))
        table.add_column("distance", justify="right")
    n = len(found.euclidean.rows)
    for rank in range(n):
        cells: list[Any] = [str(rank + 1)]
        for side in sides:
            row = int(side.rows[rank])
            shown = printable(called.get(row) or row, None)
            cells.append(Text(f"= {shown}" if row in both else shown))
            if side.labels is not None and labeled:
                cells.append(Text(printable(side.labels[rank])))
            cells.append(f"{side.distances[rank]:.4g}")
        table.add_row(*cells)
    Console().print(table)
    typer.echo(f"= near under both: {len(both)} of {n}")
    if labeled and found.label is not None and model.task == "classification":
        same = [sum(one == found.label for one in side.labels or []) for side in sides]
        typer.echo(
            f"of the row's own class: {same[0]} of {n} Euclidean, "
            f"{same[1]} of {n} {printable(model.method)}"
        )


def print_shares(
    rows: list[str], columns: list[str], shares: Any, most: int = 4
) -> None:
    """Print which columns make up the distances of neighbours.

    Parameters
    ----------
    rows : list of str
        Names of the neighbours.
    columns : list of str
        Names of the columns.
    shares : ndarray of shape (n_rows, n_columns)
        From `vicinal.app.models.column_shares`.
    most : int, default=4
        Number of columns to name for each; those with the largest shares.
    """
    for row, own in zip(rows, shares, strict=True):
        total = own.sum()
        order = sorted(range(len(own)), key=lambda c: -abs(own[c]))[:most]
        parts = [
            f"{printable(columns[c])} {100 * own[c] / total:.0f} %"
            for c in order
            if total > 0 and abs(own[c]) > 0.005 * total
        ]
        typer.echo(f"distance of row {row}: {', '.join(parts) or 'none'}")


def print_table(table: Any, limit: int = 200) -> None:
    """Print a table of neighbours, a line for each.

    Parameters
    ----------
    table : polars.DataFrame
        From `vicinal.app.models.neighbor_table`.
    limit : int, default=200
        Maximum number of lines.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table()
    for column in table.iter_columns():
        side: Any = "right" if column.dtype.is_numeric() else "left"
        drawn.add_column(Text(printable(column.name)), justify=side, overflow="fold")
    before = None
    for row in table.head(limit).iter_rows():
        if before is not None and row[0] != before:
            drawn.add_section()
        before = row[0]
        texts = (f"{x:.4g}" if isinstance(x, float) else x for x in row)
        drawn.add_row(*(Text("" if x is None else printable(x)) for x in texts))
    Console().print(drawn)
    if table.height > limit:
        typer.echo(f"{table.height - limit:,} more; write them to a file with --output")


def score_line(found: "Predicted", task: str) -> str:
    """Return the score of predictions on rows whose target is known.

    Parameters
    ----------
    found : Predicted
        With some of these rows.
    task : str
        "classification" or "regression".
    """
    import numpy as np

    from vicinal.app.methods.scores import SCORES, choose_score

    n = len(found.truth)
    known = f"{counted(n, 'row')} whose target is known"
    if task == "classification":
        both = np.array([found.truth, found.predicted])
        names, codes = np.unique(both, return_inverse=True)
        truth, predicted = codes.reshape(both.shape)
        chosen = "accuracy"
        if len(names) > 1:
            chosen, _ = choose_score("auto", task, truth, tuple(names.tolist()))
        shown = [
            f"{name.replace('-', ' ')} {one.written(one.of(truth, predicted))} %"
            for name in dict.fromkeys((chosen, "accuracy"))
            for one in [SCORES[name]]
        ]
        return f"{', '.join(shown)} on the {known}"
    if n < 2:
        return f"{n} row has a known target: too few to score"
    score = SCORES["r2"].of(np.array(found.truth), np.array(found.predicted))
    return f"R² {score:.3f} on the {known}"
