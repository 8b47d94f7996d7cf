"""The `vicinal` command: reads arguments and prints; the work is done elsewhere.

One module for each group of commands. NumPy and scikit-learn take seconds to import,
so that only the functions that compute import them: `vicinal --help` answers at once.
"""

import io
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer

__all__ = ["build_app", "main"]


def main() -> None:
    """Run the command with the process's arguments."""
    if any(find_spec(package) is None for package in ("typer", "rich")):
        sys.exit("The vicinal command needs an extra: pip install 'vicinal[cli]'")
    for stream in (sys.stdout, sys.stderr):
        # A terminal that does not know ± or µ shows ?, and the work is not lost.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    build_app()(prog_name="vicinal")


def build_app() -> "typer.Typer":
    """Declare the commands, their options and their help.

    Returns
    -------
    typer.Typer
        Call it to run the command.
    """
    import typer

    from vicinal.cli import compare, datasets, models

    # The long traceback of a bug shows more without a frame drawn around it.
    app = typer.Typer(
        no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
    )

    def print_version(wanted: bool) -> None:
        if wanted:
            from vicinal import __version__

            typer.echo(f"vicinal {__version__}")
            raise typer.Exit

    @app.callback()
    def about(
        version: Annotated[
            bool,
            typer.Option(
                "--version",
                callback=print_version,
                is_eager=True,
                help="Print the version and exit.",
            ),
        ] = False,
    ) -> None:
        """Learn what near should mean on your data."""

    for module in (compare, models, datasets):
        module.register(app)
    return app
