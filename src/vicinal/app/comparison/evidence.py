"""How sure the scores are: intervals and tests, over splits or over test rows.

Five splits or more are compared as splits, with the correction for their overlap (see
`vicinal.app.comparison.statistics`). Of fewer, the test rows are what is counted (see
`vicinal.app.comparison.row_statistics`).
"""

from __future__ import annotations

from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.comparison.records import Difference, MethodResult, Setting
from vicinal.app.comparison.row_statistics import bootstrap, mcnemar, z_test
from vicinal.app.comparison.scores import SCORES
from vicinal.app.comparison.statistics import corrected_error, half_width, holm, p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["ENOUGH_SPLITS", "Evidence"]

ENOUGH_SPLITS = 5
"""So many splits are a sample of their own; fewer have too few degrees of freedom."""


class Evidence:
    """Intervals of scores, and tests of their differences.

    Parameters
    ----------
    results : sequence of MethodResult
        The methods, on the same splits.
    setting : Setting
        What they were compared on.
    references : sequence of MethodResult
        What they are held against, on some of these splits, the first ones.
    """

    def __init__(
        self,
        results: Sequence[MethodResult],
        setting: Setting,
        references: Sequence[MethodResult] = (),
    ) -> None:
        self.results = results
        self.setting = setting
        self.references = references
        self.score = SCORES[setting.scored]

    @cached_property
    def by_rows(self) -> bool:
        """Whether test rows are counted, and not splits."""
        known = all(one.outcomes for one in self.results)
        return known and 0 < len(self.setting.tests) < ENOUGH_SPLITS

    def interval(self, one: MethodResult) -> tuple[float, float]:
        """Return the 95 % interval of a mean score; NaN where it is unknown."""
        if one.name in self._draws:
            low, high = np.quantile(self._draws[one.name], [0.025, 0.975])
            return float(low), float(high)
        reach = half_width(one.scores, self.setting.ratio)
        least, most = self.score.least, self.score.most
        return (
            float(np.maximum(one.mean - reach, least)),
            float(np.minimum(one.mean + reach, most)),
        )

    def reach(self, one: MethodResult) -> float:
        """Return half of the interval, for ±; NaN if it is unknown or all there is."""
        if one.name in self._draws:
            return float(1.96 * np.std(self._draws[one.name]))
        reach = half_width(one.scores, self.setting.ratio)
        return reach if 2 * reach < self.score.most - self.score.least else float("nan")

    def differences(self, best: MethodResult) -> list[Difference]:
        """Return the best method against each other one, in their order."""
        return [
            self.difference(best, other) for other in self.results if other is not best
        ]

    def difference(self, one: MethodResult, other: MethodResult) -> Difference:
        """Return a method against another: the test that tables and sentences use."""
        gain = float(np.mean(one.scores - other.scores))
        p = self._p_values[frozenset((one.name, other.name))]
        return Difference(other.name, gain, p, self.error(one, other))

    @cached_property
    def _p_values(self) -> dict[frozenset[str], float]:
        """Holm's, of all pairs, though only some of them are shown.

        The best is chosen by the same scores, and of many equal methods the luckiest is
        ahead of the others.
        """
        pairs = list(combinations(self.results, 2))
        corrected = holm([self.p_value(a, b) for a, b in pairs])
        return {
            frozenset((a.name, b.name)): p
            for (a, b), p in zip(pairs, corrected, strict=True)
        }

    def p_value(self, a: MethodResult, b: MethodResult) -> float:
        """Return the p-value of a paired test, not corrected for other pairs."""
        setting = self.setting
        if not self.by_rows:
            return p_value(a.scores - b.scores, setting.ratio, setting.step)
        if len(setting.tests) == 1 and setting.scored == "accuracy":
            truth = np.asarray(setting.target)[setting.tests[0]]
            return mcnemar(a.outcomes[0] == truth, b.outcomes[0] == truth)
        return z_test(a.mean - b.mean, self.error(a, b))

    def error(self, a: MethodResult, b: MethodResult) -> float:
        """Return the standard error of the difference of two methods."""
        if self.by_rows:
            return float(np.std(self._draws[a.name] - self._draws[b.name]))
        return corrected_error(a.scores - b.scores, self.setting.ratio)

    def error_reach(self, a: MethodResult, b: MethodResult) -> float:
        """Return half of the 95 % interval of the difference of two methods."""
        if self.by_rows:
            return 1.96 * self.error(a, b)
        return half_width(a.scores - b.scores, self.setting.ratio)

    def against_reference(
        self, one: MethodResult, reference: MethodResult
    ) -> tuple[float, float]:
        """Return how far a method is ahead of a point of reference, and its error.

        On the splits that both have been run on, over their test rows.
        """
        k = reference.scores.size
        gain = float(np.mean(one.scores[:k] - reference.scores))
        draws = self._reference_draws
        return gain, float(np.std(draws[one.name] - draws[reference.name]))

    def ahead_of_all(self) -> MethodResult | None:
        """Return the reference that is clearly ahead of every method; None if none is.

        Over test rows, with Holm's correction for all pairs of a reference and a
        method; of several, the one with the highest score.
        """
        known = [one for one in self.results if np.isfinite(one.mean)]
        pairs = [(a, b) for a in self.references for b in known]
        gaps = [self.against_reference(b, a) for a, b in pairs]
        p_values = holm([z_test(gain, error) for gain, error in gaps])
        clear = {
            (a.name, b.name)
            for (a, b), (gain, _), p in zip(pairs, gaps, p_values, strict=True)
            if -gain > self.score.negligible and p < 0.05
        }
        ahead = [
            a
            for a in self.references
            if known and all((a.name, b.name) in clear for b in known)
        ]
        return max(ahead, key=lambda one: one.mean, default=None)

    @cached_property
    def _draws(self) -> dict[str, NDArray[np.float64]]:
        """Random scores of the methods, where rows are counted; and of references."""
        drawn = dict(self._reference_draws)
        for one in self.results:
            drawn.pop(one.name, None)
        if self.by_rows:
            drawn |= self._drawn(self.results, len(self.setting.tests))
        return drawn

    @cached_property
    def _reference_draws(self) -> dict[str, NDArray[np.float64]]:
        if not self.references:
            return {}
        k = min(one.scores.size for one in self.references)
        return self._drawn([*self.results, *self.references], k)

    def _drawn(
        self, results: Sequence[MethodResult], n_splits: int
    ) -> dict[str, NDArray[np.float64]]:
        setting = self.setting
        draws = bootstrap(
            self.score,
            setting.tests[:n_splits],
            setting.target,
            [one.outcomes[:n_splits] for one in results],
        )
        return {one.name: draw for one, draw in zip(results, draws, strict=True)}
