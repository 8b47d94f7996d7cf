"""Commands that can be copied from the page and run as they are."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from vicinal.report.sanitize import short

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["fit_command", "shell_command", "shown_command"]

_LONGEST = 4000
# What `vicinal fit` understands as `vicinal compare` does: how the table is read.
_SHARED = (
    "--target",
    "--task",
    "--n-components",
    "--seed",
    "--jobs",
    "--drop",
    "--categorical",
    "--number",
    "--date",
    "--decimal",
)
_FLAGS = ("--no-target", "--no-header")


def shell_command(arguments: Sequence[str]) -> str:
    r"""Return arguments as a line for a shell, each quoted where it has to be.

    Parameters
    ----------
    arguments : sequence of str
        As a process gets them.

    Examples
    --------
    >>> from vicinal.report.commands import shell_command
    >>> print(shell_command(["vicinal", "compare", "my shop.csv", "--target", "it's"]))
    vicinal compare 'my shop.csv' --target 'it'"'"'s'
    >>> print(shell_command(["echo", "a" + chr(7)]))
    echo $'a\x07'
    """
    return " ".join(map(_quoted, arguments))


def _quoted(argument: str) -> str:
    if argument == short(argument, max(len(argument), 1)):
        return shlex.quote(argument)
    # What cannot be printed is written in the escapes that bash, zsh and ksh know.
    escaped = "".join(
        c if short(c) == c and c not in "\\'" else _escaped(c) for c in argument
    )
    return f"$'{escaped}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    raw = character.encode("utf-8", "surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in raw)


def shown_command(command: str | Sequence[str] | None) -> dict[str, Any] | None:
    """Return a command as the page shows it, and whether it is whole.

    Parameters
    ----------
    command : str, sequence of str or None
        A line, or its arguments.
    """
    if command is None:
        return None
    line = command if isinstance(command, str) else shell_command(command)
    shown = short(line, _LONGEST)
    return {"line": shown, "whole": shown == line}


def fit_command(command: Any, method: str) -> list[str] | None:
    """Return how to learn the recommended metric on the same table.

    Parameters
    ----------
    command : object
        The arguments of ``vicinal compare DATA …``; nothing comes of anything else.
    method : str
        What to learn.

    Examples
    --------
    >>> from vicinal.report.commands import fit_command
    >>> ran = "vicinal compare shop.csv --target kind --splits 5 --report r.html"
    >>> " ".join(fit_command(ran.split(), "lda"))
    'vicinal fit shop.csv --target kind --method lda -o lda.safetensors'
    """
    if isinstance(command, str) or list(command or ())[:2] != ["vicinal", "compare"]:
        return None
    rest = iter(list(command)[2:])
    data: list[str] = []
    kept: list[str] = []
    for one in rest:
        name, equals, _ = one.partition("=")
        if one == "--":
            data += list(rest)
        elif not one.startswith("-"):
            data.append(one)
        elif one in _FLAGS:
            kept.append(one)
        else:
            value = [] if equals else [next(rest, "")]
            kept += [one, *value] if name in _SHARED else []
    if len(data) != 1:
        return None
    # A file whose name begins with a dash is one all the same.
    source = data if not data[0].startswith("-") else [f"./{data[0]}"]
    return [
        *["vicinal", "fit", *source, *kept],
        *["--method", method, "-o", f"{method}.safetensors"],
    ]
