"""Which method to recommend: the simplest of those that are as good as the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal.app.comparison.records import Difference, MethodResult

__all__ = ["PLAIN", "recommend", "simplicity"]

PLAIN = ("euclidean", "standardised", "gaussian", "kernel-density")
"""Methods that learn no metric: scales at most, or one bandwidth."""
# From what needs least explaining and computing to what needs most.
_SIMPLEST_FIRST = (
    ("euclidean", "gaussian"),
    ("standardised", "kernel-density"),
    ("whitened", "pca", "lca-diagonal"),
    ("lda", "fda", "rca", "lca"),
    ("ldg", "lfda", "itml", "mmc", "sdml", "lsml", "scml", "lca-gauss"),
    ("nca", "nca-log", "mlkr", "lmnn", "mcml"),
    ("neural-nca",),
)
# Of a standard error: what is no evidence at all, however many points it is.
_HALF = 0.5
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
    negligible: float = 0.0,
    point: float = np.inf,
) -> str:
    """Return the name of the simplest method within noise of the best.

    Within noise is: not really behind by the test of `differences`, and behind by no
    more than one standard error of the difference, the usual rule for choosing among
    models of different size, and by no more than a point, since the error of few rows
    is large; or by no more than half of one; or by so little that nobody would care.
    A method that a simpler one outdoes is never recommended.

    Parameters
    ----------
    results : sequence of MethodResult
        All of them.
    best : MethodResult
        The one with the highest score.
    differences : sequence of Difference
        The best against each other.
    negligible : float, default=0.0
        A difference that is none, however sure it is.
    point : float, default=inf
        What is given up for simplicity at most, unless noise is of another order.
    """
    behind = {one.other: one for one in differences}

    def near(one: Difference) -> bool:
        if one.gain <= negligible:
            return True
        error = np.nan_to_num(one.error, nan=np.inf)
        return not one.real and one.gain <= max(min(error, point), _HALF * error)

    able = [one for one in results if one is best or near(behind[one.name])]
    sensible = [
        one
        for one in able
        if not any(
            other.mean > one.mean and simplicity(other.name) < simplicity(one.name)
            for other in results
        )
    ]
    return min(sensible, key=lambda one: (simplicity(one.name), -one.mean)).name
