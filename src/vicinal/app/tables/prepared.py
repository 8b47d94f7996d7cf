"""From a file or a frame to numbers and labels, with a note on every decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.columns import Columns, Decision
from vicinal.app.tables.names import NoTargetError, Note, TableError, printable
from vicinal.app.tables.reading import Table, decimal_note, read_table
from vicinal.app.tables.targets import (
    check_features,
    choose_target,
    likely_targets,
    read_target,
    uncut_hint,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import polars as pl
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.tables.columns import Overrides

__all__ = ["Prepared", "prepare", "spoiled_columns"]


@dataclass(frozen=True, eq=False)
class Prepared:
    """A table that a metric can be learned from.

    Attributes
    ----------
    name : str
        Stem of the file, or name of the data set.
    X : ndarray of shape (n_samples, n_features)
        NaN for missing numbers.
    y : ndarray of shape (n_samples,) or None
        Class names as text, float64, or None without a target.
    task : str
        "classification", "regression" or "none".
    columns : Columns
        The conversion of `frame` to `X`.
    notes : list of str
        Notes for the user; some are `vicinal.app.tables.names.Note`.
    target : str or None
        The column of the label.
    frame : polars.DataFrame
        The rows of `X` as the file holds them.
    rows : ndarray of int of shape (n_samples,)
        Their positions in the table that was read, from 0: rows without a label are
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
        """The decision on each column."""
        return list(self.columns.decisions)

    @property
    def feature_names(self) -> list[str]:
        """Name of each column of `X`."""
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
    """Read a table, find its target and convert its columns to numbers.

    Parameters
    ----------
    source : str, path-like, DataFrame or Table
        As for `vicinal.app.tables.reading.read_table`, or its result.
    target : str, default=None
        The column of the label; by default the known one, or one called target, label,
        class or y.
    labels : ndarray of shape (n_rows,), default=None
        The labels, if they are not a column of the table.
    limit : int, default=None
        Size of a random sample of rows, if the table is not read yet.
    no_target : bool, default=False
        Learn without labels. A known label is not a feature either.
    task : {"classification", "regression"}, default=None
        By default, the values of the target decide.
    overrides : Overrides, default=None
        Decisions of the user about columns, if the table is not read yet.
    ask : callable, default=None
        Called with an error and the names of all columns if no target is named or
        found; returns the name of the target, or None to learn without one. By default,
        the error is raised.

    Returns
    -------
    Prepared
        With at least two rows and a feature.

    Raises
    ------
    ValueError, OSError
        With one sentence for the user.

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
        raise TableError("Name a target or ask for none, not both.")
    table = source
    if not isinstance(source, Table):
        table = read_table(source, limit=limit, overrides=overrides)
    if table.frame.height < 2:
        raise TableError(f"{table.name} has a single row; there must be neighbours.")
    notes, rows = list(table.notes), np.arange(table.frame.height)
    label = table.target if no_target else None
    column = None
    if labels is not None:
        column = _as_column(labels, table.frame.height)
    elif not no_target:
        label, note = _find_label(table, target, ask)
        notes += note
        column = None if label is None else table.frame.get_column(label)
    y: NDArray[Any] | None = None
    found = "none"
    if column is not None:
        read = read_target(column, task=task, decimal=table.decimal)
        notes += read.notes
        if not (read.is_decimal_sure or table.is_decimal_known):
            notes.append(decimal_note([column.name], table.decimal))
        y, found = read.values, read.task
        if not read.kept.all():
            table, rows = table.part(read.kept), rows[read.kept]
    columns = Columns.learn(
        table.frame, label, forms=table.forms, overrides=table.overrides
    )
    _check_columns(table, columns)
    notes += spoiled_columns(columns.decisions)
    X = columns.encode(table.frame)
    check_features(X, columns.feature_names)
    return Prepared(
        name=table.name,
        X=X,
        y=y,
        task=found,
        columns=columns,
        notes=notes,
        target=None if column is None else label,
        frame=table.frame,
        rows=rows,
    )


def _find_label(
    table: Table,
    target: str | None,
    ask: Callable[[NoTargetError, list[str]], str | None] | None,
) -> tuple[str | None, list[str]]:
    """Find the column of the label, or ask for it; return notes, too."""
    label = choose_target(table, target)
    notes = []
    if label is None:
        _check_columns(
            table, Columns.learn(table.frame, None, overrides=table.overrides)
        )
        error = NoTargetError(table.name, likely_targets(table.frame))
        if ask is None:
            raise error
        label = ask(error, table.frame.columns)
        if label is None:
            return None, [Note("no target: name it if there is one", "target")]
    elif target is None and table.target is None:
        notes.append(f"column {label!r} is taken as the target")
    if table.overrides.kind(label) is not None:
        raise TableError(
            f"Column {label!r} is the target, whose type is the task.", "task"
        )
    return label, notes


def _as_column(labels: NDArray[Any], n_rows: int) -> pl.Series:
    """Return labels beside a table as a column."""
    import polars as pl

    if labels.shape != (n_rows,):
        raise TableError(
            f"There must be one label for each of the {n_rows:,} rows; y has the "
            f"shape {labels.shape}."
        )
    if labels.dtype.kind not in "fiubU":
        values = [None if one != one else one for one in labels.tolist()]
        return pl.Series("y", values, strict=False)
    return pl.Series("y", labels)


def _check_columns(table: Table, columns: Columns) -> None:
    if columns.feature_names:
        return
    decisions = columns.decisions
    shown = [f"{one.column}: {one.kind}" for one in decisions]
    kinds = "; ".join(
        printable(f"{said}, {one.reason}" if one.reason else said, None)
        for said, one in zip(shown[:5], decisions, strict=False)
    )
    more = f"; and {len(decisions) - 5:,} more" if len(decisions) > 5 else ""
    advice, option = "; say which column holds categories, numbers or dates.", "number"
    if all(one.kind == "target" for one in decisions):
        advice, option = "; it needs columns beside the target.", ""
    if hint := uncut_hint(table.frame):
        advice, option = hint, ""
    raise TableError(
        f"{table.name} has no column to learn from ({kinds}{more}){advice}", option
    )


def spoiled_columns(decisions: Iterable[Decision]) -> list[str]:
    """Describe columns that a few cells keep from being numbers or dates.

    Parameters
    ----------
    decisions : iterable of Decision
        The decision on each column.

    Returns
    -------
    list of str
        A note for numbers and one for dates, if there are such columns.
    """
    notes: list[str] = []
    spoiled = [one for one in decisions if one.option and one.kind != "date"]
    for kind in ("number", "date"):
        names = [printable(one.column) for one in spoiled if one.option == kind]
        if names:
            said = (
                f"Not used as {kind}s, because a few cells are not {kind}s: "
                f"{', '.join(names)}. Name them as {kind}s to take those cells as "
                "missing."
            )
            notes.append(Note(said, kind, ",".join(names)))
    return notes
