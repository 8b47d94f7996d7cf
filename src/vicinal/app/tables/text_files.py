"""Files of text, plain or compressed: their encoding, and their text in chunks."""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["TextFile", "open_text"]

_CHUNK = 4_000_000
# Files up to this size are held, and read from the disk once.
_HELD = 64_000_000
# From so many bytes on, a file may be so many times as large as its compressed form.
_LARGE = 1_000_000_000
_MOST_TIMES = 100
_GZIP = b"\x1f\x8b"
# Bytes that Windows-1252, in which Excel writes, leaves open. All others are as in
# latin-1, or signs like € where latin-1 has none.
_NOT_WINDOWS = b"\x81\x8d\x8f\x90\x9d"
_FORMATS = {
    b"PK\x03\x04": "a zip archive: if it is an Excel file, let its name end in .xlsx; "
    "else unpack it",
    _GZIP: "compressed with gzip twice: decompress it",
    b"\x28\xb5\x2f\xfd": "compressed with zstd: decompress it, or use gzip",
    b"BZh": "compressed with bzip2: decompress it, or use gzip",
    b"\xfd7zXZ": "compressed with xz: decompress it, or use gzip",
    b"PAR1": "a Parquet file: give it a name that ends in .parquet",
    b"ARROW1": "an Arrow file: give it a name that ends in .arrow",
    b"\x93NUMPY": "a NumPy array: give it a name that ends in .npy",
}


@dataclass(frozen=True)
class TextFile:
    """A file, a codec that decodes all of it, and what it holds where that is held.

    Attributes
    ----------
    path : Path
        Where it is.
    encoding : str
        Python's name of the codec.
    content : bytes or None
        All of it, decompressed, where that is not much.
    """

    path: Path
    encoding: str
    content: bytes | None = field(repr=False)

    def chunks(self) -> Iterator[bytes]:
        """Yield the text as UTF-8 with a line feed after each line."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        only_returns: bool | None = None
        chunks = _raw(self.path) if self.content is None else _parts(self.content)
        raw = next(chunks, b"")
        while raw:
            following = next(chunks, b"")
            try:
                chunk = decoder.decode(raw, final=not following).encode()
            except UnicodeError:
                sentence = f"{self.path.name} is not {self.encoding} text."
                raise ValueError(sentence) from None
            if only_returns is None:
                only_returns = b"\r" in chunk and b"\n" not in chunk
            yield chunk.replace(b"\r", b"\n") if only_returns else chunk
            raw = following


def open_text(path: Path) -> TextFile:
    """Read a file to know its encoding; hold what it holds if that is not much.

    Parameters
    ----------
    path : Path
        A file of text, as it is or compressed with gzip.

    Returns
    -------
    TextFile
        Whose text can be read.

    Raises
    ------
    ValueError
        When it is no text, or so much that it seems made to fill a memory.
    """
    held: list[bytes] = []
    size = 0
    encoding = "utf-8-sig"
    decoder = codecs.getincrementaldecoder(encoding)()
    is_utf_8, is_windows = True, True
    chunks = _raw(path)
    chunk = next(chunks, b"")
    for magic, advice in _FORMATS.items():
        if chunk.startswith(magic):
            raise ValueError(f"{path.name} is {advice}.")
    if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return TextFile(path, "utf-16", None)
    while chunk:
        size += len(chunk)
        if size <= _HELD:
            held.append(chunk)
        else:
            held.clear()
        if b"\0" in chunk:
            raise ValueError(
                f"{path.name} holds bytes that are not text; save the table as "
                "CSV, Parquet or Arrow with the ending that belongs to it."
            )
        following = next(chunks, b"")
        if is_utf_8:
            try:
                decoder.decode(chunk, final=not following)
            except UnicodeDecodeError:
                is_utf_8 = False
        is_windows &= len(chunk.translate(None, _NOT_WINDOWS)) == len(chunk)
        chunk = following
    if not is_utf_8:
        encoding = "cp1252" if is_windows else "latin-1"
    return TextFile(path, encoding, b"".join(held) if size <= _HELD else None)


def _parts(content: bytes) -> Iterator[bytes]:
    with io.BytesIO(content) as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _raw(path: Path) -> Iterator[bytes]:
    """Yield a file's bytes, decompressed as they come, and no more than it may hold."""
    stored = path.stat().st_size
    size = 0
    with path.open("rb") as file:
        compressed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        with gzip.GzipFile(fileobj=file) if compressed else file as opened:
            while chunk := _read(path, opened):
                size += len(chunk)
                if size > max(_LARGE, _MOST_TIMES * stored):
                    raise ValueError(
                        f"{path.name} holds more than {size / 1e9:,.1f} GB in "
                        f"{stored / 1e9:.3f} GB, as files do that are made to fill a "
                        "memory; if these are data, decompress it."
                    )
                yield chunk


def _read(path: Path, file: io.BufferedReader | gzip.GzipFile) -> bytes:
    try:
        return file.read(_CHUNK)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path.name} is cut short or damaged ({error}); compress it again."
        ) from error
