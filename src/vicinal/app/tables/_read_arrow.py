"""Read an Arrow file as `vicinal.app.tables.sources` does, in a process of its own.

A damaged length can make the reader abort its process; then it is this one that ends.
Run as a script, with polars as all that it needs: it starts in a third of a second.
"""

import glob
import sys

import polars as pl


def read(path: str, rows: int, cells: int) -> None:
    """Read all rows, some at a time; none of them are kept.

    Parameters
    ----------
    path : str
        The file.
    rows, cells : int
        How many at a time; no rows for a stream, which cannot be read in parts.
    """
    if rows == 0:
        pl.read_ipc_stream(path)
        return
    lazy = pl.scan_ipc(glob.escape(path))
    n_rows = int(lazy.select(pl.len()).collect().item())
    size = max(1, min(rows, cells // max(1, len(lazy.collect_schema()))))
    for start in range(0, n_rows, size):
        lazy.slice(start, size).collect()


if __name__ == "__main__":
    try:
        read(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    # Threads that break down may leave others to wait for them for ever.
    except pl.exceptions.PanicException:
        sys.exit(1)
    # An error that can be raised is raised again where the file is really read.
    except BaseException:  # noqa: BLE001
        sys.exit(0)
