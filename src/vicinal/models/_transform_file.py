"""A saved model maps files of any length, which come and go in pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vicinal.models._write_rows import ARRAYS, TABLES, write_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import polars as pl

    from vicinal.models._saved import SavedModel

__all__ = ["transform_file"]


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
        The ending says the format: .csv, .tsv, .parquet, .arrow, .feather, .ipc; .npy
        for the array alone, or .npz for an array X, the `names` of its columns, and an
        array for each column that is kept.
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

    See Also
    --------
    vicinal.models.predict_file : Predicts a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vicinal.models import learn, transform_file
    >>> from vicinal.tables.prepared import prepare
    >>> model = learn(prepare("iris"), "lda")
    >>> with TemporaryDirectory() as folder:
    ...     transform_file(model, "iris", Path(folder) / "mapped.parquet")
    150
    """

    def mapped(piece: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        new = model.transform(piece)
        columns = enumerate(model.names_out)
        return pl.DataFrame([pl.Series(name, new[:, index]) for index, name in columns])

    return write_rows(
        source,
        path,
        mapped,
        keep=keep,
        keep_all=keep_all,
        endings=(*TABLES, *ARRAYS),
        on_rows=on_rows,
    )
