"""The label: which column it is, and whether it names classes or measures something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.tables.names import near, printable
from vicinal.tables.sizes import check_numbers

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from vicinal.tables.reading import Table

__all__ = ["MOST_CLASSES", "Target", "choose_target", "names_classes", "read_target"]

#: More distinct whole numbers than this measure something.
MOST_CLASSES = 20
_USUAL_NAMES = ("target", "label", "class", "y")


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
        The rows that these are.
    notes : tuple of str
        Which rows were left out, and why.
    """

    task: str
    values: NDArray[Any]
    kept: NDArray[np.bool_]
    notes: tuple[str, ...]


def choose_target(table: Table, asked: str | None) -> str | None:
    """Find the label's column.

    Parameters
    ----------
    table : Table
        What was read.
    asked : str or None
        A column's name.

    Returns
    -------
    str or None
        The one asked for; else the one known; else one that is called target,
        label, class or y; else None.

    Raises
    ------
    ValueError
        When there is no such column.
    """
    names = table.frame.columns
    if asked is not None:
        if asked not in names:
            hint = near(asked, names)
            shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
            raise ValueError(
                f"{table.name} has no column {asked!r}{hint or f'; it has {shown}.'}"
            )
        return asked
    if table.target is not None:
        return table.target
    by_lower = {name.lower(): name for name in reversed(names)}
    return next((by_lower[x] for x in _USUAL_NAMES if x in by_lower), None)


def read_target(
    column: pl.Series, *, task: str | None = None, known: bool = False
) -> Target:
    """Read the labels, and tell classes from measurements.

    Parameters
    ----------
    column : polars.Series
        The label's column, of a frame that `vicinal.tables.cells.clean` returned.
    task : {"classification", "regression"}, default=None
        By default: text and booleans are classes, and so are at most twenty
        distinct whole numbers; other numbers are measurements.
    known : bool, default=False
        Whether whole numbers are known to be classes, however many.

    Returns
    -------
    Target
        Rows without a label and classes of a single row are left out.

    Raises
    ------
    ValueError
        When nothing can be learned from it.

    Examples
    --------
    >>> import polars as pl
    >>> from vicinal.tables.targets import read_target
    >>> target = read_target(pl.Series("kind", ["a", "b", None, "b", "a", "c"]))
    >>> target.task, target.values.tolist()
    ('classification', ['a', 'b', 'b', 'a'])
    >>> target.notes[1]
    "class 'c' left out: it has a single row"
    """
    column = _understood(column)
    name = column.name
    kept = column.is_not_null()
    present = column.drop_nulls()
    if len(present) == 0:
        raise ValueError(f"Column {name!r} has no values; name another target.")
    notes = []
    if n_lost := len(column) - len(present):
        notes.append(f"{_rows(n_lost)} without a value in {name!r} left out")
    if present.n_unique() == 1:
        raise ValueError(
            f"Column {name!r} is {printable(present[0])!r} in every row; a target "
            "needs at least two values."
        )
    if task is None:
        classes = names_classes(present.to_numpy(), known)
        task = "classification" if classes else "regression"
    if task == "regression":
        if not present.dtype.is_numeric():
            raise ValueError(
                f"Column {name!r} holds {present.dtype}, not numbers to predict; name "
                "another target."
            )
        values = present.to_numpy().astype(np.float64)
        check_numbers(values, f"Column {name!r}")
        return Target(task, values, kept.to_numpy(), tuple(notes))
    return _classes(column, notes)


def _understood(column: pl.Series) -> pl.Series:
    import polars as pl

    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if column.dtype.is_float():
        return column.set(~column.is_finite(), None)
    if column.dtype.is_temporal() or column.dtype.is_nested():
        raise ValueError(
            f"Column {column.name!r} holds {column.dtype}, which is neither a class "
            "nor a number; name another target."
        )
    return column


def names_classes(values: NDArray[Any], known: bool) -> bool:
    """Whether labels name classes, rather than measure something.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The labels, none of them missing.
    known : bool
        Whether integers are known to be classes, however many.

    Returns
    -------
    bool
        True for text, for booleans, for two distinct numbers, and for at most twenty
        distinct whole numbers that come twice each on average.
    """
    if values.dtype.kind not in "fiu":
        return True
    n_distinct = np.unique(values).size
    if values.dtype.kind == "f" and not np.array_equal(values, np.rint(values)):
        # Two levels are two classes, whatever they are written as.
        return n_distinct == 2
    if known and values.dtype.kind in "iu":
        return True
    return n_distinct <= max(2, min(MOST_CLASSES, len(values) // 2))


def _classes(column: pl.Series, notes: list[str]) -> Target:
    import polars as pl

    name = column.name
    text = _class_names(column).rename("class")
    counts = text.drop_nulls().value_counts()
    if counts.height == text.len() - text.null_count():
        raise ValueError(
            f"Column {name!r} has another value in each row, like an identifier; name "
            "another target."
        )
    lone = sorted(counts.filter(pl.col("count") == 1)["class"].to_list())
    if lone:
        notes.append(_lone_told(lone))
        text = text.set(text.is_in(lone), None)
    if counts.height - len(lone) < 2:
        raise ValueError(
            f"Column {name!r} has fewer than two classes with at least two rows each; "
            "name another target."
        )
    kept = text.is_not_null().to_numpy()
    values = np.array(text.drop_nulls().to_list(), dtype=np.str_)
    return Target("classification", values, kept, tuple(notes))


def _class_names(column: pl.Series) -> pl.Series:
    """Write labels as text; whole numbers without a decimal point."""
    import polars as pl

    if not column.dtype.is_float():
        return column.cast(pl.String)
    column = column.cast(pl.Float64)
    labels = column.drop_nulls().unique().to_list()
    if not all(label.is_integer() for label in labels):
        return column.cast(pl.String)
    # Digits beyond 1e16 would be made up: 64 bits do not hold them.
    names = [str(int(x)) if abs(x) < 1e16 else repr(x) for x in labels]
    return column.replace_strict(labels, names, return_dtype=pl.String)


def _lone_told(lone: list[str]) -> str:
    if len(lone) == 1:
        return f"class {printable(lone[0])!r} left out: it has a single row"
    shown = ", ".join(repr(printable(one)) for one in lone[:3])
    more = f" and {len(lone) - 3} more" if len(lone) > 3 else ""
    return f"classes {shown}{more} left out: they have a single row each"


def _rows(n: int) -> str:
    return f"{n:,} row{'s' if n > 1 else ''}"
