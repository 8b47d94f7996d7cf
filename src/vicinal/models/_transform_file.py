"""A saved model maps files of any length, which come and go in pieces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vicinal._files import check_writable, written_whole
from vicinal.tables.names import near
from vicinal.tables.reading import pieces
from vicinal.tables.sources import Source, open_source

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from vicinal.models._saved import SavedModel

__all__ = ["transform_file"]

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_SINKS = {
    ".parquet": "sink_parquet",
    ".arrow": "sink_ipc",
    ".feather": "sink_ipc",
    ".ipc": "sink_ipc",
}


def transform_file(
    model: SavedModel,
    source: str,
    path: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    keep_all: bool = False,
    on_rows: Callable[[int], None] | None = None,
) -> int:
    """Map every row of a table, and write the result, whole or not at all.

    Parameters
    ----------
    model : SavedModel
        What maps the rows.
    source : str
        As `vicinal.tables.reading.read_table` takes it; it is read in pieces.
    path : str or path-like
        The ending says the format: .csv, .tsv, .parquet, .arrow, .feather, .ipc.
    keep : sequence of str, default=()
        Columns to keep in front of the new ones. From a text file, they stay text.
    keep_all : bool, default=False
        Keep every column.
    on_rows : callable, default=None
        Called with the number of rows done, now and then.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError, OSError
        With one sentence; then nothing is written.
    """
    goal = Path(path)
    _check_goal(goal)
    if goal.exists() and Path(source).exists() and goal.samefile(source):
        raise ValueError(f"{goal} is the table itself; write to another file.")
    opened = open_source(source)
    first = next(pieces(opened), None)
    if first is None or first.height == 0:
        raise ValueError(f"{source} has a header but no rows; add some.")
    kept = first.columns if keep_all else list(dict.fromkeys(keep))
    _check_kept(first.columns, kept, model.names_out)
    rows = _Rows(model, opened, kept, on_rows)
    schema = rows.mapped(first).schema
    with written_whole(goal) as temporary:
        try:
            _write(rows, schema, temporary, goal.suffix.lower())
        except OSError as error:
            if error is rows.failure:
                raise
            reason = error.strerror or str(error)
            raise OSError(f"{goal} could not be written: {reason}.") from error
    return rows.done


class _Rows:
    """The mapped rows, counted; what goes wrong on the way is remembered."""

    def __init__(
        self,
        model: SavedModel,
        source: Source,
        kept: list[str],
        on_rows: Callable[[int], None] | None,
    ) -> None:
        self.model = model
        self.source = source
        self.kept = kept
        self.on_rows = on_rows
        self.done = 0
        self.failure: BaseException | None = None

    def mapped(self, piece: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        new = self.model.transform(piece)
        # By name and not by `select`, to which names like "*" mean more.
        kept = [piece.get_column(name) for name in self.kept]
        columns = enumerate(self.model.names_out)
        return pl.DataFrame(
            [*kept, *(pl.Series(name, new[:, index]) for index, name in columns)]
        )

    def __call__(self, *_: Any) -> Iterator[pl.DataFrame]:
        self.done = 0
        try:
            for piece in pieces(self.source):
                yield self.mapped(piece)
                self.done += piece.height
                if self.on_rows is not None:
                    self.on_rows(self.done)
        except (Exception, KeyboardInterrupt) as error:
            self.failure = error
            raise


def _write(rows: _Rows, schema: pl.Schema, temporary: Path, suffix: str) -> None:
    import polars as pl
    from polars.io.plugins import register_io_source

    if suffix in _DELIMITERS:
        # polars' own sink of text has overlooked a disk that was full.
        with temporary.open("w", encoding="utf-8", newline="") as file:
            for index, piece in enumerate(rows()):
                file.write(
                    piece.write_csv(
                        separator=_DELIMITERS[suffix], include_header=index == 0
                    )
                )
        return
    try:
        getattr(register_io_source(rows, schema=schema), _SINKS[suffix])(temporary)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        # polars reports an error in the rows in its own words; raise the first one.
        if rows.failure is not None:
            raise rows.failure from None
        raise OSError(str(error).strip().partition("\n")[0]) from error


def _check_goal(goal: Path) -> None:
    known = [*_DELIMITERS, *_SINKS]
    if goal.suffix.lower() not in known:
        raise ValueError(
            f"{goal.name!r} must end in one of {', '.join(known)}, to say its format."
        )
    check_writable(goal)


def _check_kept(columns: list[str], keep: Sequence[str], new: list[str]) -> None:
    for name in keep:
        if name not in columns:
            hint = near(name, columns) or f"; it has {', '.join(columns[:10])}."
            raise ValueError(f"The table has no column {name!r} to keep{hint}")
        if name in new:
            raise ValueError(
                f"Column {name!r} cannot be kept: a new column has its name; keep the "
                "others by name."
            )
