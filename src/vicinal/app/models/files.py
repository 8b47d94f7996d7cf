"""Tables mapped or predicted by a model and written to files, in pieces."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._files import atomic_write, check_writable
from vicinal._typing import FloatArray
from vicinal.app.methods.votes import Vote, Voters
from vicinal.app.models.saved import SavedModel
from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import Table, as_names, clean, typed
from vicinal.app.tables.embeddings import read_embeddings
from vicinal.app.tables.inputs import Overrides
from vicinal.app.tables.names import ARRAYS, TABLES, check_column, counted
from vicinal.app.tables.prepared import read_target
from vicinal.app.tables.reading import add_line_number, open_source, pieces, read_table

_DELIMITERS = {".csv": ",", ".tsv": "\t"}


@dataclass(frozen=True, eq=False)
class VectorMap:
    """A function of vectors as a map of tables that hold the vectors in columns.

    Attributes
    ----------
    function : callable
        A function from vectors, one per row, to as many mapped vectors.
    drop : sequence of str, default=()
        Columns that are not part of the vectors. Unknown names are ignored.
    stem : str, default="x"
        The names of mapped columns, before their number.

    See Also
    --------
    vicinal.app.models.neighbor_table : Takes one for each of its two tables.
    vicinal.app.models.transform_file : Maps a file.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.app.models import VectorMap
    >>> frame = pl.DataFrame({"id": ["a", "b"], "vector": [[1.0, 2.0], [3.0, 4.0]]})
    >>> VectorMap(lambda vectors: 2 * vectors).transform(frame).tolist()
    [[2.0, 4.0], [6.0, 8.0]]
    """

    function: Callable[[FloatArray], FloatArray]
    drop: Sequence[str] = ()
    stem: str = "x"
    target: None = None

    def transform(self, frame: Any) -> FloatArray:
        """Map the vectors of some rows.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with vectors, as for
            `vicinal.app.tables.embeddings.read_embeddings`.

        Returns
        -------
        ndarray of shape (n_rows, n_components)
            The mapped vectors.
        """
        return self.function(read_embeddings(frame, drop=self.drop).vectors)


def transform_file(
    model: SavedModel | VectorMap,
    source: str,
    path: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    keep_all: bool = False,
    on_rows: Callable[[int], None] | None = None,
) -> int:
    """Map every row of a table and write the result.

    Parameters
    ----------
    model : SavedModel or VectorMap
        The map.
    source : str
        The table, as for `vicinal.app.tables.reading.read_table`; read in pieces.
    path : str or path-like
        The file to write. Its ending selects the format: .csv, .tsv, .parquet, .arrow,
        .feather, .ipc; .npy for the array alone, or .npz for an array X, the `names`
        of its columns, and an array for each column that is kept.
    keep : sequence of str, default=()
        Columns to keep in front of the new ones. Columns of a text file stay text.
    keep_all : bool, default=False
        Keep every column.
    on_rows : callable, default=None
        Called with the number of rows written so far.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError, OSError
        If the table does not fit or the file cannot be written. Then nothing is
        written.

    See Also
    --------
    vicinal.app.models.predict_file : Predict the target of every row.

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
        columns = enumerate(model.transform(piece).T)
        return pl.DataFrame([pl.Series(f"{model.stem}{i}", one) for i, one in columns])

    return write_rows(
        source,
        path,
        mapped,
        keep=keep,
        keep_all=keep_all,
        endings=(*TABLES, *ARRAYS),
        on_rows=on_rows,
    )


class NeighborPredictor:
    """Predictions of neighbors under a saved metric, from a table of labeled rows.

    Parameters
    ----------
    model : SavedModel
        A model with a target.
    among : str
        The table of rows with that target, as for
        `vicinal.app.tables.reading.read_table`. Rows without a value are left out.
    n_neighbors : int, default=None
        The number of neighbors, with equal weights; by default the vote of the model,
        or 3 neighbors if it has none.

    Attributes
    ----------
    vote : Vote
        The vote that is used.
    n_own : int
        The number of predicted rows that were also among the labeled ones. Each was
        left out of its own neighbors.

    See Also
    --------
    vicinal.app.models.predict_file : Predict a whole file.

    Examples
    --------
    >>> from vicinal.app.models import NeighborPredictor, learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> iris = prepare("iris")
    >>> predictor = NeighborPredictor(learn(iris, "lda"), "iris")
    >>> predictor.predict(iris.frame[[0, 149]]).tolist()
    ['setosa', 'virginica']
    >>> predictor.n_own
    2
    """

    def __init__(
        self, model: SavedModel, among: str, n_neighbors: int | None = None
    ) -> None:
        if model.target is None or model.task == "none":
            raise ValueError(
                "The model was learned without a target, and there is nothing to "
                "predict; learn one with `vicinal fit --target COLUMN`."
            )
        if n_neighbors is not None and n_neighbors < 1:
            raise ValueError(f"Ask for at least 1 neighbour, not {n_neighbors}.")
        opened = open_source(among)
        table = read_table(opened)
        frame = table.frame
        check_column(model.target, frame.columns, table.name)
        column = frame.get_column(model.target)
        read = read_target(column, task=model.task, decimal=table.decimal)
        labeled = frame.filter(read.kept)
        n_rows = labeled.height
        if n_neighbors is not None and n_neighbors > n_rows:
            raise ValueError(
                f"{counted(n_neighbors, 'neighbour')} asked for, but {table.name} has "
                f"only {counted(n_rows, 'row')} with a target; ask for fewer."
            )
        self.model = model
        self.decimal = table.decimal
        self.vote = model.vote or Vote(min(3, n_rows))
        if n_neighbors is not None:
            self.vote = Vote(n_neighbors)
        elif self.vote.n_neighbors is not None:
            fewer = min(self.vote.n_neighbors, max(n_rows - 1, 1))
            self.vote = replace(self.vote, n_neighbors=fewer)
        with add_line_number(opened, np.flatnonzero(read.kept)):
            points = model.transform(labeled)
        self.classes: NDArray[Any] | None = None
        targets = read.values
        if model.task == "classification":
            self.classes, targets = np.unique(targets, return_inverse=True)
        n_classes = 0 if self.classes is None else len(self.classes)
        smooth = n_neighbors is None and model.vote is not None
        self._voters = Voters(points, targets, n_classes, smooth=smooth)
        # Rows are the same if their points and targets are; the first one counts.
        keys = self._keys(points, column.filter(read.kept))
        self._places = {key: i for i, key in reversed([*enumerate(keys)])}
        self.n_own = 0

    def _keys(self, points: FloatArray, target: pl.Series) -> list[tuple[bytes, Any]]:
        # Rounded, because a map of other rows at a time may differ in the last bits.
        rounded = points.astype(np.float32) + np.float32(0)
        texts = as_known(target, self.model, self.decimal)
        return [(p.tobytes(), text) for p, text in zip(rounded, texts, strict=True)]

    def _votes(self, frame: pl.DataFrame) -> FloatArray:
        """Return probabilities or numbers; a row does not vote for itself."""
        points = self.model.transform(frame)
        own = np.full(len(points), -1)
        if self.model.target in frame.columns and len(self._voters.Z) > 1:
            keys = self._keys(points, frame.get_column(self.model.target))
            own = np.array([self._places.get(key, -1) for key in keys])
        self.n_own += (n_own := int((own >= 0).sum()))
        return self._voters.predict(points, self.vote, own if n_own else None)

    def predict(self, frame: pl.DataFrame) -> NDArray[Any]:
        """Return the class or number of each row.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns of the model.

        Returns
        -------
        ndarray of shape (n_rows,)
            Names of classes, or numbers.
        """
        votes = self._votes(frame)
        return votes if self.classes is None else self.classes[votes.argmax(axis=1)]

    def columns(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return predictions as new columns.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns of the model.

        Returns
        -------
        polars.DataFrame
            ``predicted``. For classes also ``share``, the probability of the predicted
            class, or its share of the neighbors if their number was given. Of at most
            20 classes, ``p_…`` is the probability of each.
        """
        votes = self._votes(frame)
        if self.classes is None:
            return pl.DataFrame({"predicted": votes})
        best = self.classes[votes.argmax(axis=1)].tolist()
        found = {"predicted": best, "share": votes.max(axis=1)}
        if len(self.classes) <= 20:
            found |= {f"p_{c}": votes[:, i] for i, c in enumerate(self.classes)}
        return pl.DataFrame(found)


@dataclass(eq=False)
class Predicted:
    """The outcome of predictions.

    Attributes
    ----------
    n_rows : int
        The number of rows that were predicted.
    truth, predicted : list
        The targets and the predictions of the rows whose target is known.
    n_missing : int
        The number of missing cells in the columns that the model uses.
    unknown : dict of str to int
        The number of cells with a category that the model does not know, by column.
    n_own : int
        The number of rows that were also among the labeled ones, and were left out of
        their own neighbors.
    vote : Vote or None
        The vote that was used.

    See Also
    --------
    vicinal.app.models.predict_file : Returns it.

    Examples
    --------
    >>> from vicinal.app.models import Predicted
    >>> Predicted(3, truth=["a", "b"], predicted=["a", "a"]).n_rows
    3
    """

    n_rows: int = 0
    truth: list[Any] = field(default_factory=list)
    predicted: list[Any] = field(default_factory=list)
    n_missing: int = 0
    unknown: dict[str, int] = field(default_factory=dict)
    n_own: int = 0
    vote: Vote | None = None


def predict_file(
    model: SavedModel,
    source: str,
    among: str,
    path: str | os.PathLike[str],
    *,
    n_neighbors: int | None = None,
    keep: Sequence[str] = (),
    keep_all: bool = False,
    on_rows: Callable[[int], None] | None = None,
) -> Predicted:
    """Predict the target of every row of a table and write it.

    Parameters
    ----------
    model : SavedModel
        A model with a target.
    source : str
        The rows to predict; read in pieces.
    among : str
        The rows with a known target; see `NeighborPredictor`.
    path : str or path-like
        The file to write. Its ending selects the format: .csv, .tsv, .parquet, .arrow,
        .feather, .ipc.
    n_neighbors : int, default=None
        The number of neighbors; by default the vote of the model.
    keep : sequence of str, default=()
        Columns to keep in front of the predictions.
    keep_all : bool, default=False
        Keep every column.
    on_rows : callable, default=None
        Called with the number of rows written so far.

    Returns
    -------
    Predicted
        The predictions of the rows whose target is known.

    Raises
    ------
    ValueError, OSError
        If a table does not fit or the file cannot be written. Then nothing is written.

    See Also
    --------
    vicinal.app.models.NeighborPredictor : Predict rows in memory.
    vicinal.app.models.transform_file : Map a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from vicinal.app.models import learn, predict_file
    >>> from vicinal.app.tables.prepared import prepare
    >>> model = learn(prepare("iris"), "lda")
    >>> with TemporaryDirectory() as folder:
    ...     done = predict_file(model, "iris", "iris", Path(folder) / "iris.csv")
    >>> done.n_rows
    150
    """
    predictor = NeighborPredictor(model, among, n_neighbors)
    outcome = Predicted()

    def predicted(piece: pl.DataFrame) -> pl.DataFrame:
        new = predictor.columns(piece)
        cells = clean(model.columns.kept_part(piece))
        for one, values in model.columns.read(cells):
            outcome.n_missing += int(np.isnan(values).sum())
            if one.kind == "category" and (n := int((values < 0).sum())):
                outcome.unknown[one.column] = outcome.unknown.get(one.column, 0) + n
        if model.target in piece.columns:
            column = piece.get_column(str(model.target))
            targets = as_known(column, model, predictor.decimal)
            for truth, value in zip(targets, new.get_column("predicted"), strict=True):
                if truth is not None:
                    outcome.truth.append(truth)
                    outcome.predicted.append(value)
        return new

    outcome.n_rows = write_rows(
        source, path, predicted, keep=keep, keep_all=keep_all, on_rows=on_rows
    )
    outcome.n_own, outcome.vote = predictor.n_own, predictor.vote
    return outcome


def as_known(column: pl.Series, model: SavedModel, decimal: str) -> list[Any]:
    """Return targets in the form of predictions; None if they are unknown."""
    text = clean(column.alias("column").to_frame())
    asked = Overrides(decimal=decimal)
    cells = typed(Table(text, overrides=asked)).frame.to_series()
    numbers = cells.cast(pl.Float64, strict=False).to_list()
    if model.task == "regression":
        return numbers
    return [
        str(int(number))
        if number is not None and text not in model.classes and number.is_integer()
        else text
        for text, number in zip(as_names(cells).to_list(), numbers, strict=True)
    ]


def write_frame(frame: pl.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write a table that is in memory.

    Parameters
    ----------
    frame : polars.DataFrame
        The table.
    path : str or path-like
        The file to write. Its ending, one of `TABLES`, selects the format.

    See Also
    --------
    vicinal.app.models.transform_file : Writes in pieces.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import polars as pl
    >>> from vicinal.app.models import write_frame
    >>> with TemporaryDirectory() as folder:
    ...     write_frame(pl.DataFrame({"a": [1, 2]}), Path(folder) / "a.csv")
    ...     print((Path(folder) / "a.csv").read_text().split())
    ['a', '1', '2']
    """
    suffix = _format(Path(path), TABLES)
    with atomic_write(path) as temporary:
        _write_table(lambda *_: iter([frame]), frame, temporary, suffix)


def _format(goal: Path, endings: Sequence[str]) -> str:
    """Return the ending of a file; raise ValueError if it cannot be written."""
    if goal.suffix.lower() not in endings:
        raise ValueError(
            f"{goal.name!r} must end in one of {', '.join(endings)}, to say its format."
        )
    check_writable(goal)
    return goal.suffix.lower()


def write_rows(  # noqa: C901
    source: str,
    path: str | os.PathLike[str],
    new: Callable[[pl.DataFrame], pl.DataFrame],
    *,
    keep: Sequence[str],
    keep_all: bool,
    endings: Sequence[str] = TABLES,
    on_rows: Callable[[int], None] | None = None,
    row_group_bytes: int = 2**27,
) -> int:
    """Write new columns of a table's rows, completely or not at all.

    Parameters
    ----------
    source : str
        The table, as for `vicinal.app.tables.reading.read_table`; read in pieces.
    path : str or path-like
        The file to write; its ending selects the format.
    new : callable
        A function from some rows to as many rows of new columns.
    keep : sequence of str
        Columns to keep in front of the new ones. Columns of a text file stay text.
    keep_all : bool
        Keep every column.
    endings : sequence of str
        The formats to allow.
    on_rows : callable, default=None
        Called with the number of rows written so far.
    row_group_bytes : int, default=2**27
        The size of a row group of a Parquet file. A group is held in memory while it
        grows, and so are the descriptions of all groups until the file is closed.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    ValueError, OSError
        If the table does not fit or the file cannot be written. Then nothing is
        written.
    """
    goal = Path(path)
    suffix = _format(goal, endings)
    if goal.exists() and Path(source).exists() and goal.samefile(source):
        raise ValueError(f"{goal} is the table itself; write to another file.")
    opened = open_source(source)
    first = next(pieces(opened), None)
    if first is None or first.height == 0:
        raise ValueError(f"{source} has a header but no rows; add some.")
    kept = first.columns if keep_all else list(dict.fromkeys(keep))
    with add_line_number(opened, 0):
        made = new(first)
    taken = {*made.columns, *(("X", "names") if suffix == ".npz" else ())}
    for name in kept:
        check_column(name, first.columns)
        if name in taken:
            raise ValueError(
                f"Column {name!r} cannot be kept: a new column has its name; keep the "
                "others by name."
            )
        if suffix == ".npz" and re.search(r"[/\\\0]|\.npy$", name):
            raise ValueError(
                f"Column {name!r} cannot be kept in {goal.name}: the name of an array "
                "has no slash, backslash or NUL, and does not end in .npy; write to "
                ".parquet or .csv."
            )
    if kept and suffix == ".npy":
        raise ValueError(
            f"{goal.name} holds one array, and no column beside it; write to .npz, "
            ".parquet or .csv to keep some."
        )
    done, failure = 0, None

    def joined(piece: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
        # Not by `select`, which expands names such as "*".
        return pl.DataFrame(
            [*(piece.get_column(name) for name in kept), *new.iter_columns()]
        )

    def rows(*_: Any) -> Iterator[pl.DataFrame]:
        nonlocal done, failure
        try:
            for piece in pieces(opened):
                with add_line_number(opened, done):
                    columns = new(piece) if done else made
                yield joined(piece, columns)
                done += piece.height
                if on_rows is not None:
                    on_rows(done)
        except (Exception, KeyboardInterrupt) as error:
            failure = error
            raise

    with atomic_write(goal) as temporary:
        try:
            if suffix in ARRAYS:
                _write_arrays(rows, kept, made.schema, temporary, suffix)
            else:
                sample = joined(first, made)
                _write_table(rows, sample, temporary, suffix, row_group_bytes)
        except (
            OSError,
            pl.exceptions.PolarsError,
            pl.exceptions.PanicException,
        ) as error:
            # polars reports an error in the rows in its own words.
            if failure is not None:
                raise failure from None
            reason = getattr(error, "strerror", None) or str(error).strip()
            first_line = reason.partition("\n")[0]
            raise OSError(f"{goal} could not be written: {first_line}.") from error
    return done


def _write_table(
    rows: Callable[..., Iterator[pl.DataFrame]],
    sample: pl.DataFrame,
    temporary: Path,
    suffix: str,
    row_group_bytes: int = 2**27,
) -> None:
    """Write rows like those of a sample as text, Parquet or Arrow."""
    from polars.io.plugins import register_io_source

    if suffix in _DELIMITERS:
        # polars' own sink for text has missed a full disk.
        with temporary.open("w", encoding="utf-8", newline="") as file:
            for index, piece in enumerate(rows()):
                file.write(
                    piece.write_csv(
                        separator=_DELIMITERS[suffix], include_header=index == 0
                    )
                )
        return
    lazy = register_io_source(rows, schema=sample.schema)
    if suffix == ".parquet":
        bytes_of_row = max(1, sample.estimated_size() // max(1, sample.height))
        group = max(1, int(row_group_bytes // bytes_of_row))
        lazy.sink_parquet(temporary, row_group_size=group)
    else:
        lazy.sink_ipc(temporary)


def _write_arrays(
    rows: Callable[[], Iterator[pl.DataFrame]],
    kept_names: Sequence[str],
    new: pl.Schema,
    temporary: Path,
    suffix: str,
) -> None:
    """Write the new columns as one array X; in npz, kept columns beside it."""
    dtype = "<f4" if all(kind == pl.Float32 for kind in new.dtypes()) else "<f8"
    kept: dict[str, list[Any]] = {name: [] for name in kept_names}
    header = {"descr": dtype, "fortran_order": False}
    # The rows of an archive wait in a file without a name, which no signal leaves.
    with (
        temporary.open("wb")
        if suffix == ".npy"
        else tempfile.TemporaryFile(dir=temporary.parent)
    ) as file:
        # Written again at the end: NumPy leaves room for a larger number of rows.
        write_header = np.lib.format.write_array_header_1_0
        write_header(file, {**header, "shape": (0, len(new))})
        n_rows = 0
        for piece in rows():
            n_rows += piece.height
            block = piece[:, len(kept) :].to_numpy()
            file.write(np.ascontiguousarray(block, dtype).tobytes())
            for name, values in kept.items():
                values.extend(piece.get_column(name).to_list())
        file.seek(0)
        write_header(file, {**header, "shape": (n_rows, len(new))})
        if suffix == ".npy":
            return
        file.seek(0)
        arrays = {"names": _array(new.names())}
        arrays |= {name: _array(values) for name, values in kept.items()}
        with zipfile.ZipFile(temporary, "w", allowZip64=True) as archive:
            with archive.open("X.npy", "w", force_zip64=True) as to:
                shutil.copyfileobj(file, to)
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as to:
                    np.lib.format.write_array(to, array, allow_pickle=False)


def _array(values: list[Any]) -> NDArray[Any]:
    """Return values as an array without objects: numbers or text."""
    if values and all(isinstance(one, bool) for one in values):
        return np.array(values)
    if all(isinstance(one, int | float | None) for one in values):
        return np.array([np.nan if one is None else one for one in values])
    return np.array(["" if one is None else str(one) for one in values], dtype=np.str_)
