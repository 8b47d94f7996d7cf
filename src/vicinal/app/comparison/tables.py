"""Tables that `compare` is given: a path or a frame becomes numbers and labels."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.tables.columns import Overrides
from vicinal.app.tables.sources import is_frame

if TYPE_CHECKING:
    from collections.abc import Mapping

    from vicinal.app.tables.prepared import Prepared

__all__ = ["read_rows"]


def read_rows(
    X: Any, y: Any, task: str, overrides: Overrides | Mapping[str, Any] | None = None
) -> Prepared | None:
    """Read a table as the command does, where it is one.

    Parameters
    ----------
    X : path, DataFrame or array-like
        Rows. A frame of numbers beside an array y is an array, and so is a frame of
        numbers that no target is asked of.
    y : str, array-like or None
        The target: a column's name, or one label for each row.
    task : {"auto", "classification", "regression", "none"}
        What it is.
    overrides : dict or Overrides, default=None
        What a person says of the columns.

    Returns
    -------
    Prepared or None
        None where X is no table; then it is left to scikit-learn.

    Raises
    ------
    ValueError
        When a column is named, but there are none.
    """
    named = isinstance(y, str)
    frame = is_frame(X)
    if not frame and not isinstance(X, str | os.PathLike):
        if named or overrides is not None:
            raise ValueError(
                "X has no columns' names: give a frame of pandas or polars or the path "
                "of a file, or y as an array and no overrides."
            )
        return None
    said = _overrides(overrides)
    labels = None if y is None or named else np.asarray(y)
    if frame and overrides is None and not named and _are_numbers(X):
        asked = task != "none" and labels is None
        if not asked:
            return None
    from vicinal.app.tables.prepared import prepare

    wanted = None if task in ("auto", "none") else task
    if labels is None:
        none = task == "none"
        return prepare(
            X,
            target=y if named and not none else None,
            no_target=none,
            task=wanted,
            overrides=said,
        )
    return prepare(X, labels=labels, task=wanted, overrides=said)


def _overrides(given: Overrides | Mapping[str, Any] | None) -> Overrides | None:
    if given is None or isinstance(given, Overrides):
        return given
    try:
        return Overrides.of(**given)
    except TypeError as error:
        known = "drop, categorical, number, date and decimal"
        raise ValueError(f"overrides may have {known}; got {dict(given)}.") from error


def _are_numbers(frame: Any) -> bool:
    """Whether all columns of a frame are numbers or booleans, as arrays hold them."""
    kinds = getattr(frame, "dtypes", None)
    if type(frame).__module__.startswith("pandas"):
        return all(getattr(kind, "kind", "O") in "fiub" for kind in kinds.tolist())  # type: ignore[union-attr]
    return all(kind.is_numeric() for kind in frame.collect_schema().dtypes())
