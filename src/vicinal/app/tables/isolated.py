"""Arrow, JSON and Excel files, read by another process with bounds.

A damaged or hostile file of a few kilobytes makes the readers of these formats abort,
hang or allocate hundreds of gigabytes. The process here may use `BYTES` and `SECONDS`,
and more for larger files; if it ends, the file is refused.
"""

from __future__ import annotations

import glob
import json
import os
import subprocess
import sys
import warnings
from contextlib import suppress
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from zipfile import BadZipFile, ZipFile, is_zipfile

from vicinal.app.tables._polars import pl
from vicinal.app.tables.delimited import (
    check_expansion,
    find_encoding,
    name_columns,
    open_text,
)
from vicinal.app.tables.names import TableError

#: Memory and processor time of the process, and for each byte of the file.
BYTES, BYTES_EACH = 2 * 10**9, 100
SECONDS, SECONDS_EACH = 5.0, 5e-6

_COMMAND = (
    "import sys; sys.path[:] = sys.argv[4:]; "
    "from vicinal.app.tables.isolated import _child; _child(*sys.argv[1:4])"
)
# Messages, with the reason in place of the braces.
_FAILED = {
    "arrow": "is damaged and cannot be read; copy it again.",
    "json": "cannot be read as JSON ({}); it needs an object like "
    '{{"a": 1, "b": "x"}} on each line, or a list of them.',
    "workbook": "cannot be read as a workbook ({}); save its table as CSV.",
}
_UNKNOWN = "damaged, or far larger in memory than in the file"


def read_isolated(path: Path, kind: str) -> tuple[pl.DataFrame, list[str]]:
    """Read a file in another process.

    Parameters
    ----------
    path : Path
        The file.
    kind : {"arrow", "json", "workbook"}
        Its format.

    Returns
    -------
    frame : polars.DataFrame
        The table; empty for an Arrow file with an index, which can be read in pieces
        once this function has returned.
    notes : list of str
        Notes for the user.

    Raises
    ------
    ValueError
        If the file is damaged or exceeds the bounds.
    """
    if kind == "workbook" and find_spec("fastexcel") is None:
        said = f"Reading {path.name} needs an extra: pip install 'vicinal[excel]'"
        raise TableError(f"{said}; or save its table as CSV.")
    if kind == "workbook" and is_zipfile(path):
        with suppress(BadZipFile), ZipFile(path) as archive:
            size = sum(one.file_size for one in archive.infolist())
            check_expansion(path, size, ratio=200)
    status = path.stat()
    # A command opens the same Arrow file several times; other output may be large.
    run = _run if kind == "arrow" else _run.__wrapped__
    output = run(path.resolve(), kind, status.st_size, status.st_mtime_ns)
    head, _, content = (output or b"").partition(b"\n")
    if not content:
        failed = f"{path.name} {_FAILED[kind].format(_UNKNOWN)}"
        raise TableError(json.loads(head)["error"] if head else failed)
    return pl.read_ipc_stream(content), json.loads(head)["notes"]


@lru_cache(maxsize=8)
def _run(path: Path, kind: str, size: int, _changed: int) -> bytes | None:
    seconds = SECONDS + SECONDS_EACH * size
    bounds = json.dumps([BYTES + BYTES_EACH * size, seconds])
    # -P: no imports from this folder.
    command = [sys.executable, "-P", "-c", _COMMAND, str(path), kind, bounds]
    try:
        done = subprocess.run(  # noqa: S603
            [*command, *(folder or str(Path.cwd()) for folder in sys.path)],
            # Each thread takes address space, which is bounded.
            env={**os.environ, "POLARS_MAX_THREADS": "4"},
            capture_output=True,
            check=True,
            timeout=10 * seconds,
        )
    except subprocess.SubprocessError:
        return None
    return done.stdout


def _child(name: str, kind: str, bounds: str) -> None:
    """Write a line of JSON and an Arrow stream to standard output."""
    _set_bounds(*json.loads(bounds))
    path = Path(name)
    read = {"arrow": _read_arrow, "json": _read_json, "workbook": _read_workbook}[kind]
    content, head = b"", dict[str, str | list[str]]()
    try:
        frame, head["notes"] = read(path)
        content = frame.write_ipc_stream(None).getvalue()
    except TableError as error:
        head["error"] = str(error)
    except (Exception, pl.exceptions.PanicException) as error:  # noqa: BLE001
        first = str(error).strip().partition("\n")[0]
        head["error"] = f"{path.name} {_FAILED[kind].format(first or _UNKNOWN)}"
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n" + content)


def _set_bounds(n_bytes: int, seconds: float) -> None:
    try:
        import resource
    except ImportError:  # Windows has the time limit alone
        return
    pages = Path("/proc/self/statm")
    if pages.exists():
        n_bytes += int(pages.read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    for which, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_AS, n_bytes),
    ):
        hard = resource.getrlimit(which)[1]
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(which, (soft, hard))


def _read_arrow(path: Path, size: int = 4_000_000) -> tuple[pl.DataFrame, list[str]]:
    if is_arrow_stream(path):
        return pl.read_ipc_stream(path), []
    lazy = pl.scan_ipc(glob.escape(str(path)))
    step = max(1, size // max(1, len(lazy.collect_schema())))
    for start in range(0, lazy.select(pl.len()).collect().item(), step):
        lazy.slice(start, step).collect()
    return pl.DataFrame(), []


def is_arrow_stream(path: Path) -> bool:
    """Whether an Arrow file has no index, and is read from its beginning to its end."""
    with path.open("rb") as file:
        return file.read(6) != b"ARROW1"


def _read_json(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read a list of objects, or one object on each line."""
    with open_text(path, find_encoding(path)) as file:
        text = file.read().strip().encode()
    if not text:
        raise TableError(f"{path.name} is empty; it needs an object for each row.")
    read = pl.read_json if text.startswith(b"[") else pl.read_ndjson
    return read(text, infer_schema_length=None), []


def _read_workbook(path: Path) -> tuple[pl.DataFrame, list[str]]:
    """Read the first sheet of a workbook that has cells."""
    import fastexcel

    warnings.simplefilter("ignore")
    book = fastexcel.read_excel(str(path))
    sheets = book.sheet_names
    for name in sheets:
        head = book.load_sheet(name, header_row=None, n_rows=20, dtypes="string")
        cells = head.to_polars().rows()
        rows = [[str(cell or "").strip() for cell in row] for row in cells]
        if any(map(any, rows)):
            break
    else:
        raise TableError(f"{path.name} is empty; it needs a row of names and rows.")
    notes = []
    if len(sheets) > 1:
        which = "the first" if name == sheets[0] else "the first with cells,"
        notes.append(f"sheet {name!r}, {which} of {len(sheets)}")
    # The table begins at the first row with more than half of the cells of the widest.
    filled = [sum(map(bool, row)) for row in rows]
    start = next(i for i, n in enumerate(filled) if 2 * n > max(filled))
    if start:
        above = "row" if start == 1 else f"{start} rows"
        notes.append(f"the {above} above the table left out")
    names, header, more = name_columns(rows[start:], "row")
    start += int(header)
    frame = book.load_sheet(name, header_row=None, skip_rows=start).to_polars()
    # Workbooks have no integers.
    columns = [
        one.cast(pl.Int64)
        if one.dtype.is_float()
        and (one.is_null() | (one == one.round(0))).all()
        and one.is_finite().all()
        and (one.abs() < 2**53).all()
        else one
        for one in frame.iter_columns()
    ]
    return pl.DataFrame(columns, schema=names), [*notes, *more]
