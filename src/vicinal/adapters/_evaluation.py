"""Scores before and after, with intervals and tests over the queries."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vicinal._typing import FloatArray, IntArray

_RESAMPLES = 2000
_LEVEL = 0.95
# Resamples are drawn in blocks of about so many numbers.
_BLOCK = 2**22


@dataclass(frozen=True)
class Change:
    """How one score changed, as means over queries.

    Attributes
    ----------
    before, after : float
        The means under the vectors as they are, and under the learned maps.
    gain : float
        The mean difference.
    low, high : float
        A 95 % interval of the gain: the bootstrap's, over queries.
    p_value : float
        Of the hypothesis that either could as well be the other, query by query: the
        share of random exchanges that differ as much.
    n_queries : int
        How many were scored.

    See Also
    --------
    vicinal.adapters.Evaluation : Holds one for each score.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import Evaluation
    >>> evaluation = Evaluation({"mrr": np.zeros(8)}, {"mrr": np.ones(8)})
    >>> evaluation["mrr"].gain, evaluation["mrr"].n_queries
    (1.0, 8)
    """

    before: float
    after: float
    gain: float
    low: float
    high: float
    p_value: float
    n_queries: int


@dataclass(frozen=True)
class Evaluation:
    """Scores of queries that took no part in learning, before and after.

    Attributes
    ----------
    before, after : dict of str to ndarray of shape (n_queries,)
        Each query's scores, by name, as from `ranking_scores`.
    seed : int
        For the resampling.
    queries : ndarray of shape (n_queries,) or None
        Which of the queries that were given these are; None is all, in their order.

    See Also
    --------
    vicinal.adapters.RetrievalAdapter : Its `evaluation_` is one.
    vicinal.adapters.ranking_scores : Scores of single queries.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import Evaluation
    >>> evaluation = Evaluation({"mrr": np.zeros(8)}, {"mrr": np.ones(8)})
    >>> evaluation["mrr"].after
    1.0
    """

    before: dict[str, FloatArray]
    after: dict[str, FloatArray]
    seed: int = 0
    queries: IntArray | None = None

    @cached_property
    def changes(self) -> dict[str, Change]:
        """How each score changed, by its name."""
        # When first asked for: an adapter that is loaded to work need not know it.
        return {
            name: change(self.before[name], self.after[name], self.seed)
            for name in self.before
        }

    def __getitem__(self, name: str) -> Change:
        """Return how a score changed, as in ``evaluation["ndcg@10"].gain``."""
        return self.changes[name]

    def __str__(self) -> str:
        lines = [f"{'score':<10}{'before':>8}{'after':>8}{'gain':>9}   95 % interval"]
        lines += [
            f"{name:<10}{one.before:>8.3f}{one.after:>8.3f}{one.gain:>+9.3f}   "
            f"{one.low:+.3f} to {one.high:+.3f}   p = {one.p_value:.3g}"
            for name, one in self.changes.items()
        ]
        return "\n".join(lines)


def change(before: FloatArray, after: FloatArray, seed: int) -> Change:
    """Compare two scores of the same queries; NaN stands for no score."""
    scored = ~(np.isnan(before) | np.isnan(after))
    before, after = before[scored], after[scored]
    difference = after - before
    n = len(difference)
    rng = np.random.default_rng(seed)
    means, flipped = np.empty(_RESAMPLES), np.empty(_RESAMPLES)
    size = max(1, _BLOCK // max(n, 1))
    for start in range(0, _RESAMPLES, size):
        rows = slice(start, min(start + size, _RESAMPLES))
        shape = (rows.stop - rows.start, n)
        means[rows] = difference[rng.integers(n, size=shape)].mean(axis=1)
        flipped[rows] = (difference * rng.choice((-1.0, 1.0), size=shape)).mean(axis=1)
    gain = float(difference.mean())
    # Rounding must not make a difference of two equal means.
    as_large = np.abs(flipped) >= abs(gain) * (1 - 1e-9)
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Change(
        before=float(before.mean()),
        after=float(after.mean()),
        gain=gain,
        low=float(low),
        high=float(high),
        p_value=float((1 + as_large.sum()) / (1 + _RESAMPLES)),
        n_queries=n,
    )
