"""What a table is read from, opened by its ending and its first bytes.

Nothing is read beyond what shows that it can be; the rows come in pieces.
"""

from __future__ import annotations

import glob
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables import other_files
from vicinal.app.tables.frames import is_frame, to_polars
from vicinal.app.tables.names import distinct_names, near
from vicinal.app.tables.workbooks import EXCEL, read_excel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from vicinal.datasets import Dataset

__all__ = ["PIECE", "Source", "open_source"]

#: Rows of a piece at most, where the reader can count them, and cells.
PIECE = 50_000
_CELLS = 4_000_000
_ARROW = {".arrow", ".feather", ".ipc"}
# How long a trial of an Arrow file may take: seconds, and bytes in each second more.
_PATIENCE, _BYTES_A_SECOND = 60.0, 1e6


@dataclass(frozen=True)
class Source:
    """A table that can be read.

    Attributes
    ----------
    name : str
        The file's name, or the data set's.
    pieces : callable
        Reads the rows from the first one on, in frames with the same columns.
    target : str or None
        The column that is known to be the label.
    notes : tuple of str
        What a reader should know of it.
    decimal : str
        What stands before a fraction, where its cells do not tell: a comma in text
        that semicolons delimit.
    line_of : callable
        From a row's number to the line of text on which it begins, or None.
    """

    name: str
    pieces: Callable[[], Iterator[pl.DataFrame]]
    target: str | None = None
    notes: tuple[str, ...] = ()
    decimal: str = "."
    line_of: Callable[[int], int | None] = lambda _row: None

    @property
    def stem(self) -> str:
        """The name without its ending."""
        name = Path(self.name)
        return (name.with_suffix("") if name.suffix.lower() == ".gz" else name).stem


def open_source(source: Any) -> Source:
    """Find out what a table can be read from.

    Parameters
    ----------
    source : str, path-like or DataFrame
        A file's path, a data set's name, or a frame of pandas or polars.

    Returns
    -------
    Source
        Whose rows can be read.

    Raises
    ------
    ValueError, OSError
        With one sentence that says what to do.
    """
    if find_spec("polars") is None:
        raise ValueError("Reading tables needs an extra: pip install 'vicinal[cli]'.")
    if is_frame(source):
        frame = to_polars(source)
        return Source("the data", lambda: iter([frame]))
    from vicinal.datasets import available, load

    path = Path(source)
    source = str(source)
    is_name = not path.exists() and not path.suffix and path.name == source
    if source in available():
        return _of_dataset(load(source))
    if is_name:
        try:
            return _of_dataset(load(source))
        except ValueError:
            hint = near(source, [*available(), *_files_beside(path)])
            if not hint:
                raise
            sentence = f"There is no file or data set {source!r}{hint}"
            raise ValueError(sentence) from None
    _check_file(path)
    return _of_file(path)


def _of_file(path: Path) -> Source:
    import polars as pl

    from vicinal.app.tables import delimited
    from vicinal.datasets import read_npz

    suffix = path.with_name(path.name.lower().removesuffix(".gz")).suffix
    if suffix == ".npz":
        return _of_dataset(read_npz(path))
    if suffix == ".npy":
        return Source(path.name, lambda: other_files.array_pieces(path, PIECE, _CELLS))
    if suffix == ".parquet":
        _check_ends(path, b"PAR1", "Parquet")
        return Source(path.name, lambda: _lazy_pieces(path, pl.scan_parquet))
    if suffix in _ARROW:
        return _of_arrow(path)
    if suffix in other_files.JSON:
        return Source(path.name, lambda: iter([other_files.read_json(path)]))
    if suffix in EXCEL:
        frame, notes = read_excel(path)
        return Source(path.name, lambda: iter([frame]), notes=tuple(notes))
    file = delimited.open_delimited(path)
    return Source(
        path.name,
        lambda: delimited.pieces_of(file),
        notes=file.notes,
        decimal="," if file.delimiter == ";" else ".",
        line_of=lambda row: delimited.line_of(file, row),
    )


def _files_beside(path: Path) -> list[str]:
    folder = path.parent
    return [one.name for one in folder.iterdir()] if folder.is_dir() else []


def _check_file(path: Path) -> None:
    if path.is_dir():
        hint = " Of Parquet files, vicinal fit --cluster local learns from all."
        more = hint if any(path.glob("*.parquet")) else ""
        raise IsADirectoryError(f"{path} is a folder; name a file in it.{more}")
    if not path.exists():
        hint = near(path.name, _files_beside(path))
        lists = "; `vicinal datasets` lists the data sets that need none."
        raise FileNotFoundError(f"There is no file {str(path)!r}{hint or lists}")
    if not path.is_file():
        raise OSError(f"{path} is not a regular file; copy the table into one.")
    if path.stat().st_size == 0:
        raise ValueError(f"{path.name} is empty; it needs a header and rows.")


def _check_ends(path: Path, magic: bytes, kind: str) -> None:
    with path.open("rb") as file:
        head = file.read(len(magic))
        file.seek(-min(len(magic), path.stat().st_size), 2)
        tail = file.read()
    if head != magic:
        raise ValueError(f"{path.name} is not a {kind} file; is its ending right?")
    if tail != magic:
        raise ValueError(f"{path.name} is cut short; copy it again.")


def _of_dataset(dataset: Dataset) -> Source:
    import polars as pl

    n_features = dataset.X.shape[1]
    given = dataset.feature_names or [f"x{index}" for index in range(n_features)]
    names = distinct_names(given)
    target = distinct_names([*names, "target"])[-1]
    frame = pl.DataFrame(np.ascontiguousarray(dataset.X), schema=names, orient="row")
    frame = frame.with_columns(pl.Series(target, dataset.y))
    return Source(dataset.name, lambda: iter([frame]), target=target)


def _of_arrow(path: Path) -> Source:
    import polars as pl

    with path.open("rb") as file:
        streamed = file.read(6) != b"ARROW1"
    if not streamed:
        _check_ends(path, b"ARROW1", "Arrow")
    state = path.stat()
    _check_arrow(path, streamed, (state.st_mtime_ns, state.st_size))
    if not streamed:
        return Source(path.name, lambda: _lazy_pieces(path, pl.scan_ipc))

    def whole() -> Iterator[pl.DataFrame]:
        with _damage_reported(path):
            frame = pl.read_ipc_stream(path)
        yield frame

    return Source(path.name, whole)


@lru_cache(maxsize=8)
def _check_arrow(path: Path, streamed: bool, _state: tuple[int, int]) -> None:
    """Raise ValueError where a damaged file would end the process that reads it."""
    script = str(Path(__file__).with_name("_read_arrow.py"))
    size = ("0", "0") if streamed else (str(PIECE), str(_CELLS))
    try:
        # -P: what lies beside the script is not to be found by its imports.
        trial = subprocess.run(  # noqa: S603
            [sys.executable, "-P", script, str(path), *size],
            capture_output=True,
            check=False,
            timeout=_PATIENCE + path.stat().st_size / _BYTES_A_SECOND,
        )
        failed = trial.returncode != 0
    except subprocess.TimeoutExpired:
        failed = True
    # Where no process can be started, the file is read without a trial.
    except OSError:
        return
    if failed:
        raise ValueError(
            f"{path.name} is damaged: reading it breaks the reader down; copy it again."
        )


def _lazy_pieces(
    path: Path, scan: Callable[[str], pl.LazyFrame]
) -> Iterator[pl.DataFrame]:
    """Slices of a lazy frame: polars reads no more than the rows asked for."""
    import polars as pl

    with _damage_reported(path):
        # Escaped, because * and [ in a file's name are part of the name.
        lazy = scan(glob.escape(str(path)))
        n_rows = int(lazy.select(pl.len()).collect().item())
        first = lazy.head(1).collect()
    if n_rows == 0:
        yield first
    # A vector is as many cells as it has components.
    width = sum(map(_cells, first.iter_columns()))
    size = max(1, min(PIECE, _CELLS // max(1, width)))
    for start in range(0, n_rows, size):
        with _damage_reported(path):
            piece = lazy.slice(start, size).collect()
        yield piece


def _cells(column: pl.Series) -> int:
    import polars as pl

    if not column.dtype.is_nested() or column.dtype == pl.Struct or column.is_empty():
        return 1
    return int(column.explode().len())


@contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    # Some damage makes the reader panic, which is no Exception; some of it looks like
    # an error of the disk.
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{path.name} is damaged and cannot be read ({first}); copy it again."
        ) from error
