"""Options that are more than a word or a number: times, shapes, threads, columns."""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.app.tables.names import near, printable

if TYPE_CHECKING:
    from vicinal.app.tables.overrides import Overrides
    from vicinal.app.tables.target_choice import NoTargetError

__all__ = [
    "Categorical",
    "Data",
    "Date",
    "Decimal",
    "Drop",
    "Keep",
    "KeepAll",
    "Model",
    "Neighbors",
    "Number",
    "ask_for_target",
    "check_task",
    "overrides_of",
    "seconds_of",
    "shape_of",
    "threads_of",
]

Data = Annotated[
    str,
    typer.Argument(
        help="A CSV, TSV, JSON, Excel, Parquet, Arrow, npy or npz file, or the name of "
        "a data set (see `vicinal datasets`).",
        show_default=False,
    ),
]
Model = Annotated[
    Path,
    typer.Argument(help="A file that `vicinal fit` wrote.", show_default=False),
]
AnyModel = Annotated[
    Path,
    typer.Argument(
        help="A file that `vicinal fit` or `vicinal adapt` wrote.", show_default=False
    ),
]
Neighbors = Annotated[
    int, typer.Option("-k", "--neighbors", help="How many neighbours.")
]
Keep = Annotated[
    list[str] | None, typer.Option(help="A column to keep; may be repeated.")
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="Keep every column.")]
_COLUMNS = "Columns"
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        help="A column to leave out; may be repeated, as all of these.",
        rich_help_panel=_COLUMNS,
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        "--categorical",
        help="A column of names, even if they look like numbers.",
        rich_help_panel=_COLUMNS,
    ),
]
Number = Annotated[
    list[str] | None,
    typer.Option(
        "--number",
        help="A column of numbers; other cells are missing.",
        rich_help_panel=_COLUMNS,
    ),
]
Date = Annotated[
    list[str] | None,
    typer.Option(
        "--date",
        help="A column of dates, like day or day=%d/%m/%Y; other cells are missing.",
        rich_help_panel=_COLUMNS,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        help="What stands before a fraction in text, a comma or a point.",
        rich_help_panel=_COLUMNS,
    ),
]

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float | None:
    """Read a span of time, like ``60s``; None for no limit.

    Raises
    ------
    ValueError
        When it cannot be read, or is not positive.
    """
    if text.strip().lower() == "none":
        return None
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in _UNITS or not float(found[1]):
        raise ValueError(f"--time-budget {text!r} is no time; write it like 60s or 5m.")
    return float(found[1]) * _UNITS[found[2]]


def shape_of(text: str) -> tuple[int, int]:
    """Read the height and width of an image, like ``28x28``.

    Raises
    ------
    ValueError
        When it cannot be read.
    """
    found = re.fullmatch(r"([1-9]\d{0,4})[x×,]([1-9]\d{0,4})", text.strip().lower())
    if found is None:
        raise ValueError(f"--image-shape {text!r} is no shape; write it like 28x28.")
    return int(found[1]), int(found[2])


def threads_of(jobs: int | None) -> int | None:
    """Return how many threads to use: as many as asked for, but no more than cores.

    Results are the same for any number.

    Raises
    ------
    ValueError
        When the number makes no sense.
    """
    if jobs is None or jobs == -1:
        return jobs
    if jobs < 1:
        raise ValueError(
            f"--jobs is 1 or more threads, or -1 for all cores; not {jobs}."
        )
    return min(jobs, os.cpu_count() or 1)


def check_task(task: str | None) -> None:
    """Raise ValueError where a task is asked for that there is not."""
    if task not in (None, "classification", "regression"):
        raise ValueError(f"--task is classification or regression, not {task!r}.")


def overrides_of(
    drop: list[str] | None,
    categorical: list[str] | None,
    number: list[str] | None,
    date: list[str] | None,
    decimal: str | None,
) -> "Overrides":
    """Join what a person said of columns."""
    from vicinal.app.tables.overrides import Overrides

    return Overrides.of(
        drop=drop, categorical=categorical, number=number, date=date, decimal=decimal
    )


def ask_for_target(
    error: "NoTargetError", columns: list[str], method: str | None = None
) -> str | None:
    """Ask a person for the target; raise the error where nobody sits there.

    Parameters
    ----------
    error : NoTargetError
        Holds the likely ones.
    columns : list of str
        All there are.
    method : str, default=None
        What cannot learn without a target.

    Returns
    -------
    str or None
        A column's name; None to go on without a target.
    """
    # A process may be started without either.
    streams = (sys.stdin, sys.stderr)
    if not all(one is not None and one.isatty() for one in streams):
        raise error if method is None else error.needed_by(method)
    shown = ", ".join(map(printable, error.likely)) or "none looks like one"
    typer.echo(f"Which column is the target? Perhaps: {shown}", err=True)
    while True:
        answer = typer.prompt(
            "Its name" if method else "Its name, or none to go on without",
            default=(*error.likely, None if method else "none")[0],
            err=True,
        ).strip()
        if answer in columns:
            return str(answer)
        if answer.lower() == "none" and method is None:
            return None
        hint = near(answer, columns) or f"; there are {', '.join(columns[:10])}"
        typer.echo(printable(f"There is no column {answer!r}{hint}", None), err=True)
