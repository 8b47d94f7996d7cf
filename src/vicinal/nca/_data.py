"""What fit was given, validated: the rows, and their classes or targets."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray


@dataclass(frozen=True)
class ClassificationData:
    """Rows of weight above 0, with classes as integers from 0."""

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
        """Return some of the rows, with the same classes."""
        return replace(
            self, X=self.X[rows], codes=self.codes[rows], weights=self.weights[rows]
        )

    def subproblem(self, rows: IntArray) -> Self:
        """Return some of the rows, with the classes that these have."""
        present, codes = np.unique(self.codes[rows], return_inverse=True)
        prior = self.prior[present]
        return replace(
            self.part(rows),
            codes=codes,
            prior=prior / prior.sum(),
            classes=self.classes[present],
        )


@dataclass(frozen=True)
class RegressionData:
    """Rows of weight above 0, with targets in units of their own deviation.

    Neither the solver's tolerances nor float32 should see what unit the user chose.
    """

    X: FloatArray
    targets: FloatArray
    weights: FloatArray
    middle: float
    unit: float
    kept: NDArray[np.bool_]
    data: tuple[Any, Any]

    def part(self, rows: IntArray) -> Self:
        """Return some of the rows, with targets in the same unit."""
        return replace(
            self, X=self.X[rows], targets=self.targets[rows], weights=self.weights[rows]
        )

    def subproblem(self, rows: IntArray) -> Self:
        """Return some of the rows: there is nothing that they could lack."""
        return self.part(rows)


@dataclass(frozen=True)
class MatchData:
    """Rows of weight above 0, of which it is given how much each two match."""

    X: FloatArray
    kept: NDArray[np.bool_]
    data: tuple[Any, Any]
