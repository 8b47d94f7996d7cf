"""`vicinal fit`: learn a metric on a table, and keep it in a file."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.app.cli.column_summary import print_decisions
from vicinal.app.cli.errors import report_errors, warnings_printed
from vicinal.app.cli.options import (
    Categorical,
    Data,
    Date,
    Decimal,
    Drop,
    Number,
    ask_for_target,
    check_task,
    overrides_of,
    threads_of,
)
from vicinal.app.cli.output_paths import check_output_path
from vicinal.app.cli.progress import waiting
from vicinal.app.tables.names import counted, printable

if TYPE_CHECKING:
    from vicinal.app.models import SavedModel
    from vicinal.app.tables.prepared import Prepared

__all__ = ["register"]

# Beyond so many rows, looking at their neighbours takes long.
_MOST_COUNTED = 100_000


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(fit)


def fit(
    data: Data,
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
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Learn on a Dask cluster, from a folder of Parquet files: the "
            "scheduler's address, like tcp://10.0.0.1:8786, or local.",
        ),
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
        if cluster is not None:
            from vicinal.app.cli.cluster import fit_on_cluster

            others = {
                "--task": task, "--rows": rows, "--jobs": jobs, "--date": date,
                "--categorical": categorical, "--number": number, "--decimal": decimal,
            }  # fmt: skip
            fit_on_cluster(
                data, output, cluster, method, None if no_target else target,
                n_components, max_iter, seed, drop or [], others,
            )  # fmt: skip
            return
        threads = threads_of(jobs)
        with waiting("reading the data"):
            from vicinal.app.models import learn, needs_target
            from vicinal.app.tables.prepared import prepare
            from vicinal.app.tables.reading import read_table

            needed = needs_target(method)
            said = overrides_of(drop, categorical, number, date, decimal)
            table = read_table(data, limit=rows, overrides=said)
        prepared = prepare(
            table,
            target=target,
            no_target=no_target,
            task=task,
            ask=partial(ask_for_target, method=method) if needed else lambda *_: None,
        )
        print_decisions(prepared)
        with waiting(f"learning {method}") as say, warnings_printed():
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
        with waiting("counting neighbours"):
            quality = _quality_line(model, prepared)
        if quality:
            typer.echo(quality)
        from vicinal.app.models import save

        save(output, model)
    typer.echo(f"model: {printable(output, None)}")


def _dimensions_line(model: "SavedModel", asked: int | None) -> str:
    d, n_features = model.components.shape
    line = f"{model.method}: {counted(n_features, 'feature')} to "
    line += counted(d, "dimension")
    return line if asked in (None, d) else f"{line} (it cannot give {asked:,})"


def _quality_line(model: "SavedModel", prepared: "Prepared") -> str:
    """Compare the training rows' neighbours before and after."""
    if prepared.y is None or len(prepared.y) > _MOST_COUNTED:
        return ""
    from vicinal.app.methods.baselines import leave_one_out

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
