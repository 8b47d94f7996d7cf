"""`vicinal fit --cluster`: learn on a Dask cluster from a folder of Parquet files."""

from pathlib import Path
from typing import Any

import typer

from vicinal.cli.errors import warnings_printed
from vicinal.cli.progress import waiting
from vicinal.tables.names import counted, printable

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
                connected,
                learn_from_parquet,
                read_parquet,
            )
        except ImportError as error:
            raise ValueError(str(error)) from error
        from vicinal.models import from_estimator, save

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
    if table.left_out:
        names = ", ".join(printable(name, None) for name in table.left_out)
        typer.echo(f"left out, as they are not numbers: {names}")
    model = from_estimator(pipeline)
    d, n_features = model.components.shape
    features, dimensions = counted(n_features, "feature"), counted(d, "dimension")
    typer.echo(f"{method}: {features} to {dimensions}")
    save(output, model)
    typer.echo(f"model: {printable(output, None)}")
