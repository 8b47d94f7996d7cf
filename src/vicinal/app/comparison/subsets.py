"""Random parts of rows that keep every class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vicinal._typing import IntArray

__all__ = ["random_part"]

# So many rows of each class come before all others.
_FIRST_OF_EACH = 3


def random_part(n_rows: int, size: int, codes: NDArray[Any] | None) -> IntArray:
    """Return some of the rows, drawn at random, the first few of each class first.

    Parameters
    ----------
    n_rows : int
        How many there are.
    size : int
        How many to return, at most.
    codes : ndarray of int of shape (n_rows,) or None
        Their classes; None where there are none.

    Returns
    -------
    ndarray of int
        Numbers of rows, ascending; the same for the same arguments, and those of a
        smaller part are among those of a larger.
    """
    order = np.random.RandomState(0).permutation(n_rows)
    if codes is not None:
        drawn = codes[order]
        turn = np.empty(n_rows)
        for code in np.unique(drawn):
            own = np.flatnonzero(drawn == code)
            turn[own] = np.maximum(np.arange(own.size) - _FIRST_OF_EACH, 0) / own.size
        order = order[np.argsort(turn, kind="stable")]
    rows: IntArray = np.sort(order[:size])
    return rows
