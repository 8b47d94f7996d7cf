"""Predictions by the nearest labelled rows under a saved metric.

A model holds no rows: those with labels come from a table of their own, most often the
one that the metric was learned from.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from vicinal.app.models._write_rows import write_rows
from vicinal.app.tables.cells import clean
from vicinal.app.tables.names import add_line_number, counted, near
from vicinal.app.tables.reading import read_table
from vicinal.app.tables.targets import read_target

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Sequence

    import polars as pl
    from numpy.typing import NDArray

    from vicinal.app.models._saved import SavedModel

__all__ = ["NeighborPredictor", "Predicted", "predict_file"]


@dataclass(eq=False)
class Predicted:
    """How predictions came out.

    Attributes
    ----------
    n_rows : int
        How many rows were predicted.
    truth, predicted : list
        Of the rows whose target is known: what it is, and what was predicted.

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


class NeighborPredictor:
    """Predict by k-NN under a saved metric: a class, or a mean, of the nearest rows.

    Parameters
    ----------
    model : SavedModel
        Learned beside a target.
    among : str
        Rows with that target, as `vicinal.app.tables.reading.read_table` takes them; those
        without a value in it are left out.
    n_neighbors : int, default=3
        How many neighbours to ask.

    See Also
    --------
    vicinal.app.models.predict_file : Predicts a whole file.

    Examples
    --------
    >>> from vicinal.app.models import NeighborPredictor, learn
    >>> from vicinal.app.tables.prepared import prepare
    >>> iris = prepare("iris")
    >>> predictor = NeighborPredictor(learn(iris, "lda"), "iris")
    >>> predictor.predict(iris.frame[[0, 149]]).tolist()
    ['setosa', 'virginica']
    """

    def __init__(self, model: SavedModel, among: str, n_neighbors: int = 3) -> None:
        if model.target is None or model.task == "none":
            raise ValueError(
                "The model was learned without a target, and there is nothing to "
                "predict; learn one with `vicinal fit --target COLUMN`."
            )
        if n_neighbors < 1:
            raise ValueError(f"Ask for at least 1 neighbour, not {n_neighbors}.")
        table = read_table(among)
        frame = table.frame
        if model.target not in frame.columns:
            hint = near(model.target, frame.columns) or ", which is to be predicted."
            raise ValueError(f"{table.name} has no column {model.target!r}{hint}")
        column = frame.get_column(model.target)
        read = read_target(column, task=model.task, decimal=table.decimal)
        labeled = frame.filter(read.kept)
        if n_neighbors > labeled.height:
            raise ValueError(
                f"{counted(n_neighbors, 'neighbour')} asked for, but {table.name} has "
                f"only {counted(labeled.height, 'row')} with a target; ask for fewer."
            )
        self.model = model
        self.classes = model.task == "classification"
        kind = KNeighborsClassifier if self.classes else KNeighborsRegressor
        with add_line_number(among, np.flatnonzero(read.kept)):
            points = model.transform(labeled)
        self._knn = kind(n_neighbors).fit(points, read.values)

    def predict(self, frame: pl.DataFrame) -> NDArray[Any]:
        """Return the class or number of each row.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns that the model knows.

        Returns
        -------
        ndarray of shape (n_rows,)
            Names of classes, or numbers.
        """
        predicted: NDArray[Any] = self._knn.predict(self.model.transform(frame))
        return predicted

    def columns(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return predictions as new columns: ``predicted``, and of classes ``share``.

        Parameters
        ----------
        frame : polars.DataFrame
            Rows with the columns that the model knows.

        Returns
        -------
        polars.DataFrame
            The share is that of the neighbours that are of the predicted class.
        """
        import polars as pl

        if not self.classes:
            return pl.DataFrame({"predicted": self.predict(frame)})
        shares = self._knn.predict_proba(self.model.transform(frame))
        best = shares.argmax(axis=1)
        return pl.DataFrame(
            {
                "predicted": self._knn.classes_[best].tolist(),
                "share": shares[np.arange(len(best)), best],
            }
        )


def predict_file(
    model: SavedModel,
    source: str,
    among: str,
    path: str | os.PathLike[str],
    *,
    n_neighbors: int = 3,
    keep: Sequence[str] = (),
    keep_all: bool = False,
    on_rows: Callable[[int], None] | None = None,
) -> Predicted:
    """Predict the target of every row of a table, and write it, whole or not at all.

    Parameters
    ----------
    model : SavedModel
        Learned beside a target.
    source : str
        The rows to predict; read in pieces.
    among : str
        The rows with a target to predict from; see `NeighborPredictor`.
    path : str or path-like
        The ending says the format: .csv, .tsv, .parquet, .arrow, .feather, .ipc.
    n_neighbors : int, default=3
        How many neighbours to ask.
    keep : sequence of str, default=()
        Columns to keep in front of the predictions.
    keep_all : bool, default=False
        Keep every column.
    on_rows : callable, default=None
        Called with the number of rows done, now and then.

    Returns
    -------
    Predicted
        With the rows whose target is known, to compare.

    Raises
    ------
    ValueError, OSError
        With one sentence; then nothing is written.

    See Also
    --------
    vicinal.app.models.NeighborPredictor : Predicts what is in memory.
    vicinal.app.models.transform_file : Maps a file.

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
        values = new.get_column("predicted").to_list()
        known = _known(piece, model)
        # The first piece comes twice, once to learn what the columns are.
        if outcome.n_rows == 0:
            outcome.truth, outcome.predicted = [], []
        for truth, value in zip(known, values, strict=True):
            if truth is not None:
                outcome.truth.append(truth)
                outcome.predicted.append(value)
        return new

    def count(done: int) -> None:
        outcome.n_rows = done
        if on_rows is not None:
            on_rows(done)

    outcome.n_rows = write_rows(
        source, path, predicted, keep=keep, keep_all=keep_all, on_rows=count
    )
    return outcome


def _known(piece: pl.DataFrame, model: SavedModel) -> list[Any]:
    """Return the targets of some rows as predictions are written; None if unknown."""
    import polars as pl

    if model.target not in piece.columns:
        return [None] * piece.height
    cells = clean(piece.get_column(str(model.target)).to_frame()).to_series()
    numbers = cells.cast(pl.Float64, strict=False)
    if model.task == "regression":
        return numbers.to_list()
    texts = cells.cast(pl.String).to_list()
    return [
        str(int(number))
        if number is not None and text not in model.classes and number.is_integer()
        else text
        for text, number in zip(texts, numbers.to_list(), strict=True)
    ]
