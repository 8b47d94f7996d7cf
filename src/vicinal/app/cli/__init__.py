"""The `vicinal` command: reads arguments and prints; the work is done elsewhere.

One module for each group of commands. NumPy and scikit-learn take seconds to import,
so that only the functions that compute import them: `vicinal --help` answers at once.
"""

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
    try:
        from vicinal.app.cli.process import clean_up_on_termination, guard_streams

        output = guard_streams()
        clean_up_on_termination()
        try:
            code: str | int | None = 0
            build_app()(prog_name="vicinal")
        except SystemExit as done:
            code = done.code
    except KeyboardInterrupt:
        # During imports.
        sys.exit(130)
    output.flush()
    # A closed pipe is not a failure.
    if output.failure and not isinstance(output.failure, BrokenPipeError):
        reason = output.failure.strerror
        sys.stderr.write(f"vicinal: standard output cannot be written: {reason}.\n")
        code = code or 2
    sys.exit(code)


def build_app() -> "typer.Typer":
    """Declare the commands, their options and their help.

    Returns
    -------
    typer.Typer
        Call it to run the command.
    """
    import typer

    from vicinal.app.cli import adapt, bridge, compare, fit, neighbors

    # The long traceback of a bug shows more without a frame drawn around it.
    app = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
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
                "-V",
                callback=print_version,
                is_eager=True,
                help="Print the version and exit.",
            ),
        ] = False,
    ) -> None:
        """Learn what near should mean on your data."""

    def datasets() -> None:
        """List the data sets that need no download.

        Put .npz files with the arrays X and y into a folder, and set the
        environment variable VICINAL_DATA to it, to find them here.
        """
        from vicinal.datasets import available

        typer.echo("\n".join(available()))

    for command in (
        compare.compare,
        fit.fit,
        neighbors.transform,
        neighbors.neighbors,
        neighbors.predict,
        adapt.adapt,
        bridge.bridge,
        datasets,
    ):
        app.command()(command)
    return app
