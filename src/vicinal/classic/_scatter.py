"""Whether a scatter can be divided by."""

import numpy as np
from scipy import linalg

from vicinal._typing import FloatArray


def cholesky_of_scatter(scatter: FloatArray, advice: str) -> FloatArray:
    """Return the lower triangle L of S = LLᵀ.

    Raises
    ------
    ValueError
        When S has no inverse, in this arithmetic: some feature follows from those
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
