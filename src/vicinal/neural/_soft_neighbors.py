"""Sums over soft neighbours in torch, a block of queries at a time, with gradients.

What a block of probabilities p_ij is turned into is a rule's business (`_rules`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

# Numbers in a block: 4 MB in float32, which stays in a processor's cache.
_BLOCK = 2**20


@dataclass(frozen=True)
class Kernel:
    """How far away a neighbour is: exponents −d² / T, or −d / T with `plain`.

    Attributes
    ----------
    plain : bool
        Whether d is the Euclidean distance itself, and not its square.
    temperature : float
        T.
    block : int
        How many pairs are held at a time, at most (one query's are held in any case).
    """

    plain: bool = False
    temperature: float = 1.0
    block: int = _BLOCK


class Rule(Protocol):
    """What to make of the neighbours of some queries."""

    def terms(
        self, exponents: Tensor, queries: slice, *, gradient: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return a term for each query, and its derivatives by the exponents.

        Parameters
        ----------
        exponents : Tensor of shape (n_block, n_references)
            −∞ where a query may not pick a reference. May be overwritten.
        queries : slice
            Which queries these are.
        gradient : bool
            Whether derivatives are wanted.
        """
        ...


class SoftNeighborTerms(torch.autograd.Function):
    """The terms of queries, or their sum with given weights; no m × n array is held.

    The sum's gradient is found in the same walk as its value. For terms that are asked
    for one by one, the gradient is known only when what is made of them is: then the
    blocks are computed again.
    """

    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        references: Tensor,
        own: Tensor | None,
        weights: Tensor | None,
        rule: Rule,
        kernel: Kernel,
        log_weights: Tensor | None = None,
    ) -> Tensor:
        """Return a term for each query, or their weighted sum."""
        wanted = any(ctx.needs_input_grad[:2])
        ctx.given = rule, kernel
        if weights is None:
            ctx.save_for_backward(queries, references, own, log_weights)
            pairs = Pairs(queries, references, own, kernel, log_weights)
            return _walk(pairs, None, rule)[0]
        pairs = Pairs(queries, references, own, kernel, log_weights)
        terms, *gradients = _walk(pairs, weights if wanted else None, rule)
        ctx.gradients = gradients
        return (terms * weights).sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients by queries and references."""
        if hasattr(ctx, "gradients"):
            by_queries, by_references = (grad * one for one in ctx.gradients)
        else:
            queries, references, own, log_weights = ctx.saved_tensors
            rule, kernel = ctx.given
            pairs = Pairs(queries, references, own, kernel, log_weights)
            _, by_queries, by_references = _walk(pairs, grad, rule)
        return by_queries, by_references, None, None, None, None, None


def _walk(
    pairs: "Pairs", weights: Tensor | None, rule: Rule
) -> tuple[Tensor, Any, Any]:
    """Return the terms and, with weights, the gradients of their weighted sum."""
    queries, references = pairs.queries, pairs.references
    terms = queries.new_zeros(len(queries))
    if weights is None:
        for part, exponents, _ in pairs.blocks():
            terms[part] = rule.terms(exponents, part, gradient=False)[0]
        return terms, None, None
    by_queries = torch.empty_like(queries)
    by_references = torch.zeros_like(references)
    ones = queries.new_ones
    padded = torch.cat([references, ones(len(references), 1)], dim=1)
    for part, exponents, distances in pairs.blocks():
        terms[part], slopes = rule.terms(exponents, part, gradient=True)
        assert slopes is not None  # noqa: S101 -- for the type checker
        slopes *= weights[part, None] * (-2 / pairs.kernel.temperature)
        if distances is not None:  # the derivative of d by d² is 1 / (2 d)
            slopes /= distances.mul_(2)
        mine = queries[part]
        # Σ_j s_ij (z_i − z_j), for queries i; and Σ_i s_ij (z_j − z_i).
        sums = slopes @ padded
        by_queries[part] = sums[:, -1:] * mine - sums[:, :-1]
        sums = slopes.T @ torch.cat([mine, ones(len(mine), 1)], dim=1)
        by_references += sums[:, -1:] * references - sums[:, :-1]
    return terms, by_queries, by_references


class Pairs:
    """All pairs of queries and references, to be walked in blocks.

    Parameters
    ----------
    queries : Tensor of shape (n_queries, n_components)
        Points that pick neighbours.
    references : Tensor of shape (n_references, n_components)
        Points that are picked.
    own : Tensor of int of shape (n_queries,) or None
        Where each query stands among the references, which it may then not pick;
        below 0 where it does not. None: all may pick all.
    kernel : Kernel
        How distances become exponents.
    log_weights : Tensor of shape (n_references,) or None, default=None
        What is added to all exponents of a reference: the logarithm of how many points
        it stands for.
    """

    def __init__(
        self,
        queries: Tensor,
        references: Tensor,
        own: Tensor | None,
        kernel: Kernel,
        log_weights: Tensor | None = None,
    ) -> None:
        # Near the origin ‖a‖² + ‖b‖² − 2 ab loses the fewest digits.
        middle = references.mean(dim=0)
        self.queries, self.references = queries - middle, references - middle
        self.kernel = kernel
        self._own = own
        self._log_weights = log_weights
        self._rows = max(1, kernel.block // max(1, len(references)))

    def blocks(self) -> Iterator[tuple[slice, Tensor, Tensor | None]]:
        """Yield the queries' positions, the exponents, and distances if plain."""
        scale = 1.0 if self.kernel.plain else -1 / self.kernel.temperature
        a, b = self.queries, self.references
        # One product of matrices gives scale · ‖a − b‖², without a pass for the norms.
        one_a, one_b = a.new_ones(len(a), 1), b.new_ones(len(b), 1)
        left = torch.cat([a * (-2 * scale), scale * _squares(a), scale * one_a], dim=1)
        right = torch.cat([b, one_b, _squares(b)], dim=1).T
        # What rounding makes of the distance of a point to itself, at most.
        tiny = torch.finfo(a.dtype).eps * max(float(_squares(b).mean()), 1e-30)
        for start in range(0, len(a), self._rows):
            part = slice(start, min(start + self._rows, len(a)))
            exponents = left[part] @ right
            distances = None
            if self.kernel.plain:
                distances = exponents.clamp_(min=tiny).sqrt_()
                exponents = distances * (-1 / self.kernel.temperature)
            else:
                exponents.clamp_(max=0.0)
            if self._log_weights is not None:
                exponents += self._log_weights
            if self._own is not None:
                own = self._own[part]
                rows = torch.nonzero(own >= 0).squeeze(1)
                exponents[rows, own[rows]] = -torch.inf
            yield part, exponents, distances


def _squares(points: Tensor) -> Tensor:
    return (points * points).sum(dim=1, keepdim=True)
