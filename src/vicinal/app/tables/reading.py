"""Tables from files, from frames in memory, or by name.

Files are read in pieces, and never unpickled. Decisions about columns are in
`vicinal.app.tables.columns`.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vicinal._typing import IntArray
from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import Table, clean, typed
from vicinal.app.tables.delimited import open_delimited
from vicinal.app.tables.inputs import Overrides, is_frame
from vicinal.app.tables.isolated import is_arrow_stream, read_isolated
from vicinal.app.tables.names import CellError, TableError, distinct_names, near
from vicinal.datasets import Dataset, available, load, read_npz

#: Maximum number of rows of a piece of a table.
PIECE = 50_000


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


def read_table(
    source: Any, *, limit: int | None = None, overrides: Overrides | None = None
) -> Table:
    """Read a table.

    Parameters
    ----------
    source : str, path-like, DataFrame or Source
        Path of a CSV or TSV file (also compressed with gzip), of a JSON, Parquet,
        Arrow, Excel, `.npy` or `.npz` file; name of a data set of `vicinal.datasets`;
        a frame of pandas or polars; or the result of `open_source`.
    limit : int, default=None
        Size of a random sample of rows, always the same, in their order. The other rows
        are never in memory at once.
    overrides : Overrides, default=None
        Decisions of the user about columns.

    Returns
    -------
    Table
        With at least one row.

    Raises
    ------
    ValueError, OSError
        With one sentence for the user.

    Examples
    --------
    >>> from vicinal.app.tables.reading import read_table
    >>> wine = read_table("wine")
    >>> wine.frame.shape, wine.target
    ((178, 14), 'target')
    """
    opened = source if isinstance(source, Source) else open_source(source)
    frame, n_rows = _gather(opened, limit)
    notes = list(opened.notes)
    if n_rows == 0:
        raise TableError(f"{opened.name} has a header but no rows; add some.")
    if frame.height < n_rows:
        notes.append(f"{frame.height:,} of {n_rows:,} rows, drawn at random")
    asked = (overrides or Overrides()).resolved(frame.columns)
    declared = (pl.Categorical, pl.Enum)
    names = {name for name, kind in frame.schema.items() if kind in declared}
    names |= {*asked.categorical, *asked.date}
    path = Path(opened.name)
    stem = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).stem
    table = Table(clean(frame), stem, opened.target, notes, asked, tuple(names))
    return typed(replace(table, decimal=opened.decimal))


def pieces(source: Any, *, rows: int = PIECE) -> Iterator[pl.DataFrame]:
    """Read a table in pieces.

    Parameters
    ----------
    source : str, path-like, DataFrame or Source
        As for `read_table`, or a source from `open_source`, which can be read again
        without opening it again.
    rows : int, default=50_000
        Maximum number of rows of a piece.

    Yields
    ------
    polars.DataFrame
        Cells of delimited text stay text.

    Examples
    --------
    >>> from vicinal.app.tables.reading import pieces
    >>> [piece.height for piece in pieces("wine", rows=100)]
    [100, 78]
    """
    opened = source if isinstance(source, Source) else open_source(source)
    for piece in opened.pieces():
        yield from piece.iter_slices(rows)


def _gather(opened: Source, limit: int | None) -> tuple[pl.DataFrame, int]:
    """Join the pieces, or keep the rows with the smallest random numbers."""
    if limit is not None and limit < 1:
        raise TableError(f"The limit of rows must be at least 1, not {limit}.")
    parts: list[pl.DataFrame] = []
    n_rows = n_bytes = 0
    memory = np.inf
    if hasattr(os, "sysconf"):
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    generator = np.random.default_rng(0)
    drawn = np.empty(0)
    for piece in opened.pieces():
        parts.append(piece)
        n_rows += piece.height
        if limit is None:
            n_bytes += int(piece.estimated_size())
            if n_bytes > memory:
                raise TableError(
                    f"{opened.name} is larger than the memory of this machine; use a "
                    "part of its rows, or fewer columns."
                )
            continue
        # One number for each row, so that the sample does not depend on the pieces.
        drawn = np.concatenate([drawn, generator.random(piece.height)])
        if len(drawn) > limit:
            kept = np.sort(np.argpartition(drawn, limit)[:limit])
            parts, drawn = [pl.concat(parts)[kept]], drawn[kept]
    return pl.concat(parts, rechunk=True) if parts else pl.DataFrame(), n_rows


@contextmanager
def add_line_number(source: Source, rows: int | IntArray) -> Iterator[None]:
    """Add the file and the line to a `CellError`.

    Parameters
    ----------
    source : Source
        The table that the rows come from.
    rows : int or ndarray of int
        Number of the first row in the file, from 0, or of each row.
    """
    try:
        yield
    except CellError as error:
        row = error.row + rows if isinstance(rows, int) else int(rows[error.row])
        line = source.line_of(row)
        place = f"row {row:,} (from 0)" if line is None else f"line {line:,}"
        error.row, error.place = row, f"{place} of {source.name}"
        raise


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
    if is_frame(source):
        frame = to_polars(source)
        return Source("the data", lambda: iter([frame]))
    path, source = Path(source), str(source)
    if source in available():
        return _open_dataset(load(source))
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it.")
    if not path.exists():
        files = [one.name for one in path.parent.glob("*")]
        if path.suffix or path.name != source:
            lists = "; `vicinal datasets` lists the data sets that need none."
            hint = near(path.name, files) or lists
            raise FileNotFoundError(f"There is no file {source!r}{hint}")
        try:
            return _open_dataset(load(source))
        except ValueError:
            hint = near(source, [*available(), *files])
            if not hint:
                raise
            message = f"There is no file or data set {source!r}{hint}"
            raise TableError(message) from None
    if not path.is_file():
        raise OSError(f"{path} is not a regular file; copy the table into one.")
    if path.stat().st_size == 0:
        raise TableError(f"{path.name} is empty; it needs a header and rows.")
    return _open_file(path)


def _open_file(path: Path) -> Source:
    suffix = path.with_name(path.name.lower().removesuffix(".gz")).suffix
    if suffix == ".npz":
        return _open_dataset(read_npz(path))
    if suffix == ".npy":
        return Source(path.name, lambda: _array_pieces(path))
    if suffix == ".parquet":
        return Source(path.name, lambda: _lazy_pieces(path, pl.scan_parquet))
    kinds = {
        "arrow": (".arrow", ".feather", ".ipc"),
        "json": (".json", ".jsonl", ".ndjson"),
        "workbook": (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"),
    }
    kind = next((kind for kind, endings in kinds.items() if suffix in endings), None)
    if kind is not None:
        frame, notes = read_isolated(path, kind)
        if kind == "arrow" and not is_arrow_stream(path):
            return Source(path.name, lambda: _lazy_pieces(path, pl.scan_ipc))
        return Source(path.name, lambda: iter([frame]), notes=tuple(notes))
    file = open_delimited(path)
    return Source(
        path.name,
        file.pieces,
        notes=file.notes,
        decimal="," if file.delimiter == ";" else ".",
        line_of=file.line_of,
    )


def _open_dataset(dataset: Dataset) -> Source:
    n_features = dataset.X.shape[1]
    given = dataset.feature_names or [f"x{index}" for index in range(n_features)]
    names = distinct_names(given)
    target = distinct_names([*names, "target"])[-1]
    frame = pl.DataFrame(np.ascontiguousarray(dataset.X), schema=names, orient="row")
    frame = frame.with_columns(pl.Series(target, dataset.y))
    return Source(dataset.name, lambda: iter([frame]), target=target)


def _piece_size(width: int) -> int:
    """Return the number of rows of a piece; wide ones have 80 * PIECE cells."""
    return max(1, min(PIECE, 80 * PIECE // max(1, width)))


def _lazy_pieces(
    path: Path, scan: Callable[[str], pl.LazyFrame]
) -> Iterator[pl.DataFrame]:
    """Yield slices of a lazy frame: polars reads only their rows."""
    try:
        # Escaped, because * and [ in the name of a file are part of it.
        lazy = scan(glob.escape(str(path)))
        n_rows = int(lazy.select(pl.len()).collect().item())
        first = lazy.head(1).collect()
        # A vector has one cell for each component.
        width = sum(
            int(one.explode(empty_as_null=False).len())
            if len(one) and one.dtype.is_nested()
            else 1
            for one in first.iter_columns()
            if one.dtype != pl.Struct
        )
        size = _piece_size(width)
        for start in range(0, max(n_rows, 1), size):
            yield lazy.slice(start, size).collect()
    except (FileNotFoundError, PermissionError):
        raise
    # Some damage makes the reader panic, which is not an Exception; some looks like
    # an error of the disk.
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first_line = str(error).strip().partition("\n")[0]
        raise TableError(
            f"{path.name} is damaged and cannot be read ({first_line}); copy it again."
        ) from error


def _array_pieces(path: Path) -> Iterator[pl.DataFrame]:
    """Read an `.npy` file of two dimensions, or of records."""
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
    size = _piece_size(len(names))
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
    if isinstance(table, pl.LazyFrame):
        return table.collect()
    if isinstance(table, pl.DataFrame):
        return table
    names = distinct_names([str(name) for name in table.columns])
    # By position: pandas allows several columns of one name.
    columns = [_series(name, table.iloc[:, index]) for index, name in enumerate(names)]
    return pl.DataFrame(columns)


def _series(name: str, column: Any) -> pl.Series:
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
