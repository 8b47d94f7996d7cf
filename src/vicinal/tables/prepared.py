"""From a file's name to numbers and labels, with a note on every decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.tables.columns import Columns, Decision
from vicinal.tables.reading import read_table
from vicinal.tables.sizes import check_features
from vicinal.tables.targets import choose_target, read_target

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table that a metric can be learned from.

    Attributes
    ----------
    name : str
        The file's stem, or the data set's name.
    X : ndarray of shape (n_samples, n_features)
        NaN where a number is missing.
    y : ndarray of shape (n_samples,) or None
        Class names as text, float64, or None without a target.
    task : str
        "classification", "regression" or "none".
    columns : Columns
        How `X` came out of `frame`.
    notes : list of str
        What a person should know of how the table was read.
    target : str or None
        The label's column.
    frame : polars.DataFrame
        The rows of `X` as the file holds them.
    rows : ndarray of int of shape (n_samples,)
        Where they were in the table that was read, from 0: rows without a label are
        left out.
    """

    name: str
    X: FloatArray
    y: NDArray[Any] | None
    task: str
    columns: Columns
    notes: list[str]
    target: str | None
    frame: pl.DataFrame
    rows: IntArray

    @property
    def decisions(self) -> list[Decision]:
        """What became of each column."""
        return list(self.columns.decisions)

    @property
    def feature_names(self) -> list[str]:
        """One for each column of `X`."""
        return self.columns.feature_names


def prepare(
    source: str,
    *,
    target: str | None = None,
    limit: int | None = None,
    no_target: bool = False,
    task: str | None = None,
) -> Prepared:
    """Read a table, find its label and turn its columns into numbers.

    Parameters
    ----------
    source : str
        As `vicinal.tables.reading.read_table` takes it.
    target : str, default=None
        The label's column; see `vicinal.tables.targets.choose_target`.
    limit : int, default=None
        At most so many rows, drawn at random.
    no_target : bool, default=False
        Learn without labels. A label that is known is not a feature either.
    task : {"classification", "regression"}, default=None
        By default, the label's values tell.

    Returns
    -------
    Prepared
        With at least two rows and a feature.

    Raises
    ------
    ValueError, OSError
        With one sentence that says what to do.

    Examples
    --------
    >>> from vicinal.tables.prepared import prepare
    >>> digits = prepare("digits")
    >>> digits.X.shape, digits.task
    ((1797, 61), 'classification')
    >>> [one.column for one in digits.decisions if one.kind == "constant"]
    ['pixel_0_0', 'pixel_4_0', 'pixel_4_7']
    """
    if no_target and target is not None:
        raise ValueError("Name a target or ask for none, not both.")
    table = read_table(source, limit=limit)
    frame, notes = table.frame, list(table.notes)
    rows = np.arange(frame.height)
    label = table.target if no_target else choose_target(table, target)
    y: NDArray[Any] | None = None
    found = "none"
    if label is not None and not no_target:
        if target is None and table.target is None:
            notes.append(f"column {label!r} is taken as the target")
        read = read_target(frame[label], task=task, known=label == table.target)
        notes += read.notes
        y, found = read.values, read.task
        if not read.kept.all():
            frame, rows = frame.filter(read.kept), rows[read.kept]
    elif not no_target:
        notes.append(
            "no target: no column is called target, label, class or y; name it with "
            "--target COLUMN if there is one"
        )
    if frame.height < 2:
        raise ValueError(f"{table.name} has a single row; there must be neighbours.")
    columns = Columns.learn(frame, label)
    if not columns.feature_names:
        kinds = ", ".join(f"{one.column}: {one.kind}" for one in columns.decisions[:5])
        raise ValueError(
            f"{table.name} has no column to learn from ({kinds}); is its delimiter a "
            "comma, a semicolon, a tab or a bar?"
        )
    X = columns.encode(frame)
    check_features(X, columns.feature_names)
    return Prepared(
        name=table.name,
        X=X,
        y=y,
        task=found,
        columns=columns,
        notes=notes,
        target=None if no_target else label,
        frame=frame,
        rows=rows,
    )
