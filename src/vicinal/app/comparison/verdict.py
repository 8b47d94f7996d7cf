"""One sentence to act on, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vicinal.app.comparison.verdict import PLAIN, simplicity
from vicinal.app.comparison.references import CONSTANTS
from vicinal.app.comparison.runs import MANY_ROWS

if TYPE_CHECKING:
    from vicinal.app.comparison.records import MethodResult
    from vicinal.app.comparison.result import Comparison

__all__ = ["reading", "used_test", "useful", "verdict"]

# What to do, for the methods that are no learning of a metric.
_ADVICE = {
    "euclidean": "Use the features as they are",
    "standardised": "Standardise",
    "whitened": "Whiten",
    "gaussian": "One Gaussian is enough",
    "kernel-density": "Use one bandwidth for all directions",
}
_SPOKEN = {
    "euclidean": "raw features",
    "standardised": "standardised features",
    "gaussian": "one Gaussian",
    "kernel-density": "one bandwidth",
}
# Queries that are faster by less are not worth a word.
_FASTER = 2.0


def verdict(comparison: Comparison) -> str:
    """Say in one sentence what to do.

    What it calls chance is so by the test of the table's asterisks, of the two methods
    that are named; an asterisk is of a method and the best one.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    """
    nothing = _beats_nothing(comparison)
    if nothing:
        return nothing + _right_tool(comparison)
    return _advice(comparison) + _right_tool(comparison, "but ")


def useful(comparison: Comparison) -> bool:
    """Return whether any metric predicts better than a constant does.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    """
    return not _beats_nothing(comparison)


def _advice(comparison: Comparison) -> str:
    chosen = comparison[comparison.recommended]
    if len(comparison.results) == 1:
        return f"{chosen.name}: {_scored(comparison, chosen)}"
    simpler = [
        one
        for one in comparison.results
        if simplicity(one.name) < simplicity(chosen.name)
    ]
    plain = [one for one in simpler if one.name in PLAIN]
    if chosen.name in _ADVICE:
        said = _ADVICE[chosen.name]
    else:
        said = f"Use {chosen.name}{_dimensions(chosen)}"
    base = max(plain or simpler, key=_mean, default=None)
    sure = True
    if base is None:
        said += f": {_scored(comparison, chosen)}"
    else:
        gain = _gain(comparison, chosen, base)
        other = _SPOKEN.get(base.name, base.name)
        sure = comparison.evidence.difference(chosen, base).real
        if sure:
            said += f": +{gain} over {other}"
        else:
            chance = _chance(comparison, chosen, base)
            said += f" as the better bet: {gain} ahead of {other}, {chance}"
        raw = next((one for one in plain if one.name == "euclidean"), base)
        # Of few rows, times are those of other things.
        if len(comparison.setting.X) > MANY_ROWS and chosen.name not in PLAIN:
            said += _faster(chosen, raw)
    return said + _beyond(comparison, chosen, None if sure else base)


def reading(comparison: Comparison) -> list[str]:
    """Return sentences on how to read the scores, for below the table.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    """
    test = used_test(comparison)
    if not test:
        return []
    return [
        "± half of a 95 % interval; * the best method is really better "
        f"({test}, Holm's p < 0.05)"
    ]


def used_test(comparison: Comparison) -> str:
    """Return what differences were tested by, in words; nothing where none were.

    Parameters
    ----------
    comparison : Comparison
        What was found.
    """
    s, evidence = comparison.setting, comparison.evidence
    known = np.isfinite(evidence.reach(comparison.best))
    if not known or len(comparison.results) < 2:
        return ""
    if not evidence.by_rows:
        return f"corrected paired t-test on {s.n_splits} splits"
    if s.scored == "accuracy" and len(s.tests) == 1:
        return f"McNemar's test on {len(s.tests[0]):,} test rows"
    return "bootstrap of the test rows"


def _right_tool(comparison: Comparison, but: str = "") -> str:
    """Say what does better without neighbours than every metric; else nothing."""
    reference = comparison.evidence.ahead_of_all()
    # That a constant is ahead is said by `_beats_nothing`.
    if reference is None or reference.name in CONSTANTS:
        return ""
    gain, error = comparison.evidence.against_reference(comparison.best, reference)
    amount = _amount(comparison, -gain, 1.96 * error)
    return (
        f"; {but}{reference.name}, which has no neighbours, is {amount} ahead of every "
        "metric: take it if only predictions count"
    )


def _beats_nothing(comparison: Comparison) -> str:
    """Say where no metric predicts better than a constant does; else nothing."""
    best = comparison.best
    scored = f"{best.name} has {_scored(comparison, best)}, so do without neighbours"
    if comparison.setting.task == "regression":
        return "" if best.mean > 0 else f"No metric beats the mean: {scored}"
    for reference in comparison.references:
        if reference.name == "majority class":
            gain, error = comparison.evidence.against_reference(best, reference)
            if gain <= max(0.0, error):
                constant = f"{_scored(comparison, reference, sure=False)}"
                return f"No metric beats the most frequent class ({constant}): {scored}"
    return ""


def _beyond(
    comparison: Comparison, chosen: MethodResult, unsure: MethodResult | None
) -> str:
    """Return what the best method would add to the recommended one.

    `unsure` is the simpler one that it is ahead of by chance, perhaps; None if surely.
    """
    best, sure = comparison.best, unsure is None
    others = [
        one
        for one in comparison.results
        if simplicity(one.name) > simplicity(chosen.name)
    ]
    more = "; more rows would tell"
    if not others:
        return "" if sure else more
    learns = chosen.name in PLAIN and comparison.setting.task != "none"
    what = "learning a metric adds" if learns else "methods that are less simple add"
    gain = best.mean - chosen.mean
    score = comparison.evidence.score
    if best is chosen or gain < score.negligible:
        nothing = f"; {what} nothing beyond that on these data" if sure else ""
        return (_short_of_time(comparison, others) or nothing) + ("" if sure else more)
    amount = _gain(comparison, best, chosen)
    proven = ""
    if unsure is not None and comparison.evidence.difference(best, unsure).real:
        other = _SPOKEN.get(unsure.name, unsure.name)
        proven = f", which is really better than {other},"
    chance = _chance(comparison, best, chosen)
    return f"; {best.name}{proven} is {amount} ahead, {chance}, and less simple{more}"


def _short_of_time(comparison: Comparison, others: list[MethodResult]) -> str:
    """Return which methods had too few rows to say anything of them; else nothing."""
    s = comparison.setting
    n_train = len(s.X) - len(s.tests[0]) if s.tests else 0
    if n_train <= 2 * MANY_ROWS:
        return ""
    names = [
        one.name
        for one in others
        if one.n_learned is not None and one.n_learned.min() < MANY_ROWS
    ]
    if not names:
        return ""
    return (
        f"; time was too short to tell what {', '.join(names)} would add: they learned "
        f"from fewer than {MANY_ROWS:,} of the {n_train:,} training rows"
    )


def _mean(one: MethodResult) -> float:
    return float(np.nan_to_num(one.mean, nan=-np.inf))


def _chance(comparison: Comparison, one: MethodResult, other: MethodResult) -> str:
    """Say that a difference may be chance: alone, or among those of many methods."""
    if comparison.evidence.p_value(one, other) < 0.05:  # before Holm's correction
        return f"within chance among {len(comparison.results)} methods"
    return "within chance"


def _gain(comparison: Comparison, one: MethodResult, other: MethodResult) -> str:
    gain = float(np.mean(one.scores - other.scores))
    return _amount(comparison, gain, comparison.evidence.error_reach(one, other))


def _amount(comparison: Comparison, gain: float, reach: float) -> str:
    score = comparison.evidence.score
    margin = f" ± {score.written(reach)}" if np.isfinite(reach) else ""
    return f"{score.written(gain)}{margin}{score.points}"


def _scored(comparison: Comparison, one: MethodResult, sure: bool = True) -> str:
    score = comparison.evidence.score
    number = comparison.score(one.name) if sure else score.written(one.mean)
    return f"{number}{score.unit}"


def _dimensions(one: MethodResult) -> str:
    low, high = one.n_components.min(), one.n_components.max()
    number = f"{low}" if low == high else f"{low} to {high}"
    return f" in {number} dimension{'' if high == 1 else 's'}"


def _faster(chosen: MethodResult, raw: MethodResult) -> str:
    """Return how much faster queries are, where it is worth a word."""
    times = float(np.median(raw.query_seconds) / np.median(chosen.query_seconds))
    if times < _FASTER or chosen.n_components.max() >= raw.n_components.min():
        return ""
    return f", {times:.0f} × faster queries than raw"
