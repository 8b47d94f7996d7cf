"""What soft neighbours among stored points say of new ones, in blocks."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vicinal.neural._columns import EncodedRows
from vicinal.neural._soft_neighbors import Kernel, Pairs

# Rows that pass through a network at a time.
_ROWS = 4096


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


@torch.no_grad()
def votes(
    queries: Tensor,
    references: Tensor,
    values: Tensor,
    kernel: Kernel,
    own: Tensor | None = None,
) -> Tensor:
    """Return Σ_j p_ij v_j for each query, of shape (n_queries, n_values)."""
    found = queries.new_zeros(len(queries), values.shape[1])
    pairs = Pairs(queries, references.to(queries.dtype), own, kernel)
    values = values.to(queries.dtype)
    for part, exponents, _ in pairs.blocks():
        found[part] = torch.softmax(exponents, dim=1) @ values
    return found


@torch.no_grad()
def perplexities(
    queries: Tensor, references: Tensor, kernel: Kernel, own: Tensor | None
) -> Tensor:
    """Return how many neighbours each query has in effect: exp of p_i's entropy."""
    found = queries.new_zeros(len(queries))
    for part, exponents, _ in Pairs(queries, references, own, kernel).blocks():
        p = torch.softmax(exponents, dim=1)
        # Where p is 0, its logarithm does not count.
        found[part] = torch.exp(-torch.special.xlogy(p, p).sum(dim=1))
    return found
