"""What a target is: classes or numbers, and whether anything can be learned of it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.multiclass import type_of_target

from vicinal.app.tables.targets import check_numbers, names_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray

__all__ = ["are_numbers", "check_classes", "encode_target", "warn_of_one_class"]


def are_numbers(y: NDArray[Any]) -> bool:
    """Whether a target is continuous, rather than classes."""
    return _kind(y) == "numbers"


def _kind(y: NDArray[Any]) -> str:
    """Return "classes" or "numbers", or scikit-learn's word for what is neither."""
    if y.dtype.kind == "f":
        # Without scikit-learn, which casts them to integers and warns.
        if not np.isfinite(y).all():
            raise ValueError("y contains NaN or infinity.")
    elif (kind := type_of_target(y, input_name="y")) not in ("binary", "multiclass"):
        return kind
    return "classes" if names_classes(y) else "numbers"


def encode_target(
    labels: NDArray[Any], task: str
) -> tuple[str, IntArray | FloatArray, tuple[str, ...]]:
    """Turn labels into what the methods learn from.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Classes or numbers.
    task : {"auto", "classification", "regression"}
        What they are.

    Returns
    -------
    task : {"classification", "regression"}
        What they are taken for.
    target : ndarray of shape (n_samples,)
        Classes as integers from 0, numbers as float64.
    classes : tuple of str
        The classes' names, in the order of these integers.

    Raises
    ------
    ValueError
        When it can be neither learned nor predicted.
    """
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes labels of several types; use one type.") from error
    kind = _kind(labels)
    if task == "regression" or (task == "auto" and kind == "numbers"):
        return "regression", _numbers(labels), ()
    if kind not in ("classes", "numbers"):
        raise ValueError(
            f"y must hold one class or one number for each row; it is {kind}."
        )
    if classes.size < 2:
        raise ValueError(f"y has one class only, {classes[0]}; two or more are needed.")
    if rare := [str(classes[c]) for c in np.flatnonzero(np.bincount(codes) < 2)]:
        raise ValueError(
            f"Each class needs 2 rows or more; there is one of: {', '.join(rare)}."
        )
    return "classification", codes, tuple(map(str, classes.tolist()))


def warn_of_one_class(labels: NDArray[Any], task: str) -> NDArray[Any] | None:
    """Return no labels where they are all the same and may be left out, with a warning.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        Classes or numbers.
    task : str
        What they are; where "auto" is asked, nothing is learned from one class.

    Returns
    -------
    ndarray of shape (n_samples,) or None
        The labels, or None.
    """
    if task != "auto" or not len(labels) or (labels != labels[0]).any():
        return labels
    warnings.warn(
        f"y is {labels[0]} in every row and tells nothing; densities are compared "
        "instead, as without it. Name another target, or give task='none'.",
        UserWarning,
        stacklevel=4,
    )
    return None


def _numbers(labels: NDArray[Any]) -> FloatArray:
    try:
        numbers = labels.astype(np.float64)
    except (TypeError, ValueError) as error:
        odd = next((one for one in labels.tolist() if isinstance(one, str)), labels[0])
        raise ValueError(
            f"task='regression' needs numbers in y, but it has {odd!r}; leave such "
            "rows out, or ask for task='classification'."
        ) from error
    if not np.isfinite(numbers).all():
        raise ValueError("y contains NaN or infinity.")
    if numbers.min() == numbers.max():
        raise ValueError(f"y has one value only, {numbers[0]}; nothing to predict.")
    check_numbers(numbers, "The target y")
    return numbers


def check_classes(target: Any, train: IntArray) -> None:
    """Raise ValueError where the training rows miss a class, or are one for each."""
    n_classes = int(target.max()) + 1
    if np.unique(target[train]).size < n_classes or len(train) == n_classes:
        raise ValueError(
            f"{len(train)} training rows are too few for {n_classes} classes; "
            "lower test_size, or leave out the rarest classes."
        )
