"""Rows of a table as tensors."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vicinal._typing import IntArray
from vicinal.base.columns import ColumnEncoder, RawRows


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows as a network takes them; training rows have targets and weights.

    Attributes
    ----------
    numbers : Tensor of shape (n_rows, n_numbers + n_flags)
        Scaled numbers, then one missing-value flag per flagged column.
    codes : Tensor (int64) of shape (n_rows, n_category_columns)
        Categories from 1; 0 is unknown or missing.
    target : Tensor of shape (n_rows,) or None
        Class codes (int64) or numbers (float32).
    weights : Tensor (float64) of shape (n_rows,) or None
        Sample weights; rows of weight 0 do not count. None is 1 each.
    n_classes : int
        0 for numbers.
    """

    numbers: Tensor
    codes: Tensor
    target: Any = None
    weights: Any = None
    n_classes: int = 0

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, chosen: Any) -> "Rows":
        held = {k: one for k, one in vars(self).items() if isinstance(one, Tensor)}
        return replace(self, **{name: one[chosen] for name, one in held.items()})

    @property
    def counted(self) -> IntArray:
        """Positions of the rows with a positive weight."""
        if self.weights is None:
            return np.arange(len(self))
        return np.flatnonzero(self.weights.numpy() > 0)

    def log_weights(self, like: Tensor) -> Tensor | None:
        """Return log weights with the device and dtype of a tensor."""
        if self.weights is None:
            return None
        logs: Tensor = self.weights.log().to(like.device, like.dtype)
        return logs

    def mean(self, values: Tensor) -> float:
        """Return the weighted mean of one value per row."""
        if self.weights is None:
            return float(values.mean())
        return float((values * self.weights).sum() / self.weights.sum())

    def equals(self, other: "Rows") -> bool:
        """Return whether both hold the same rows in the same order."""
        names = ("numbers", "codes", "target", "weights")
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    def append(self, new: "Rows") -> "Rows":
        """Return these rows followed by new ones of weight 1."""
        if self.weights is not None:
            new = replace(new, weights=self.weights.new_ones(len(new)))
        held = {k: one for k, one in vars(self).items() if isinstance(one, Tensor)}
        joined = {k: torch.cat([one, getattr(new, k)]) for k, one in held.items()}
        return replace(self, **joined)


def to_rows(encoder: ColumnEncoder, raw: RawRows, dtype: Any = np.float32) -> Rows:
    """Return rows as a network takes them: the flags follow the numbers."""
    numbers, flags, codes = encoder.transform(raw)
    joined = np.concatenate([numbers, flags], axis=1).astype(dtype)
    return Rows(torch.from_numpy(joined), torch.from_numpy(codes))
