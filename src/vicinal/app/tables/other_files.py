"""Tables in JSON and in NumPy arrays, as a frame or in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.names import distinct_names
from vicinal.app.tables.text_files import open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl

__all__ = ["JSON", "array_pieces", "read_json"]

JSON = (".json", ".jsonl", ".ndjson")


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
