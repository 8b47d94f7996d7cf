"""From a file or a frame to numbers and labels, with a note on every decision."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.app.tables._polars import pl
from vicinal.app.tables.cells import (
    Table,
    as_names,
    decimal_note,
    dtype_in_words,
    mixed_cells,
    read_cells,
    typed,
    unnamed,
)
from vicinal.app.tables.columns import Columns, Decision, kind_of
from vicinal.app.tables.hints import column_hints, target_hints
from vicinal.app.tables.inputs import (
    Overrides,
    check_features,
    check_numbers,
    names_classes,
)
from vicinal.app.tables.names import (
    NoTargetError,
    Note,
    TableError,
    check_column,
    counted,
    listed,
    printable,
    uncut_hint,
)
from vicinal.app.tables.reading import read_table

# Parts of names that a target often has.
_LIKELY_WORDS = re.compile(
    r"target|label|class|outcome|response|species|diagnosis|surviv|churn|default|"
    r"price|quality|rating|score|income|salary|sales|cost|value|status|result|"
    r"category|kind|type|grade|fraud|sentiment|^y$|_y$",
    re.IGNORECASE,
)


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


def prepare(  # noqa: C901
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
    n_rows, names = table.frame.height, table.frame.columns
    if n_rows < 2:
        raise TableError(f"{table.name} has a single row; there must be neighbours.")
    notes, rows = list(table.notes), np.arange(n_rows)
    label, column = table.target if no_target else None, None
    if labels is not None:
        if labels.shape != (n_rows,):
            raise TableError(
                f"y has the shape {labels.shape}; it needs one label for each of the "
                f"{n_rows} rows."
            )
        exact = labels.dtype.kind in "fiubU"
        values: Any = (
            labels if exact else [x if x == x else None for x in labels.tolist()]
        )
        column = pl.Series("y", values, strict=exact)
    elif not no_target:
        label = choose_target(table, target)
        if label is None:
            _check_columns(
                table, Columns.learn(table.frame, None, overrides=table.overrides)
            )
            error = NoTargetError(table.name, likely_targets(table.frame))
            if ask is None:
                raise error
            label = ask(error, names)
            if label is None:
                notes.append(Note("no target: name it if there is one", "target"))
        elif target is None and table.target is None:
            notes.append(f"column {label!r} is taken as the target")
    if label is not None and not no_target:
        if table.overrides.kind(label) is not None:
            said = f"Column {label!r} is the target, whose type is the task."
            raise TableError(said, "task")
        column = table.frame.get_column(label)
    y: NDArray[Any] | None = None
    found = "none"
    if column is not None:
        read = read_target(column, task=task, decimal=table.decimal)
        notes += read.notes
        if not (read.is_decimal_sure or table.is_decimal_known):
            notes.append(decimal_note([column.name], table.decimal))
        y, found = read.values, read.task
        notes += target_hints(column.name, column, found, task is not None)
        if not read.kept.all():
            # Text in rows without a label no longer spoils numbers.
            table = typed(replace(table, frame=table.frame.filter(read.kept)))
            rows = rows[read.kept]
    columns = Columns.learn(
        table.frame, label, forms=table.forms, overrides=table.overrides
    )
    _check_columns(table, columns)
    notes += spoiled_columns(columns.decisions)
    notes += column_hints(table.frame, columns.decisions, y, table.padded)
    kept = [one for one in columns.decisions if one.kind in ("category", "yes/no")]
    if found == "none" and kept:
        few = [printable(one.column) for one in kept]
        notes.append(
            Note(
                f"a density is high at the few values of {listed(few)}, so that "
                "densities compare only with others of this table: leave categories "
                "out to compare metrics",
                *("drop", ",".join(few), "density", few[0]),
            )
        )
    X = columns.encode(table.frame)
    check_features(X, columns.feature_names)
    target = None if column is None else label
    return Prepared(table.name, X, y, found, columns, notes, target, table.frame, rows)


def _check_columns(table: Table, columns: Columns) -> None:
    if columns.feature_names:
        return
    decisions = columns.decisions
    kinds = "; ".join(
        printable(f"{one.column}: {one.kind}, {one.reason}".removesuffix(", "), None)
        for one in decisions[:5]
    )
    more = f"; and {len(decisions) - 5:,} more" if len(decisions) > 5 else ""
    said = f"{table.name} has no column to learn from ({kinds}{more})"
    if uncut := uncut_hint(table.frame.columns):
        raise TableError(said + uncut)
    if all(one.kind == "target" for one in decisions):
        raise TableError(f"{said}; it needs columns beside the target.")
    said += "; say which column holds categories, numbers or dates."
    raise TableError(said, "number")


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
            worst = max(one.unread for one in spoiled if one.option == kind)
            share = "a few cells" if worst <= 0.1 else f"up to {worst:.0%} of the cells"
            said = (
                f"Not used as {kind}s, because {share} are not {kind}s: "
                f"{', '.join(names)}. Name them as {kind}s to take those cells as "
                "missing."
            )
            notes.append(Note(said, kind, ",".join(names), "spoiled"))
    return notes


def choose_target(table: Table, asked: str | None) -> str | None:
    """Find the column of the target.

    Parameters
    ----------
    table : Table
        The table.
    asked : str or None
        Name of a column.

    Returns
    -------
    str or None
        The column asked for; else the known one; else one called target, label, class
        or y; else None.

    Raises
    ------
    ValueError
        If there is no such column.
    """
    names = table.frame.columns
    if asked is not None:
        check_column(asked, names, table.name)
        return asked
    if table.target is not None:
        return table.target
    by_lower = {name.lower(): name for name in reversed(names)}
    usual = (by_lower.get(name) for name in ("target", "label", "class", "y"))
    return next((name for name in usual if name is not None), None)


def likely_targets(frame: pl.DataFrame, limit: int = 5) -> list[str]:
    """Return columns that may be the target, the likeliest first.

    Parameters
    ----------
    frame : polars.DataFrame
        From `vicinal.app.tables.cells.typed`.
    limit : int, default=5
        Maximum number of columns.

    Returns
    -------
    list of str
        Columns named like a target, then the last, then others; only numbers,
        categories and yes/no.
    """
    names = frame.columns
    order = sorted(
        range(len(names)),
        key=lambda i: (not _LIKELY_WORDS.search(names[i]), i != len(names) - 1, i),
    )
    wanted = ("number", "category", "yes/no")
    likely = (names[i] for i in order if kind_of(frame.to_series(i)).kind in wanted)
    return list(islice(likely, limit))


@dataclass(frozen=True, eq=False)
class Target:
    """The labels of the rows that have one.

    Attributes
    ----------
    task : str
        "classification" or "regression".
    values : ndarray of shape (n_kept,)
        Class names as text, or float64.
    kept : ndarray of bool of shape (n_rows,)
        The rows of these values.
    notes : tuple of str
        Rows that were left out, and why.
    is_decimal_sure : bool
        Whether the cells determine the decimal sign of the numbers.
    """

    task: str
    values: NDArray[Any]
    kept: NDArray[np.bool_]
    notes: tuple[str, ...]
    is_decimal_sure: bool = True


def read_target(  # noqa: C901
    column: pl.Series, *, task: str | None = None, decimal: str = "."
) -> Target:
    """Read the labels, and tell classes from numbers.

    Parameters
    ----------
    column : polars.Series
        From `vicinal.app.tables.cells.typed`.
    task : {"classification", "regression"}, default=None
        By default, `names_classes` decides.
    decimal : {",", "."}, default="."
        Decimal sign of cells like ``1,234`` beside cells that are not numbers.

    Returns
    -------
    Target
        Rows without a label and classes of a single row are left out. So are cells
        that are not numbers if 90 % of the cells are numbers and not codes of classes,
        or if regression is asked for.

    Raises
    ------
    ValueError
        If nothing can be learned from it.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.app.tables.prepared import read_target
    >>> target = read_target(pl.Series("kind", ["a", "b", None, "b", "a", "c"]))
    >>> target.task, target.values.tolist()
    ('classification', ['a', 'b', 'b', 'a'])
    >>> target.notes[1]
    "class 'c' left out: it has a single row"
    """
    name, column = unnamed(column)
    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if column.dtype.is_float():
        column = column.set(~column.is_finite(), None)
    if column.dtype.is_temporal() or column.dtype.is_nested():
        raise TableError(
            f"Column {name!r} holds {dtype_in_words(column.dtype)}, which are "
            "neither classes nor numbers; name another target."
        )
    present = column.drop_nulls()
    if len(present) == 0:
        raise TableError(f"Column {name!r} has no values; name another target.")
    if present.n_unique() == 1:
        raise TableError(
            f"Column {name!r} is {printable(present[0])!r} in every row; a target "
            "needs at least two values."
        )
    notes = []
    if n_lost := len(column) - len(present):
        notes.append(f"{counted(n_lost, 'row')} without a value in {name!r} left out")
    mixed = None if task == "classification" else mixed_cells(present, decimal)
    is_sure = mixed is None or mixed.is_sure
    if mixed is not None and mixed.kind == "number":
        said = f"column {name!r}: {mixed}"
        values = read_cells(column, "number", mixed.form, asked=True)
        mostly = 10 * mixed.n_read >= 9 * mixed.n_cells
        if task or (mostly and not names_classes(values[~np.isnan(values)])):
            column = pl.Series("column", values, nan_to_null=True)
            present = column.drop_nulls()
            said += f": {counted(mixed.n_cells - mixed.n_read, 'row')} left out"
            other = "; classification takes all cells as names"
            option = ("task", "classification")
            notes.append(Note(said) if task else Note(said + other, *option))
            task = "regression"
        else:
            said += ": taken as names of classes; regression takes the numbers alone"
            notes.append(Note(said, "task", "regression"))
    if task is None:
        classes = names_classes(present.to_numpy())
        task = "classification" if classes else "regression"
    if task == "classification":
        return _classes(name, column, notes)
    if not present.dtype.is_numeric():
        raise TableError(
            f"Column {name!r} holds names like {printable(present[0])!r}, not "
            "numbers to predict; name another target."
        )
    values = present.to_numpy().astype(np.float64)
    check_numbers(values, f"Column {name!r}")
    kept = column.is_not_null().to_numpy()
    return Target(task, values, kept, tuple(notes), is_sure)


def _classes(name: str, column: pl.Series, notes: list[str]) -> Target:
    text = as_names(column)
    counts = text.drop_nulls().value_counts()
    known = len(text) - text.null_count()
    if counts.height == known:
        advice = "like an identifier; name another target."
        if known < 5:
            advice = (
                f"and there are {known} of them: too few to learn from; give more rows "
                "with a value."
            )
        raise TableError(f"Column {name!r} has another value in each row, {advice}")
    values, times = counts.get_columns()
    lone = sorted(values.filter(times == 1).to_list())
    if lone:
        noun, reason = "class", "it has a single row"
        if len(lone) > 1:
            noun, reason = "classes", "they have a single row each"
        notes.append(f"{noun} {listed(lone, limit=3)} left out: {reason}")
        text = text.set(text.is_in(lone), None)
    if counts.height - len(lone) < 2:
        raise TableError(
            f"Column {name!r} has fewer than two classes with at least two rows each; "
            "name another target."
        )
    kept = text.is_not_null().to_numpy()
    labels = np.array(text.drop_nulls().to_list(), dtype=np.str_)
    return Target("classification", labels, kept, tuple(notes))
