"""`vicinal fit`: learn a metric on a table, and keep it in a file."""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal.app.cli import options
from vicinal.app.cli.display import (
    print_decisions,
    report_errors,
    waiting,
    warnings_printed,
)
from vicinal.app.tables.names import counted, printable

if TYPE_CHECKING:
    from vicinal.app.models import SavedModel
    from vicinal.app.tables.prepared import Prepared


def fit(
    data: options.Data,
    output: options.ModelOutput,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "--methods",
            help="Method, like nca, lda, ldg, pca, mlkr or lca: one of those that "
            "`vicinal compare` has.",
        ),
    ] = "nca",
    target: options.Target = None,
    no_target: options.NoTarget = False,
    task: options.Task = None,
    n_components: options.Components = None,
    neighbors: options.Vote = "auto",
    score: options.Score = "auto",
    max_iter: Annotated[
        int | None,
        typer.Option(
            min=1, help="Maximum number of iterations, for methods that iterate."
        ),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(min=1, help="Learn on a random sample of this many rows."),
    ] = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Learn on a Dask cluster, from a folder of Parquet files: the "
            "scheduler's address, like tcp://10.0.0.1:8786, or local.",
        ),
    ] = None,
    drop: options.Drop = None,
    categorical: options.Categorical = None,
    number: options.Number = None,
    date: options.Date = None,
    decimal: options.Decimal = None,
) -> None:
    """Learn a metric on a table, and write it to a file.

    The file holds the map and how a table becomes numbers. `vicinal transform` and
    `vicinal neighbors` use it.
    """
    with report_errors():
        options.check_output_path(output, {"data": data})
        options.check_model_path(output)
        settings: dict[str, Any] = {
            "n_components": n_components,
            "max_iter": max_iter,
            "random_state": seed,
        }
        if cluster is not None:
            others = {
                "--task": task, "--rows": rows, "--jobs": jobs, "--date": date,
                "--categorical": categorical, "--number": number, "--decimal": decimal,
                "--neighbors": neighbors != "auto", "--score": score != "auto",
            }  # fmt: skip
            for name, value in others.items():
                if value:
                    raise ValueError(
                        f"{name} is not for --cluster, which takes numbers as is."
                    )
            label = None if no_target else target
            model = _fit_on_cluster(data, cluster, method, label, settings, drop or [])
            typer.echo(_dimensions_line(model, None))
        else:
            with waiting("reading the data"):
                from vicinal.app.models import learn, needs_target
                from vicinal.app.tables.prepared import prepare
                from vicinal.app.tables.reading import read_table

                threads = options.threads_of(jobs)
                ask = partial(options.ask_for_target, method=method)
                said = options.overrides_of(drop, categorical, number, date, decimal)
                table = read_table(data, limit=rows, overrides=said)
            prepared = prepare(
                table,
                target=target,
                no_target=no_target,
                task=task,
                ask=ask if needs_target(method) else lambda *_: None,
            )
            print_decisions(prepared)
            with waiting(f"learning {method}") as say, warnings_printed(prepared):
                model = learn(
                    prepared,
                    method,
                    n_jobs=threads,
                    n_neighbors=options.vote_of(neighbors),
                    score=score,
                    on_iteration=lambda i: say(f"learning {method}, iteration {i:,}"),
                    **settings,
                )
            typer.echo(_dimensions_line(model, n_components))
            # The neighbours of more rows take too long.
            if prepared.y is not None and len(prepared.y) <= 100_000:
                with waiting("counting neighbours"):
                    quality = _quality_line(model, prepared, score)
                typer.echo(quality)
        from vicinal.app.models import save

        save(output, model)
    typer.echo(f"model: {printable(output, None)}")


def _dimensions_line(model: "SavedModel", asked: int | None) -> str:
    d, n_features = len(model.components), len(model.mean)
    line = f"{model.method}: {counted(n_features, 'feature')} to "
    line += counted(d, "dimension")
    return line if asked in (None, d) else f"{line} (it cannot give {asked:,})"


def _quality_line(model: "SavedModel", prepared: "Prepared", score: str) -> str:
    """Compare the training rows' neighbours before and after."""
    import numpy as np

    from vicinal.app.comparison.data import encode_target
    from vicinal.app.methods.scores import SCORES, choose_score
    from vicinal.app.methods.votes import Voters, choose_vote

    _, found, classes = encode_target(prepared.y, prepared.task)
    target = np.asarray(found)
    own = np.arange(len(target))
    if len(own) > 2000:
        own = np.sort(np.random.default_rng(0).choice(len(own), 2000, replace=False))
    truth, name = target[own], choose_score(score, prepared.task, target, classes)[0]
    scored = SCORES[name]

    def figure(Z: Any, vote: Any) -> float:
        voters = Voters(Z, target, len(classes))
        found = voters.predict(Z[own], vote or choose_vote(voters, name), own)
        return scored.of(truth, scored.outcome(truth, found) if classes else found)

    X = model.scaled(prepared.X)
    after = figure(model.map(X), model.vote)
    before = figure(np.nan_to_num(X), None)
    advice = "`vicinal compare` measures on others"
    if not after > before:
        advice = "learning did not help here: try other methods with `vicinal compare`"
    figures = f"{scored.written(before)} before learning, {scored.written(after)} after"
    return (
        f"neighbours that vote: {model.vote}; each row left out of its own:\n"
        f"{scored.label} {figures} (on the rows that it learned from; {advice})"
    )


def _fit_on_cluster(
    data: str,
    cluster: str,
    method: str,
    target: str | None,
    settings: dict[str, Any],
    drop: list[str],
) -> "SavedModel":
    """Learn on a Dask cluster from a folder of Parquet files."""
    with waiting("connecting") as say:
        try:
            from vicinal.dask import LCA, LDG, NCA, read_parquet
            from vicinal.dask.parquet import connected, fit_pipeline
        except ImportError as error:
            raise ValueError(str(error)) from error
        from vicinal.app.models import from_estimator

        kinds: dict[str, Any] = {"nca": NCA, "ldg": LDG, "lca": LCA}
        if method not in kinds:
            raise ValueError(
                f"{method} does not learn on a cluster; {', '.join(kinds)} do."
            )
        if method != "lca" and target is None:
            raise ValueError(f"{method} needs a label: give --target.")
        table = read_parquet(data, target, drop=drop)
        estimator = kinds[method]()
        known = estimator.get_params()
        given = {
            **settings,
            "n_components": None if method == "lca" else settings["n_components"],
            "callback": lambda _, i: say(f"learning {method}, iteration {i:,}"),
        }
        for name, value in given.items():
            if name in known and value is not None:
                estimator.set_params(**{name: value})
        with connected(cluster) as client, warnings_printed():
            say(f"learning {method}")
            pipeline = fit_pipeline(table, estimator.set_params(client=client))
            classes: tuple[str, ...] = ()
            if table.y is not None:
                with client.as_current():
                    labels = table.y.dropna().unique().compute()
                classes = tuple(sorted(map(str, labels)))
    if table.left_out:
        names = ", ".join(printable(name, None) for name in table.left_out)
        typer.echo(f"left out, as they are not numbers: {names}")
    scaler, metric = pipeline
    return replace(
        from_estimator(pipeline),
        method=method,
        task="classification" if classes else "none",
        mean=scaler.mean_,
        scale=scaler.scale_,
        components=metric.components_,
        target=target,
        classes=classes,
        parameters=settings,
    )
