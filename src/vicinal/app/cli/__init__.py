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
        from vicinal.app.cli.signals import clean_up_on_termination
        from vicinal.app.cli.streams import guard_streams

        output = guard_streams()
        clean_up_on_termination()
        code = _exit_code()
    except KeyboardInterrupt:
        # Imports take a moment, too, and nothing has been done by then.
        sys.exit(130)
    output.flush()
    # A reader that has seen enough is no failure.
    if output.failure and not isinstance(output.failure, BrokenPipeError):
        reason = output.failure.strerror
        sys.stderr.write(f"vicinal: standard output cannot be written: {reason}.\n")
        code = code or 2
    sys.exit(code)


def _exit_code() -> str | int | None:
    try:
        build_app()(prog_name="vicinal")
    except SystemExit as done:
        return done.code
    return 0


def build_app() -> "typer.Typer":
    """Declare the commands, their options and their help.

    Returns
    -------
    typer.Typer
        Call it to run the command.
    """
    import typer

    from vicinal.app.cli import adapt, compare, datasets, fit, neighbors, transform

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

    for module in (compare, fit, transform, neighbors, adapt, datasets):
        module.register(app)
    return app
