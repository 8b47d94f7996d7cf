"""Rows for a network, with what is to be predicted of them, and their weights."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vicinal._typing import IntArray
from vicinal.neural._columns import EncodedRows


@dataclass(frozen=True, eq=False)
class TargetRows:
    """Rows with what is to be predicted of them.

    Attributes
    ----------
    rows : EncodedRows
        The rows.
    target : Tensor
        Codes of classes (int64), or numbers (float32).
    n_classes : int
        0 for numbers.
    weights : Tensor (float64) or None
        How many equal rows each stands for, which may be none; None is one each.
    """

    rows: EncodedRows
    target: Tensor
    n_classes: int
    weights: Tensor | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, chosen: Any) -> "TargetRows":
        weights = None if self.weights is None else self.weights[chosen]
        return TargetRows(
            self.rows[chosen], self.target[chosen], self.n_classes, weights
        )

    @property
    def log_weights(self) -> Tensor | None:
        """The logarithms of the weights, −∞ for rows that do not count."""
        return None if self.weights is None else self.weights.log()

    @property
    def counted(self) -> IntArray:
        """Positions of the rows that count."""
        if self.weights is None:
            return np.arange(len(self))
        return np.flatnonzero(self.weights.numpy() > 0)

    def mean(self, values: Tensor) -> float:
        """Return the mean of a number for each row, by their weights."""
        if self.weights is None:
            return float(values.mean())
        return float((values * self.weights).sum() / self.weights.sum())

    def equals(self, other: "TargetRows") -> bool:
        """Return whether these are the same rows in the same order."""
        return (
            np.array_equal(self.rows.numbers, other.rows.numbers)
            and np.array_equal(self.rows.codes, other.rows.codes)
            and torch.equal(self.target, other.target)
            and _same(self.weights, other.weights)
        )


def _same(one: Tensor | None, other: Tensor | None) -> bool:
    if one is None or other is None:
        return one is other
    return torch.equal(one, other)
