"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["written_whole"]


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary file to write to, and rename it to `path` when all is well.

    Parameters
    ----------
    path : str or path-like
        What the file is to be called. What is there stays as it is until the end.

    Yields
    ------
    Path
        An empty file in the same folder; it is removed when an error comes. A pipe
        or a device is given as it is.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vicinal._files import written_whole
    >>> with TemporaryDirectory() as folder:
    ...     with written_whole(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("whole")
    ...     [path.name for path in Path(folder).iterdir()]
    ['a.txt']
    """
    # Through links: they stay, and what they point to is replaced.
    goal = Path(path).resolve()
    if goal.exists() and not goal.is_file():
        # A pipe or a terminal: nothing can take its place.
        yield goal
        return
    handle, name = tempfile.mkstemp(
        prefix=f".{goal.name[:40]}.", suffix=goal.suffix, dir=goal.parent
    )
    os.close(handle)
    temporary = Path(name)
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
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
