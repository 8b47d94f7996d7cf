"""A classification problem, as an estimator hands it to its parts."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray


@dataclass(frozen=True)
class ClassificationData:
    """What fit was given, validated: rows of weight above 0, classes as numbers."""

    X: FloatArray
    codes: IntArray
    weights: FloatArray
    prior: FloatArray
    classes: NDArray[Any]
    kept: NDArray[np.bool_]
    """Which of the user's rows these are."""
    data: tuple[Any, Any]
    """X and y as the user gave them."""

    def part(self, rows: IntArray) -> Self:
        """Return the same problem with some of its rows."""
        return replace(
            self, X=self.X[rows], codes=self.codes[rows], weights=self.weights[rows]
        )
