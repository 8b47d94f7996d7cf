"""The two metrics that the page puts side by side: before, and what is recommended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vicinal.app.report.fitted import PLAIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal.app.comparison import Comparison

__all__ = ["before_and_after"]


def before_and_after(comparison: Comparison, shown: Sequence[str]) -> tuple[str, str]:
    """Return the names of two metrics to look at the same rows under.

    Parameters
    ----------
    comparison : Comparison
        Recommends one of them.
    shown : sequence of str
        The metrics that the page has; at least one.

    Returns
    -------
    before : str
        Standardised features, or the raw ones where no others are shown or where
        standardising is what is recommended.
    after : str
        The recommended metric. Where it is the plain one, the best that learns, for
        the reader to see what it would change. Both are the same where there is no
        other.
    """
    ranked = sorted(comparison.results, key=lambda result: -result.mean)
    by_score = [result.name for result in ranked if result.name in shown]
    by_score = by_score or list(shown)
    advised = comparison.recommended
    if advised not in shown:
        advised = by_score[0]
    plain = [name for name in reversed(PLAIN) if name in shown]
    if advised not in PLAIN:
        return (plain or [advised])[0], advised
    if advised == "standardised" and "euclidean" in shown:
        return "euclidean", advised
    others = [name for name in by_score if name not in PLAIN]
    others += [name for name in plain if name != advised]
    return advised, (others or [advised])[0]
