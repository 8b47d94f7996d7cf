"""Sources of tables: frames, files by their ending and first bytes, and data sets.

Files are only opened here; their rows come in pieces. No file is ever unpickled.
"""

from __future__ import annotations

import glob
import subprocess
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from vicinal.app.tables.delimited import (
    check_expansion,
    has_header,
    line_of,
    open_delimited,
    open_text,
    pieces_of,
)
from vicinal.app.tables.names import TableError, distinct_names, near

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import polars as pl

    from vicinal.datasets import Dataset

__all__ = ["PIECE", "Source", "is_frame", "open_source", "to_polars"]

#: Maximum number of rows of a piece.
PIECE = 50_000
#: Maximum number of cells of a piece.
_CELLS = 4_000_000


@dataclass(frozen=True)
class Source:
    """A table that can be read.

    Attributes
    ----------
    name : str
        Name of the file or the data set.
    pieces : callable
        Returns an iterator over all rows, in frames with the same columns.
    target : str or None
        The column that is known to be the label.
    notes : tuple of str
        Notes for the user.
    decimal : {",", "."}
        The likely decimal sign: a comma in text that semicolons delimit.
    line_of : callable
        From the number of a row to the line of text on which it begins, or None.
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
    """Open a table.

    Parameters
    ----------
    source : str, path-like or DataFrame
        Path of a file, name of a data set, or a frame of pandas or polars.

    Returns
    -------
    Source
        The table.

    Raises
    ------
    ValueError, OSError
        With one sentence for the user.
    """
    if find_spec("polars") is None:
        raise TableError("Reading tables needs an extra: pip install 'vicinal[cli]'.")
    if is_frame(source):
        frame = to_polars(source)
        return Source("the data", lambda: iter([frame]))
    from vicinal.datasets import available, load

    path, source = Path(source), str(source)
    if source in available():
        return _open_dataset(load(source))
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    files = [one.name for one in beside]
    if not path.exists() and not path.suffix and path.name == source:
        try:
            return _open_dataset(load(source))
        except ValueError:
            hint = near(source, [*available(), *files])
            if not hint:
                raise
            message = f"There is no file or data set {source!r}{hint}"
            raise TableError(message) from None
    _check_file(path, files)
    return _open_file(path)


def _check_file(path: Path, files: list[str]) -> None:
    if path.is_dir():
        hint = " A Dask cluster learns from a folder of Parquet files."
        more = hint if any(path.glob("*.parquet")) else ""
        raise IsADirectoryError(f"{path} is a folder; name a file in it.{more}")
    if not path.exists():
        hint = near(path.name, files)
        lists = "; `vicinal datasets` lists the data sets that need none."
        raise FileNotFoundError(f"There is no file {str(path)!r}{hint or lists}")
    if not path.is_file():
        raise OSError(f"{path} is not a regular file; copy the table into one.")
    if path.stat().st_size == 0:
        raise TableError(f"{path.name} is empty; it needs a header and rows.")


def _open_file(path: Path) -> Source:
    import polars as pl

    from vicinal.datasets import read_npz

    suffix = path.with_name(path.name.lower().removesuffix(".gz")).suffix
    if suffix == ".npz":
        return _open_dataset(read_npz(path))
    if suffix == ".npy":
        return Source(path.name, lambda: _array_pieces(path))
    if suffix == ".parquet":
        _check_ends(path, b"PAR1", "Parquet")
        return Source(path.name, lambda: _lazy_pieces(path, pl.scan_parquet))
    if suffix in (".arrow", ".feather", ".ipc"):
        return _open_arrow(path)
    if suffix in (".json", ".jsonl", ".ndjson"):
        return Source(path.name, lambda: iter([_read_json(path)]))
    if suffix in (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"):
        frame, notes = _read_excel(path)
        return Source(path.name, lambda: iter([frame]), notes=tuple(notes))
    file = open_delimited(path)
    return Source(
        path.name,
        lambda: pieces_of(file),
        notes=file.notes,
        decimal="," if file.delimiter == ";" else ".",
        line_of=lambda row: line_of(file, row),
    )


def _open_dataset(dataset: Dataset) -> Source:
    import polars as pl

    n_features = dataset.X.shape[1]
    given = dataset.feature_names or [f"x{index}" for index in range(n_features)]
    names = distinct_names(given)
    target = distinct_names([*names, "target"])[-1]
    frame = pl.DataFrame(np.ascontiguousarray(dataset.X), schema=names, orient="row")
    frame = frame.with_columns(pl.Series(target, dataset.y))
    return Source(dataset.name, lambda: iter([frame]), target=target)


def _check_ends(path: Path, magic: bytes, kind: str) -> None:
    with path.open("rb") as file:
        head = file.read(len(magic))
        file.seek(-min(len(magic), path.stat().st_size), 2)
        tail = file.read()
    if head != magic:
        raise TableError(f"{path.name} is not a {kind} file; is its ending right?")
    if tail != magic:
        raise TableError(f"{path.name} is cut short; copy it again.")


def _open_arrow(path: Path) -> Source:
    import polars as pl

    with path.open("rb") as file:
        is_stream = file.read(6) != b"ARROW1"
    if not is_stream:
        _check_ends(path, b"ARROW1", "Arrow")
    _try_arrow(path, is_stream, path.stat().st_mtime_ns, path.stat().st_size)
    if not is_stream:
        return Source(path.name, lambda: _lazy_pieces(path, pl.scan_ipc))

    def whole() -> Iterator[pl.DataFrame]:
        with _damage_reported(path):
            frame = pl.read_ipc_stream(path)
        yield frame

    return Source(path.name, whole)


# Errors are raised again when the file is read. A panic of a thread is reported here,
# because it may leave other threads waiting.
_TRIAL = """
import glob, sys
import polars as pl
path, is_stream, rows, cells = sys.argv[1], *map(int, sys.argv[2:])
try:
    if is_stream:
        pl.read_ipc_stream(path)
    else:
        lazy = pl.scan_ipc(glob.escape(path))
        n_rows = lazy.select(pl.len()).collect().item()
        size = max(1, min(rows, cells // max(1, len(lazy.collect_schema()))))
        for start in range(0, n_rows, size):
            lazy.slice(start, size).collect()
except pl.exceptions.PanicException:
    sys.exit(1)
except BaseException:
    pass
"""


@lru_cache(maxsize=8)
def _try_arrow(path: Path, is_stream: bool, _changed: int, size: int) -> None:
    """Read an Arrow file in another process: on a damaged length, polars aborts."""
    numbers = map(str, (int(is_stream), PIECE, _CELLS))
    try:
        # A minute, and a second for each megabyte. -P: no imports from this folder.
        trial = subprocess.run(  # noqa: S603
            [sys.executable, "-P", "-c", _TRIAL, str(path), *numbers],
            capture_output=True,
            check=False,
            timeout=60 + size / 1e6,
        )
    except OSError:
        # No process can be started: the file is read without a trial.
        return
    except subprocess.TimeoutExpired:
        trial = None
    if trial is None or trial.returncode:
        raise TableError(
            f"{path.name} is damaged: reading it crashes the reader; copy it again."
        )


def _lazy_pieces(
    path: Path, scan: Callable[[str], pl.LazyFrame]
) -> Iterator[pl.DataFrame]:
    """Yield slices of a lazy frame: polars reads only their rows."""
    import polars as pl

    with _damage_reported(path):
        # Escaped, because * and [ in the name of a file are part of it.
        lazy = scan(glob.escape(str(path)))
        n_rows = int(lazy.select(pl.len()).collect().item())
        first = lazy.head(1).collect()
    if n_rows == 0:
        yield first
    lists = (pl.List, pl.Array)
    # A vector has one cell for each component.
    width = sum(
        int(one.explode().len()) if len(one) and one.dtype in lists else 1
        for one in first.iter_columns()
    )
    size = max(1, min(PIECE, _CELLS // max(1, width)))
    for start in range(0, n_rows, size):
        with _damage_reported(path):
            piece = lazy.slice(start, size).collect()
        yield piece


@contextmanager
def _damage_reported(path: Path) -> Iterator[None]:
    import polars as pl

    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    # Some damage makes the reader panic, which is not an Exception; some looks like
    # an error of the disk.
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).strip().partition("\n")[0]
        raise TableError(
            f"{path.name} is damaged and cannot be read ({first}); copy it again."
        ) from error


def _read_json(path: Path) -> pl.DataFrame:
    """Read a list of objects, or one object on each line."""
    import polars as pl

    text = b"".join(open_text(path).chunks()).strip()
    if not text:
        raise TableError(f"{path.name} is empty; it needs an object for each row.")
    try:
        read = pl.read_json if text.startswith(b"[") else pl.read_ndjson
        return read(text, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).strip().partition("\n")[0]
        raise TableError(
            f"{path.name} cannot be read as JSON ({first}); it needs an object like "
            '{"a": 1, "b": "x"} on each line, or a list of them.'
        ) from error


def _array_pieces(path: Path) -> Iterator[pl.DataFrame]:
    """Read an `.npy` file of two dimensions, or of records."""
    import polars as pl

    try:
        # Mapped: a header that promises more than the file holds is refused.
        array: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, OverflowError) as error:
        raise TableError(
            f"{path.name} cannot be read as an array without pickle ({error})."
        ) from error
    fields = array.dtype.names
    plain = array.ndim == 2 and array.dtype.kind in "fiub"
    if not plain and not (fields and array.ndim == 1):
        raise TableError(
            f"{path.name} holds an array of shape {array.shape} and type "
            f"{array.dtype}; a table has two dimensions and numbers, or records."
        )
    names = distinct_names(list(fields or [f"x{i}" for i in range(array.shape[1])]))
    size = max(1, min(PIECE, _CELLS // max(1, len(names))))
    for start in range(0, max(len(array), 1), size):
        part = np.ascontiguousarray(array[start : start + size])
        columns = [part[name] for name in fields] if fields else part.T
        yield pl.DataFrame(
            {name: _native(one) for name, one in zip(names, columns, strict=True)}
        )


def _native(column: Any) -> Any:
    """Return an array that polars takes: contiguous, native, and not float16."""
    half = column.dtype == np.float16
    dtype = np.dtype("f4") if half else column.dtype.newbyteorder("=")
    return np.ascontiguousarray(column.astype(dtype, copy=False))


def _read_excel(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read the first sheet of a workbook that has cells; return notes on it, too."""
    if find_spec("fastexcel") is None:
        raise TableError(
            f"Reading {path.name} needs an extra: pip install 'vicinal[excel]'; or "
            "save its table as CSV."
        )
    with path.open("rb") as file:
        magic = file.read(4)
    # Archives, and the compound files of old versions.
    if magic not in (b"PK\x03\x04", b"\xd0\xcf\x11\xe0"):
        raise TableError(
            f"{path.name} is not a workbook, despite its ending; if it is text, let "
            "its name end in .csv."
        )
    if magic.startswith(b"PK"):
        try:
            with ZipFile(path) as archive:
                size = sum(one.file_size for one in archive.infolist())
        except BadZipFile as error:
            message = f"{path.name} is cut short or damaged; copy it."
            raise TableError(message) from error
        check_expansion(path, size, ratio=200)
    import fastexcel

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _read_sheet(fastexcel.read_excel(str(path)))
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise TableError(
            f"{path.name} cannot be read as a workbook ({first}); save its table as "
            "CSV."
        ) from error
    if found is None:
        raise TableError(f"{path.name} is empty; it needs a row of names and rows.")
    return found


def _read_sheet(book: Any) -> tuple[pl.DataFrame, list[str]] | None:
    import polars as pl

    sheets = book.sheet_names
    for name in sheets:
        head = book.load_sheet(name, header_row=None, n_rows=20, dtypes="string")
        rows = [
            ["" if cell is None else str(cell).strip() for cell in row]
            for row in head.to_polars().rows()
        ]
        if any(map(any, rows)):
            break
    else:
        return None
    notes = []
    if len(sheets) > 1:
        which = "the first" if name == sheets[0] else "the first with cells,"
        notes.append(f"sheet {name!r}, {which} of {len(sheets)}")
    # The table begins at the first row with more than half of the cells of the widest.
    filled = [sum(map(bool, row)) for row in rows]
    start = next(i for i, n in enumerate(filled) if 2 * n > max(filled))
    if start:
        above = "row" if start == 1 else f"{start} rows"
        notes.append(f"the {above} above the table left out")
    if has_header(rows[start:]):
        frame = book.load_sheet(name, header_row=start).to_polars()
        # The library's own names for cells without one.
        given = ("" if x.startswith("__UNNAMED__") else x for x in frame.columns)
        frame.columns = distinct_names([one.strip() for one in given])
    else:
        frame = book.load_sheet(name, header_row=None, skip_rows=start).to_polars()
        frame.columns = [f"x{index}" for index in range(frame.width)]
        notes.append(
            "no row of names: the first row holds values, and the columns are called "
            f"{frame.columns[0]} to {frame.columns[-1]}"
        )
    # Workbooks have no integers.
    columns = [
        one.cast(pl.Int64)
        if one.dtype.is_float()
        and (one.is_null() | (one == one.round(0))).all()
        and one.is_finite().all()
        and (one.abs() < 2**53).all()
        else one
        for one in frame.iter_columns()
    ]
    return pl.DataFrame(columns), notes


def is_frame(table: object) -> bool:
    """Whether an object is a data frame of pandas or polars, without importing them.

    Parameters
    ----------
    table : object
        Anything.
    """
    names = {
        f"{one.__module__.partition('.')[0]}.{one.__name__}"
        for one in type(table).__mro__
    }
    return bool(names & {"pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame"})


def to_polars(table: Any) -> pl.DataFrame:
    """Convert a frame of pandas or polars to one of polars, without pyarrow.

    Parameters
    ----------
    table : DataFrame
        Names of columns need not be text; the index of pandas is left out.

    Returns
    -------
    polars.DataFrame
        With distinct names.
    """
    import polars as pl

    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    names = distinct_names([str(name) for name in table.columns])
    # By position: pandas allows several columns of one name.
    columns = [_series(name, table.iloc[:, index]) for index, name in enumerate(names)]
    return pl.DataFrame(columns)


def _series(name: str, column: Any) -> pl.Series:
    import polars as pl

    kind = str(column.dtype)
    if kind == "category":
        # Its values are names, even if they look like numbers.
        values = [None if one != one else str(one) for one in column.tolist()]
        return pl.Series(name, values, dtype=pl.String).cast(pl.Categorical)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "fiub":
        return pl.Series(name, _native(column.to_numpy()))
    if kind.startswith(("datetime64", "timedelta64")):
        if getattr(column.dt, "tz", None) is not None:
            column = column.dt.tz_convert("UTC").dt.tz_localize(None)
        unit = "datetime64[us]" if kind.startswith("datetime") else "timedelta64[us]"
        return pl.Series(name, column.to_numpy().astype(unit))
    values = [
        None
        if lost
        else one.tolist()
        if isinstance(one, np.ndarray | np.generic)
        else one
        for one, lost in zip(column.tolist(), column.isna().to_numpy(), strict=True)
    ]
    try:
        return pl.Series(name, values, strict=True)
    except (TypeError, pl.exceptions.PolarsError):
        texts = [None if one is None else str(one) for one in values]
        return pl.Series(name, texts, dtype=pl.String)
