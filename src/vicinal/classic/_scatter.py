"""Whether there is a scatter, and whether it can be divided by."""

import numpy as np
from scipy import linalg

from vicinal._typing import FloatArray
from vicinal.base.linalg import RowSpace, span_of


def scattered_span(X: FloatArray) -> RowSpace:
    """Return the rows in coordinates of their own, unless they are all equal."""
    span = span_of(X)
    if not span.coordinates.any():
        raise ValueError("All rows of X are equal: there is no scatter to look at.")
    return span


def cholesky_of_scatter(scatter: FloatArray, advice: str) -> FloatArray:
    """Return the lower triangle L of S = LLᵀ.

    Raises
    ------
    ValueError
        When S has no inverse, in this arithmetic: a feature follows from those
        before it up to rounding errors. It ends in the advice.
    """
    try:
        factor: FloatArray = linalg.cholesky(scatter, lower=True)
        # L_ii² / S_ii is the share of a feature that no other explains, in any unit.
        left = np.diagonal(factor) ** 2 / np.diagonal(scatter)
        singular = bool(left.min() < len(scatter) * 1e-14)
    except linalg.LinAlgError:
        singular = True
    if singular:
        raise ValueError(
            "The scatter within the classes has no inverse: there are too few rows, or "
            f"features that follow from others. {advice}"
        )
    return factor
