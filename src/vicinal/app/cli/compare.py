"""`vicinal compare`: several metrics on one table, in a table, a sentence, a page."""

import shutil
import sys
import time
from contextlib import nullcontext, redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal._files import atomic_write
from vicinal.app.cli import options
from vicinal.app.cli.display import (
    print_decisions,
    progress_bar,
    report_errors,
    with_option,
)
from vicinal.app.tables.names import Note, doubts, printable

if TYPE_CHECKING:
    from vicinal.app.comparison import Comparison
    from vicinal.app.tables.prepared import Prepared

# The names of the methods, which the help must not load: a test compares them.
_METHODS = (
    "euclidean, standardised, whitened, pca, lda, fda, lfda, rca, itml, mmc, sdml, "
    "lsml, scml, lmnn, mcml, ldg, nca, nca-soft, nca-log, table-nca (classes); "
    "euclidean, standardised, whitened, pca, nca, nca-soft, table-nca, mlkr (numbers); "
    "kernel-density, gaussian, lca-diagonal, lca, lca-gauss (no target); with "
    "PyTorch, neural-nca (classes or numbers)"
)


def compare(
    data: options.Data,
    target: options.Target = None,
    no_target: options.NoTarget = False,
    task: options.Task = None,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            "--method",
            help=f"Some of {_METHODS}, with commas between them; or all.",
        ),
    ] = None,
    splits: Annotated[int, typer.Option(min=1, help="Number of random splits.")] = 10,
    neighbors: options.Vote = "auto",
    score: options.Score = "auto",
    n_components: options.Components = None,
    time_budget: Annotated[
        str, typer.Option(help="Like 60s, 5m or 1h; or none for no limit.")
    ] = "60s",
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this HTML file.")
    ] = None,
    json: Annotated[
        Path | None,
        typer.Option(help="Write all scores to this JSON file; - is standard output."),
    ] = None,
    image_shape: Annotated[
        str | None, typer.Option(help="The rows are images of this size, like 28x28.")
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    number: options.Number = None,
    date: options.Date = None,
    decimal: options.Decimal = None,
) -> None:
    """Measure which metric helps nearest neighbours most, on the same random splits.

    Text is one-hot encoded. Constant columns and identifiers are left out. Missing
    values are filled inside each split. The decisions are printed first.
    """
    started = time.perf_counter()
    # If the scores go to standard output, nothing else does.
    piped = json is not None and str(json) == "-"
    with report_errors(), redirect_stdout(sys.stderr) if piped else nullcontext():
        budget = options.seconds_of(time_budget)
        shape = None if image_shape is None else options.shape_of(image_shape)
        threads = options.threads_of(jobs)
        options.check_distinct(report=report, json=json)
        if report is not None:
            options.check_output_path(report, {"data": data}, ".html", ".htm")
        if json is not None and not piped:
            options.check_output_path(json, {"data": data})
        from vicinal.app.tables.prepared import prepare
        from vicinal.app.tables.reading import read_table

        said = options.overrides_of(drop, categorical, number, date, decimal)
        with progress_bar() as show:
            show(0, 1, "reading the data")
            table = read_table(data, overrides=said)
        ask = partial(options.ask_for_target, method=_needing_labels(methods))
        prepared = prepare(
            table, target=target, no_target=no_target, task=task, ask=ask
        )
        images = None if shape is None else _images(prepared, shape)
        print_decisions(prepared)
        left = None if budget is None else budget - (time.perf_counter() - started)
        if left is not None and report is not None:
            left *= 0.65  # the rest is for drawing the report
        with progress_bar() as show:
            from vicinal.app.comparison import compare as run
            from vicinal.app.report.commands import fit_command, shell_command

            result = run(
                prepared.X,
                prepared.y,
                task=prepared.task,
                feature_names=prepared.feature_names,
                name=prepared.name,
                methods=methods,
                n_splits=splits,
                n_neighbors=options.vote_of(neighbors),
                score=score,
                n_components=n_components,
                time_budget=None if left is None else max(left, 1.0),
                random_state=seed,
                n_jobs=threads,
                on_progress=show,
            )
        typer.echo(printable(result.verdict(), None))
        for doubt in doubts(prepared.notes):
            typer.echo(f"But: {printable(with_option(doubt), None)}")
        command = ["vicinal", *sys.argv[1:]]
        if keep := fit_command(command, result.recommended, prepared.target):
            typer.echo(f"Next: {shell_command(keep)}")
        typer.echo()
        for line in result.table(shutil.get_terminal_size().columns).splitlines():
            bold = line.startswith(f"{result.recommended} ")
            typer.echo(typer.style(printable(line, None), bold=bold))
        if report is not None:
            with progress_bar() as show:
                result.to_html(
                    report,
                    notes=[
                        Note(with_option(one), kind=getattr(one, "kind", ""))
                        for one in prepared.notes
                    ],
                    image_shape=shape,
                    decisions=prepared.decisions,
                    images=images,
                    row_numbers=prepared.rows,
                    frame=prepared.frame,
                    target=prepared.target,
                    command=command,
                    on_progress=show,
                )
            typer.echo(f"report: {printable(report, None)}")
        # Last: if the report fails, no file is written.
        text = _as_json(result, prepared)
        if json is not None and not piped:
            with atomic_write(json) as temporary:
                temporary.write_text(text, encoding="utf-8")
    if piped:
        typer.echo(text, nl=False)


def _needing_labels(methods: str | None) -> str | None:
    """Return the first of the methods that needs a target, or None."""
    from vicinal.app.methods.registry import METHODS

    asked = (methods or "").replace(",", " ").split()
    known = (METHODS[one] for one in asked if one in METHODS)
    return next((one.name for one in known if "none" not in one.tasks), None)


def _images(prepared: "Prepared", shape: tuple[int, int]) -> Any:
    """Return the pixels of each row, including constant ones."""
    import numpy as np

    # A known label is not a pixel either, even if it is not the target.
    names = [one.column for one in prepared.decisions if one.kind != "target"]
    pixels = prepared.frame[names]
    height, width = shape
    if pixels.width != height * width:
        raise ValueError(
            f"--image-shape {height}x{width} is {height * width} pixels, but there "
            f"are {pixels.width} columns beside the target."
        )
    try:
        return np.asarray(pixels.to_numpy(), dtype=np.float64)
    except ValueError as error:
        raise ValueError("--image-shape needs columns that are all numbers.") from error


def _as_json(result: "Comparison", prepared: "Prepared") -> str:
    import json

    found = result.to_dict()
    found["target"] = prepared.target
    found["columns"] = [
        {"column": one.column, "kind": one.kind, "reason": one.reason}
        for one in prepared.decisions
    ]
    found["notes"] = [*map(with_option, prepared.notes), *found["notes"]]
    return json.dumps(found, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
