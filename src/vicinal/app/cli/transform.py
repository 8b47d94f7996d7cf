"""`vicinal transform`: map the rows of a table by what a file holds."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vicinal.app.cli.errors import report_errors
from vicinal.app.cli.options import AnyModel, Data, Keep, KeepAll
from vicinal.app.cli.output_paths import check_apart
from vicinal.app.cli.progress import waiting
from vicinal.app.tables.names import counted, printable

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(transform)


def transform(
    model: AnyModel,
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
    role: Annotated[
        str | None,
        typer.Option("--as", help="For an adapter: map rows as queries or documents."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(help="For an adapter: a column that is no part of the vectors."),
    ] = None,
) -> None:
    """Map the rows of a table by a saved model, or vectors by a saved adapter.

    The Euclidean distance of mapped rows is their learned distance. The table may be
    larger than memory.
    """
    with report_errors(), waiting("mapping rows") as say:
        from vicinal.app.models import AdapterFileError, load, transform_file

        check_apart(output, {"model": model})
        try:
            learned = load(model)
        except AdapterFileError:
            learned = None
        options: dict[str, Any] = {
            "keep": keep or [],
            "keep_all": keep_all,
            "on_rows": lambda done: say(f"mapped {done:,} rows"),
        }
        if learned is None:
            n_rows, names = _adapted(model, data, output, role, drop or [], options)
        elif role is not None or drop:
            raise ValueError(
                f"--as and --drop are for adapters, and {model.name} is a model of a "
                "table, which knows its columns."
            )
        else:
            n_rows = transform_file(learned, data, output, **options)
            names = (learned.names_out[0], learned.names_out[-1])
    typer.echo(
        f"{counted(n_rows, 'row')}, {names[0]} to {names[1]}: {printable(output, None)}"
    )


def _adapted(
    path: Path,
    data: str,
    output: Path,
    role: str | None,
    drop: list[str],
    options: dict[str, Any],
) -> tuple[int, tuple[str, str]]:
    """Map vectors by an adapter; return how many, and the new columns' names."""
    from vicinal.adapters import load_adapter
    from vicinal.app.models import transform_vectors

    if role not in ("queries", "documents"):
        got = "" if role is None else f", not {role!r}"
        raise ValueError(
            f"{path.name} is an adapter: say whether to map --as queries or --as "
            f"documents{got}."
        )
    adapter = load_adapter(path)
    function = (
        adapter.transform_queries if role == "queries" else adapter.transform_documents
    )
    stem = "query" if role == "queries" else "document"
    n_rows = transform_vectors(function, data, output, stem=stem, drop=drop, **options)
    return n_rows, (f"{stem}0", f"{stem}{len(adapter.query_components_) - 1}")
