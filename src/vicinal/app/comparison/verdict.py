"""The recommended method, and one sentence of advice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.comparison.runs import MANY_ROWS
from vicinal.app.methods.registry import METHODS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal.app.comparison.result import Comparison, MethodResult
    from vicinal.app.comparison.statistics import Difference

ADDITIVE = "table-nca"
# The names of the methods that learn no metric, in prose.
_SPOKEN = {
    "euclidean": "raw features",
    "standardised": "standardised features",
    "gaussian": "one Gaussian",
    "kernel-density": "one bandwidth",
}
_ADVICE = {
    "euclidean": "Use the features as they are",
    "standardised": "Standardise",
    "whitened": "Whiten",
    "gaussian": "One Gaussian is enough",
    "kernel-density": "Use one bandwidth for all directions",
}


def complexity(name: str) -> int:
    """Return the complexity of a method; users' estimators rank above all others.

    Parameters
    ----------
    name : str
        Name of the method.
    """
    if name in METHODS:
        return METHODS[name].complexity
    return 1 + max(one.complexity for one in METHODS.values())


def recommend(
    results: Sequence[MethodResult],
    best: MethodResult,
    differences: Sequence[Difference],
    negligible: float = 0.0,
    point: float = np.inf,
) -> str:
    """Return the name of the simplest method that is about as good as the best.

    A method is about as good if it is behind by a negligible amount; or if it is not
    significantly worse and behind by at most one standard error of the difference (the
    usual rule for models of different size) and at most `point`. A method that is worse
    than a simpler one is never recommended.

    Parameters
    ----------
    results : sequence of MethodResult
        All methods.
    best : MethodResult
        The one with the highest score.
    differences : sequence of Difference
        The best against each other method.
    negligible : float, default=0.0
        A difference too small to matter, even if it is significant.
    point : float, default=inf
        The largest difference given up for simplicity.
    """
    behind = {one.other: one for one in differences}

    def near(one: Difference) -> bool:
        if one.gain <= negligible:
            return True
        error = np.nan_to_num(one.error, nan=np.inf)
        return not one.significant and one.gain <= min(error, point)

    candidates = [
        one
        for one in results
        if (one is best or near(behind[one.name]))
        and not any(
            other.mean > one.mean and complexity(other.name) < complexity(one.name)
            for other in results
        )
    ]
    return min(candidates, key=lambda one: (complexity(one.name), -one.mean)).name


def verdict(comparison: Comparison) -> str:
    """Return the advice in one sentence.

    "Within chance" refers to the test of the table's asterisks, for the two methods
    that are named. The sentence speaks only of methods that were run.

    Parameters
    ----------
    comparison : Comparison
        The results.
    """
    without = useless(comparison)
    text = without or _advice(comparison, comparison[str(comparison.recommended)])
    rival, good = None, ""
    if comparison.recommended == ADDITIVE and len(comparison.references) > 1:
        rival = max(comparison.references, key=lambda one: one.rank)
        good = _as_good(comparison, rival)
    if rival and good:
        return (
            f"Use {ADDITIVE}: {good} {rival.name} ({_scored(comparison, rival)}), and "
            "it shows the rows behind each prediction"
        )
    gain, error, constant = _over_constant(comparison)
    if not without and gain <= 1.645 * error:
        text += f"; the most frequent class ({constant}) is within chance"
    evidence = comparison.evidence
    # Curves that are not worth their complexity do not speak for neighbors either.
    passed_over = {ADDITIVE} - {comparison.recommended}
    reference = evidence.ahead_of_all(passed_over)
    if reference is None or reference.name in ("majority class", "mean"):
        more = f"; {rival.name} has {_scored(comparison, rival)}" if rival else ""
        return text + more
    judged = [one for one in comparison.ranked() if one.name not in passed_over]
    gain, error = evidence.against_reference(judged[0], reference)
    ran = " that ran" if comparison.setting.left_out else ""
    but = f" but {ADDITIVE}" if len(judged) < len(comparison.results) else ""
    return (
        f"{text}; {'' if without else 'but '}{reference.name}, which has no "
        f"neighbours, is {_amount(comparison, -gain, 1.96 * error)} ahead of every "
        f"metric{ran}{but}: take it if only predictions count"
    )


def _as_good(comparison: Comparison, rival: MethodResult) -> str:
    """Compare the additive metric with a reference; empty if it is behind.

    It is as good by the rule for two metrics; see `recommend`.
    """
    score = comparison.evidence.score
    gain, error = comparison.evidence.against_reference(comparison[ADDITIVE], rival)
    if -gain > max(score.negligible, min(error, score.point)):
        return ""
    return "better than" if gain > 1.96 * error else "as good as"


def used_test(comparison: Comparison) -> str:
    """Return the name of the test of differences; empty if nothing was tested.

    Parameters
    ----------
    comparison : Comparison
        The results.
    """
    s, evidence = comparison.setting, comparison.evidence
    known = np.isfinite(evidence.half_width(comparison.best))
    if not known or len(comparison.results) < 2:
        return ""
    if not evidence.by_rows:
        return f"corrected paired t-test on {s.n_splits} splits"
    if s.scored == "accuracy" and len(s.tests) == 1:
        return f"McNemar's test on {len(s.tests[0]):,} test rows"
    return "bootstrap of the test rows"


def useless(comparison: Comparison) -> str:
    """Return a sentence if no metric can be recommended; else nothing.

    None predicts better than a constant, or the best density compares with no other.

    Parameters
    ----------
    comparison : Comparison
        The results.
    """
    best = comparison.best
    if best.few_values:
        return (
            f"No metric is recommended: the density of {best.name} is high at the few "
            "values of some columns; leave these columns out"
        )
    which = "No metric that ran" if comparison.setting.left_out else "No metric"
    end = f"{best.name} has {_scored(comparison, best)}, so do without neighbours"
    if comparison.setting.task == "regression":
        return "" if best.mean > 0 else f"{which} beats the mean: {end}"
    gain, error, constant = _over_constant(comparison)
    # One-sided, at the level of 5 %; more than a point is not given up.
    if gain > min(1.645 * error, comparison.evidence.score.point):
        return ""
    return f"{which} beats the most frequent class ({constant}): {end}"


def _over_constant(comparison: Comparison) -> tuple[float, float, str]:
    """Return the gain of the best method over a constant, its error, and its score."""
    score = comparison.evidence.score
    for one in comparison.references:
        if one.name == "majority class":
            gain, error = comparison.evidence.against_reference(comparison.best, one)
            return gain, error, f"{score.written(one.mean)}{score.unit}"
    return np.inf, 0.0, ""


def _advice(comparison: Comparison, chosen: MethodResult) -> str:
    results, evidence = comparison.results, comparison.evidence
    if len(results) == 1:
        only = "Only " if comparison.setting.left_out else ""
        return f"{only}{chosen.name}: {_scored(comparison, chosen)}"
    low, high = chosen.n_components.min(), chosen.n_components.max()
    number = f"{low}" if low == high else f"{low} to {high}"
    text = f"Use {chosen.name} in {number} dimension{'' if high == 1 else 's'}"
    text = _ADVICE.get(chosen.name, text)
    rank = complexity(chosen.name)
    simpler = [one for one in results if complexity(one.name) < rank]
    plain = [one for one in simpler if one.name in _SPOKEN]
    if not simpler:
        text += f": {_scored(comparison, chosen)}"
        return text + _more_complex(comparison, chosen, None)
    # The best baseline that the chosen method is measured against.
    base = max(plain or simpler, key=lambda one: one.rank)
    gain = _gain(comparison, chosen, base)
    sure = evidence.difference(chosen, base).significant
    if sure:
        text += f": +{gain} over {_spoken(base)}"
    else:
        chance = _chance(comparison, chosen, base)
        text += f" as the better bet: {gain} ahead of {_spoken(base)}, {chance}"
    # With few rows, the times are dominated by overhead.
    if len(comparison.setting.X) > MANY_ROWS and chosen.name not in _SPOKEN:
        raw = next((one for one in plain if one.name == "euclidean"), base)
        times = np.median(raw.query_seconds) / np.median(chosen.query_seconds)
        if times >= 2 and chosen.n_components.max() < raw.n_components.min():
            text += f", {times:.0f} × faster queries than raw"
    return text + _more_complex(comparison, chosen, None if sure else base)


def _more_complex(
    comparison: Comparison, chosen: MethodResult, unsure: MethodResult | None
) -> str:
    """Compare the more complex methods with the recommended one.

    `unsure` is the baseline that the recommended method may be ahead of by chance.
    """
    best, rank = comparison.best, complexity(chosen.name)
    others = [one for one in comparison.results if complexity(one.name) > rank]
    more = "; more rows would tell"
    if not others:
        return more if unsure else ""
    if best is chosen or best.mean - chosen.mean < comparison.evidence.score.negligible:
        s = comparison.setting
        n_train = len(s.X) - len(s.tests[0]) if s.tests else 0
        hasty = [
            one.name
            for one in others
            if one.broken_off
            or (
                one.n_learned is not None
                and one.n_learned.min() <= MANY_ROWS < n_train / 2
            )
        ]
        if hasty:
            return (
                f"; the time budget was too short to judge {', '.join(hasty)}"
                f"{more if unsure else ''}"
            )
        if unsure:
            return more
        left_out = any(complexity(name) > rank for name, _ in s.left_out)
        which = (
            "the more complex methods that ran" if left_out else "more complex methods"
        )
        return f"; {which} do not improve on it"
    proven = ""
    if unsure and comparison.evidence.difference(best, unsure).significant:
        proven = f", which is significantly better than {_spoken(unsure)},"
    return (
        f"; {best.name}{proven} is {_gain(comparison, best, chosen)} ahead, "
        f"{_chance(comparison, best, chosen)}, and more complex{more}"
    )


def _spoken(one: MethodResult) -> str:
    return _SPOKEN.get(one.name, one.name)


def _chance(comparison: Comparison, one: MethodResult, other: MethodResult) -> str:
    """Return "within chance", of two methods or only among all of them."""
    if comparison.evidence.p_value(one, other) < 0.05:  # not adjusted
        return f"within chance among {len(comparison.results)} methods"
    return "within chance"


def _gain(comparison: Comparison, one: MethodResult, other: MethodResult) -> str:
    gain = float(np.mean(one.scores - other.scores))
    width = comparison.evidence.difference_half_width(one, other)
    return _amount(comparison, gain, width)


def _amount(comparison: Comparison, gain: float, half_width: float) -> str:
    score = comparison.evidence.score
    margin = f" ± {score.written(half_width)}" if np.isfinite(half_width) else ""
    return f"{score.written(gain)}{margin}{score.points}"


def _scored(comparison: Comparison, one: MethodResult) -> str:
    return f"{comparison.score(one.name)}{comparison.evidence.score.unit}"
