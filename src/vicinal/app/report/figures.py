"""Where the lines, dots and bars of the page's figures go; the template draws them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal.app.methods.linear_map import Directions, directions, feature_shares
from vicinal.app.report.fitted import PLAIN
from vicinal.app.report.sanitize import packed, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison import Comparison, MethodResult
    from vicinal.app.report.displayed import Pixels
    from vicinal.app.report.fitted import FittedMetric
    from vicinal.app.report.source_columns import SourceColumns

__all__ = [
    "confusion",
    "contributions",
    "contributions_by_pixel",
    "dots",
    "histogram",
    "ticks",
]

_MOST_BARS = 15
# Less would be shown as nothing.
_LEAST_SHARE = 0.0005
_MOST_CLASSES = 40
# More classes than this, and a table's cells show their shade without a number.
_NUMBERED = 12


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Return round numbers between two others.

    Examples
    --------
    >>> from vicinal.app.report.figures import ticks
    >>> ticks(0.68, 1.0)
    [0.7, 0.8, 0.9, 1.0]
    """
    if not high > low:
        return [low]
    rough = (high - low) / about
    unit = 10.0 ** np.floor(np.log10(rough))
    step = unit * next(f for f in (1, 2, 5, 10) if f * unit >= 0.999 * rough)
    first = np.ceil(low / step - 1e-9)
    last = np.floor(high / step + 1e-9)
    digits = max(0, int(-np.floor(np.log10(step))))
    # Adding zero makes a plain zero of −0.
    return [round(float(i * step), digits) + 0.0 for i in np.arange(first, last + 1)]


def dots(comparison: Comparison) -> dict[str, Any] | None:
    """Return the scores with their 95 % intervals, on a scale from 0 to 1.

    Points of reference are drawn where they lie on the scale of the methods.

    Parameters
    ----------
    comparison : Comparison
        Whose scores.
    """
    score = comparison.evidence.score
    known = [
        (one, _ends(comparison, one))
        for one in (*comparison.results, *comparison.references)
        if np.isfinite(one.mean)
    ]
    compared = [ends for one, ends in known if one in comparison.results]
    if not compared:
        return None
    low, high = min(ends[0] for ends in compared), max(ends[1] for ends in compared)
    margin = 0.04 * (high - low) or abs(high) or 1.0
    # An axis ends where scores do.
    low = max(low - margin, score.factor * score.least)
    high = min(high + margin, score.factor * score.most)

    def position(value: float) -> float:
        return round(min(max((value - low) / (high - low), 0.0), 1.0), 4)

    return {
        "ticks": [(position(at), f"{at:g}") for at in ticks(low, high)],
        "lines": [
            {
                "name": one.name,
                "at": position(score.factor * one.mean),
                "ends": [position(end) for end in ends],
                "advised": one.name == comparison.recommended,
                "score": comparison.score(one.name),
            }
            for one, ends in known
            if low <= score.factor * one.mean <= high
        ],
    }


def _ends(comparison: Comparison, one: MethodResult) -> list[float]:
    factor = comparison.evidence.score.factor
    ends = [end for end in comparison.interval(one.name) if np.isfinite(end)]
    return [factor * end for end in ends or [one.mean] * 2]


def contributions(
    metric: FittedMetric, names: Sequence[str], columns: SourceColumns
) -> dict[str, Any] | None:
    """Return how much each column contributes to a metric, and its main directions.

    Parameters
    ----------
    metric : FittedMetric
        Whose map.
    names : sequence of str
        Of the features.
    columns : SourceColumns
        What they came from: features of one column are shown as one.
    """
    by_feature = feature_shares(metric.components)
    if not np.isfinite(by_feature).all() or not by_feature.any():
        return None
    share = columns.summed(by_feature)
    main = _directions(metric)
    order = np.argsort(-share, kind="stable")[:_MOST_BARS]
    order = order[share[order] >= _LEAST_SHARE]
    # Of a column with several features, those that pull to either side.
    sides = [
        np.sqrt(
            [
                columns.summed(np.square(part))
                for part in (row.clip(max=0), row.clip(min=0))
            ]
        )
        for row in main.loadings
    ]
    return {
        "name": metric.name,
        "directions": [f"{part:.0%}" for part in main.shares],
        "rest": max(0, share.size - len(order)),
        "rest_share": _percent(max(0.0, 1 - float(share[order].sum()))),
        "bars": [
            {
                "feature": short(columns.names[j], 34),
                "full": short(columns.names[j], 300),
                "share": round(float(share[j] / share[order[0]]), 4),
                "percent": _percent(float(share[j])),
                "loadings": [
                    (
                        *(round(float(size / (both.max() or 1)), 4) for size in own),
                        _loadings(row, names, columns.features(int(j))),
                    )
                    for row, both in zip(main.loadings, sides, strict=True)
                    for own in [both[:, j]]
                ],
            }
            for j in order
        ],
    }


def _loadings(row: FloatArray, names: Sequence[str], features: IntArray) -> str:
    if len(features) == 1:
        return f"{row[features[0]]:+.2f}"
    largest = features[np.argsort(-np.abs(row[features]), kind="stable")[:4]]
    more = ", …" if len(features) > len(largest) else ""
    return ", ".join(f"{short(names[j])} {row[j]:+.2f}" for j in largest) + more


def contributions_by_pixel(
    metric: FittedMetric, pixels: Pixels
) -> dict[str, Any] | None:
    """Return the same as pictures: 0 to 255, in directions 128 is nothing."""
    share = feature_shares(metric.components)
    if pixels.of_features is None or not np.isfinite(share).all() or not share.any():
        return None
    main = _directions(metric)

    def picture(values: FloatArray, nothing: int) -> str:
        painted = np.full(pixels.shape[0] * pixels.shape[1], nothing)
        painted[pixels.of_features] = np.rint(values)
        return packed(painted, "u1")

    return {
        "name": metric.name,
        "height": pixels.shape[0],
        "width": pixels.shape[1],
        "share": picture(255 * share / share.max(), 0),
        "directions": [
            (f"{part:.0%}", picture(128 + 127 * row / np.abs(row).max(), 128))
            for part, row in zip(main.shares, main.loadings, strict=True)
        ],
    }


def histogram(values: FloatArray, n_bins: int = 24) -> dict[str, Any] | None:
    """Return how often numbers from 1 upwards come, in bins of equal ratio."""
    if not values.size:
        return None
    # Perplexities are 1 or more; rounding may make them a little less.
    sizes = np.log10(np.maximum(values, 1.0))
    top = max(float(sizes.max()), 0.3)
    counts, _ = np.histogram(sizes, bins=n_bins, range=(0.0, top))
    marks = [m * 10**e for e in range(int(top) + 1) for m in (1, 2, 5)]
    return {
        "bars": (counts / counts.max()).round(4).tolist(),
        "ticks": [
            (round(float(np.log10(mark) / top), 4), f"{mark:,}")
            for mark in marks
            if np.log10(mark) <= top + 1e-9
        ],
        "median": f"{np.median(values):.1f}",
        "median_at": round(float(np.median(sizes)) / top, 4),
    }


def confusion(name: str, counts: IntArray, classes: Sequence[str]) -> dict[str, Any]:
    """Return a table of true and predicted classes, and the commonest errors."""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:8]
    pairs = [divmod(int(index), len(classes)) for index in order]
    totals = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    # Ten shades; anything at all is one of them.
    shades = np.ceil(9 * counts / totals).astype(int)
    names = [short(one, 18) for one in classes]
    fits = len(classes) <= _MOST_CLASSES
    return {
        "name": name,
        "classes": names,
        "full": [short(one, 300) for one in classes],
        "numbered": len(classes) <= _NUMBERED,
        "fits": fits,
        "rows": [
            list(zip(row.tolist(), shade.tolist(), strict=True))
            for row, shade in zip(counts, shades, strict=True)
            if fits
        ],
        "wrong": int(wrong.sum()),
        "total": int(counts.sum()),
        "errors": [
            (names[i], names[j], int(wrong[i, j])) for i, j in pairs if wrong[i, j]
        ],
    }


def _directions(metric: FittedMetric) -> Directions:
    # A metric that has learned nothing but units has no directions of its own.
    if metric.name in PLAIN:
        return Directions(np.empty(0), np.empty((0, metric.components.shape[1])))
    return directions(metric.components)


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}"
