"""What the page's script draws the maps from, as plain lists and packed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans

from vicinal.methods.contributions import feature_shares
from vicinal.report.fitted import PLAIN
from vicinal.report.sanitize import packed, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray
    from vicinal.comparison import Comparison
    from vicinal.report.displayed import DisplayedRows
    from vicinal.report.fitted import FittedMetric

__all__ = ["in_view", "map_data"]

_N_CLUSTERS = 8
_MAIN_FEATURES = 5


def map_data(
    comparison: Comparison, rows: DisplayedRows, metrics: Sequence[FittedMetric]
) -> dict[str, Any]:
    """Return all that the maps and the lists of neighbours are drawn from.

    Parameters
    ----------
    comparison : Comparison
        Says which metric did best.
    rows : DisplayedRows
        The rows of the page.
    metrics : sequence of FittedMetric
        At least one.
    """
    ranked = sorted(comparison.results, key=lambda result: -result.mean)
    names = [metric.name for metric in metrics]
    known = [result.name for result in ranked if result.name in names]
    taught = [name for name in known if name not in PLAIN]
    best = metrics[names.index((taught or known or names)[0])]
    before = next((name for name in PLAIN if name in names), names[0])
    data: dict[str, Any] = {
        "n": len(rows.X),
        "k": int(best.neighbors.shape[1]),
        "before": names.index(before),
        "after": names.index(best.name),
        "rows": packed(rows.numbers, "u4"),
        "methods": [
            {
                "name": metric.name,
                "xy": packed(in_view(metric.picture), "f4"),
                "near": packed(metric.neighbors, "u4"),
            }
            for metric in metrics
        ],
        **_colors(rows, best),
    }
    if rows.pixels is not None:
        _, height, width = rows.pixels.thumbnails.shape
        data["pixels"] = {
            "height": height,
            "width": width,
            "grey": packed(rows.pixels.thumbnails, "u1"),
        }
    if rows.pixels is None or rows.pixels.of_features is None:
        data |= _main_features(rows, best, comparison.setting.feature_names)
    return data


def in_view(picture: FloatArray) -> FloatArray:
    """Return points in units of the first view, which goes from 0 to 1.

    It shows all points, or most of them where a few lie so far out that the others
    would shrink to a dot.

    Parameters
    ----------
    picture : ndarray of shape (n_shown, 2)
        Both axes in one unit, before and after.
    """
    low, high = picture.min(axis=0), picture.max(axis=0)
    inner = np.percentile(picture, [0.5, 99.5], axis=0)
    size, inner_size = float((high - low).max()), float(np.ptp(inner, axis=0).max())
    if inner_size and size > 2 * inner_size:
        (low, high), size = inner, 1.1 * inner_size
    return (picture - (low + high) / 2) / (size or 1.0) + 0.5


def _colors(rows: DisplayedRows, best: FittedMetric) -> dict[str, Any]:
    if rows.target is not None and not rows.classes:
        # They are read as well as coloured: as in the file, but for rounding errors.
        return {"kind": "number", "values": [float(f"{v:.12g}") for v in rows.target]}
    if rows.target is not None:
        names, codes, kind = rows.classes, rows.target, "class"
    else:
        k = min(_N_CLUSTERS, len(np.unique(best.points, axis=0)))
        found = KMeans(k, n_init=3, random_state=0).fit(best.points)
        names, codes = [f"cluster {i + 1}" for i in range(k)], found.labels_
        kind = "cluster"
    return {
        "kind": kind,
        "classes": [short(name) for name in names],
        "counts": np.bincount(codes, minlength=len(names)).tolist(),
        "codes": packed(codes, "u2"),
    }


def _main_features(
    rows: DisplayedRows, best: FittedMetric, names: Sequence[str]
) -> dict[str, Any]:
    """Return the values of the features that contribute most to the best metric."""
    share = np.nan_to_num(feature_shares(best.components))
    largest = np.argsort(-share, kind="stable")[:_MAIN_FEATURES]
    return {
        "features": [short(names[j], 28) for j in largest],
        "cells": [
            ["missing" if np.isnan(value) else f"{value:.4g}" for value in row]
            for row in rows.X[:, largest]
        ],
    }
