"""The target: its column, its values, and whether they are classes or numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.cells import (
    Mixed,
    as_names,
    dtype_in_words,
    mixed_cells,
    numbers,
    unnamed,
)
from vicinal.app.tables.columns import kind_of
from vicinal.app.tables.names import (
    NoTargetError,
    Note,
    TableError,
    counted,
    listed,
    near,
    printable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray
    from vicinal.app.tables.reading import Table

__all__ = [
    "NoTargetError",
    "Target",
    "check_features",
    "check_numbers",
    "choose_target",
    "likely_targets",
    "names_classes",
    "read_target",
    "uncut_hint",
]

#: Squares of larger numbers, and of the inverse of smaller differences, overflow.
_LARGEST = 1e150
# Parts of names that a target often has.
_LIKELY_WORDS = re.compile(
    r"target|label|class|outcome|response|species|diagnosis|surviv|churn|default|"
    r"price|quality|rating|score|income|salary|sales|cost|value|status|result|"
    r"category|kind|type|grade|fraud|sentiment|^y$|_y$",
    re.IGNORECASE,
)


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
    if asked is not None and asked not in names:
        hint = uncut_hint(table.frame) or near(asked, names)
        shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
        raise TableError(
            f"{table.name} has no column {asked!r}{hint or f'; it has {shown}.'}"
        )
    if asked is not None or table.target is not None:
        return table.target if asked is None else asked
    by_lower = {name.lower(): name for name in reversed(names)}
    usual = (by_lower.get(name) for name in ("target", "label", "class", "y"))
    return next((name for name in usual if name is not None), None)


def uncut_hint(frame: pl.DataFrame) -> str:
    """Return a hint if a text file seems to have an unknown delimiter.

    Parameters
    ----------
    frame : polars.DataFrame
        A table. If it has one column, and its cells and its name all contain the same
        sign, that sign may be the delimiter.
    """
    if frame.width != 1:
        return ""
    cells = [
        frame.columns[0],
        *unnamed(frame.to_series())[1].cast(str).drop_nulls().head(20),
    ]
    if any(all(sign in cell.strip() for cell in cells) for sign in " :^~#/\\\x01"):
        return (
            "; is its delimiter a comma, a semicolon, a tab or a bar? Other delimiters "
            "are not supported."
        )
    return ""


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
    found: list[str] = []
    for index in order:
        if len(found) == limit:
            break
        if kind_of(frame.to_series(index)).kind in ("number", "category", "yes/no"):
            found.append(names[index])
    return found


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


def read_target(
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
    >>> from vicinal.app.tables.targets import read_target
    >>> target = read_target(pl.Series("kind", ["a", "b", None, "b", "a", "c"]))
    >>> target.task, target.values.tolist()
    ('classification', ['a', 'b', 'b', 'a'])
    >>> target.notes[1]
    "class 'c' left out: it has a single row"
    """
    name, column = unnamed(column)
    column = _check_type(name, column)
    present = column.drop_nulls()
    if len(present) == 0:
        raise TableError(f"Column {name!r} has no values; name another target.")
    notes = []
    if n_lost := len(column) - len(present):
        notes.append(f"{counted(n_lost, 'row')} without a value in {name!r} left out")
    if present.n_unique() == 1:
        raise TableError(
            f"Column {name!r} is {printable(present[0])!r} in every row; a target "
            "needs at least two values."
        )
    mixed = None if task == "classification" else mixed_cells(present, decimal)
    is_sure = mixed is None or mixed.is_sure
    if mixed is not None and mixed.kind == "number":
        column, task, note = _mixed_target(name, column, mixed, task)
        notes.append(note)
        present = column.drop_nulls()
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


def _check_type(name: str, column: pl.Series) -> pl.Series:
    """Replace infinite numbers by null; raise TableError for dates and lists."""
    import polars as pl

    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if column.dtype.is_float():
        column = column.set(~column.is_finite(), None)
    if column.dtype.is_temporal() or column.dtype.is_nested():
        raise TableError(
            f"Column {name!r} holds {dtype_in_words(column.dtype)}, which are "
            "neither classes nor numbers; name another target."
        )
    return column


def _mixed_target(
    name: str, column: pl.Series, mixed: Mixed, task: str | None
) -> tuple[pl.Series, str | None, Note]:
    """Take the numbers alone if the target is numeric."""
    import polars as pl

    said = f"column {name!r}: {mixed}"
    values = numbers(column, mixed.form, asked=True)
    mostly = 10 * mixed.n_read >= 9 * mixed.n_cells
    if task == "regression" or (
        mostly and not names_classes(values[~np.isnan(values)])
    ):
        said += f": {counted(mixed.n_cells - mixed.n_read, 'row')} left out"
        note = Note(said)
        if task is None:
            said += "; classification takes all cells as names"
            note = Note(said, "task", "classification")
        return pl.Series(column.name, values, nan_to_null=True), "regression", note
    said += ": taken as names of classes; regression takes the numbers alone"
    return column, task, Note(said, "task", "regression")


def names_classes(
    values: NDArray[Any],
    max_classes: int = 20,
    min_count: int = 5,
    min_share: float = 0.1,
) -> bool:
    """Whether labels are classes rather than numbers to predict.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The labels, none of them missing.
    max_classes : int, default=20
        More distinct whole numbers are not classes, unless they are codes.
    min_count : int, default=5
        Minimum count of the rarest code.
    min_share : float, default=0.1
        Minimum count of the rarest code as a share of that of the most common one.

    Returns
    -------
    bool
        True for text, for booleans, for two distinct numbers, for up to `max_classes`
        distinct whole numbers with two rows each on average, and for codes: whole
        numbers from 0 or 1 without a gap, none of them rare.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.tables.targets import names_classes
    >>> names_classes(np.array([3, 5, 3, 5])), names_classes(np.array([0.5, 2.5, 7]))
    (True, False)
    >>> names_classes(np.repeat(np.arange(26), 10)), names_classes(np.arange(90))
    (True, False)
    """
    if values.dtype.kind not in "fiu":
        return True
    distinct, counts = np.unique(values, return_counts=True)
    if values.dtype.kind == "f" and not np.array_equal(distinct, np.rint(distinct)):
        return distinct.size == 2
    if distinct.size <= max(2, min(max_classes, len(values) // 2)):
        return True
    codes = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == distinct.size - 1
    return bool(codes and counts.min() >= max(min_count, min_share * counts.max()))


def _classes(name: str, column: pl.Series, notes: list[str]) -> Target:
    text = as_names(column)
    counts = text.drop_nulls().value_counts()
    known = len(text) - text.null_count()
    if counts.height == known:
        advice = "like an identifier; name another target."
        if known < 5:
            advice = (
                f"and there are {known} of them: too few to learn from. Give more rows "
                "with a value."
            )
        raise TableError(f"Column {name!r} has another value in each row, {advice}")
    values, times = counts.get_columns()
    lone = sorted(values.filter(times == 1).to_list())
    if lone:
        one = "class", "it has a single row"
        noun, reason = (
            one if len(lone) == 1 else ("classes", "they have a single row each")
        )
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


def check_features(X: FloatArray, names: Sequence[str]) -> None:
    """Raise TableError if a column of X has numbers beyond 1e150.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        NaN for missing values.
    names : sequence of str
        One for each column.
    """
    # One column at a time: a copy of all of X would double the memory.
    for name, column in zip(names, X.T, strict=True):
        if float(np.fmax.reduce(np.abs(column), initial=0)) > _LARGEST:
            raise TableError(
                f"Column {name!r} has numbers beyond {_LARGEST:.0e}, whose squares "
                "overflow; use larger units, or leave it out."
            )


def check_numbers(values: NDArray[Any], name: str) -> None:
    """Raise TableError if the squared errors of a target cannot be computed.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Finite numbers, not all equal.
    name : str
        Subject of the message.
    """
    if np.abs(values).max() > _LARGEST:
        raise TableError(
            f"{name} has numbers beyond {_LARGEST:.0e}, whose squares overflow; use "
            "larger units."
        )
    if np.ptp(values) < 1 / _LARGEST:
        raise TableError(
            f"{name} varies by less than {1 / _LARGEST:.0e}, and squares of such "
            "differences underflow; use smaller units."
        )
