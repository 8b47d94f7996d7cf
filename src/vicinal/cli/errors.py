"""How the command tells of a mistake: one sentence on standard error, exit code 2."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

__all__ = ["report_errors"]


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn what a user can mend into a sentence; bugs keep their traceback."""
    try:
        yield
    except (ValueError, OSError, MemoryError) as error:
        # The first line: scikit-learn adds some of advice for those who write code.
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        # What a file holds may be part of it, and be a command to a terminal.
        sentence = "".join(x if x.isprintable() else "�" for x in first)
        typer.echo(f"vicinal: {sentence}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("vicinal: interrupted; nothing was written.", err=True)
        raise typer.Exit(130) from None
