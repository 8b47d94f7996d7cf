"""Sizes that can be held: of numbers, whose squares are computed, and of tables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from vicinal._typing import FloatArray

__all__ = [
    "LARGEST",
    "SMALLEST_SPREAD",
    "check_features",
    "check_memory",
    "check_numbers",
]

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


def check_memory(n_bytes: int, name: str) -> None:
    """Raise ValueError where a table is larger than the machine's memory.

    Parameters
    ----------
    n_bytes : int
        Of the rows that were read so far.
    name : str
        The table's.
    """
    try:
        memory = float(os.sysconf("SC_PAGE_SIZE")) * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return
    if n_bytes > memory:
        raise ValueError(
            f"{name} holds more than the {memory / 1e9:,.0f} GB of this machine's "
            "memory; take a part of its rows, or fewer columns."
        )
