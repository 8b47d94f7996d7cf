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
        The scheduler's address, or "local".
    method, target, n_components, max_iter, seed, drop
        As for the command.
    others : dict
        Options that are for tables in memory, by name.
    """
    for name, value in others.items():
        if value:
            raise ValueError(f"{name} is not for --cluster, which takes numbers as is.")
    with waiting("connecting") as say:
        try:
            from vicinal.dask.parquet import (
                class_names,
                connected,
                learn_from_parquet,
                read_parquet,
            )
        except ImportError as error:
            raise ValueError(str(error)) from error
        from vicinal.app.models import from_estimator, save

        table = read_parquet(data, target, drop=drop)
        with connected(cluster) as client, warnings_printed():
            say(f"learning {method}")
            pipeline = learn_from_parquet(
                table,
                method,
                client,
                n_components=n_components,
                max_iter=max_iter,
                random_state=seed,
                on_iteration=lambda i: say(f"learning {method}, iteration {i:,}"),
            )
            classes = class_names(table, client)
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
