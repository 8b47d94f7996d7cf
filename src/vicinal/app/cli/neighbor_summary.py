"""What the command prints of neighbours and of predictions."""

from typing import TYPE_CHECKING, Any

import typer

from vicinal.app.tables.names import counted, printable

if TYPE_CHECKING:
    from vicinal.app.models import Neighborhoods, Predicted, SavedModel

__all__ = ["print_neighbors", "print_table", "score_line"]

# A table on a terminal has room for so many rows, and cells for so many letters.
_MOST_ROWS = 200
_LONGEST = 40


def print_neighbors(
    found: "Neighborhoods", model: "SavedModel", called: dict[int, str]
) -> None:
    """Print a row's nearest rows under both metrics, side by side.

    Parameters
    ----------
    found : Neighborhoods
        The rows.
    model : SavedModel
        By which they were found.
    called : dict of int to str
        What rows are called; where that is nothing, they are called by their numbers.
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
        table.add_column(
            Text(f"{printable(name)}: row"), justify="right", overflow="fold"
        )
        if labeled:
            table.add_column(Text(heading))
        table.add_column("distance", justify="right")
    for rank in range(len(found.euclidean.rows)):
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
    n = len(found.euclidean.rows)
    typer.echo(f"= near under both: {len(both)} of {n}")
    if labeled and found.label is not None and model.task == "classification":
        same = [sum(one == found.label for one in side.labels or []) for side in sides]
        typer.echo(
            f"of the row's own class: {same[0]} of {n} Euclidean, "
            f"{same[1]} of {n} {printable(model.method)}"
        )


def print_table(table: Any) -> None:
    """Print a table of neighbours, a line each.

    Parameters
    ----------
    table : polars.DataFrame
        From `vicinal.app.models.neighbor_table`.
    """
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table()
    for name in table.columns:
        number = table[name].dtype.is_numeric()
        # What does not fit goes on in another line.
        side: Any = "right" if number else "left"
        drawn.add_column(Text(printable(name)), justify=side, overflow="fold")
    before = None
    for row in table.head(_MOST_ROWS).iter_rows():
        if before is not None and row[0] != before:
            drawn.add_section()
        before = row[0]
        drawn.add_row(*(Text(_cell(value)) for value in row))
    Console().print(drawn)
    if table.height > _MOST_ROWS:
        typer.echo(
            f"{table.height - _MOST_ROWS:,} more; write them to a file with --output"
        )


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return printable(text, _LONGEST)


def score_line(found: "Predicted", task: str) -> str:
    """Return how good the predictions are, on rows whose target is known.

    Parameters
    ----------
    found : Predicted
        With some of these.
    task : str
        What the target is.
    """
    from sklearn.metrics import accuracy_score, r2_score

    n = len(found.truth)
    known = f"{counted(n, 'row')} whose target is known"
    if task == "classification":
        right = accuracy_score(found.truth, found.predicted)
        return f"accuracy {100 * right:.1f} % on the {known}"
    if n < 2:
        return f"{n} row has a known target: too few to score"
    score = r2_score(found.truth, found.predicted)
    return f"R² {score:.3f} on the {known}"
