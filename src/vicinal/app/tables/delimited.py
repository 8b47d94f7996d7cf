"""Text files in pieces: encoding, compression, delimiter, header and ragged rows.

Cells stay text; `vicinal.app.tables.cells` types them.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.tables.names import TableError, counted, distinct_names, listed
from vicinal.app.tables.notation import MISSING, possible_forms

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray


#: Bytes that are read at once.
_CHUNK = 4_000_000
#: Files up to this size are kept in memory and read from disk once.
_MAX_HELD = 64_000_000
#: Compressed files that expand to less are never refused.
_MIN_BOMB = 1_000_000_000
#: An unclosed quote must not fill the memory.
_MAX_CELL = 1_000_000
# Bytes without a meaning in Windows-1252, which Excel writes. All others are as in
# latin-1, or characters like € that latin-1 does not have.
_NOT_WINDOWS = b"\x81\x8d\x8f\x90\x9d"
_FORMATS = {
    b"PK\x03\x04": "a zip archive: if it is an Excel file, let its name end in .xlsx; "
    "else unpack it",
    b"\x1f\x8b": "compressed with gzip twice: decompress it",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: decompress it, or use gzip",
    b"BZh": "compressed with bzip2: decompress it, or use gzip",
    b"\xfd7zXZ": "compressed with xz: decompress it, or use gzip",
    b"PAR1": "a Parquet file: give it a name that ends in .parquet",
    b"ARROW1": "an Arrow file: give it a name that ends in .arrow",
    b"\x93NUMPY": "a NumPy array: give it a name that ends in .npy",
}
_DELIMITERS = b",;\t|"


@dataclass(frozen=True)
class TextFile:
    """A text file and its encoding.

    Attributes
    ----------
    path : Path
        The file.
    encoding : str
        Python's name of the codec.
    content : bytes or None
        The decompressed bytes, unless they are many.
    """

    path: Path
    encoding: str
    content: bytes | None = field(repr=False)

    def chunks(self) -> Iterator[bytes]:
        """Yield the text as UTF-8 with a line feed after each line."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        only_returns: bool | None = None
        for raw, is_last in _raw(self.path, self.content):
            try:
                chunk = decoder.decode(raw, final=is_last).encode()
            except UnicodeError:
                message = f"{self.path.name} is not {self.encoding} text."
                raise TableError(message) from None
            if only_returns is None:
                only_returns = b"\r" in chunk and b"\n" not in chunk
            yield chunk.replace(b"\r", b"\n") if only_returns else chunk


def open_text(path: Path) -> TextFile:
    """Read a file to find its encoding, and keep its content if it is small.

    Parameters
    ----------
    path : Path
        A text file, plain or compressed with gzip.

    Returns
    -------
    TextFile
        The file.

    Raises
    ------
    ValueError
        If it is not text, or expands like a decompression bomb.
    """
    held: list[bytes] = []
    size = 0
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    is_utf_8, is_windows = True, True
    for chunk, is_last in _raw(path):
        if not size:
            for magic, advice in _FORMATS.items():
                if chunk.startswith(magic):
                    raise TableError(f"{path.name} is {advice}.")
            if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                return TextFile(path, "utf-16", None)
        size += len(chunk)
        held = [*held, chunk] if size <= _MAX_HELD else []
        if b"\0" in chunk:
            raise TableError(
                f"{path.name} holds bytes that are not text; save the table as "
                "CSV, Parquet or Arrow with the ending that belongs to it."
            )
        try:
            if is_utf_8:
                decoder.decode(chunk, final=is_last)
        except UnicodeDecodeError:
            is_utf_8 = False
        is_windows &= len(chunk.translate(None, _NOT_WINDOWS)) == len(chunk)
    encoding = "utf-8-sig" if is_utf_8 else "cp1252" if is_windows else "latin-1"
    return TextFile(path, encoding, b"".join(held) if size <= _MAX_HELD else None)


def _raw(path: Path, content: bytes | None = None) -> Iterator[tuple[bytes, bool]]:
    """Yield decompressed chunks, and whether each one is the last."""
    size, before = 0, b""
    with path.open("rb") if content is None else io.BytesIO(content) as file:
        compressed = content is None and file.read(2) == b"\x1f\x8b"
        file.seek(0)
        with gzip.GzipFile(fileobj=file) if compressed else file as opened:
            while True:
                try:
                    chunk = opened.read(_CHUNK)
                except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                    raise TableError(
                        f"{path.name} is cut short or damaged ({error}); compress it "
                        "again."
                    ) from error
                size += len(chunk)
                if compressed:
                    check_expansion(path, size)
                if before:
                    yield before, not chunk
                if not chunk:
                    return
                before = chunk


def check_expansion(path: Path, size: int, ratio: float = 100) -> None:
    """Raise TableError if a compressed file expands like a decompression bomb.

    Parameters
    ----------
    path : Path
        The compressed file.
    size : int
        Its decompressed size in bytes.
    ratio : float, default=100
        Size in multiples of the compressed size from which a file is refused.
    """
    if size > max(_MIN_BOMB, ratio * path.stat().st_size):
        raise TableError(
            f"{path.name} expands to more than {size / 1e9:,.1f} GB (possible "
            "decompression bomb); decompress it first if you trust it."
        )


@dataclass(frozen=True)
class Delimited:
    """A text file with its delimiter and header.

    Attributes
    ----------
    text : TextFile
        The file.
    delimiter : str
        One character.
    names : tuple of str
        Distinct names of the columns.
    header : bool
        Whether the first line has them.
    notes : tuple of str
        Notes on these choices.
    """

    text: TextFile
    delimiter: str
    names: tuple[str, ...]
    header: bool
    notes: tuple[str, ...]


def open_delimited(path: Path) -> Delimited:
    """Find the encoding, the delimiter and the header of a file.

    Parameters
    ----------
    path : Path
        A text file, plain or compressed with gzip. It is read in full, to find its
        encoding.

    Returns
    -------
    Delimited
        For `pieces_of`.
    """
    text = open_text(path)
    names_of = {"cp1252": "Windows-1252 (latin-1)", "latin-1": "latin-1"}
    found = names_of.get(text.encoding)
    notes = [f"read as {found} text, because it is not UTF-8"] if found else []
    head = next(_records(text, _DELIMITERS), None)
    if head is None:
        raise TableError(f"{path.name} is empty; it needs a header and rows.")
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz", ".tab"))
    # The first lines show the delimiter and the header.
    ends = head.ends[:20]
    delimiter = "\t" if tabs else _sniff(head, ends)
    try:
        frame = _parse_csv(path, head.text[: ends[-1]], delimiter, None)
    except ValueError:
        # Ragged rows; they are reported with their line later.
        frame = _parse_csv(path, head.text[: ends[0]], delimiter, None)
    rows = [[str(cell or "").strip() for cell in row] for row in frame.rows()]
    header = has_header(rows)
    cells = rows[0] if header else [f"x{index}" for index in range(len(rows[0]))]
    names = distinct_names(cells)
    if not header:
        notes.append(
            "no line of names: the first line holds values, and the columns are called "
            f"{names[0]} to {names[-1]}"
        )
    if renamed := [new for new, old in zip(names, cells, strict=True) if new != old]:
        shown = listed(renamed, length=None)
        notes.append(f"empty or repeated column names became {shown}")
    return Delimited(text, delimiter, tuple(names), header, tuple(notes))


def pieces_of(file: Delimited) -> Iterator[pl.DataFrame]:
    """Read the rows in pieces of some megabytes.

    Parameters
    ----------
    file : Delimited
        From `open_delimited`.

    Yields
    ------
    polars.DataFrame
        Columns of text; null for an empty cell.

    Raises
    ------
    ValueError
        If a row does not have the number of cells of the first line.
    """
    path, skip = file.text.path, int(file.header)
    for records in _records(file.text, file.delimiter.encode()):
        before = np.searchsorted(records.cuts, records.starts)
        cells = np.searchsorted(records.cuts, records.ends) - before + 1
        if (wrong := np.flatnonzero(cells != len(file.names))).size:
            first = wrong[0]
            raise TableError(
                f"Line {records.lines[first]} of {path.name} has "
                f"{counted(cells[first], 'cell')}, but the first line has "
                f"{len(file.names)}; correct that line (a cell that holds the "
                'delimiter or a line break needs " around it).'
            )
        n_rows = len(records.starts) - skip
        if n_rows:
            text = records.text[records.starts[skip] :]
            piece = _parse_csv(path, text, file.delimiter, list(file.names))
            if piece.height != n_rows:
                raise TableError(
                    f"{path.name} cannot be read near line {records.lines[skip]}: "
                    'its quotes (") do not pair up as CSV requires.'
                )
            yield piece
        skip = 0


def line_of(file: Delimited, row: int) -> int:
    """Return the line on which a row begins, counting blank lines and line breaks.

    Parameters
    ----------
    file : Delimited
        From `open_delimited`.
    row : int
        Number of the row, from 0, without the header.

    Returns
    -------
    int
        From 1.
    """
    left = row + int(file.header)
    for records in _records(file.text, file.delimiter.encode()):
        if left < len(records.lines):
            return int(records.lines[left])
        left -= len(records.lines)
    raise IndexError(row)


@dataclass(frozen=True)
class _Records:
    """Whole records: their starts, ends and lines, and the delimiters inside."""

    text: bytes
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    cuts: NDArray[np.intp]
    lines: NDArray[np.intp]


def _records(file: TextFile, delimiters: bytes) -> Iterator[_Records]:
    name = file.path.name
    pending, line = b"", 1
    for chunk in file.chunks():
        text = pending + chunk
        records, stop = _split(name, text, delimiters, line)
        line += text.count(b"\n", 0, stop)
        pending = text[stop:]
        if len(records.starts):
            yield records
    # Tabs are cells of a row; blanks are not.
    if pending.strip(b" \r"):
        records, stop = _split(name, pending + b"\n", delimiters, line)
        if stop <= len(pending):
            raise TableError(
                f'A quote (") opened on line {line} of {name} or later is never closed.'
            )
        yield records


def _split(
    name: str, text: bytes, delimiters: bytes, line: int
) -> tuple[_Records, int]:
    """Find the whole records without blank lines, and their end."""
    feed, quote, carriage_return = b'\n"\r'
    data = np.frombuffer(text, dtype=np.uint8)
    special = data == feed
    for delimiter in delimiters:
        special |= data == delimiter
    marks = np.flatnonzero(special)
    quotes = np.flatnonzero(data == quote)
    if quotes.size:
        # A mark after an odd number of quotes is part of a cell.
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    # The last cell may be unfinished.
    bounds = np.concatenate([[-1], marks, [len(data)]])
    if (long := np.flatnonzero(np.diff(bounds) > _MAX_CELL)).size:
        number = line + text.count(b"\n", 0, int(bounds[long[0]]) + 1)
        raise TableError(
            f"A cell on line {number} of {name} is longer than {_MAX_CELL:,} "
            "bytes; remove it, or close its quote."
        )
    is_end = data[marks] == feed
    ends, cuts = marks[is_end], marks[~is_end]
    stop = int(ends[-1]) + 1 if ends.size else 0
    starts = np.concatenate([[0], ends + 1])[:-1].astype(np.intp)
    lines = line + np.searchsorted(np.flatnonzero(data[:stop] == feed), starts)
    blank = (ends == starts) | (
        (ends == starts + 1) & (data[starts] == carriage_return)
    )
    if blank.any():
        kept = np.ones(stop, dtype=bool)
        kept[starts[blank]] = kept[ends[blank]] = False
        filled, _ = _split(name, data[:stop][kept].tobytes(), delimiters, line)
        return replace(filled, lines=lines[~blank]), stop
    return _Records(text[:stop], starts, ends, cuts, lines), stop


def _sniff(head: _Records, ends: NDArray[np.intp]) -> str:
    """Choose the delimiter that cuts the first lines into the same number of cells."""
    data = np.frombuffer(head.text, dtype=np.uint8)
    cuts = head.cuts[head.cuts < ends[-1]]
    best = (False, 0, ",")
    agreeing = set()
    for delimiter in _DELIMITERS:
        own = cuts[data[cuts] == delimiter]
        counts = np.diff(np.searchsorted(own, ends), prepend=0)
        agree = bool(counts[0] > 0 and (counts == counts[0]).all())
        if agree:
            agreeing.add(chr(delimiter))
        if (agree, counts[0]) > best[:2]:
            best = (agree, int(counts[0]), chr(delimiter))
    if best[2] == "," and agreeing > {","}:
        # In 1,5;2,5 each line has the same number of commas, which do not delimit.
        first = head.text[: ends[0]].decode().split(max(agreeing - {","}))
        if all(possible_forms([cell.strip()]) for cell in first):
            return max(agreeing - {","})
    return best[2]


def _parse_csv(
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
        raise TableError(
            f'{path.name} cannot be read as delimited text: a quote (") is inside '
            "a cell without quotes around it; double it, and put quotes around."
        ) from error


def has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns.

    Parameters
    ----------
    rows : list of list of str
        The first rows, with the same number of cells.

    Returns
    -------
    bool
        False if the first row has numbers above numbers that neither count the columns
        nor are years; or if most of its cells are repeated below.

    Examples
    --------
    >>> has_header([["5.1", "setosa"], ["4.9", "setosa"]])
    False
    >>> has_header([["width", "kind"], ["4.9", "setosa"]])
    True
    >>> has_header([["land", "2019", "2020"], ["Chad", "1.5", "2.5"]])
    True
    """
    first, rest = rows[0], rows[1:]
    columns = list(zip(*rest, strict=True)) if rest else [()] * len(first)
    found = [cell for cell in first if cell and _is_number(cell)]
    if not found:
        again = sum(
            bool(cell) and cell in column
            for cell, column in zip(first, columns, strict=True)
        )
        return 2 * again <= len(first) or len(first) < 2
    below_text = False
    for cell, column in zip(first, columns, strict=True):
        known = [one for one in column if one.lower() not in MISSING]
        all_numbers = bool(known) and all(map(_is_number, known))
        if cell.lower() not in MISSING and not _is_number(cell) and all_numbers:
            return True
        below_text |= bool(cell and known) and _is_number(cell) and not all_numbers
    return below_text or _are_names(found)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return bool(possible_forms([cell]))
    return cell.lower() not in MISSING


def _are_names(cells: list[str]) -> bool:
    """Whether numbers count the columns, or are years in order."""
    if not all(cell.isdecimal() for cell in cells):
        return False
    values = [int(cell) for cell in cells]
    first, last = values[0], values[-1]
    if values == list(range(first, first + len(values))) and first in (0, 1):
        return True
    rising = all(a < b for a, b in pairwise(values))
    return rising and first >= 1800 and last < 2200
