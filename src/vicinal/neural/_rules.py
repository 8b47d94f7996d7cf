"""What NCA's objectives make of a block of exponents: terms and their derivatives."""

from typing import Protocol

import torch
from torch import Tensor


class Matches(Protocol):
    """How well queries and references match: κ_ij between 0 and 1."""

    def block(self, queries: slice) -> Tensor:
        """Return κ of some queries with all references: booleans or numbers."""
        ...


class EqualLabels:
    """κ_ij = 1 where the labels are equal."""

    def __init__(self, queries: Tensor, references: Tensor) -> None:
        self._queries, self._references = queries, references

    def block(self, queries: slice) -> Tensor:
        """Return κ of some queries with all references."""
        return self._queries[queries, None] == self._references


class SoftLabels:
    """κ_ij = Σ_c Y_ic Y_jc, for rows of probabilities (section 5 of the NCA paper)."""

    def __init__(self, queries: Tensor, references: Tensor) -> None:
        self._queries, self._references = queries, references

    def block(self, queries: slice) -> Tensor:
        """Return κ of some queries with all references."""
        return self._queries[queries] @ self._references.T


class NearTargets:
    """κ_ij = exp(−(y_i − y_j)² / (2 w²)), for targets that are numbers."""

    def __init__(self, queries: Tensor, references: Tensor, width: float) -> None:
        unit = 2**0.5 * width
        self._queries, self._references = queries / unit, references / unit

    def block(self, queries: slice) -> Tensor:
        """Return κ of some queries with all references."""
        return torch.exp(-((self._queries[queries, None] - self._references) ** 2))


class ExpectedMatches:
    """κ_i = Σ_j p_ij κ_ij: f (eq. 3) where labels are not soft."""

    def __init__(self, matches: Matches) -> None:
        self._matches = matches

    def terms(
        self, exponents: Tensor, queries: slice, *, gradient: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return κ_i; the derivatives are p_ij (κ_ij − κ_i)."""
        p, kappa = _softmax(exponents), self._matches.block(queries)
        matched = p * kappa
        terms = matched.sum(dim=1)
        return terms, matched.addcmul_(
            p, terms[:, None], value=-1
        ) if gradient else None


class LogMatches:
    """log κ_i: g (eq. 6) where labels are not soft; 0 for a query without a match."""

    def __init__(self, matches: Matches) -> None:
        self._matches = matches

    def terms(
        self, exponents: Tensor, queries: slice, *, gradient: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return log κ_i; the derivatives are p_ij κ_ij / κ_i − p_ij."""
        kappa = self._matches.block(queries)
        p = _softmax(exponents)
        matched = p * kappa
        sums = matched.sum(dim=1)
        faint = sums < torch.finfo(p.dtype).tiny * 2**30
        terms = sums.log()
        matched /= sums[:, None]
        rows = torch.nonzero(faint).squeeze(1)
        if len(rows):
            # Probabilities that underflow, whose logarithms do not.
            inside = exponents[rows] + kappa[rows].to(p.dtype).log()
            log_sums = inside.logsumexp(1)
            terms[rows] = log_sums - exponents[rows].logsumexp(1)
            matched[rows] = _softmax(inside)
            lonely = rows[log_sums == -torch.inf]
            terms[lonely], matched[lonely] = 0, p[lonely]
        slopes = matched.sub_(p)
        return terms, slopes if gradient else None


class SquaredErrors:
    """−‖y_i − Σ_j p_ij y_j‖²: the error of the neighbours' mean, as in MLKR."""

    def __init__(self, queries: Tensor, references: Tensor) -> None:
        self._queries, self._references = queries, references

    def terms(
        self, exponents: Tensor, queries: slice, *, gradient: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Return the negative squares; slopes are 2 p_ij (y_i − ŷ_i)·(y_j − ŷ_i)."""
        p = _softmax(exponents)
        means = p @ self._references
        off = self._queries[queries] - means
        terms = -(off * off).sum(dim=1)
        if not gradient:
            return terms, None
        slopes = off @ self._references.T - (off * means).sum(dim=1, keepdim=True)
        return terms, slopes.mul_(p).mul_(2)


class LogSums:
    """log Σ_j exp(e_ij): what the probabilities of pairs (eq. 8) are divided by."""

    def terms(
        self,
        exponents: Tensor,
        queries: slice,  # noqa: ARG002 -- all queries are treated alike
        *,
        gradient: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the logarithms; the derivatives are p_ij."""
        return exponents.logsumexp(1), _softmax(exponents) if gradient else None


def _softmax(exponents: Tensor) -> Tensor:
    """Return p_ij; zeros where nobody may be picked."""
    p = torch.softmax(exponents, dim=1)
    return torch.nan_to_num_(p) if exponents.shape[1] < 2 else p
