"""Numbers whose squares floating point holds: features and targets are checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from vicinal._typing import FloatArray

__all__ = ["LARGEST", "SMALLEST_SPREAD", "check_features", "check_numbers"]

#: The squares of larger numbers are close to the end of floating point.
LARGEST = 1e150
#: The squares of smaller differences vanish.
SMALLEST_SPREAD = 1e-150


def check_features(X: FloatArray, names: Sequence[str]) -> None:
    """Raise ValueError where a column of X holds numbers beyond 1e150.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        NaN where a number is missing.
    names : sequence of str
        One for each column.
    """
    # One column at a time: a copy of all of X would double the memory.
    for name, column in zip(names, X.T, strict=True):
        if float(np.fmax.reduce(np.abs(column), initial=0)) > LARGEST:
            raise ValueError(
                f"Column {name!r} has numbers beyond {LARGEST:.0e}, whose squares "
                "cannot be held; write it in larger units, or take it out."
            )


def check_numbers(values: NDArray[Any], name: str) -> None:
    """Raise ValueError where a target's squared errors cannot be computed.

    Parameters
    ----------
    values : ndarray of shape (n_samples,)
        Finite numbers, not all of them equal.
    name : str
        What the target is called, with a capital: it begins the sentence.
    """
    if np.abs(values).max() > LARGEST:
        raise ValueError(
            f"{name} has numbers beyond {LARGEST:.0e}, whose squares cannot be held; "
            "write it in larger units."
        )
    if np.ptp(values) < SMALLEST_SPREAD:
        raise ValueError(
            f"{name} varies by less than {SMALLEST_SPREAD:.0e}, and squares of such "
            "differences vanish; write it in smaller units."
        )
