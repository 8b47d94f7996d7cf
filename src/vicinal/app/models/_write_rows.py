"""A table with new columns beside some of another's: written in pieces, or at once."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal._files import atomic_write, check_writable
from vicinal.app.tables.names import add_line_number, near
from vicinal.app.tables.reading import pieces
from vicinal.app.tables.sources import open_source

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from vicinal.app.tables.sources import Source

__all__ = ["ARRAYS", "TABLES", "check_goal", "write_frame", "write_rows"]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SINKS = {
    ".parquet": "sink_parquet",
    ".arrow": "sink_ipc",
    ".feather": "sink_ipc",
    ".ipc": "sink_ipc",
}
# Of a part of a Parquet file: its description is held until the file is closed, so that
# small parts would fill the memory in the end; a part is held as well, while it grows.
_MOST_ROWS, _MOST_BYTES = 2**20, 2**27
#: Endings of tables, and of arrays of numbers.
TABLES = (*_DELIMITERS, *_SINKS)
ARRAYS = (".npy", ".npz")


def check_goal(goal: Path, endings: Sequence[str] = TABLES) -> None:
    """Raise ValueError where a file cannot be written, or its ending says no format.

    Parameters
    ----------
    goal : Path
        The file to be written.
    endings : sequence of str
        Those that say one.
    """
    if goal.suffix.lower() not in endings:
        raise ValueError(
            f"{goal.name!r} must end in one of {', '.join(endings)}, to say its format."
        )
    check_writable(goal)


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table that is in memory, whole or not at all.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    path : str or path-like
        Its ending says the format: one of `TABLES`.

    See Also
    --------
    vicinal.app.models.transform_file : Writes in pieces.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl
    >>> from vicinal.app.models import write_frame
    >>> with TemporaryDirectory() as folder:
    ...     write_frame(pl.DataFrame({"a": [1, 2]}), Path(folder) / "a.csv")
    ...     print((Path(folder) / "a.csv").read_text().split())
    ['a', '1', '2']
    """
    goal = Path(path)
    check_goal(goal)
    suffix = goal.suffix.lower()
    with atomic_write(goal) as temporary:
        if suffix in _DELIMITERS:
            text = frame.write_csv(separator=_DELIMITERS[suffix])
            temporary.write_text(text, encoding="utf-8", newline="")
        elif suffix == ".parquet":
            frame.write_parquet(temporary)
        else:
            frame.write_ipc(temporary)


def write_rows(
    source: str,
    path: str | os.PathLike[str],
    new: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    keep: Sequence[str],
    keep_all: bool,
    endings: Sequence[str] = TABLES,
    on_rows: Callable[[int], None] | None = None,
) -> int:
    """Write what a function makes of a table's rows, whole or not at all.

    Parameters
    ----------
    source : str
        As `vicinal.app.tables.reading.read_table` takes it; it is read in pieces.
    path : str or path-like
        The ending says the format.
    new : callable
        From some rows to as many rows of new columns, the same columns each time.
    keep : sequence of str
        Columns to keep in front of the new ones. From a text file, they stay text.
    keep_all : bool
        Keep every column.
    endings : sequence of str
        The formats to be had.
    on_rows : callable, default=None
        Called with the number of rows done, now and then.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError, OSError
        With one sentence; then nothing is written.
    """
    goal = Path(path)
    check_goal(goal, endings)
    if goal.exists() and Path(source).exists() and goal.samefile(source):
        raise ValueError(f"{goal} is the table itself; write to another file.")
    opened = open_source(source)
    first = next(pieces(opened), None)
    if first is None or first.height == 0:
        raise ValueError(f"{source} has a header but no rows; add some.")
    kept = first.columns if keep_all else list(dict.fromkeys(keep))
    with add_line_number(opened, 0):
        made = new(first)
    _check_kept(first.columns, kept, made.columns)
    if goal.suffix.lower() == ".npz":
        _check_kept(first.columns, kept, ["X", "names"])
    if kept and goal.suffix.lower() == ".npy":
        raise ValueError(
            f"{goal.name} holds one array, and no column beside it; write to .npz, "
            ".parquet or .csv to keep some."
        )
    rows = _Rows(opened, kept, new, on_rows)
    sample = rows.joined(first, made)
    with atomic_write(goal) as temporary:
        try:
            _write(rows, sample, temporary, goal.suffix.lower())
        except OSError as error:
            if error is rows.failure:
                raise
            reason = error.strerror or str(error)
            raise OSError(f"{goal} could not be written: {reason}.") from error
    return rows.done


class _Rows:
    """The rows to write, counted; what goes wrong on the way is remembered."""

    def __init__(
        self,
        source: Source,
        kept: list[str],
        new: Callable[[pl.DataFrame], pl.DataFrame],
        on_rows: Callable[[int], None] | None,
    ) -> None:
        self.source = source
        self.kept = kept
        self.new = new
        self.on_rows = on_rows
        self.done = 0
        self.failure: BaseException | None = None

    def joined(self, piece: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        # By name and not by `select`, to which names like "*" mean more.
        kept = [piece.get_column(name) for name in self.kept]
        return pl.DataFrame([*kept, *new.iter_columns()])

    def __call__(self, *_: Any) -> Iterator[pl.DataFrame]:
        self.done = 0
        try:
            for piece in pieces(self.source):
                with add_line_number(self.source, self.done):
                    made = self.new(piece)
                yield self.joined(piece, made)
                self.done += piece.height
                if self.on_rows is not None:
                    self.on_rows(self.done)
        except (Exception, KeyboardInterrupt) as error:
            self.failure = error
            raise


def _write(rows: _Rows, sample: pl.DataFrame, temporary: Path, suffix: str) -> None:
    import polars as pl
    from polars.io.plugins import register_io_source

    schema = sample.schema
    if suffix in ARRAYS:
        _write_arrays(rows, schema, temporary, suffix)
        return
    if suffix in _DELIMITERS:
        # polars' own sink of text has overlooked a disk that was full.
        with temporary.open("w", encoding="utf-8", newline="") as file:
            for index, piece in enumerate(rows()):
                file.write(
                    piece.write_csv(
                        separator=_DELIMITERS[suffix], include_header=index == 0
                    )
                )
        return
    sized = {}
    if suffix == ".parquet":
        bytes_of_row = max(1, sample.estimated_size() // sample.height)
        sized = {"row_group_size": min(_MOST_ROWS, max(1, _MOST_BYTES // bytes_of_row))}
    try:
        sink = getattr(register_io_source(rows, schema=schema), _SINKS[suffix])
        sink(temporary, **sized)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        # polars reports an error in the rows in its own words; raise the first one.
        if rows.failure is not None:
            raise rows.failure from None
        raise OSError(str(error).strip().partition("\n")[0]) from error


def _write_arrays(rows: _Rows, schema: pl.Schema, temporary: Path, suffix: str) -> None:
    """Write the new columns as one array X; in npz, kept columns beside it."""
    names = [name for name in schema.names() if name not in rows.kept]
    single = all(str(schema[name]) == "Float32" for name in names)
    kept: dict[str, list[Any]] = {name: [] for name in rows.kept}
    plain = temporary if suffix == ".npy" else temporary.with_suffix(".X.npy")
    kind = "<f4" if single else "<f8"
    try:
        with plain.open("wb") as file:
            # Written again at the end: the header leaves room for a larger number.
            _write_header(file, kind, (0, len(names)))
            for piece in rows():
                block = piece.select(names).to_numpy()
                file.write(np.ascontiguousarray(block, dtype=kind).tobytes())
                for name, values in kept.items():
                    values.extend(piece.get_column(name).to_list())
            file.seek(0)
            _write_header(file, kind, (rows.done, len(names)))
        if suffix == ".npz":
            _pack(plain, temporary, names, kept)
    finally:
        if suffix == ".npz":
            plain.unlink(missing_ok=True)


def _write_header(file: Any, kind: str, shape: tuple[int, int]) -> None:
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)


def _pack(
    plain: Path, goal: Path, names: list[str], kept: dict[str, list[Any]]
) -> None:
    with zipfile.ZipFile(goal, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        with (
            plain.open("rb") as array,
            archive.open("X.npy", "w", force_zip64=True) as to,
        ):
            shutil.copyfileobj(array, to, 1 << 20)
        for name, values in {"names": names, **kept}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as to:
                np.lib.format.write_array(to, _array(values), allow_pickle=False)


def _array(values: list[Any]) -> np.ndarray[Any, Any]:
    """Return values as an array without objects: numbers as such, all else as text."""
    numbers = all(isinstance(one, int | float | None) for one in values)
    if numbers and not all(isinstance(one, bool) for one in values):
        return np.array([np.nan if one is None else one for one in values])
    if values and all(isinstance(one, bool) for one in values):
        return np.array(values)
    return np.array(["" if one is None else str(one) for one in values], dtype=np.str_)


def _check_kept(columns: list[str], keep: Sequence[str], new: list[str]) -> None:
    for name in keep:
        if name not in columns:
            hint = near(name, columns) or f"; it has {', '.join(columns[:10])}."
            raise ValueError(f"The table has no column {name!r} to keep{hint}")
        if name in new:
            raise ValueError(
                f"Column {name!r} cannot be kept: a new column has its name; keep the "
                "others by name."
            )
