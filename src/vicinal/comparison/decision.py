"""Which method to recommend: the simplest of those that are as good as the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal.comparison.records import Difference, MethodResult

__all__ = ["recommend", "simplicity"]

# From what needs least explaining and computing to what needs most.
_SIMPLEST_FIRST = (
    ("euclidean", "gaussian"),
    ("standardised", "kernel-density"),
    ("whitened", "pca", "lca-diagonal"),
    ("lda", "fda", "lca"),
    ("ldg", "lfda", "itml", "lca-gauss"),
    ("nca", "nca-log", "mlkr"),
)
_RANK = {name: rank for rank, names in enumerate(_SIMPLEST_FIRST) for name in names}


def simplicity(name: str) -> int:
    """Return how simple a method is: 0 for raw features, more for what is learned.

    Parameters
    ----------
    name : str
        Of a method; one that is not known comes after those that are.
    """
    return _RANK.get(name, len(_SIMPLEST_FIRST))


def recommend(
    results: Sequence[MethodResult],
    best: MethodResult,
    differences: Sequence[Difference],
) -> str:
    """Return the name of the simplest method that the best is not really better than.

    Parameters
    ----------
    results : sequence of MethodResult
        All of them.
    best : MethodResult
        The one with the highest score.
    differences : sequence of Difference
        The best against each other.
    """
    worse = {one.other for one in differences if one.real}
    able = [one for one in results if one.name not in worse]
    simplest = min(able, key=lambda one: (simplicity(one.name), -one.mean))
    # As simple as the best, or simpler: else the best needs no excuse.
    return min((simplest, best), key=lambda one: simplicity(one.name)).name
