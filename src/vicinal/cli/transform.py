"""`vicinal transform`: map the rows of a table by a metric in a file."""

from pathlib import Path
from typing import Annotated

import typer

from vicinal.cli.errors import report_errors
from vicinal.cli.options import Data, Keep, KeepAll, Model
from vicinal.cli.output_paths import check_apart
from vicinal.cli.progress import waiting
from vicinal.tables.names import printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(transform)


def transform(
    model: Model,
    data: Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            help="File to write: .csv, .tsv, .parquet, .arrow, .npy or .npz.",
        ),
    ],
    keep: Keep = None,
    keep_all: KeepAll = False,
) -> None:
    """Map the rows of a table by a saved model.

    The Euclidean distance of mapped rows is their learned distance. The table may be
    larger than memory.
    """
    with report_errors(), waiting("mapping rows") as say:
        from vicinal.models import load, transform_file

        learned = load(model)
        check_apart(output, {"model": model})
        n_rows = transform_file(
            learned,
            data,
            output,
            keep=keep or [],
            keep_all=keep_all,
            on_rows=lambda done: say(f"mapped {done:,} rows"),
        )
    names = learned.names_out
    typer.echo(f"{n_rows:,} rows, {names[0]} to {names[-1]}: {printable(output, None)}")
