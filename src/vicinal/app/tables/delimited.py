"""Text files in pieces: encoding, compression, delimiter, header and ragged rows.

Cells stay text; `vicinal.app.tables.cells` types them.
"""

from __future__ import annotations

import codecs
import gzip
import tempfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vicinal.app.tables._polars import pl
from vicinal.app.tables.names import TableError, counted, distinct_names, listed
from vicinal.app.tables.notation import MISSING, is_number, possible_forms

#: Bytes that are parsed at once.
_CHUNK = 4_000_000
#: Compressed files that expand to less are never refused.
_MIN_BOMB = 1_000_000_000
_DELIMITERS = b",;\t|"


@dataclass(frozen=True)
class TextFile:
    """A text file and its encoding.

    Attributes
    ----------
    path : Path
        The file.
    content : mmap or bytes
        The decompressed bytes, mapped from a file.
    encoding : str
        Python's name of the codec.
    """

    path: Path
    content: mmap | bytes = field(repr=False)
    encoding: str

    def chunks(self) -> Iterator[bytes]:
        """Yield the text as UTF-8 with a line feed after each line."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        only_returns = False
        for start in range(0, len(self.content), _CHUNK):
            raw = self.content[start : start + _CHUNK]
            is_last = start + _CHUNK >= len(self.content)
            try:
                chunk = decoder.decode(raw, final=is_last).encode()
            except UnicodeError:
                message = f"{self.path.name} is not {self.encoding} text."
                raise TableError(message) from None
            if start == 0:
                only_returns = b"\r" in chunk and b"\n" not in chunk
            yield chunk.replace(b"\r", b"\n") if only_returns else chunk


def open_text(path: Path) -> TextFile:
    """Open a text file and find its encoding.

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
    content = _map_content(path)
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return TextFile(path, content, "utf-16")
    if content.find(b"\0") >= 0:
        raise TableError(
            f"{path.name} is not text; decompress it, or give it the ending of its "
            "format: .xlsx, .parquet, .arrow or .npy."
        )
    # Excel writes Windows-1252, in which five bytes have no meaning.
    for encoding in ("utf-8-sig", "cp1252"):
        text = TextFile(path, content, encoding)
        try:
            for _ in text.chunks():
                pass
        except TableError:
            continue
        return text
    return TextFile(path, content, "latin-1")


def _map_content(path: Path) -> mmap | bytes:
    """Map a file, or a temporary file with its decompressed bytes."""
    with path.open("rb") as file:
        if file.read(2) != b"\x1f\x8b":
            return mmap(file.fileno(), 0, access=ACCESS_READ)
        file.seek(0)
        with gzip.GzipFile(fileobj=file) as packed, tempfile.TemporaryFile() as plain:
            try:
                while chunk := packed.read(_CHUNK):
                    plain.write(chunk)
                    check_expansion(path, plain.tell())
            except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                raise TableError(
                    f"{path.name} is cut short or damaged ({error}); compress it again."
                ) from error
            plain.flush()
            size = plain.tell()
            return mmap(plain.fileno(), 0, access=ACCESS_READ) if size else b""


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
    head = replace(head, starts=head.starts[:20], ends=head.ends[:20])
    delimiter = "\t" if tabs else _sniff(head)
    frame = _parse_csv(path, head.content(0), delimiter, None)
    rows = [[str(cell or "").strip() for cell in row] for row in frame.rows()]
    names, header, more = name_columns(rows, "line")
    notes += more
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
        cells = 1 + records.count(records.cuts)
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
            names = list(file.names)
            piece = _parse_csv(path, records.content(skip), file.delimiter, names)
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
    """Whole records without blank ones: starts, ends, lines, and delimiters inside."""

    text: bytes
    starts: NDArray[np.intp]
    ends: NDArray[np.intp]
    cuts: NDArray[np.intp]
    lines: NDArray[np.intp]

    def count(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the number of sorted places in each record."""
        return np.searchsorted(places, self.ends) - np.searchsorted(places, self.starts)

    def content(self, first: int) -> bytes:
        """Return the text of the records from the given one on."""
        starts, ends = self.starts[first:], self.ends[first:]
        if (starts[1:] == ends[:-1] + 1).all():
            return self.text[starts[0] : ends[-1] + 1]
        parts = zip(starts.tolist(), ends.tolist(), strict=True)
        return b"\n".join(self.text[start:end] for start, end in parts)


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
    name: str, text: bytes, delimiters: bytes, line: int, max_cell: int = 1_000_000
) -> tuple[_Records, int]:
    """Find the whole records, and the place behind the last one."""
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
    # The last cell may be unfinished; an unclosed quote must not fill the memory.
    bounds = np.concatenate([[-1], marks, [len(data)]])
    if (long := np.flatnonzero(np.diff(bounds) > max_cell)).size:
        number = line + text.count(b"\n", 0, int(bounds[long[0]]) + 1)
        raise TableError(
            f"A cell on line {number} of {name} is longer than {max_cell:,} "
            "bytes; remove it, or close its quote."
        )
    is_end = data[marks] == feed
    ends, cuts = marks[is_end], marks[~is_end]
    starts = np.concatenate([[0], ends + 1]).astype(np.intp)
    starts, stop = starts[:-1], int(starts[-1])
    lines = line + np.searchsorted(np.flatnonzero(data[:stop] == feed), starts)
    filled = (ends > starts + 1) | (
        (ends == starts + 1) & (data[starts] != carriage_return)
    )
    return _Records(text, starts[filled], ends[filled], cuts, lines[filled]), stop


def _sniff(head: _Records) -> str:
    """Choose the delimiter that cuts the first lines into the same number of cells."""
    signs = np.frombuffer(head.text, dtype=np.uint8)[head.cuts]
    counts = {chr(one): head.count(head.cuts[signs == one]) for one in _DELIMITERS}
    agreeing = {sign for sign, n in counts.items() if n[0] > 0 and (n == n[0]).all()}
    best = max(counts, key=lambda sign: (sign in agreeing, counts[sign][0]))
    if best == "," and len(agreeing) > 1:
        # In 1,5;2,5 each line has the same number of commas, which do not delimit.
        other = max(agreeing - {","})
        first = head.text[head.starts[0] : head.ends[0]].decode().split(other)
        if all(possible_forms(cell.strip()) for cell in first):
            return other
    return best


def _parse_csv(
    path: Path, text: bytes, delimiter: str, names: list[str] | None
) -> pl.DataFrame:
    try:
        return pl.read_csv(
            text,
            has_header=False,
            separator=delimiter,
            new_columns=names,
            infer_schema_length=0,
            # The number of cells of each row is checked by `pieces_of`.
            truncate_ragged_lines=True,
        )
    except pl.exceptions.PolarsError as error:
        raise TableError(
            f'{path.name} cannot be read as delimited text: a quote (") is inside '
            "a cell without quotes around it; double it, and put quotes around."
        ) from error


def name_columns(
    rows: list[list[str]], place: str
) -> tuple[list[str], bool, list[str]]:
    """Name the columns of a table by its first row, or by numbers.

    Parameters
    ----------
    rows : list of list of str
        The first rows, with the same number of cells.
    place : {"line", "row"}
        The noun for a row.

    Returns
    -------
    names : list of str
        Distinct names.
    header : bool
        Whether the first row has them.
    notes : list of str
        Notes for the user.
    """
    if not has_header(rows):
        names = [f"x{index}" for index in range(len(rows[0]))]
        note = (
            f"no {place} of names: the first {place} holds values, and the columns are "
            f"called {names[0]} to {names[-1]}"
        )
        return names, False, [note]
    names = distinct_names(rows[0])
    renamed = [new for new, old in zip(names, rows[0], strict=True) if new != old]
    shown = listed(renamed, length=None)
    notes = [f"empty or repeated column names became {shown}"] if renamed else []
    return names, True, notes


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
    found = [cell for cell in first if cell and is_number(cell)]
    if not found:
        again = sum(
            bool(cell) and cell in column
            for cell, column in zip(first, columns, strict=True)
        )
        return 2 * again <= len(first) or len(first) < 2
    below_text = False
    for cell, column in zip(first, columns, strict=True):
        known = [one for one in column if one.lower() not in MISSING]
        all_numbers = bool(known) and all(map(is_number, known))
        if cell.lower() not in MISSING and not is_number(cell) and all_numbers:
            return True
        below_text |= bool(cell and known) and is_number(cell) and not all_numbers
    return below_text or _are_names(found)


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
