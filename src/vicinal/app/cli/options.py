"""Options of the commands, and checks of their values before any work is done."""

import os
import re
import sys
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vicinal._files import check_writable, is_same_file
from vicinal.app.tables.names import ARRAYS, TABLES, listed, near, printable

if TYPE_CHECKING:
    from vicinal.app.tables.inputs import Overrides
    from vicinal.app.tables.names import NoTargetError


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
    int, typer.Option("-k", "--neighbors", min=1, help="Number of neighbours.")
]
Vote = Annotated[
    str,
    typer.Option(
        "-k",
        "--neighbors",
        help="The number of neighbours that predict a row; auto chooses it and their "
        "weights on the training rows.",
    ),
]
Score = Annotated[
    str,
    typer.Option(
        help="accuracy, balanced-accuracy, roc-auc, log-loss or, for two classes, "
        "average-precision; auto is accuracy, or the second if one class has most of "
        "the rows and four times as many as the others have on average."
    ),
]
Keep = Annotated[
    list[str] | None, typer.Option(help="A column to keep; may be repeated.")
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="Keep every column.")]


def _columns_option(flag: str, text: str) -> Any:
    return typer.Option(flag, help=text, rich_help_panel="Columns")


Drop = Annotated[
    list[str] | None,
    _columns_option(
        "--drop", "A column to leave out; may be repeated, as all of these."
    ),
]
Categorical = Annotated[
    list[str] | None,
    _columns_option(
        "--categorical", "A column of names, even if they look like numbers."
    ),
]
Number = Annotated[
    list[str] | None,
    _columns_option("--number", "A column of numbers; other cells are missing."),
]
Date = Annotated[
    list[str] | None,
    _columns_option(
        "--date",
        "A column of dates, like day or day=%d/%m/%Y; other cells are missing.",
    ),
]
Decimal = Annotated[
    str | None,
    _columns_option(
        "--decimal", "The decimal sign of numbers in text, a comma or a point."
    ),
]
Target = Annotated[
    str | None,
    typer.Option(help="The label's column; by default target, label, class or y."),
]
NoTarget = Annotated[bool, typer.Option("--no-target", help="Learn without a label.")]
Task = Annotated[
    Literal["classification", "regression"] | None,
    typer.Option(help="The kind of target; default: by its values."),
]
Components = Annotated[
    int | None,
    typer.Option(min=1, help="Number of dimensions, for methods that reduce."),
]
Seed = Annotated[int, typer.Option(help="Seed of the random numbers.")]
ModelOutput = Annotated[
    Path, typer.Option("--output", "-o", help="File to write: model.safetensors.")
]
VectorDrop = Annotated[
    list[str] | None,
    typer.Option("--drop", help="For an adapter: a column outside the vectors."),
]
Jobs = Annotated[int | None, typer.Option(help="Number of threads; -1 for all cores.")]


def seconds_of(text: str) -> float | None:
    """Read a span of time, like ``60s``; None for no limit.

    Raises
    ------
    ValueError
        When it cannot be read, or is not positive.
    """
    if text.strip().lower() == "none":
        return None
    units = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600}
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in units or not float(found[1]):
        raise ValueError(
            f"--time-budget {text!r} is not a time; write it like 60s or 5m."
        )
    return float(found[1]) * units[found[2]]


def vote_of(text: str) -> int | str:
    """Read the number of neighbours, or auto.

    Raises
    ------
    ValueError
        When it cannot be read.
    """
    if text == "auto":
        return text
    if not text.isdecimal() or not int(text):
        raise ValueError(f"--neighbors {text!r} is not a number from 1, or auto.")
    return int(text)


def shape_of(text: str) -> tuple[int, int]:
    """Read the height and width of an image, like ``28x28``.

    Raises
    ------
    ValueError
        When it cannot be read.
    """
    found = re.fullmatch(r"([1-9]\d{0,4})[x×,]([1-9]\d{0,4})", text.strip().lower())
    if found is None:
        raise ValueError(f"--image-shape {text!r} is not a shape; write it like 28x28.")
    return int(found[1]), int(found[2])


def threads_of(jobs: int | None) -> int | None:
    """Return the number of threads: at most the number of cores."""
    if jobs is None or jobs == -1:
        return jobs
    if jobs < 1:
        raise ValueError(
            f"--jobs is 1 or more threads, or -1 for all cores; not {jobs}."
        )
    return min(jobs, os.cpu_count() or 1)


def overrides_of(
    drop: list[str] | None,
    categorical: list[str] | None,
    number: list[str] | None,
    date: list[str] | None,
    decimal: str | None,
) -> "Overrides":
    """Return the user's decisions about columns."""
    from vicinal.app.tables.inputs import Overrides

    return Overrides.of(
        drop=drop, categorical=categorical, number=number, date=date, decimal=decimal
    )


def ask_for_target(
    error: "NoTargetError", columns: list[str], method: str | None = None
) -> str | None:
    """Ask for the target on a terminal; else raise ValueError.

    Parameters
    ----------
    error : NoTargetError
        Has the likely targets.
    columns : list of str
        All columns.
    method : str, default=None
        A method that needs a target.

    Returns
    -------
    str or None
        Name of a column; None to go on without a target.
    """
    # A process may be started without either.
    streams = (sys.stdin, sys.stderr)
    if not all(one is not None and one.isatty() for one in streams):
        other = "or compare densities without one with --no-target"
        if method:
            other = f"since {method} needs one, or choose a method without a target"
        likely = listed(error.likely) or "no column looks like one"
        raise ValueError(
            f"{error.name} has no column called target, label, class or y; name the "
            f"target with --target ({likely}), {other}."
        )
    shown = ", ".join(map(printable, error.likely)) or "no column looks like one"
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


def check_output_path(path: Path, read: dict[str, Any], *endings: str) -> None:
    """Raise ValueError if a file cannot be written.

    Parameters
    ----------
    path : Path
        The file to be written.
    read : dict of str to path, str or None
        Files that are read, which are not overwritten, by description.
    *endings : str
        Valid endings of the file; by default, any.
    """
    check_writable(path)
    for what, other in read.items():
        if other is not None and path.exists() and is_same_file(str(path), str(other)):
            raise ValueError(f"{path} is the {what}; write to another file.")
    if endings and path.suffix.lower() not in endings:
        raise ValueError(f"{path.name!r} must end in {' or '.join(endings)}.")


def check_model_path(path: Path) -> None:
    """Raise ValueError if the name of a model is that of a table or a page."""
    if path.suffix.lower() in (*TABLES, *ARRAYS, ".xlsx", ".json", ".html", ".onnx"):
        raise ValueError(
            f"{path.name!r} is the name of another kind of file; write the model to "
            f"{path.with_suffix('.safetensors').name}."
        )


def check_distinct(**paths: Path | None) -> None:
    """Raise ValueError if two options, the keywords, name the same file."""
    named = {name: path.resolve() for name, path in paths.items() if path is not None}
    for (first, one), (second, other) in combinations(named.items(), 2):
        if one == other or (one.exists() and other.exists() and one.samefile(other)):
            raise ValueError(f"--{first} and --{second} are the same file; name two.")
