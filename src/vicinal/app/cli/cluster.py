"""`vicinal fit --cluster`: learn on a Dask cluster from a folder of Parquet files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from vicinal.app.cli.errors import warnings_printed
from vicinal.app.cli.progress import waiting
from vicinal.app.tables.names import counted, printable

__all__ = ["fit_on_cluster"]


def fit_on_cluster(
    data: str,
    output: Path,
    cluster: str,
    method: str,
    target: str | None,
    n_components: int | None,
    max_iter: int | None,
    seed: int,
    drop: list[str],
    others: dict[str, Any],
) -> None:
    """Learn a metric, and write it to a file.

    Parameters
    ----------
    data : str
        The folder.
    output : Path
        The file to write.
    cluster : str
        Address of the scheduler, or "local".
    method, target, n_components, max_iter, seed, drop
        As for the command.
    others : dict
        Values of the options that cannot be combined with `--cluster`.
    """
    for name, value in others.items():
        if value:
            raise ValueError(f"{name} is not for --cluster, which takes numbers as is.")
    with waiting("connecting") as say:
        try:
            from vicinal.dask import LCA, LDG, NCA, read_parquet
            from vicinal.dask.parquet import connected, fit_pipeline
        except ImportError as error:
            raise ValueError(str(error)) from error
        from vicinal.app.models import from_estimator, save

        kinds: dict[str, Any] = {"nca": NCA, "ldg": LDG, "lca": LCA}
        if method not in kinds:
            raise ValueError(
                f"{method} does not learn on a cluster; {', '.join(kinds)} do."
            )
        if method != "lca" and target is None:
            raise ValueError(f"{method} needs a label: give --target.")
        table = read_parquet(data, target, drop=drop)
        settings = {
            "n_components": None if method == "lca" else n_components,
            "max_iter": max_iter,
            "random_state": seed,
            "callback": lambda _, i: say(f"learning {method}, iteration {i:,}"),
        }
        known = kinds[method]().get_params()
        given = {
            name: value
            for name, value in settings.items()
            if name in known and value is not None
        }
        with connected(cluster) as client, warnings_printed():
            say(f"learning {method}")
            pipeline = fit_pipeline(table, kinds[method](**given, client=client))
            classes: tuple[str, ...] = ()
            if table.y is not None:
                with client.as_current():
                    labels = table.y.dropna().unique().compute()
                classes = tuple(sorted(map(str, labels)))
    if table.left_out:
        names = ", ".join(printable(name, None) for name in table.left_out)
        typer.echo(f"left out, as they are not numbers: {names}")
    scaler, metric = pipeline
    asked = {"n_components": n_components, "max_iter": max_iter, "random_state": seed}
    model = replace(
        from_estimator(pipeline),
        method=method,
        task="classification" if classes else "none",
        mean=scaler.mean_,
        scale=scaler.scale_,
        components=metric.components_,
        target=target,
        classes=classes,
        parameters=asked,
    )
    d, n_features = model.components.shape
    features, dimensions = counted(n_features, "feature"), counted(d, "dimension")
    typer.echo(f"{method}: {features} to {dimensions}")
    save(output, model)
    typer.echo(f"model: {printable(output, None)}")
