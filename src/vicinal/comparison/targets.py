"""What a target is: classes or numbers, and whether anything can be learned of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray

__all__ = ["are_numbers", "check_classes", "read_target"]

# More distinct floating-point numbers than this are no classes.
_MOST_CLASSES = 20


def are_numbers(y: NDArray[Any]) -> bool:
    """Whether a target is continuous, rather than classes."""
    kind = type_of_target(y, input_name="y")
    many = y.dtype.kind == "f" and np.unique(y).size > _MOST_CLASSES
    return many or kind == "continuous"


def read_target(labels: NDArray[Any], task: str) -> tuple[str, IntArray | FloatArray]:
    """Return the task, and the target as the methods want it.

    Raises
    ------
    ValueError
        When it can be neither learned nor predicted.
    """
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes labels of several types; use one type.") from error
    if task == "regression" or (task == "auto" and are_numbers(labels)):
        return "regression", _numbers(labels)
    kind = type_of_target(labels, input_name="y")
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"y must hold one class or one number for each row; it is {kind}."
        )
    if classes.size < 2:
        raise ValueError(f"y has one class only, {classes[0]}; two or more are needed.")
    if rare := [str(classes[c]) for c in np.flatnonzero(np.bincount(codes) < 2)]:
        raise ValueError(
            f"Each class needs 2 rows or more; there is one of: {', '.join(rare)}."
        )
    return "classification", codes


def _numbers(labels: NDArray[Any]) -> FloatArray:
    try:
        numbers = labels.astype(np.float64)
    except ValueError as error:
        raise ValueError(f"task='regression' needs numbers in y: {error}.") from error
    if not np.isfinite(numbers).all():
        raise ValueError("y contains NaN or infinity.")
    if numbers.min() == numbers.max():
        raise ValueError(f"y has one value only, {numbers[0]}; nothing to predict.")
    return numbers


def check_classes(target: Any, train: IntArray) -> None:
    """Raise ValueError where the training rows miss a class, or are one for each."""
    n_classes = int(target.max()) + 1
    if np.unique(target[train]).size < n_classes or len(train) == n_classes:
        raise ValueError(
            f"{len(train)} training rows are too few for {n_classes} classes; "
            "lower test_size, or leave out the rarest classes."
        )
