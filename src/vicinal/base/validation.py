"""What the methods that learn from classes check before they begin."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import validation as _sklearn
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FLOATS, IntArray

MOST_WEIGHT = 1e30
"""The largest weight of a row."""


def validate_data(estimator: Any, /, *arrays: Any, **options: Any) -> Any:
    """Validate as scikit-learn does, and return numbers in this machine's byte order.

    Columns of a data frame in another order come through scikit-learn as they are, and
    no kernel is compiled for them.
    """
    found = _sklearn.validate_data(estimator, *arrays, **options)
    if isinstance(found, tuple):
        return tuple(_native(one) for one in found)
    return _native(found)


def check_sample_weight(weights: ArrayLike | None, X: Any) -> NDArray[np.float64]:
    """Return each row's weight; 1 where there are none.

    Raises
    ------
    ValueError
        When they are no numbers of copies of a row: negative, infinite, or so large
        that sums of them, or their squares, may be no float32 or float64.
    """
    found: NDArray[np.float64] = _sklearn._check_sample_weight(
        weights, X, dtype=np.float64, ensure_non_negative=True
    )
    most = found.max(initial=0)
    if most > MOST_WEIGHT:
        raise ValueError(
            f"sample_weight has weights up to {most:.0e}. A weight is a number of "
            f"copies of a row; divide them so that none is above {MOST_WEIGHT:.0e}."
        )
    return found


def _native(array: Any) -> Any:
    dtype = getattr(array, "dtype", None)
    if dtype is None or dtype.isnative:
        return array
    return array.astype(dtype.newbyteorder("="))


def labeled(
    estimator: Any, X: ArrayLike, y: ArrayLike
) -> tuple[Any, NDArray[Any], IntArray]:
    """Return the points, the sorted labels, and the points' classes as codes from 0.

    Raises
    ------
    ValueError
        When X or y is unfit for any classification, or all rows have one class.
    """
    sparse = getattr(estimator, "_accept_sparse", False)
    points, labels = validate_data(
        estimator, X, y, dtype=FLOATS, accept_sparse=sparse, ensure_min_samples=2
    )
    return points, *encoded(estimator, labels)


def encoded(
    estimator: Any, y: NDArray[Any], name: str = "y"
) -> tuple[NDArray[Any], IntArray]:
    """Return the sorted labels, of which there must be two, and the rows' codes."""
    check_classification_targets(y)
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"{type(estimator).__name__} needs rows of at least two classes, but "
            f"{name} has only one class: {classes.tolist()[0]!r}."
        )
    return classes, codes


class LearnsFromClasses:
    """What scikit-learn should know of an estimator that cannot do without y."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.target_tags.required = True
        return tags
