"""Commands that can be copied from the page and run as they are."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vicinal.app.comparison import METHODS
from vicinal.app.report.text import short

if TYPE_CHECKING:
    from collections.abc import Sequence

# Options of `vicinal compare` that `vicinal fit` also has.
_OVERRIDES = ("--drop", "--categorical", "--number", "--date", "--decimal")
_SHARED = (
    *("--target", "--task", "--n-components", "--seed", "--jobs", "--neighbors", "-k"),
    *("--score", *_OVERRIDES),
)
_FLAGS = ("--no-target",)


def shell_command(arguments: Sequence[str]) -> str:
    r"""Return arguments as a line for a shell, each quoted if needed.

    Parameters
    ----------
    arguments : sequence of str
        As a process gets them.

    Examples
    --------
    >>> from vicinal.app.report.commands import shell_command
    >>> print(shell_command(["vicinal", "compare", "my shop.csv", "--target", "it's"]))
    vicinal compare 'my shop.csv' --target 'it'"'"'s'
    >>> print(shell_command(["echo", "a" + chr(7)]))
    echo $'a\x07'
    """
    return " ".join(map(_quoted, arguments))


def _quoted(argument: str) -> str:
    if argument == short(argument, max(len(argument), 1)):
        return shlex.quote(argument)
    # Unprintable characters are written as escapes of bash, zsh and ksh.
    escaped = "".join(
        c if short(c) == c and c not in "\\'" else _escaped(c) for c in argument
    )
    return f"$'{escaped}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    raw = character.encode("utf-8", "surrogateescape")
    return "".join(f"\\x{byte:02x}" for byte in raw)


def shown_command(
    command: str | Sequence[str] | None, max_length: int = 4000
) -> dict[str, Any] | None:
    """Return a command as the page shows it, and whether it is whole.

    Parameters
    ----------
    command : str, sequence of str or None
        A line, or its arguments.
    max_length : int, default=4000
        The largest number of characters to show.
    """
    if command is None:
        return None
    line = command if isinstance(command, str) else shell_command(command)
    shown = short(line, max_length)
    return {"line": shown, "whole": shown == line}


@dataclass(frozen=True)
class Ran:
    """The arguments of a command ``vicinal compare DATA …``.

    Attributes
    ----------
    data : str
        The table.
    kept : tuple of str
        The options that `vicinal fit` understands in the same way.
    target : str or None
        The column of the target, if it was named.
    overrides : dict
        The overrides of columns, as for `vicinal.compare`.
    """

    data: str
    kept: tuple[str, ...]
    target: str | None
    overrides: dict[str, Any]


def read_command(command: Any) -> Ran | None:
    """Read the arguments of ``vicinal compare DATA …``; None for anything else.

    Parameters
    ----------
    command : object
        A sequence of str, as a process gets them.
    """
    if isinstance(command, str) or list(command or ())[:2] != ["vicinal", "compare"]:
        return None
    rest = iter(list(command)[2:])
    data: list[str] = []
    kept: list[str] = []
    values: dict[str, list[str]] = {}
    for one in rest:
        name, equals, value = one.partition("=")
        if one.startswith("-k") and len(one) > 2:  # -k5, as -k 5
            name, equals, value = "-k", "=", one[2:]
        if one == "--":
            data += list(rest)
        elif not one.startswith("-"):
            data.append(one)
        elif one in _FLAGS:
            kept.append(one)
        else:
            value = value if equals else next(rest, "")
            values.setdefault(name, []).append(value)
            kept += [one, *([] if equals else [value])] if name in _SHARED else []
    if len(data) != 1:
        return None
    overrides: dict[str, Any] = {
        name[2:]: values[name] for name in _OVERRIDES if name in values
    }
    if "decimal" in overrides:
        overrides["decimal"] = overrides["decimal"][-1]
    # The name of a file may begin with a dash.
    source = f"./{data[0]}" if data[0].startswith("-") else data[0]
    target = values.get("--target", [None])[-1]
    return Ran(source, tuple(kept), target, overrides)


def fit_command(
    command: Any, method: str | None, target: str | None = None
) -> list[str] | None:
    """Return the command that learns the recommended metric on the same table.

    Parameters
    ----------
    command : object
        The arguments of ``vicinal compare DATA …``; for others the result is None.
    method : str or None
        The method. The result is None unless it is one of `METHODS`.
    target : str, optional
        The column of the target, if the command does not name it.

    Examples
    --------
    >>> from vicinal.app.report.commands import fit_command
    >>> ran = "vicinal compare shop.csv --target kind --splits 5 --report r.html"
    >>> " ".join(fit_command(ran.split(), "lda"))
    'vicinal fit shop.csv --target kind --method lda -o lda.safetensors'
    """
    ran = read_command(command)
    if ran is None or method not in METHODS or not METHODS[method].storable:
        return None
    found = [] if target is None or ran.target is not None else ["--target", target]
    return [
        *["vicinal", "fit", ran.data, *found, *ran.kept],
        *["--method", method, "-o", f"{method}.safetensors"],
    ]
