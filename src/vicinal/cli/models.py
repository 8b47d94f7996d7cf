"""`vicinal fit`, `transform`, `neighbors`, `predict`: a metric in a file, at work."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal.cli.column_summary import print_decisions
from vicinal.cli.errors import report_errors
from vicinal.cli.neighbor_summary import print_neighbors, print_table, score_line
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
from vicinal.cli.output_paths import check_output_path, check_table_path
from vicinal.tables.names import printable

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal.models import Recall, SavedModel
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
Neighbors = Annotated[
    int, typer.Option("-k", "--neighbors", help="How many neighbours.")
]
Keep = Annotated[
    list[str] | None, typer.Option(help="A column to keep; may be repeated.")
]
KeepAll = Annotated[bool, typer.Option("--keep-all", help="Keep every column.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the app."""
    for command in (fit, transform, neighbors, predict):
        app.command()(command)


def fit(
    data: Annotated[str, _DATA],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: model.safetensors.")
    ],
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "--methods",
            help="Method, like nca, lda, ldg, pca, mlkr or lca: one of those that "
            "`vicinal compare` has.",
        ),
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
    max_iter: Annotated[
        int | None,
        typer.Option(help="At most so many iterations, for methods that iterate."),
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
        with _waiting(f"learning {method}") as say, _warnings_printed():
            model = learn(
                prepared,
                method,
                n_components=n_components,
                random_state=seed,
                n_jobs=threads,
                max_iter=max_iter,
                on_iteration=lambda i: say(f"learning {method}, iteration {i:,}"),
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
    with report_errors(), _waiting("mapping rows") as say:
        from vicinal.models import load, transform_file

        learned = load(model)
        _check_apart(output, {"model": model})
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
    query: Annotated[
        list[str] | None,
        typer.Option(
            help="A row, counted from 0, or with --id what that column says of it; may "
            "be repeated. By default all rows, which need --output.",
            show_default=False,
        ),
    ] = None,
    k: Neighbors = 10,
    among: Annotated[
        str | None,
        typer.Option(help="Look among the rows of this table; by default, of DATA."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--id", help="A column that says what a row is called."),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(help="A column to show of the neighbours; may be repeated."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="File to write: .csv, .tsv, .parquet or .arrow."
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="No index, however many rows there are."),
    ] = False,
) -> None:
    """Find the nearest rows of some rows, or of all, under a learned metric.

    Of one row, without other options, they are printed beside those under the
    Euclidean metric. 1,000 rows or more are looked up among more than 50,000 by an
    index (extra ann), and what it misses is measured and printed.
    """
    recalls: list[Recall] = []
    with report_errors():
        with _waiting("looking for neighbours") as say:
            from vicinal.models import load, nearest_rows, neighbor_table

            _check_k(k)
            learned = load(model)
            if output is not None:
                _check_apart(output, {"model": model, "--among table": among})
                check_table_path(output, data)
            rows = _asked_rows(data, query, name)
            if rows is not None and len(rows) == 1 and not (among or show or output):
                found = nearest_rows(learned, data, rows[0], k)
                table = None
            else:
                if output is None and rows is None:
                    raise ValueError(
                        "All rows are asked about: write them to a file with --output, "
                        "or name some with --query."
                    )
                table = neighbor_table(
                    learned,
                    data,
                    among=among,
                    rows=rows,
                    n_neighbors=k,
                    show=show or [],
                    name=name,
                    exact=exact,
                    on_rows=lambda done: say(f"looked through {done:,} rows"),
                    on_recall=recalls.append,
                )
            if table is not None and output is not None:
                from vicinal.models import write_frame

                write_frame(table, output)
        if table is None:
            print_neighbors(found, learned)
        elif output is None:
            print_table(table)
        else:
            n = table["query"].n_unique()
            typer.echo(
                f"{table.height:,} neighbours of {n:,} rows: {printable(output, None)}"
            )
        for one in recalls:
            typer.echo(
                f"found by an index: {100 * one.recall:.1f} % of the nearest rows of "
                f"{one.n_checked} that were checked (--exact finds all)"
            )


def predict(
    model: Annotated[Path, _MODEL],
    data: Annotated[str, _DATA],
    among: Annotated[
        str,
        typer.Option(
            help="A table of rows whose target is known, like the one that the metric "
            "was learned from.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", help="File to write: .csv, .tsv, .parquet or .arrow."
        ),
    ],
    k: Neighbors = 3,
    keep: Keep = None,
    keep_all: KeepAll = False,
) -> None:
    """Predict the target of a table's rows by their nearest rows with a known one.

    A model holds a metric and no rows: those with a known target are in --among. The
    new columns are predicted, and for classes share, the part of the neighbours that
    is of the predicted class.
    """
    with report_errors():
        with _waiting("reading the rows with a target") as say:
            from vicinal.models import load, predict_file

            _check_k(k)
            learned = load(model)
            _check_apart(output, {"model": model, "--among table": among})
            found = predict_file(
                learned,
                data,
                among,
                output,
                n_neighbors=k,
                keep=keep or [],
                keep_all=keep_all,
                on_rows=lambda done: say(f"predicted {done:,} rows"),
            )
        typer.echo(f"{found.n_rows:,} rows predicted: {printable(output, None)}")
        if found.truth:
            typer.echo(score_line(found, learned.task))
            if _same(data, among):
                typer.echo(
                    "note: DATA and --among are the same rows, and each is its own "
                    "nearest one: that figure means nothing",
                    err=True,
                )


def _check_k(k: int) -> None:
    if k < 1:
        raise ValueError(f"-k (--neighbors) is at least 1 neighbour, not {k}.")


def _asked_rows(data: str, query: list[str] | None, name: str | None) -> Any:
    """Return the numbers of the rows that were asked about; None for all."""
    if query is None:
        return None
    if name is not None:
        from vicinal.models import find_rows

        return find_rows(data, name, query)
    try:
        return [int(one) for one in query]
    except ValueError as error:
        raise ValueError(
            f"--query {' '.join(query)!r} is no row's number; name the column that "
            "says what rows are called with --id COLUMN."
        ) from error


def _check_apart(output: Path, others: dict[str, Any]) -> None:
    for what, path in others.items():
        if path is not None and _same(str(output), str(path)):
            raise ValueError(f"{output} is the {what}; write to another file.")


def _same(one: str, other: str) -> bool:
    paths = Path(one), Path(other)
    if not all(path.exists() for path in paths):
        return one == other
    return paths[0].samefile(paths[1])


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
