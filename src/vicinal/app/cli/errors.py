"""Errors of the command: one sentence on standard error, and exit code 2."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import typer

from vicinal.app.tables.names import printable

__all__ = ["report_errors", "with_flags"]

# What parameters of Python are called on the command line.
_FLAGS = {
    "n_components": "--n-components",
    "n_neighbors": "--neighbors",
    "n_splits": "--splits",
    "max_iter": "--max-iter",
    "time_budget": "--time-budget",
    "random_state": "--seed",
    "image_shape": "--image-shape",
    "methods": "--methods",
    "score": "--score",
}
_PARAMETER = re.compile(
    # Not inside quotes: there it is a column's name, or a value.
    rf"(?<![\w'\"-])({'|'.join(_FLAGS)})(?:(=)|(?= (?:must|is|exceeds|==|<|>)))"
)


def with_flags(message: str) -> str:
    """Return a message with the names of options in place of parameters.

    Parameters
    ----------
    message : str
        Of an error that Python code would see.

    Examples
    --------
    >>> from vicinal.app.cli.errors import with_flags
    >>> with_flags("n_components=99 exceeds the 4 features; ask for 4 or fewer.")
    '--n-components 99 exceeds the 4 features; ask for 4 or fewer.'
    """
    return _PARAMETER.sub(lambda m: _FLAGS[m[1]] + (" " if m[2] else ""), message)


# What the libraries take before the first row is read, and more for each thread.
_BYTES, _BYTES_A_THREAD = 1_550_000_000, 50_000_000


def _check_address_space() -> None:
    """Refuse where the process may address less than its libraries take.

    They would not say so: BLAS waits without end for memory that it cannot have, and
    where it cannot start a thread it sends the process the signal of Ctrl-C.
    """
    try:
        import resource
    except ImportError:  # not on Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    needed = _BYTES + _BYTES_A_THREAD * _n_threads()
    if resource.RLIM_INFINITY != limit < needed:
        raise ValueError(
            f"not enough memory: this process may address {limit / 1e6:.0f} MB, and "
            f"the libraries that compute take {needed / 1e6:.0f} MB. "
            "Allow more (ulimit -v)."
        )


def _n_threads() -> int:
    """Return how many threads BLAS will start: of what it may use, what it is told."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on every system
    n = len(allowed(0)) if allowed else os.cpu_count() or 1
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        given = os.environ.get(name, "")
        if given.isdecimal() and int(given):
            return min(n, int(given))
    return n


@contextmanager
def report_errors() -> Iterator[None]:
    """Turn errors that a user can act on into a sentence; bugs keep their traceback."""
    try:
        _check_address_space()
        yield
    except (ValueError, OSError, MemoryError, RuntimeError, ImportError) as error:
        is_bug = isinstance(error, RuntimeError | ImportError)
        if is_bug and not _is_out_of_memory(error):
            raise
        # The first line: scikit-learn adds some of advice for those who write code.
        first = str(error).strip().partition("\n")[0] or type(error).__name__
        first = with_flags(first)
        if _NO_THREAD in first:
            first = f"{first}: allow more processes (ulimit -u) or memory, or --jobs 1."
        elif _is_out_of_memory(error):
            first = f"not enough memory ({first}). Give fewer rows or columns."
        # What a file holds may be part of it, and be a command to a terminal.
        typer.echo(f"vicinal: {printable(first, None)}", err=True)
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        typer.echo("vicinal: interrupted; nothing was written.", err=True)
        raise typer.Exit(130) from None


# How the system, Python and the loader of libraries call a want of memory.
_NO_THREAD = "can't start new thread"
_SIGNS = ("Cannot allocate memory", _NO_THREAD, "failed to map segment")


def _is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether memory was short: where it was asked for, or in loading code."""
    while error is not None:
        words = str(error)
        if isinstance(error, MemoryError) or any(sign in words for sign in _SIGNS):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextmanager
def warnings_printed() -> Iterator[None]:
    """Print what a method warns of in a line each, once the work is done."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for line in dict.fromkeys(" ".join(str(one.message).split()) for one in caught):
        typer.echo(f"note: {printable(line, None)}", err=True)
