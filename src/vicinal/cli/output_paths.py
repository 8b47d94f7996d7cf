"""Where the command may write."""

from pathlib import Path

from vicinal._files import check_writable

__all__ = ["check_output_path"]


def check_output_path(path: Path, data: str) -> None:
    """Raise ValueError where a file cannot be written, before any work is done.

    Parameters
    ----------
    path : Path
        The file to be written.
    data : str
        What is read, which is not written over.
    """
    check_writable(path)
    if path.exists() and Path(data).exists() and path.samefile(data):
        raise ValueError(f"{path} is the data; write to another file.")
