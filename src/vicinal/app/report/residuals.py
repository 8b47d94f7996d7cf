"""How far k-NN's predictions of a number are off, on rows that it has not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.report.figures import ticks
from vicinal.app.report.numbers import readable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray
    from vicinal.app.comparison import Comparison

__all__ = ["held_out_predictions", "residual_figures"]

# More are a blot, and make the page heavy.
_MOST_DOTS = 1500
# The frame of the figure, in its own units.
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 474, 10, 236


def held_out_predictions(
    comparison: Comparison, name: str
) -> tuple[FloatArray, FloatArray] | None:
    """Return what a metric predicted of the first split's test rows.

    Parameters
    ----------
    comparison : Comparison
        Of a target of numbers.
    name : str
        Of the metric.

    Returns
    -------
    tuple of two ndarray or None
        The numbers and their predictions, of a random part where there are many; None
        where the metric was not compared, or its predictions were not kept.
    """
    compared = {result.name: result for result in comparison.results}
    setting = comparison.setting
    if name not in compared or not setting.tests or not compared[name].outcomes:
        return None
    truth = np.asarray(setting.target, dtype=np.float64)[setting.tests[0]]
    predicted = np.asarray(compared[name].outcomes[0], dtype=np.float64)
    if len(truth) > _MOST_DOTS:
        part = np.random.RandomState(0).permutation(len(truth))[:_MOST_DOTS]
        truth, predicted = truth[part], predicted[part]
    return truth, predicted


def residual_figures(
    found: dict[str, tuple[FloatArray, FloatArray]],
) -> list[dict[str, Any]]:
    """Return where the dots of each metric's residuals go; all on the same axes.

    Parameters
    ----------
    found : dict of str to tuple of two ndarray
        For each metric, numbers and their predictions.
    """
    if not found:
        return []
    across = np.concatenate([predicted for _, predicted in found.values()])
    off = np.concatenate([truth - predicted for truth, predicted in found.values()])
    # A few far out would press the others together; they are drawn at the edge.
    low, high = np.percentile(across, [0.5, 99.5])
    reach = float(np.percentile(np.abs(off), 99)) or 1.0
    low, high = (low, high) if high > low else (low - 1, high + 1)
    return [
        _figure(name, truth, predicted, (float(low), float(high)), reach)
        for name, (truth, predicted) in found.items()
    ]


def _figure(
    name: str,
    truth: FloatArray,
    predicted: FloatArray,
    across: tuple[float, float],
    reach: float,
) -> dict[str, Any]:
    def x(values: Any) -> Any:
        part = (np.asarray(values) - across[0]) / (across[1] - across[0])
        return (_LEFT + part.clip(0, 1) * (_RIGHT - _LEFT)).round(1)

    def y(values: Any) -> Any:
        part = (np.asarray(values) + reach) / (2 * reach)
        return (_BOTTOM - part.clip(0, 1) * (_BOTTOM - _TOP)).round(1)

    residual = truth - predicted
    dots = zip(x(predicted).tolist(), y(residual).tolist(), strict=True)
    half, most = np.percentile(np.abs(residual), [50, 90])
    return {
        "name": name,
        "n": len(truth),
        "dots": "".join(f"M{a:g} {b:g}h0" for a, b in dots),
        "zero": float(y(0.0)),
        "across": _marks(x, ticks(*across, about=4)),
        "up": _marks(y, ticks(-reach, reach, about=4)),
        "half": readable(float(half)),
        "most": readable(float(most)),
        "bias": readable(float(residual.mean()), 3),
    }


def _marks(place: Any, at: Sequence[float]) -> list[tuple[float, str]]:
    return [(float(place(value)), readable(value)) for value in at]
