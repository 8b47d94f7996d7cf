"""Intervals of scores and tests of their differences, over splits or test rows.

Random splits share most of their training rows, so the usual standard error over them
is too small. Nadeau and Bengio (Inference for the generalization error, 2003) correct
it: the variance of the mean of J splits is s² (1/J + n_test / n_train), not s²/J.

With fewer than five splits, the test rows are the sample. The Bayesian bootstrap
(Rubin, 1981) draws exponential weights for the rows, the same for all methods, so that
differences are paired and no rare class disappears. For a single split and accuracy
there is McNemar's exact test. Both condition on the learned metrics: the variance due
to the training rows is ignored, which matters less the more rows there are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import binom, norm
from scipy.stats import t as student

from vicinal.app.methods.scores import SCORES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from vicinal.app.comparison.data import Setting
    from vicinal.app.comparison.result import MethodResult
    from vicinal.app.methods.scores import Score


@dataclass(frozen=True)
class Difference:
    """The best method against another, on the same splits.

    Attributes
    ----------
    other : str
        Name of the other method.
    gain : float
        Mean difference of the scores.
    p : float
        p-value of a paired test, corrected for all pairs of methods. With five splits
        or more it is the corrected t-test; with fewer, a test over their rows.
    error : float
        Standard error of the gain.

    See Also
    --------
    vicinal.app.comparison.Comparison : Its `differences` are these.

    Examples
    --------
    >>> from vicinal.app.comparison import Difference
    >>> Difference("pca", gain=0.03, p=0.01).significant
    True
    """

    other: str
    gain: float
    p: float
    error: float = float("nan")

    @property
    def significant(self) -> bool:
        """Whether p is below 0.05."""
        return self.p < 0.05


def corrected_error(values: NDArray[np.float64], ratio: float) -> float:
    """Return the corrected standard error of the mean; NaN for a single split.

    Parameters
    ----------
    values : ndarray of shape (n_splits,)
        A score, or a difference of scores, for each split.
    ratio : float
        Number of test rows per training row.

    Returns
    -------
    float
        s √(1/J + ratio).

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.comparison.statistics import corrected_error
    >>> float(corrected_error(np.array([1.0, 3.0]), ratio=0.5).round(3))
    1.414
    """
    if values.size < 2:
        return float("nan")
    return np.float64(np.std(values, ddof=1) * np.sqrt(1 / values.size + ratio))


def t_half_width(values: NDArray[np.float64], ratio: float) -> float:
    """Return half the 95 % interval of a mean over splits; NaN for a single split."""
    quantile = student.ppf(0.975, max(values.size - 1, 1))
    return float(quantile * corrected_error(values, ratio))


def p_value(gains: NDArray[np.float64], ratio: float, step: float = 0.0) -> float:
    """Return the two-sided p-value of the corrected paired t-test.

    Parameters
    ----------
    gains : ndarray of shape (n_splits,)
        Differences of two methods' scores.
    ratio : float
        Number of test rows per training row.
    step : float, default=0.0
        The smallest difference of two scores. The standard deviation is at least that
        of a value rounded to such steps, because a few small splits often agree.

    Returns
    -------
    float
        1 if the methods do not differ or there is one split.
    """
    mean, error = float(np.mean(gains)), corrected_error(gains, ratio)
    if not mean or np.isnan(error):
        return 1.0
    # The variance of a uniform distribution on a step is step²/12.
    error = max(error, step * np.sqrt((1 / gains.size + ratio) / 12))
    with np.errstate(divide="ignore"):
        size = np.abs(np.divide(mean, error))
    return float(2 * student.sf(size, gains.size - 1))


def z_test(gain: float, error: float) -> float:
    """Return the two-sided p-value of a difference with a known standard error."""
    if not gain:
        return 1.0
    return float(2 * norm.sf(abs(gain) / error)) if error else 0.0


def mcnemar(right: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Return the two-sided p-value of McNemar's exact test.

    Parameters
    ----------
    right, other : ndarray of bool of shape (n_rows,)
        The rows that each of two methods predicts correctly.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.comparison.statistics import mcnemar
    >>> right = np.ones(10, dtype=bool)
    >>> mcnemar(right, np.arange(10) < 4)
    0.03125
    """
    alone = int(np.sum(right & ~other))
    apart = alone + int(np.sum(other & ~right))
    return float(min(1.0, 2 * binom.cdf(min(alone, apart - alone), apart, 0.5)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values adjusted for their number (Holm, 1979), in the same order.

    Parameters
    ----------
    p_values : sequence of float
        The p-values of tests made together.

    Examples
    --------
    >>> from vicinal.app.comparison.statistics import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(np.argsort(p_values)):
        largest = max(largest, min(1.0, p_values[index] * (len(p_values) - rank)))
        adjusted[index] = largest
    return adjusted


def bootstrap(
    score: Score,
    tests: Sequence[NDArray[np.integer[Any]]],
    target: NDArray[Any] | None,
    outcomes: Sequence[Sequence[NDArray[Any]]],
    n_draws: int = 1000,
    block_size: int = 2**22,
) -> NDArray[np.float64]:
    """Return bootstrap replicates of the scores of several methods.

    Parameters
    ----------
    score : Score
        The score.
    tests : sequence of ndarray of int
        The test rows of each split. A row that is in two of them has one weight.
    target : ndarray or None
        The target of all rows.
    outcomes : sequence of sequence of ndarray
        For each method and split, the predictions of its test rows.
    n_draws : int, default=1000
        Number of replicates.
    block_size : int, default=2**22
        Number of weights drawn at a time.

    Returns
    -------
    ndarray of shape (n_methods, n_draws)
        Means over the splits.
    """
    rng = np.random.default_rng(0)
    rows, inverse = np.unique(np.concatenate(tests), return_inverse=True)
    places = np.split(inverse, np.cumsum([len(test) for test in tests])[:-1])
    truths = [None if target is None else target[test] for test in tests]
    draws = np.zeros((len(outcomes), n_draws))
    step = max(1, block_size // rows.size)
    for start in range(0, n_draws, step):
        block = slice(start, min(start + step, n_draws))
        shape = (block.stop - block.start, rows.size)
        weights = rng.standard_exponential(shape, dtype=np.float32)
        for split, place in enumerate(places):
            own = weights[:, place]
            for method, predicted in enumerate(outcomes):
                values = score.values(truths[split], predicted[split], own)
                draws[method, block] += values / len(places)
    return draws


@dataclass(eq=False)
class Evidence:
    """Intervals of scores and tests of their differences.

    Parameters
    ----------
    results : sequence of MethodResult
        The methods, on the same splits.
    setting : Setting
        The data.
    references : sequence of MethodResult
        The reference models, on the first of these splits; a constant on all.
    """

    results: Sequence[MethodResult]
    setting: Setting
    references: Sequence[MethodResult] = ()

    @property
    def score(self) -> Score:
        """The score of the comparison."""
        return SCORES[self.setting.scored]

    @property
    def by_rows(self) -> bool:
        """Whether the sample is the test rows, because there are few splits."""
        known = all(one.outcomes for one in self.results)
        return known and 0 < len(self.setting.tests) < 5

    def interval(self, one: MethodResult) -> tuple[float, float]:
        """Return the 95 % interval of a mean score; NaN if it is unknown."""
        if one.name in self._draws:
            low, high = np.quantile(self._draws[one.name], [0.025, 0.975])
        else:
            width = t_half_width(one.scores, self.setting.ratio)
            low = np.maximum(one.mean - width, self.score.least)
            high = np.minimum(one.mean + width, self.score.most)
        return float(low), float(high)

    def half_width(self, one: MethodResult) -> float:
        """Return half the 95 % interval; NaN if it is unknown or the whole range."""
        if one.name in self._draws:
            return float(1.96 * np.std(self._draws[one.name]))
        width = t_half_width(one.scores, self.setting.ratio)
        return width if 2 * width < self.score.most - self.score.least else float("nan")

    def difference(self, one: MethodResult, other: MethodResult) -> Difference:
        """Return a method against another, with the adjusted p-value."""
        gain = float(np.mean(one.scores - other.scores))
        p = self._p_values[frozenset((one.name, other.name))]
        return Difference(other.name, gain, p, self.error(one, other))

    @cached_property
    def _p_values(self) -> dict[frozenset[str], float]:
        """Holm's p-values of all pairs, because the best is chosen by the scores."""
        pairs = list(combinations(self.results, 2))
        adjusted = holm([self.p_value(a, b) for a, b in pairs])
        return {
            frozenset((a.name, b.name)): p
            for (a, b), p in zip(pairs, adjusted, strict=True)
        }

    def p_value(self, a: MethodResult, b: MethodResult) -> float:
        """Return the p-value of a paired test, not adjusted for other pairs."""
        setting = self.setting
        counted = setting.scored == "accuracy"
        if not self.by_rows:
            # The smallest difference of two accuracies is one test row.
            step = 1 / ceil(setting.test_size * len(setting.X)) if counted else 0.0
            return p_value(a.scores - b.scores, setting.ratio, step)
        if len(setting.tests) == 1 and counted:
            truth = np.asarray(setting.target)[setting.tests[0]]
            return mcnemar(a.outcomes[0] == truth, b.outcomes[0] == truth)
        return z_test(a.mean - b.mean, self.error(a, b))

    def error(self, a: MethodResult, b: MethodResult) -> float:
        """Return the standard error of the difference of two methods."""
        if self.by_rows:
            return float(np.std(self._draws[a.name] - self._draws[b.name]))
        return corrected_error(a.scores - b.scores, self.setting.ratio)

    def difference_half_width(self, a: MethodResult, b: MethodResult) -> float:
        """Return half the 95 % interval of the difference of two methods."""
        if self.by_rows:
            return 1.96 * self.error(a, b)
        return t_half_width(a.scores - b.scores, self.setting.ratio)

    def against_reference(
        self, one: MethodResult, reference: MethodResult
    ) -> tuple[float, float]:
        """Return the gain of a method over a reference, and its error.

        Over all splits, if the reference has run on them; otherwise over the test rows
        of the splits that all references have run on.
        """
        k = reference.scores.size
        if k == one.scores.size and not self.by_rows:
            gains = one.scores - reference.scores
            return float(gains.mean()), corrected_error(gains, self.setting.ratio)
        k = self._n_reference_splits
        gain = float(np.mean(one.scores[:k] - reference.scores[:k]))
        draws = self._reference_draws
        return gain, float(np.std(draws[one.name] - draws[reference.name]))

    @property
    def _n_reference_splits(self) -> int:
        return min(one.scores.size for one in self.references)

    def ahead_of_all(self, but: Collection[str] = ()) -> MethodResult | None:
        """Return the best reference that is significantly better than every method.

        Over test rows, adjusted for all pairs of a reference and a method; None if
        there is no such reference. Methods named in `but` do not count.
        """
        known = [one for one in self.results if np.isfinite(one.mean)]
        known = [one for one in known if one.name not in but]
        pairs = [(a, b) for a in self.references for b in known]
        gains = [self.against_reference(b, a) for a, b in pairs]
        p_values = holm([z_test(gain, error) for gain, error in gains])
        not_clear = {
            a.name
            for (a, _), (gain, _), p in zip(pairs, gains, p_values, strict=True)
            if -gain <= self.score.negligible or p >= 0.05
        }
        ahead = [one for one in self.references if known and one.name not in not_clear]
        return max(ahead, key=lambda one: one.mean, default=None)

    @cached_property
    def _draws(self) -> dict[str, NDArray[np.float64]]:
        """Bootstrap replicates of the references, and of methods if rows are used."""
        names = [one.name for one in self.references]
        draws = {name: self._reference_draws[name] for name in names}
        if self.by_rows:
            draws |= self._bootstrap(self.results, len(self.setting.tests))
        return draws

    @cached_property
    def _reference_draws(self) -> dict[str, NDArray[np.float64]]:
        """Replicates of methods and references on the splits of the references."""
        return self._bootstrap(
            [*self.results, *self.references], self._n_reference_splits
        )

    def _bootstrap(
        self, results: Sequence[MethodResult], n_splits: int
    ) -> dict[str, NDArray[np.float64]]:
        tests = self.setting.tests[:n_splits]
        outcomes = [one.outcomes[:n_splits] for one in results]
        draws = bootstrap(self.score, tests, self.setting.target, outcomes)
        return {one.name: draw for one, draw in zip(results, draws, strict=True)}
