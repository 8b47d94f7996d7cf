"""Atomic writes, and checks of paths."""

from __future__ import annotations

import errno
import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["atomic_write", "check_writable", "is_same_file", "remove_unfinished"]

_unfinished: set[Path] = set()


def is_same_file(one: str, other: str) -> bool:
    """Whether two paths name the same file, or two names of data sets are equal.

    Parameters
    ----------
    one, other : str
        Paths, or names of data sets.
    """
    paths = Path(one), Path(other)
    if not all(path.exists() for path in paths):
        return one == other
    return paths[0].samefile(paths[1])


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise ValueError if a file cannot be written.

    Parameters
    ----------
    path : str or path-like
        The file to be written. Devices and pipes are not replaced.
    """
    goal = _resolved(Path(path))
    if goal.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it.")
    if not goal.parent.is_dir():
        raise ValueError(f"There is no folder {goal.parent} to write to.")
    if goal.exists() and not goal.is_file():
        raise ValueError(f"{path} is not a regular file; write to another one.")
    try:
        # Tried, because rights alone do not tell: disks are mounted read-only.
        tempfile.TemporaryFile(dir=goal.parent).close()
    except OSError as error:
        raise ValueError(
            f"No file can be written in {goal.parent} ({error.strerror}); write to "
            "another folder."
        ) from error


def remove_unfinished() -> None:
    """Remove the temporary files of unfinished writes at the end of a process."""
    for temporary in list(_unfinished):
        temporary.unlink(missing_ok=True)


def _resolved(path: Path) -> Path:
    """Follow links: the file that they point to is replaced."""
    goal = Path(os.path.realpath(path))
    if goal.is_symlink():
        raise ValueError(
            f"{path} is a link that leads nowhere but to itself; write to another file."
        )
    return goal


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Write to a temporary file, and rename it to `path` on success.

    Parameters
    ----------
    path : str or path-like
        The file to be written. An existing file is kept until the end.

    Yields
    ------
    Path
        An empty file in the same folder; it is removed if an error occurs.

    Raises
    ------
    ValueError, OSError
        If the file cannot be written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vicinal._files import atomic_write
    >>> with TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    check_writable(path)
    goal = _resolved(Path(path))
    handle, name = tempfile.mkstemp(
        prefix=f".{goal.name[:40]}.", suffix=goal.suffix, dir=goal.parent
    )
    os.close(handle)
    temporary = Path(name)
    _unfinished.add(temporary)
    try:
        yield temporary
        # mkstemp's files are for their owner only; others are as the umask says.
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(
            goal.stat().st_mode & 0o777 if goal.exists() else 0o666 & ~umask
        )
        with temporary.open("rb+") as file:
            # Renamed before its bytes are on the disk, it could be found empty.
            os.fsync(file.fileno())
        temporary.replace(goal)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        full = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        if isinstance(error, OSError) and error.errno in full:
            # The system names no file, or the temporary one.
            raise OSError(f"{path} could not be written: {error.strerror}.") from error
        raise
    finally:
        _unfinished.discard(temporary)
