"""The distance up to which pairs count as alike."""

from numbers import Real

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray

__all__ = ["STRATEGIES", "best_threshold"]

STRATEGIES = ("accuracy", "f_beta", "max_tpr", "max_tnr")


def best_threshold(
    distances: FloatArray,
    alike: NDArray[np.bool_],
    strategy: str = "accuracy",
    *,
    min_rate: float | None = None,
    beta: float = 1.0,
) -> float:
    """Return the threshold at which pairs, taken as alike up to it, come out best.

    Parameters
    ----------
    distances : ndarray of shape (n_pairs,)
        The pairs' distances.
    alike : ndarray of bool of shape (n_pairs,)
        Which pairs are alike.
    strategy, min_rate, beta
        As for `PairClassifier.calibrate_threshold`.

    Returns
    -------
    float
        Half-way between two distances that occur; below all of them, where no pair
        should pass, beyond the largest where all should.
    """
    _check(strategy, min_rate, beta)
    order = np.argsort(distances, kind="stable")
    ordered = distances[order].astype(np.float64)
    # Pairs with equal distances pass together: only their last one is a place to cut.
    ends = np.append(np.flatnonzero(np.diff(ordered) > 0), len(ordered) - 1)
    hits = np.concatenate([[0], np.cumsum(alike[order])[ends]])
    passed = np.concatenate([[0], ends + 1])
    n_alike, n_other = int(alike.sum()), int((~alike).sum())
    rejected = n_other - (passed - hits)
    if strategy == "accuracy":
        merit = (hits + rejected).astype(float)
    elif strategy == "f_beta":
        merit = (1 + beta**2) * hits / np.maximum(beta**2 * n_alike + passed, 1)
    else:
        recall = hits / n_alike if n_alike else np.ones(len(hits))
        specificity = rejected / n_other if n_other else np.ones(len(hits))
        wanted, other = recall, specificity
        if strategy == "max_tnr":
            wanted, other = specificity, recall
        merit = np.where(other >= float(min_rate or 0), wanted, -1.0)
    best = int(np.argmax(merit))
    values = ordered[ends]
    below, above = np.append(-1.0, values), np.append(values, 2 * values[-1] + 1)
    if best == 0:
        return float(min(0.0, values[0]) - 1.0)
    middle = (below[best] + above[best]) / 2
    return float(middle if middle >= below[best] else below[best])


def _check(strategy: str, min_rate: float | None, beta: float) -> None:
    if strategy not in STRATEGIES:
        raise ValueError(
            f"strategy must be one of {', '.join(STRATEGIES)}; got {strategy!r}."
        )
    if strategy in ("max_tpr", "max_tnr") and not (
        isinstance(min_rate, Real) and 0 <= min_rate <= 1
    ):
        raise ValueError(
            f"strategy={strategy!r} needs min_rate, a number from 0 to 1; got "
            f"{min_rate!r}."
        )
    if strategy == "f_beta" and not (isinstance(beta, Real) and beta > 0):
        raise ValueError(f"beta must be a number above 0; got {beta!r}.")
