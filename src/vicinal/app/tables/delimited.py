"""Text files: encoding, compression, delimiter, header and ragged rows.

Python's csv module splits the rows. Cells stay text; `vicinal.app.tables.cells` types
them.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from pathlib import Path

from vicinal.app.tables._polars import pl
from vicinal.app.tables.names import TableError, counted, distinct_names, listed
from vicinal.app.tables.notation import MISSING, is_number, possible_forms

#: Characters or cells that are read at once.
_CHUNK = 200_000
#: Compressed files that expand to less are never refused.
_MIN_BOMB = 1_000_000_000
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def open_text(path: Path, encoding: str) -> io.TextIOWrapper:
    """Open a text file, plain or compressed with gzip, without changing line ends.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str
        From `find_encoding`.
    """
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    content = gzip.open(path) if is_packed else path.open("rb")  # noqa: SIM115
    return io.TextIOWrapper(content, encoding, newline="")


def find_encoding(path: Path) -> str:
    """Find the encoding of a text file by reading it in full.

    Parameters
    ----------
    path : Path
        A text file, plain or compressed with gzip.

    Returns
    -------
    str
        Python's name of the codec.

    Raises
    ------
    ValueError
        If it is not text, is damaged, or expands like a decompression bomb.
    """
    try:
        with open_text(path, "latin-1") as text:
            wide = text.read(2).encode("latin-1") in _WIDE
        # Excel writes Windows-1252, in which five bytes have no meaning.
        for encoding in ("utf-16",) if wide else ("utf-8-sig", "cp1252", "latin-1"):
            with suppress(UnicodeError), open_text(path, encoding) as text:
                while chunk := text.read(_CHUNK):
                    if isinstance(text.buffer, gzip.GzipFile):
                        check_expansion(path, text.buffer.tell())
                    if "\0" in chunk:
                        raise TableError(
                            f"{path.name} is not text; decompress it, or give it the "
                            "ending of its format: .xlsx, .parquet, .arrow or .npy."
                        )
                return encoding
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        said = f"{path.name} is cut short or damaged ({error}); compress it again."
        raise TableError(said) from error
    raise TableError(f"{path.name} is not utf-16 text.")


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
    path : Path
        The file, plain or compressed with gzip.
    encoding : str
        From `find_encoding`.
    delimiter : str
        One character.
    names : tuple of str
        Distinct names of the columns.
    header : bool
        Whether the first line has them.
    notes : tuple of str
        Notes on these choices.
    """

    path: Path
    encoding: str
    delimiter: str = ","
    names: tuple[str, ...] = ()
    header: bool = False
    notes: tuple[str, ...] = ()

    def records(self, max_cell: int = 1_000_000) -> Iterator[tuple[int, list[str]]]:
        """Yield the line on which each row begins, from 1, and the row's cells.

        Parameters
        ----------
        max_cell : int, default=1_000_000
            An unclosed quote ends after as many characters.
        """
        csv.field_size_limit(max_cell)
        line = 1
        with open_text(self.path, self.encoding) as text:
            reader = csv.reader(text, delimiter=self.delimiter, strict=True)
            try:
                for cells in reader:
                    if len(cells) > 1 or (cells and not cells[0].isspace()):
                        yield line, cells
                    line = reader.line_num + 1
            except csv.Error as error:
                raise TableError(
                    f"The row on line {line} of {self.path.name} cannot be read "
                    f"({error}); close its quotes, or shorten its cells."
                ) from error

    def pieces(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in frames of text; null for an empty cell."""
        records, width = islice(self.records(), int(self.header), None), len(self.names)
        schema = dict.fromkeys(self.names, pl.String)
        while chunk := list(islice(records, max(1, _CHUNK // width))):
            for line, cells in chunk:
                if len(cells) != width:
                    found = counted(len(cells), "cell")
                    raise TableError(
                        f"Line {line} of {self.path.name} has {found}, but the first "
                        f'line has {width}; correct it, or put " around cells with the '
                        "delimiter."
                    )
            rows = [cells for _, cells in chunk]
            frame = pl.DataFrame(rows, schema=schema, orient="row")
            yield frame.with_columns(pl.when(pl.all() != "").then(pl.all()))

    def line_of(self, row: int) -> int:
        """Return the line on which a row begins, given its number from 0."""
        return next(islice(self.records(), row + int(self.header), None))[0]


def open_delimited(path: Path) -> Delimited:
    """Find the encoding, the delimiter and the header of a file.

    Parameters
    ----------
    path : Path
        A text file, plain or compressed with gzip.

    Returns
    -------
    Delimited
        The file.
    """
    file = Delimited(path, find_encoding(path))
    tabs = path.name.lower().endswith((".tsv", ".tsv.gz", ".tab"))
    file = replace(file, delimiter="\t" if tabs else _sniff(file))
    rows = [cells for _, cells in islice(file.records(), 20)]
    if not rows:
        raise TableError(f"{path.name} is empty; it needs a header and rows.")
    width = len(rows[0])
    padded = [[*cells, *[""] * width][:width] for cells in rows]
    names, header, notes = name_columns(
        [[cell.strip() for cell in cells] for cells in padded], "line"
    )
    known = {"cp1252": "Windows-1252 (latin-1)", "latin-1": "latin-1"}
    if found := known.get(file.encoding):
        notes = [f"read as {found} text, because it is not UTF-8", *notes]
    return replace(file, names=tuple(names), header=header, notes=tuple(notes))


def _sniff(file: Delimited) -> str:
    """Choose the delimiter that cuts the first rows into the same number of cells."""
    heads = {}
    for sign in ",;\t|":
        try:
            records = islice(replace(file, delimiter=sign).records(), 20)
            heads[sign] = [cells for _, cells in records]
        except TableError:
            continue
    cut = {sign: rows for sign, rows in heads.items() if rows and len(rows[0]) > 1}
    agreeing = {sign for sign, rows in cut.items() if len({*map(len, rows)}) == 1}
    best = max(cut, key=lambda x: (x in agreeing, len(cut[x][0])), default=",")
    if best == "," and len(agreeing) > 1:
        # In 1,5;2,5 each line has the same number of commas, which do not delimit.
        other = max(agreeing - {","})
        if all(possible_forms(cell.strip()) for cell in cut[other][0]):
            return other
    return best


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
