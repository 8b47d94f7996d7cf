"""What the methods that learn from classes check before they begin."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from vicinal._typing import FloatArray, IntArray
from vicinal.objectives.pairs import FLOATS


def labelled(estimator: Any, X: ArrayLike, y: ArrayLike) -> tuple[FloatArray, IntArray]:
    """Return the points, and their classes as integers from 0.

    Raises
    ------
    ValueError
        When X or y is unfit for any classification, or all rows have one class.
    """
    points, labels = validate_data(estimator, X, y, dtype=FLOATS, ensure_min_samples=2)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs rows of at least two classes, but y has "
            "only one class."
        )
    return points, codes


def number_of_components(asked: int | None, most: int, of_what: str) -> int:
    """Return how many components to learn: what was asked for, or else the most."""
    if asked is not None and asked > most:
        raise ValueError(
            f"n_components={asked} is more than {of_what}; choose at most {most}, or "
            "None for all."
        )
    return asked or most
