"""Errors of the command: one sentence on standard error, and exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from vicinal.tables.names import printable

__all__ = ["report_errors"]


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn errors that a user can act on into a sentence; bugs keep their traceback."""
    try:
        yield
    except (ValueError, OSError, MemoryError) as error:
        # The first line: scikit-learn adds some of advice for those who write code.
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        # What a file holds may be part of it, and be a command to a terminal.
        typer.echo(f"vicinal: {printable(first, None)}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("vicinal: interrupted; nothing was written.", err=True)
        raise typer.Exit(130) from None
