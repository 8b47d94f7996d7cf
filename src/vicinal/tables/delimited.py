"""Delimited text in pieces: encoding, delimiter, header and ragged rows.

Cells leave here as text. What a column means is decided in `vicinal.tables.columns`.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vicinal.tables.names import distinct_names

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Delimited", "open_delimited", "pieces_of"]

CELL_LIMIT = 1_000_000
_CHUNK = 4_000_000
_DELIMITERS = b",;\t|"
_LINE, _QUOTE, _RETURN = b'\n"\r'
_FORMATS = {
    b"PK\x03\x04": "a zip archive (or an Excel file): save its table as CSV",
    b"\x1f\x8b": "compressed with gzip: decompress it",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: decompress it",
    b"BZh": "compressed with bzip2: decompress it",
    b"\xfd7zXZ": "compressed with xz: decompress it",
    b"PAR1": "a Parquet file: give it a name that ends in .parquet",
    b"ARROW1": "an Arrow file: give it a name that ends in .arrow",
}


@dataclass(frozen=True)
class Delimited:
    """What is known of a text file before its rows are read.

    Attributes
    ----------
    path : Path
        The file.
    encoding : str
        A codec that decodes all of it.
    delimiter : str
        One character.
    names : tuple of str
        Distinct names of the columns.
    notes : tuple of str
        What a reader should know of the choices above.
    """

    path: Path
    encoding: str
    delimiter: str
    names: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Records:
    """Whole records: where each starts and ends, and where its cells are cut."""

    text: bytes
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    cuts: NDArray[np.intp]
    lines: NDArray[np.intp]

    def cells(self) -> NDArray[np.intp]:
        """Count the cells of each record."""
        before = np.searchsorted(self.cuts, self.starts)
        return np.searchsorted(self.cuts, self.ends) - before + 1


def open_delimited(path: Path) -> Delimited:
    """Find a file's encoding, delimiter and header.

    Parameters
    ----------
    path : Path
        A file of text. All of it is read once, to know its encoding.

    Returns
    -------
    Delimited
        What `pieces_of` reads the rows with.
    """
    encoding = _encoding(path)
    notes = ["latin-1 text: it is not UTF-8"] if encoding == "latin-1" else []
    head = next(_records(path, encoding, _DELIMITERS), None)
    if head is None:
        raise ValueError(f"{path.name} is empty; it needs a header and rows.")
    delimiter = "\t" if path.suffix.lower() == ".tsv" else _sniff(head)
    first = head.text[: head.ends[0]]
    cells = [
        "" if cell is None else str(cell).strip()
        for cell in _parse(path, first, delimiter, None).row(0)
    ]
    if _all_numbers(cells):
        raise ValueError(
            f"The first line of {path.name} holds numbers where the columns' names "
            "should be; add a line with a name for each column."
        )
    names = distinct_names(cells)
    if renamed := [new for new, old in zip(names, cells, strict=True) if new != old]:
        shown = ", ".join(repr(name) for name in renamed[:5])
        more = f" and {len(renamed) - 5} more" if len(renamed) > 5 else ""
        notes.append(f"empty or repeated column names became {shown}{more}")
    return Delimited(path, encoding, delimiter, tuple(names), tuple(notes))


def pieces_of(file: Delimited) -> Iterator[pl.DataFrame]:
    """Read the rows as text, a few megabytes at a time.

    Parameters
    ----------
    file : Delimited
        What `open_delimited` returned.

    Yields
    ------
    polars.DataFrame
        Columns of strings; a cell without text is null.
    """
    header = True
    for records in _records(file.path, file.encoding, file.delimiter.encode()):
        cells = records.cells()
        if (wrong := np.flatnonzero(cells != len(file.names))).size:
            first = wrong[0]
            n = f"{cells[first]} cell{'' if cells[first] == 1 else 's'}"
            raise ValueError(
                f"Line {records.lines[first]} of {file.path.name} has {n}, but "
                f"the header has {len(file.names)}; mend that line (a cell that holds "
                'the delimiter or a line break needs " around it).'
            )
        skip = int(header)
        header = False
        n_rows = len(records.starts) - skip
        if n_rows == 0:
            continue
        text = records.text[records.starts[skip] :]
        piece = _parse(file.path, text, file.delimiter, list(file.names))
        if piece.height != n_rows:
            raise ValueError(
                f"{file.path.name} cannot be read near line {records.lines[skip]}: "
                'its quotes (") do not pair up as CSV asks.'
            )
        yield piece


def _encoding(path: Path) -> str:
    with path.open("rb") as file:
        chunk = file.read(_CHUNK)
        for magic, advice in _FORMATS.items():
            if chunk.startswith(magic):
                raise ValueError(f"{path.name} is {advice}.")
        if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return "utf-16"
        encoding = "utf-8-sig"
        decoder = codecs.getincrementaldecoder(encoding)()
        while chunk:
            if b"\0" in chunk:
                raise ValueError(
                    f"{path.name} holds bytes that are not text; save the table as "
                    "CSV, Parquet or Arrow with the ending that belongs to it."
                )
            following = file.read(_CHUNK)
            if encoding != "latin-1":
                try:
                    decoder.decode(chunk, final=not following)
                except UnicodeDecodeError:
                    encoding = "latin-1"
            chunk = following
    return encoding


def _chunks(path: Path, encoding: str) -> Iterator[bytes]:
    """Yield the file's text as UTF-8 with a line feed after each line."""
    decoder = codecs.getincrementaldecoder(encoding)()
    only_returns: bool | None = None
    with path.open("rb") as file:
        raw = file.read(_CHUNK)
        while raw:
            following = file.read(_CHUNK)
            try:
                chunk = decoder.decode(raw, final=not following).encode()
            except UnicodeError:
                raise ValueError(f"{path.name} is not {encoding} text.") from None
            if only_returns is None:
                only_returns = b"\r" in chunk and b"\n" not in chunk
            yield chunk.replace(b"\r", b"\n") if only_returns else chunk
            raw = following


def _records(path: Path, encoding: str, delimiters: bytes) -> Iterator[_Records]:
    pending, line = b"", 1
    for chunk in _chunks(path, encoding):
        text = pending + chunk
        records, stop = _split(path, text, delimiters, line)
        line += text.count(b"\n", 0, stop)
        pending = text[stop:]
        if len(records.starts):
            yield records
    # Tabs are cells of a row; blanks are none.
    if pending.strip(b" \r"):
        records, stop = _split(path, pending + b"\n", delimiters, line)
        if stop <= len(pending):
            raise ValueError(
                f'A quote (") opened on line {line} of {path.name} or later is never '
                "closed."
            )
        yield records


def _split(
    path: Path, text: bytes, delimiters: bytes, line: int
) -> tuple[_Records, int]:
    """Find the whole records, and where they stop; blank lines are left out."""
    data = np.frombuffer(text, dtype=np.uint8)
    special = data == _LINE
    for delimiter in delimiters:
        special |= data == delimiter
    marks = np.flatnonzero(special)
    quotes = np.flatnonzero(data == _QUOTE)
    if quotes.size:
        # A mark after an odd number of quotes is part of a cell.
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    # The last cell may be unfinished; a quote never closed must not eat all memory.
    bounds = np.concatenate([[-1], marks, [len(data)]])
    if (long := np.flatnonzero(np.diff(bounds) > CELL_LIMIT)).size:
        place = line + text.count(b"\n", 0, int(bounds[long[0]]) + 1)
        raise ValueError(
            f"A cell on line {place} of {path.name} is longer than {CELL_LIMIT:,} "
            "bytes; take it out, or close its quote."
        )
    is_end = data[marks] == _LINE
    ends, cuts = marks[is_end], marks[~is_end]
    stop = int(ends[-1]) + 1 if ends.size else 0
    starts = np.concatenate([[0], ends + 1])[:-1].astype(np.intp)
    lines = line + np.searchsorted(np.flatnonzero(data[:stop] == _LINE), starts)
    blank = (ends == starts) | ((ends == starts + 1) & (data[starts] == _RETURN))
    if blank.any():
        kept = np.ones(stop, dtype=bool)
        for part in (starts[blank], ends[blank]):
            kept[part] = False
        filled, _ = _split(path, data[:stop][kept].tobytes(), delimiters, line)
        return replace(filled, lines=lines[~blank]), stop
    return _Records(text[:stop], starts, ends, cuts, lines), stop


def _sniff(head: _Records) -> str:
    """Take the delimiter that cuts the first lines into equally many cells."""
    data = np.frombuffer(head.text, dtype=np.uint8)
    ends = head.ends[:20]
    cuts = head.cuts[head.cuts < ends[-1]]
    best = (False, 0, ",")
    for delimiter in _DELIMITERS:
        own = cuts[data[cuts] == delimiter]
        counts = np.diff(np.searchsorted(own, ends), prepend=0)
        agree = bool(counts[0] > 0 and (counts == counts[0]).all())
        if (agree, counts[0]) > best[:2]:
            best = (agree, int(counts[0]), chr(delimiter))
    return best[2]


def _parse(
    path: Path, text: bytes, delimiter: str, names: list[str] | None
) -> pl.DataFrame:
    import polars as pl

    try:
        return pl.read_csv(
            text,
            has_header=False,
            separator=delimiter,
            new_columns=names,
            infer_schema_length=0,
        )
    except pl.exceptions.PolarsError as error:
        raise ValueError(
            f'{path.name} cannot be read as delimited text: a quote (") stands inside '
            "a cell that has none around it; write it twice, and put quotes around."
        ) from error


def _all_numbers(cells: list[str]) -> bool:
    """Whether a header is a row of data; a plain count of columns is none."""
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return False
    counted = range(len(numbers))
    return numbers != list(counted) and numbers != [n + 1 for n in counted]
