"""The loss and its gradient beside a plain implementation with all pairs in memory."""

import time
from collections.abc import Callable

import torch
from torch import Tensor

from benchmarks.speed.timing import table as markdown
from vicinal.neural import NCALoss


def plain(points: Tensor, labels: Tensor) -> Tensor:
    """Return NCA's loss (eq. 6) as one would write it: n × n, by autograd."""
    distances = torch.cdist(points, points) ** 2
    own = torch.eye(len(points), dtype=torch.bool)
    log_p = torch.log_softmax(-distances.masked_fill(own, torch.inf), dim=1)
    same = labels[:, None] == labels
    return -torch.logsumexp(log_p.masked_fill(~same, -torch.inf), dim=1).mean()


def run(sizes: list[int], n_components: int, repeats: int) -> None:
    """Print seconds of value and gradient: the least of interleaved runs."""
    rows = []
    for n in sizes:
        generator = torch.Generator().manual_seed(0)
        points = torch.randn(n, n_components, generator=generator)
        labels = torch.randint(0, 10, (n,), generator=generator)
        ours: list[float] = []
        theirs: list[float] = []
        values: list[float] = []
        for _ in range(repeats):
            for losses, times in ((NCALoss(), ours), (plain, theirs)):
                seconds, value = _timed(losses, points, labels)
                times.append(seconds)
                values.append(value)
        ratio = min(theirs) / min(ours)
        off = max(values) - min(values)
        cells = [f"{min(ours):.3f}", f"{min(theirs):.3f}", f"{ratio:.2f}", f"{off:.1e}"]
        rows.append([f"{n:,}", *cells])
    heads = ["rows", "NCALoss, s", "plain, s", "times faster", "values apart by"]
    print(markdown(heads, rows))


def _timed(
    loss: Callable[[Tensor, Tensor], Tensor], points: Tensor, labels: Tensor
) -> tuple[float, float]:
    points = points.clone().requires_grad_()
    began = time.perf_counter()
    value = loss(points, labels)
    value.backward()
    return time.perf_counter() - began, value.item()
