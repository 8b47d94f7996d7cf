"""What is being done, and how far it is, where somebody looks on."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["progress_bar", "waiting"]


@contextmanager
def progress_bar() -> Iterator["Callable[[int, int, str], None]"]:
    """Show how far the work is, and what time is left.

    Yields
    ------
    callable
        Call it with what is done, of how much, and what is being done.
    """
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    # On standard error, so that standard output can be kept in a file.
    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.completed:.0f}/{task.total:.0f}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task("starting", total=1)

        def show(done: int, total: int, what: str) -> None:
            progress.update(bar, completed=done, total=total, description=what)

        yield show


@contextmanager
def waiting(what: str) -> Iterator["Callable[[str], None]"]:
    """Show what is being done, and for how long.

    Parameters
    ----------
    what : str
        What is being done.

    Yields
    ------
    callable
        Call it with what is being done now.
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        bar = progress.add_task(what, total=None)
        yield lambda now: progress.update(bar, description=now)
