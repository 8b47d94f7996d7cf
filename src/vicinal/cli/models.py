"""`vicinal fit`, `transform` and `neighbors`: a metric in a file, and at work."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal.cli.column_summary import print_decisions
from vicinal.cli.errors import report_errors
from vicinal.cli.options import (
    Categorical,
    Date,
    Decimal,
    Drop,
    Number,
    ask_for_target,
    check_task,
    overrides_of,
    threads_of,
)
from vicinal.cli.output_paths import check_output_path
from vicinal.tables.names import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal.models import Neighborhoods, SavedModel
    from vicinal.tables.prepared import Prepared

__all__ = ["register"]

# Beyond so many rows, looking at their neighbours takes long.
_MOST_COUNTED = 100_000
_DATA = typer.Argument(
    help="A CSV, TSV, JSON, Excel, Parquet, Arrow, npy or npz file, or a data set's "
    "name.",
    show_default=False,
)
_MODEL = typer.Argument(help="A file that `vicinal fit` wrote.", show_default=False)


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (fit, transform, neighbors):
        app.command()(command)


def fit(
    data: Annotated[str, _DATA],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: model.safetensors.")
    ],
    method: Annotated[
        str, typer.Option(help="Method, like nca, lda, ldg, pca, mlkr or lca.")
    ] = "nca",
    target: Annotated[
        str | None,
        typer.Option(help="The label's column; by default target, label, class or y."),
    ] = None,
    no_target: Annotated[
        bool, typer.Option("--no-target", help="Learn without a label.")
    ] = False,
    task: Annotated[
        str | None,
        typer.Option(help="classification or regression; default: by its values."),
    ] = None,
    n_components: Annotated[
        int | None, typer.Option(help="Number of dimensions, for methods that reduce.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Learn on a random sample of this many rows.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random numbers.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Number of threads; -1 for all cores.")
    ] = None,
    drop: Drop = None,
    categorical: Categorical = None,
    number: Number = None,
    date: Date = None,
    decimal: Decimal = None,
) -> None:
    """Learn a metric on a table, and write it to a file.

    The file holds the map and how a table becomes numbers. `vicinal transform` and
    `vicinal neighbors` use it.
    """
    with report_errors():
        check_output_path(output, data)
        check_task(task)
        threads = threads_of(jobs)
        with _waiting("reading the data"):
            from vicinal.models import learn, needs_target
            from vicinal.tables.prepared import prepare
            from vicinal.tables.reading import read_table

            needed = needs_target(method)
            said = overrides_of(drop, categorical, number, date, decimal)
            table = read_table(data, limit=rows, overrides=said)
        prepared = prepare(
            table,
            target=target,
            no_target=no_target,
            task=task,
            ask=ask_for_target if needed else lambda *_: None,
        )
        print_decisions(prepared)
        with _waiting(f"learning {method}"), _warnings_printed():
            model = learn(
                prepared,
                method,
                n_components=n_components,
                random_state=seed,
                n_jobs=threads,
            )
        typer.echo(_dimensions_line(model, n_components))
        with _waiting("counting neighbours"):
            quality = _quality_line(model, prepared)
        if quality:
            typer.echo(quality)
        from vicinal.models import save

        save(output, model)
    typer.echo(f"model: {printable(output, None)}")


def transform(
    model: Annotated[Path, _MODEL],
    data: Annotated[str, _DATA],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write: .csv, .tsv, .parquet or .arrow."
        ),
    ],
    keep: Annotated[
        list[str] | None, typer.Option(help="A column to keep; may be repeated.")
    ] = None,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="Keep every column.")
    ] = False,
) -> None:
    """Map the rows of a table by a saved model.

    The Euclidean distance of mapped rows is their learned distance. The table may be
    larger than memory.
    """
    with report_errors():
        from vicinal.models import load, transform_file

        learned = load(model)
        if output.exists() and output.samefile(model):
            raise ValueError(f"{output} is the model; write to another file.")
        with _waiting("mapping rows") as say:
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


def neighbors(
    model: Annotated[Path, _MODEL],
    data: Annotated[str, _DATA],
    query: Annotated[int, typer.Option(help="The row, counted from 0.")],
    k: Annotated[int, typer.Option("-k", help="How many neighbours.")] = 10,
) -> None:
    """Print a row's nearest rows, under the Euclidean and the learned metric."""
    with report_errors():
        from vicinal.models import load, nearest_rows

        learned = load(model)
        with _waiting("looking for neighbours"):
            found = nearest_rows(learned, data, query, k)
    _print_neighbors(found, learned)


def _dimensions_line(model: "SavedModel", asked: int | None) -> str:
    d, n_features = model.components.shape
    line = f"{model.method}: {n_features:,} features to {d:,} dimensions"
    return line if asked in (None, d) else f"{line} (it cannot give {asked:,})"


def _quality_line(model: "SavedModel", prepared: "Prepared") -> str:
    """Compare the training rows' neighbours before and after."""
    if prepared.y is None or len(prepared.y) > _MOST_COUNTED:
        return ""
    from vicinal.methods.scaling import leave_one_out

    X = model.scaled(prepared.X)
    before, after = (
        leave_one_out(Z, prepared.y, prepared.task) for Z in (X, model.map(X))
    )
    if prepared.task == "regression":
        figures = f"R² {before:.3f} before learning, {after:.3f} after"
    else:
        figures = f"{100 * before:.1f} % before learning, {100 * after:.1f} % after"
    advice = "`vicinal compare` measures on others"
    if not after > before:
        advice = "learning did not help here: try other methods with `vicinal compare`"
    return (
        f"3-NN, each row left out of its neighbours: {figures} (on the rows that it "
        f"learned from; {advice})"
    )


def _print_neighbors(found: "Neighborhoods", model: "SavedModel") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    sides = (found.euclidean, found.learned)
    both = set(found.euclidean.rows.tolist()) & set(found.learned.rows.tolist())
    labelled = all(side.labels is not None for side in sides)
    heading = "" if model.target is None else printable(model.target)
    title = f"nearest to row {found.query}"
    if found.label is not None:
        title += f" ({heading}: {printable(found.label)})"
    table = Table(title=Text(title))
    table.add_column("", justify="right")
    for name in ("Euclidean", model.method):
        table.add_column(Text(f"{printable(name)}: row"), justify="right")
        if labelled:
            table.add_column(Text(heading))
        table.add_column("distance", justify="right")
    for rank in range(len(found.euclidean.rows)):
        cells: list[Any] = [str(rank + 1)]
        for side in sides:
            row = int(side.rows[rank])
            cells.append(f"= {row}" if row in both else str(row))
            if side.labels is not None and labelled:
                cells.append(Text(printable(side.labels[rank])))
            cells.append(f"{side.distances[rank]:.4g}")
        table.add_row(*cells)
    Console().print(table)
    n = len(found.euclidean.rows)
    typer.echo(f"= near under both: {len(both)} of {n}")
    if labelled and found.label is not None and model.task == "classification":
        same = [sum(one == found.label for one in side.labels or []) for side in sides]
        typer.echo(
            f"of the row's own class: {same[0]} of {n} Euclidean, "
            f"{same[1]} of {n} {printable(model.method)}"
        )


@contextmanager
def _waiting(what: str) -> Iterator["Callable[[str], None]"]:
    """Show what is being done and for how long, where somebody looks on."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task(what, total=None)
        yield lambda now: progress.update(bar, description=now)


@contextmanager
def _warnings_printed() -> Iterator[None]:
    """Print what a method warns of in a line each, once the work is done."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for line in dict.fromkeys(" ".join(str(one.message).split()) for one in caught):
        typer.echo(f"note: {printable(line, None)}", err=True)
