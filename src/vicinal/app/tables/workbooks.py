"""Tables in workbooks of Excel and OpenDocument, as people lay them out."""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from vicinal.app.tables.header import has_header
from vicinal.app.tables.names import distinct_names

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

__all__ = ["EXCEL", "read_excel"]

#: Endings of workbooks.
EXCEL = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
# Archives, and the compound files that were before them.
_BEGINNINGS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
# From so many bytes on, a workbook may be so many times as large as its archive.
_LARGE = 1_000_000_000
_MOST_TIMES = 200
# So many rows show where the table begins, and whether it has a row of names.
_HEAD = 20


def read_excel(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read the first sheet of a workbook that has cells.

    Parameters
    ----------
    path : Path
        An Excel or OpenDocument file.

    Returns
    -------
    frame : polars.DataFrame
        Rows above the table, such as a title, are left out. Where no row names the
        columns, they are called x0, x1, …
    notes : list of str
        Which sheet it was, where there are several; and what was left out.

    Raises
    ------
    ValueError
        When it cannot be read, or an extra is missing.
    """
    if find_spec("fastexcel") is None:
        raise ValueError(
            f"Reading {path.name} needs an extra: pip install 'vicinal[excel]'; or "
            "save its table as CSV."
        )
    _check_archive(path)
    import fastexcel

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = _read(fastexcel.read_excel(str(path)))
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise ValueError(
            f"{path.name} cannot be read as a workbook ({first}); save its table as "
            "CSV."
        ) from error
    if found is None:
        raise ValueError(f"{path.name} is empty; it needs a row of names and rows.")
    return found


def _read(book: Any) -> tuple[pl.DataFrame, list[str]] | None:
    """Read the first sheet that has cells; return what there is to say of it, too."""
    sheets = book.sheet_names
    for name in sheets:
        head = book.load_sheet(name, header_row=None, n_rows=_HEAD, dtypes="string")
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
    start = _first_row(rows)
    if start:
        above = "row" if start == 1 else f"{start} rows"
        notes.append(f"the {above} above the table left out")
    header = has_header(rows[start:])
    if header:
        frame = book.load_sheet(name, header_row=start).to_polars()
        # The library's own names for cells without one.
        given = [
            "" if one.startswith("__UNNAMED__") else one.strip()
            for one in frame.columns
        ]
        frame.columns = distinct_names(given)
    else:
        frame = book.load_sheet(name, header_row=None, skip_rows=start).to_polars()
        frame.columns = [f"x{index}" for index in range(frame.width)]
        notes.append(
            "no row of names: the first row holds values, and the columns are called "
            f"{frame.columns[0]} to {frame.columns[-1]}"
        )
    return _whole(frame), notes


def _whole(frame: pl.DataFrame) -> pl.DataFrame:
    """Return integers where all numbers of a column are: workbooks know none."""
    import polars as pl

    columns = [
        one.cast(pl.Int64)
        if one.dtype.is_float()
        and (one.is_null() | (one == one.round(0))).all()
        and one.is_finite().all()
        and (one.abs() < 2**53).all()
        else one
        for one in frame.iter_columns()
    ]
    return pl.DataFrame(columns)


def _first_row(rows: list[list[str]]) -> int:
    """Return the first row that has more than half of the cells of the widest."""
    filled = [sum(map(bool, row)) for row in rows]
    return next(i for i, n in enumerate(filled) if 2 * n > max(filled))


def _check_archive(path: Path) -> None:
    """Raise ValueError where it is no workbook, or would fill the memory."""
    with path.open("rb") as file:
        beginning = file.read(4)
    if beginning not in _BEGINNINGS:
        raise ValueError(
            f"{path.name} is no workbook, whatever its ending says; if it is text, let "
            "its name end in .csv."
        )
    if beginning != _BEGINNINGS[0]:
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
