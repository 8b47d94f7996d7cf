"""Delimited text in pieces: encoding, delimiter, header and ragged rows.

Cells leave here as text. What a column means is decided in `vicinal.app.tables.columns`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.tables.header import has_header
from vicinal.app.tables.names import counted, distinct_names
from vicinal.app.tables.notation import possible_forms
from vicinal.app.tables.text_files import TextFile, open_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Delimited", "line_of", "open_delimited", "pieces_of"]

CELL_LIMIT = 1_000_000
_DELIMITERS = b",;\t|"
_LINE, _QUOTE, _RETURN = b'\n"\r'
# So many lines show the delimiter, and whether there is a line of names.
_HEAD = 20


@dataclass(frozen=True)
class Delimited:
    """What is known of a text file before its rows are read.

    Attributes
    ----------
    text : TextFile
        The file, and its encoding.
    delimiter : str
        One character.
    names : tuple of str
        Distinct names of the columns.
    header : bool
        Whether the first line holds them.
    notes : tuple of str
        What a reader should know of the choices above.
    """

    text: TextFile
    delimiter: str
    names: tuple[str, ...]
    header: bool
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
        A file of text, perhaps compressed with gzip. All of it is read, to know its
        encoding; if it is not large, it is held for `pieces_of`, and not read again.

    Returns
    -------
    Delimited
        What `pieces_of` reads the rows with.
    """
    text = open_text(path)
    names_of = {"cp1252": "Windows-1252 (latin-1)", "latin-1": "latin-1"}
    found = names_of.get(text.encoding)
    notes = [f"read as {found} text, because it is not UTF-8"] if found else []
    head = next(_records(text, _DELIMITERS), None)
    if head is None:
        raise ValueError(f"{path.name} is empty; it needs a header and rows.")
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz", ".tab"))
    delimiter = "\t" if tabs else _sniff(head)
    rows = _first_rows(path, head, delimiter)
    header = has_header(rows)
    cells = rows[0] if header else [f"x{index}" for index in range(len(rows[0]))]
    names = distinct_names(cells)
    if not header:
        notes.append(
            "no line of names: the first line holds values, and the columns are called "
            f"{names[0]} to {names[-1]}"
        )
    if renamed := [new for new, old in zip(names, cells, strict=True) if new != old]:
        shown = ", ".join(repr(name) for name in renamed[:5])
        more = f" and {len(renamed) - 5} more" if len(renamed) > 5 else ""
        notes.append(f"empty or repeated column names became {shown}{more}")
    return Delimited(text, delimiter, tuple(names), header, tuple(notes))


def _first_rows(path: Path, head: _Records, delimiter: str) -> list[list[str]]:
    """Read the first lines, or the first alone where they do not have as many cells."""
    n = min(_HEAD, len(head.ends))
    for end in (head.ends[n - 1], head.ends[0]):
        try:
            frame = _parse(path, head.text[:end], delimiter, None)
        except ValueError:
            if end == head.ends[0]:
                raise
            continue
        break
    return [
        ["" if cell is None else str(cell).strip() for cell in row]
        for row in frame.rows()
    ]


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
    header, path = file.header, file.text.path
    for records in _records(file.text, file.delimiter.encode()):
        cells = records.cells()
        if (wrong := np.flatnonzero(cells != len(file.names))).size:
            first = wrong[0]
            n = counted(cells[first], "cell")
            raise ValueError(
                f"Line {records.lines[first]} of {path.name} has {n}, but the first "
                f"line has {len(file.names)}; mend that line (a cell that holds the "
                'delimiter or a line break needs " around it).'
            )
        skip = int(header)
        header = False
        n_rows = len(records.starts) - skip
        if n_rows == 0:
            continue
        text = records.text[records.starts[skip] :]
        piece = _parse(path, text, file.delimiter, list(file.names))
        if piece.height != n_rows:
            raise ValueError(
                f"{path.name} cannot be read near line {records.lines[skip]}: "
                'its quotes (") do not pair up as CSV asks.'
            )
        yield piece


def line_of(file: Delimited, row: int) -> int:
    """Return the line on which a row begins: blank lines and line breaks count.

    Parameters
    ----------
    file : Delimited
        What `open_delimited` returned.
    row : int
        Its number, from 0, without the line of names.

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


def _records(file: TextFile, delimiters: bytes) -> Iterator[_Records]:
    path = file.path
    pending, line = b"", 1
    for chunk in file.chunks():
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
        number = line + text.count(b"\n", 0, int(bounds[long[0]]) + 1)
        raise ValueError(
            f"A cell on line {number} of {path.name} is longer than {CELL_LIMIT:,} "
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
    ends = head.ends[:_HEAD]
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
        # 1,5;2,5 has as many commas in each line, and they are no delimiters.
        first = head.text[: ends[0]].decode().split(max(agreeing - {","}))
        if all(possible_forms([cell.strip()]) for cell in first):
            return max(agreeing - {","})
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
