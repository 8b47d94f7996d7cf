"""Where the command may write."""

from itertools import combinations
from pathlib import Path
from typing import Any

from vicinal._files import check_writable, is_same_file

__all__ = [
    "check_apart",
    "check_distinct",
    "check_output_path",
    "check_page_path",
    "check_table_path",
]

_TABLES = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".ipc")


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
    if path.exists() and is_same_file(str(path), data):
        raise ValueError(f"{path} is the data; write to another file.")


def check_table_path(path: Path, data: str) -> None:
    """Raise ValueError where no table can be written to a file, before any work.

    Parameters
    ----------
    path : Path
        The file to be written, whose ending says the format.
    data : str
        What is read, which is not written over.
    """
    check_output_path(path, data)
    if path.suffix.lower() not in _TABLES:
        raise ValueError(
            f"{path.name!r} must end in one of {', '.join(_TABLES)}, to say its format."
        )


def check_page_path(path: Path, data: str) -> None:
    """Raise ValueError where no report can be written to a file, before any work.

    Parameters
    ----------
    path : Path
        The file to be written, which a browser is to open.
    data : str
        What is read, which is not written over.
    """
    check_output_path(path, data)
    if path.suffix.lower() not in (".html", ".htm"):
        raise ValueError(
            f"{path.name!r} must end in .html: the report is a page for a browser."
        )


def check_distinct(paths: dict[str, Path | None]) -> None:
    """Raise ValueError where two options name the same file, however it is written.

    Parameters
    ----------
    paths : dict of str to Path or None
        What each option names.
    """
    named = {name: path.resolve() for name, path in paths.items() if path is not None}
    for (first, one), (second, other) in combinations(named.items(), 2):
        if one == other or (one.exists() and other.exists() and one.samefile(other)):
            raise ValueError(f"{first} and {second} are the same file; name two.")


def check_apart(output: Path, others: dict[str, Any]) -> None:
    """Raise ValueError where a file to be written is one that is read.

    Parameters
    ----------
    output : Path
        The file to be written.
    others : dict of str to path, str or None
        What is read, by what it is called.
    """
    for what, path in others.items():
        if path is not None and is_same_file(str(output), str(path)):
            raise ValueError(f"{output} is the {what}; write to another file.")
