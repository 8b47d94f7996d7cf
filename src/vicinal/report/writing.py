"""A file that is written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["write"]


def write(path: str | PathLike[str], text: str) -> None:
    """Write a text to a file, in UTF-8.

    It goes to a file beside the wanted one first, which then takes its place: when
    the disk is full, what was there before is still there, and nothing else is.

    Parameters
    ----------
    path : str or path-like
        Where to.
    text : str
        What to write.

    Raises
    ------
    OSError
        When it cannot be written.
    """
    # Through links: they stay, and what they point to is replaced.
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        # A pipe or a terminal: nothing to put in its place.
        target.write_text(text, encoding="utf-8", newline="\n")
        return
    handle, name = tempfile.mkstemp(".part", f".{target.name[:64]}.", target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(_mode(target))
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _mode(target: Path) -> int:
    """Return the permissions of the file to replace, or those of a new one."""
    with suppress(OSError):
        return target.stat().st_mode & 0o777
    # The mask can only be read by setting it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
