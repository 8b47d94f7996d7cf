"""Networks for the tests; needs torch."""

from typing import ClassVar

import torch
from torch import Tensor, nn


class Breaks(nn.Module):
    """A network whose points are not finite from some step on."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)
        self.left = after

    def forward(self, rows: Tensor) -> Tensor:
        if self.training:
            self.left -= 1
        return self.linear(rows) * (float("nan") if self.left < 0 else 1.0)


class Narrow(nn.Module):
    """A network that cannot compute in float64."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, rows: Tensor) -> Tensor:
        return self.linear(rows) + nn.functional.linear(rows, torch.eye(4, 3))


class Remembers(nn.Module):
    """A network that keeps the rows it was trained on, of all its copies."""

    seen: ClassVar[set[tuple[float, ...]]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, rows: Tensor) -> Tensor:
        if self.training:
            self.seen.update(map(tuple, rows.tolist()))
        return self.linear(rows)
