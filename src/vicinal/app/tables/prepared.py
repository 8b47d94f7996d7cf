"""From a file or a frame to numbers and labels, with a note on every decision."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.column_types import AS_MISSING
from vicinal.app.tables.columns import Columns
from vicinal.app.tables.decisions import Decision
from vicinal.app.tables.names import printable
from vicinal.app.tables.reading import Table, read_table
from vicinal.app.tables.sizes import check_features
from vicinal.app.tables.target_choice import (
    UNCUT,
    NoTargetError,
    choose_target,
    likely_targets,
    may_be_cut,
)
from vicinal.app.tables.targets import read_target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.tables.overrides import Overrides

__all__ = ["Prepared", "prepare", "spoiled_columns"]


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
    source: Any,
    *,
    target: str | None = None,
    labels: NDArray[Any] | None = None,
    limit: int | None = None,
    no_target: bool = False,
    task: str | None = None,
    overrides: Overrides | None = None,
    ask: Callable[[NoTargetError, list[str]], str | None] | None = None,
) -> Prepared:
    """Read a table, find its label and turn its columns into numbers.

    Parameters
    ----------
    source : str, path-like, DataFrame or Table
        As `vicinal.app.tables.reading.read_table` takes or returns it.
    target : str, default=None
        The label's column; see `vicinal.app.tables.target_choice.choose_target`.
    labels : ndarray of shape (n_rows,), default=None
        The labels, where they are no column of the table.
    limit : int, default=None
        At most so many rows, drawn at random, where the table is not yet read.
    no_target : bool, default=False
        Learn without labels. A label that is known is not a feature either.
    task : {"classification", "regression"}, default=None
        By default, the label's values tell.
    overrides : Overrides, default=None
        What a person says about the columns, where the table is not yet read.
    ask : callable, default=None
        Called with an error and all columns' names where no target is named or found;
        returns the target's name, or None to go on without. By default, the error is
        raised.

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
    >>> from vicinal.app.tables.prepared import prepare
    >>> digits = prepare("digits")
    >>> digits.X.shape, digits.task
    ((1797, 61), 'classification')
    >>> [one.column for one in digits.decisions if one.kind == "constant"]
    ['pixel_0_0', 'pixel_4_0', 'pixel_4_7']
    """
    if no_target and target is not None:
        raise ValueError("Name a target or ask for none, not both.")
    table = (
        source
        if isinstance(source, Table)
        else read_table(source, limit=limit, overrides=overrides)
    )
    frame, notes, asked = table.frame, list(table.notes), table.overrides
    _check_rows(table)
    rows = np.arange(frame.height)
    label = table.target if no_target else None
    column = None
    if labels is not None:
        column = _as_column(labels, frame)
    elif not no_target:
        label, said = _find_label(table, target, ask)
        notes += said
        column = None if label is None else frame[label]
    y: NDArray[Any] | None = None
    found = "none"
    if column is not None:
        read = read_target(column, task=task, decimal=table.decimal)
        notes += read.notes
        y, found = read.values, read.task
        if not read.kept.all():
            table, rows = table.part(read.kept), rows[read.kept]
            frame = table.frame
    columns = Columns.learn(frame, label, forms=table.forms, overrides=asked)
    _check_columns(table, columns)
    notes += spoiled_columns(columns.decisions)
    X = columns.encode(frame)
    check_features(X, columns.feature_names)
    return Prepared(
        name=table.name,
        X=X,
        y=y,
        task=found,
        columns=columns,
        notes=notes,
        target=None if column is None else label,
        frame=frame,
        rows=rows,
    )


def _find_label(
    table: Table,
    target: str | None,
    ask: Callable[[NoTargetError, list[str]], str | None] | None,
) -> tuple[str | None, list[str]]:
    """Find the label's column, or ask for it; return notes on that, too."""
    frame, asked = table.frame, table.overrides
    label = choose_target(table, target)
    notes = []
    if label is None:
        _check_columns(table, Columns.learn(frame, None, overrides=asked))
        error = NoTargetError(table.name, likely_targets(frame))
        if ask is None:
            raise error
        label = ask(error, frame.columns)
        if label is None:
            return None, ["no target: name it with --target COLUMN if there is one"]
    elif target is None and table.target is None:
        notes.append(f"column {label!r} is taken as the target")
    if asked.kind(label) is not None:
        raise ValueError(
            f"Column {label!r} is the target; what it is can be said with --task."
        )
    return label, notes


def _as_column(labels: NDArray[Any], frame: pl.DataFrame) -> pl.Series:
    """Return labels that came beside a table as if they were a column of it."""
    import polars as pl

    if labels.shape != (frame.height,):
        raise ValueError(
            f"There must be one label for each of the {frame.height:,} rows; y has the "
            f"shape {labels.shape}."
        )
    if labels.dtype.kind not in "fiubU":
        values = [None if one != one else one for one in labels.tolist()]
        return pl.Series("y", values, strict=False)
    return pl.Series("y", labels)


def _check_rows(table: Table) -> None:
    if table.frame.height < 2:
        raise ValueError(f"{table.name} has a single row; there must be neighbours.")


def _check_columns(table: Table, columns: Columns) -> None:
    if columns.feature_names:
        return
    decisions = columns.decisions
    if may_be_cut(table.frame):
        advice = UNCUT
    elif all(one.kind == "target" for one in decisions):
        advice = "it needs columns beside the target."
    else:
        advice = "say --categorical, --number or --date COLUMN of one that should be."
    kinds = "; ".join(
        printable(f"{one.column}: {one.kind}", None)
        + (f", {printable(one.reason, None)}" if one.reason else "")
        for one in decisions[:5]
    )
    more = f"; and {len(decisions) - 5:,} more" if len(decisions) > 5 else ""
    raise ValueError(
        f"{table.name} has no column to learn from ({kinds}{more}); {advice}"
    )


def spoiled_columns(decisions: Iterable[Decision]) -> list[str]:
    """Say which columns a few cells keep from being numbers or dates, and what to do.

    Parameters
    ----------
    decisions : iterable of Decision
        What became of each column.

    Returns
    -------
    list of str
        A sentence for numbers and one for dates, where there are such columns.
    """
    said = []
    for kind in ("number", "date"):
        names = [
            one.column
            for one in decisions
            if f"--{kind} " in one.reason and one.reason.endswith(AS_MISSING)
        ]
        if names:
            shown = ", ".join(printable(name) for name in names)
            option = shlex.quote(",".join(printable(name) for name in names))
            said.append(
                f"Not used as {kind}s, because a few cells are not {kind}s: {shown}. "
                f"Run again with --{kind} {option} to take those cells as missing."
            )
    return said
