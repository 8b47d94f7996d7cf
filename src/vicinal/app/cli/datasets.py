"""`vicinal datasets`: which data sets are at hand."""

import typer

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(datasets)


def datasets() -> None:
    """List the data sets that need no download.

    Put .npz files with the arrays X and y into a folder, and set the
    environment variable VICINAL_DATA to it, to find them here.
    """
    from vicinal.datasets import available

    typer.echo("\n".join(available()))
