"""Tables in JSON, in NumPy arrays and in Excel files, each as a frame or in pieces."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np

from vicinal.tables.names import distinct_names
from vicinal.tables.text_files import open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

__all__ = ["EXCEL", "JSON", "array_pieces", "read_excel", "read_json"]

JSON = (".json", ".jsonl", ".ndjson")
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# From so many bytes on, a zip archive may hold so many times its size.
_LARGE = 1_000_000_000
_MOST_TIMES = 200


def read_json(path: Path) -> pl.DataFrame:
    """Read objects, one on each line, or a list of them.

    Parameters
    ----------
    path : Path
        A file of UTF-8 text, perhaps compressed with gzip.

    Returns
    -------
    polars.DataFrame
        A column for each key.

    Raises
    ------
    ValueError
        When it holds anything else.
    """
    import polars as pl

    text = b"".join(open_text(path).chunks()).strip()
    if not text:
        raise ValueError(f"{path.name} is empty; it needs an object for each row.")
    try:
        if text.startswith(b"["):
            return pl.read_json(text, infer_schema_length=None)
        return pl.read_ndjson(text, infer_schema_length=None)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        first = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{path.name} cannot be read as JSON ({first}); it needs an object like "
            '{"a": 1, "b": "x"} on each line, or a list of them.'
        ) from error


def array_pieces(path: Path, rows: int, cells: int) -> Iterator[pl.DataFrame]:
    """Read an `.npy` file of two dimensions, or of records.

    Parameters
    ----------
    path : Path
        What `numpy.save` wrote; it is never unpickled.
    rows, cells : int
        At most so many at a time.

    Yields
    ------
    polars.DataFrame
        Columns are called x0, x1, …, or as the records' fields.

    Raises
    ------
    ValueError
        When it holds anything else.
    """
    import polars as pl

    try:
        # Mapped: a header that promises more than the file holds is refused.
        array: Any = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError, OverflowError) as error:
        raise ValueError(
            f"{path.name} cannot be read as an array without pickle ({error})."
        ) from error
    fields = array.dtype.names
    plain = array.ndim == 2 and array.dtype.kind in "fiub"
    if not plain and not (fields and array.ndim == 1):
        raise ValueError(
            f"{path.name} holds an array of shape {array.shape} and type "
            f"{array.dtype}; a table has two dimensions and numbers, or records."
        )
    names = distinct_names(list(fields or [f"x{i}" for i in range(array.shape[1])]))
    size = max(1, min(rows, cells // max(1, len(names))))
    for start in range(0, max(len(array), 1), size):
        part = np.ascontiguousarray(array[start : start + size])
        columns = [part[name] for name in fields] if fields else part.T
        native = [
            one.astype(one.dtype.newbyteorder("="), copy=False) for one in columns
        ]
        half = [one.astype("f4") if one.dtype == np.float16 else one for one in native]
        yield pl.DataFrame(
            dict(zip(names, map(np.ascontiguousarray, half), strict=True))
        )


def read_excel(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read the first sheet of a workbook.

    Parameters
    ----------
    path : Path
        An Excel or OpenDocument file.

    Returns
    -------
    frame : polars.DataFrame
        Its first row names the columns.
    notes : list of str
        Which sheet it was, where there are several.

    Raises
    ------
    ValueError
        When it cannot be read, or an extra is missing.
    """
    import polars as pl

    if find_spec("fastexcel") is None:
        raise ValueError(
            f"Reading {path.name} needs an extra: pip install 'vicinal[excel]'; or "
            "save its table as CSV."
        )
    _check_archive(path)
    import fastexcel

    try:
        sheets = fastexcel.read_excel(str(path)).sheet_names
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = pl.read_excel(path, sheet_name=sheets[0], engine="calamine")
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{path.name} cannot be read as a workbook ({first}); save its table as "
            "CSV."
        ) from error
    others = f" of {len(sheets)}" if len(sheets) > 1 else ""
    notes = [f"sheet {sheets[0]!r}, the first{others}"] if others else []
    return frame, notes


def _check_archive(path: Path) -> None:
    """Raise ValueError where a workbook would fill the memory."""
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            return
    try:
        with ZipFile(path) as archive:
            size = sum(one.file_size for one in archive.infolist())
    except BadZipFile as error:
        raise ValueError(f"{path.name} is cut short or damaged; copy it.") from error
    stored = path.stat().st_size
    if size > _LARGE and size > _MOST_TIMES * stored:
        raise ValueError(
            f"{path.name} holds {size / 1e9:,.1f} GB in {stored / 1e9:.3f} GB, as "
            "files do that are made to fill a memory; save its table as CSV."
        )
