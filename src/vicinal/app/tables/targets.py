"""The label's values: whether they name classes or measure something.

Which column it is, is found in `vicinal.app.tables.target_choice`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.mixed_cells import Mixed, mixed_cells
from vicinal.app.tables.names import counted, printable
from vicinal.app.tables.sizes import check_numbers
from vicinal.app.tables.values import as_names, dtype_in_words, numbers

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray


__all__ = [
    "MOST_CLASSES",
    "Target",
    "names_classes",
    "read_target",
]

#: More distinct whole numbers than this measure something, unless they are codes.
MOST_CLASSES = 20
# Codes of classes: so often comes the rarest at least, and for each of the commonest.
_LEAST = 5
_LEAST_SHARE = 0.1
# In fewer rows, classes that come back may not have done so yet.
_FEW = 5
# Numbers to predict, beside as few cells of something else.
_NUMBERS = 0.9


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


def read_target(
    column: pl.Series, *, task: str | None = None, decimal: str = "."
) -> Target:
    """Read the labels, and tell classes from measurements.

    Parameters
    ----------
    column : polars.Series
        The label's column, of a frame that `vicinal.app.tables.cells.typed` returned.
    task : {"classification", "regression"}, default=None
        By default, `names_classes` tells.
    decimal : {",", "."}, default="."
        Decimal sign of cells like ``1,234`` beside cells that are no numbers.

    Returns
    -------
    Target
        Rows without a label and classes of a single row are left out. So are the
        cells that are no numbers where nine in ten are, and are no codes of classes; or
        where regression is asked for.

    Raises
    ------
    ValueError
        When nothing can be learned from it.

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
    column = _understood(column)
    name = column.name
    kept = column.is_not_null()
    present = column.drop_nulls()
    if len(present) == 0:
        raise ValueError(f"Column {name!r} has no values; name another target.")
    notes = []
    if n_lost := len(column) - len(present):
        notes.append(f"{counted(n_lost, 'row')} without a value in {name!r} left out")
    if present.n_unique() == 1:
        raise ValueError(
            f"Column {name!r} is {printable(present[0])!r} in every row; a target "
            "needs at least two values."
        )
    if (
        task != "classification"
        and (mixed := mixed_cells(present, decimal)) is not None
    ):
        column, task = _mixed_target(column, mixed, task, notes)
        present, kept = column.drop_nulls(), column.is_not_null()
    if task is None:
        classes = names_classes(present.to_numpy())
        task = "classification" if classes else "regression"
    if task == "regression":
        if not present.dtype.is_numeric():
            raise ValueError(
                f"Column {name!r} holds names like {printable(present[0])!r}, not "
                "numbers to predict; name another target."
            )
        values = present.to_numpy().astype(np.float64)
        check_numbers(values, f"Column {name!r}")
        return Target(task, values, kept.to_numpy(), tuple(notes))
    return _classes(column, notes)


def _mixed_target(
    column: pl.Series, mixed: Mixed, task: str | None, notes: list[str]
) -> tuple[pl.Series, str | None]:
    """Take the numbers alone where they are meant; say so, or what else can be had."""
    import polars as pl

    if mixed.kind != "number":
        return column, task
    values = numbers(column, mixed.form, asked=True)
    share = mixed.n_read / mixed.n_cells
    meant = share >= _NUMBERS and not names_classes(values[~np.isnan(values)])
    if task == "regression" or meant:
        lost = counted(mixed.n_cells - mixed.n_read, "row")
        other = "" if task else "; --task classification takes all cells as names"
        notes.append(f"column {column.name!r}: {mixed}: {lost} left out{other}")
        read = pl.Series(column.name, values, nan_to_null=True)
        return read, "regression"
    notes.append(
        f"column {column.name!r}: {mixed}: taken as names of classes; --task "
        "regression takes the numbers alone"
    )
    return column, task


def _understood(column: pl.Series) -> pl.Series:
    import polars as pl

    if column.dtype.is_decimal():
        column = column.cast(pl.Float64)
    if column.dtype.is_float():
        return column.set(~column.is_finite(), None)
    if column.dtype.is_temporal() or column.dtype.is_nested():
        raise ValueError(
            f"Column {column.name!r} holds {dtype_in_words(column.dtype)}, which are "
            "neither classes nor numbers; name another target."
        )
    return column


def names_classes(values: NDArray[Any]) -> bool:
    """Whether labels name classes, rather than measure something.

    It is the same for every format, and for arrays.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        The labels, none of them missing.

    Returns
    -------
    bool
        True for text, for booleans, for two distinct numbers, for at most twenty
        distinct whole numbers that come twice each on average, and for codes: whole
        numbers from 0 or 1 without a gap, each of which comes at least five times,
        and the rarest at least a tenth as often as the commonest.

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
        # Two levels are two classes, whatever they are written as.
        return distinct.size == 2
    if distinct.size <= max(2, min(MOST_CLASSES, len(values) // 2)):
        return True
    codes = distinct[0] in (0, 1) and distinct[-1] - distinct[0] == distinct.size - 1
    return bool(codes and counts.min() >= max(_LEAST, _LEAST_SHARE * counts.max()))


def _classes(column: pl.Series, notes: list[str]) -> Target:
    import polars as pl

    name = column.name
    text = as_names(column).rename("class")
    counts = text.drop_nulls().value_counts()
    known = text.len() - text.null_count()
    if counts.height == known:
        raise ValueError(
            f"Column {name!r} has another value in each row, "
            + (
                "like an identifier; name another target."
                if known >= _FEW
                else f"and there are {known} of them: too few to learn from. Give "
                "more rows with a value."
            )
        )
    lone = sorted(counts.filter(pl.col("count") == 1)["class"].to_list())
    if lone:
        notes.append(_lone_note(lone))
        text = text.set(text.is_in(lone), None)
    if counts.height - len(lone) < 2:
        raise ValueError(
            f"Column {name!r} has fewer than two classes with at least two rows each; "
            "name another target."
        )
    kept = text.is_not_null().to_numpy()
    values = np.array(text.drop_nulls().to_list(), dtype=np.str_)
    return Target("classification", values, kept, tuple(notes))


def _lone_note(lone: list[str]) -> str:
    if len(lone) == 1:
        return f"class {printable(lone[0])!r} left out: it has a single row"
    shown = ", ".join(repr(printable(one)) for one in lone[:3])
    more = f" and {len(lone) - 3} more" if len(lone) > 3 else ""
    return f"classes {shown}{more} left out: they have a single row each"
