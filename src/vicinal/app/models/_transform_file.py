"""Files of any length are mapped by a saved model, or by a function of vectors.

They come and go in pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from vicinal.app.models._vector_map import VectorMap
from vicinal.app.models._write_rows import ARRAYS, TABLES, write_rows

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import polars as pl

    from vicinal._typing import FloatArray
    from vicinal.app.models._saved import SavedModel

__all__ = ["transform_file", "transform_vectors"]


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
        As `vicinal.app.tables.reading.read_table` takes it; it is read in pieces.
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
    vicinal.app.models.predict_file : Predicts a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vicinal.app.models import learn, transform_file
    >>> from vicinal.app.tables.prepared import prepare
    >>> model = learn(prepare("iris"), "lda")
    >>> with TemporaryDirectory() as folder:
    ...     transform_file(model, "iris", Path(folder) / "mapped.parquet")
    150
    """

    def mapped(piece: pl.DataFrame) -> pl.DataFrame:
        return _as_columns(model.transform(piece), model.names_out)

    return write_rows(
        source,
        path,
        mapped,
        keep=keep,
        keep_all=keep_all,
        endings=(*TABLES, *ARRAYS),
        on_rows=on_rows,
    )


def transform_vectors(
    function: Callable[[FloatArray], FloatArray],
    source: str,
    path: str | os.PathLike[str],
    *,
    stem: str = "x",
    drop: Sequence[str] = (),
    keep: Sequence[str] = (),
    keep_all: bool = False,
    on_rows: Callable[[int], None] | None = None,
) -> int:
    """Map the vectors of every row, and write the result, whole or not at all.

    Parameters
    ----------
    function : callable
        From vectors, a row for each, to as many mapped ones.
    source : str
        Its vectors are those of `vicinal.app.tables.embeddings.read_embeddings`.
    path : str or path-like
        As `transform_file` takes it.
    stem : str, default="x"
        What new columns are called, before their number.
    drop : sequence of str, default=()
        Columns that are no part of the vectors.
    keep : sequence of str, default=()
        Columns to keep in front of the new ones.
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
    vicinal.app.models.transform_file : Maps rows by a saved model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from vicinal.app.models import transform_vectors
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "in.npy", np.eye(3))
    ...     source, path = str(Path(folder) / "in.npy"), Path(folder) / "out.npy"
    ...     transform_vectors(lambda vectors: 2 * vectors, source, path)
    3
    """
    vector_map = VectorMap(function, drop)

    def mapped(piece: pl.DataFrame) -> pl.DataFrame:
        new = vector_map.transform(piece)
        return _as_columns(new, [f"{stem}{index}" for index in range(new.shape[1])])

    return write_rows(
        source,
        path,
        mapped,
        keep=keep,
        keep_all=keep_all,
        endings=(*TABLES, *ARRAYS),
        on_rows=on_rows,
    )


def _as_columns(rows: FloatArray, names: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    columns = enumerate(names)
    return pl.DataFrame([pl.Series(name, rows[:, index]) for index, name in columns])
