"""What soft neighbours among stored points say of new ones, in blocks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vicinal.neural._columns import EncodedRows
from vicinal.neural._soft_neighbors import Kernel, Pairs
from vicinal.neural._target_rows import TargetRows

# Rows that pass through a network at a time.
_ROWS = 4096
# Up to so many, a column for each class is faster than sums by code, and no larger than
# the points.
_FEW_CLASSES = 32
# An exponent whose exponential is 0 in any type.
_LEAST = -1e4


@torch.no_grad()
def embedded(network: nn.Module, rows: EncodedRows, device: Any) -> Tensor:
    """Return the points of rows, in blocks and without gradients, in their type."""
    network.eval()
    parts = [
        network(*tensors(rows[start : start + _ROWS], device))
        for start in range(0, len(rows), _ROWS)
    ]
    return torch.cat(parts)


def tensors(rows: EncodedRows, device: Any) -> tuple[Tensor, Tensor]:
    """Return rows as a network takes them."""
    numbers = torch.from_numpy(np.ascontiguousarray(rows.numbers)).to(device)
    return numbers, torch.from_numpy(rows.codes).to(device)


def log_weights_of(known: TargetRows, points: Tensor) -> Tensor | None:
    """Return the logarithms of the rows' weights, where and as the points are."""
    logs = known.log_weights
    return None if logs is None else logs.to(points.device, points.dtype)


@torch.no_grad()
def votes(
    queries: Tensor, references: Tensor, known: TargetRows, kernel: Kernel
) -> Tensor:
    """Return what references say of each query.

    Parameters
    ----------
    queries : Tensor of shape (n_queries, n_components)
        Who is to be predicted.
    references : Tensor of shape (n_references, n_components)
        Whose votes count.
    known : TargetRows
        Their targets and weights.
    kernel : Kernel
        How distances become exponents.

    Returns
    -------
    Tensor of shape (n_queries, n_classes or 1)
        Σ_j p_ij of each class, or Σ_j p_ij y_j.
    """
    return votes_by_factor(queries, references, known, kernel, [1.0])[0]


@torch.no_grad()
def votes_by_factor(
    queries: Tensor,
    references: Tensor,
    known: TargetRows,
    kernel: Kernel,
    factors: Sequence[float],
) -> Tensor:
    """Return `votes` for the kernel's temperature times each of some factors.

    Distances are computed once for all: a factor costs a softmax.

    Returns
    -------
    Tensor of shape (n_factors, n_queries, n_classes or 1)
    """
    n_classes, target = known.n_classes, known.target.to(queries.device)
    found = queries.new_zeros(len(factors), len(queries), n_classes or 1)
    logs = log_weights_of(known, queries)
    pairs = Pairs(queries, references.to(queries.dtype), None, kernel)
    few = n_classes <= _FEW_CLASSES
    values = target[:, None].to(queries.dtype)
    if n_classes and few:
        classes = torch.arange(n_classes, device=target.device)
        values = (target[:, None] == classes).to(queries.dtype)
    for part, exponents, _ in pairs.blocks():
        for k, factor in enumerate(factors):
            scaled = exponents if factor == 1 else exponents / factor
            p = torch.softmax(scaled if logs is None else scaled + logs, dim=1)
            if few:
                found[k, part] = p @ values
            else:
                found[k, part].scatter_add_(1, target.expand(len(p), -1), p)
    return found


@torch.no_grad()
def perplexities(
    queries: Tensor, references: Tensor, known: TargetRows, kernel: Kernel, own: Tensor
) -> Tensor:
    """Return how many neighbours each query has in effect: exp of p_i's entropy.

    `own` says where each query stands among the references.
    """
    found = queries.new_zeros(len(queries))
    logs = log_weights_of(known, queries)
    for part, exponents, _ in Pairs(queries, references, own, kernel, logs).blocks():
        # With e = exponents − max, the entropy is log Σ exp(e) − Σ p e: no logarithm
        # of p. Who may not be picked has e = −∞, exp(e) = 0, and adds nothing.
        e = exponents.sub_(exponents.amax(dim=1, keepdim=True))
        p = e.exp()
        total = p.sum(dim=1)
        mean = p.mul_(e.clamp_(min=_LEAST)).sum(dim=1) / total
        found[part] = torch.exp(total.log() - mean)
    return found
