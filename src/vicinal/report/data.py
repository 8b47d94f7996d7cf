"""What the page's script draws the maps from, as plain lists and packed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans

from vicinal._contributions import shares
from vicinal.report.metrics import PLAIN
from vicinal.report.text import packed, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray, IntArray
    from vicinal.comparison import Comparison
    from vicinal.report.metrics import Learned
    from vicinal.report.rows import Shown

__all__ = ["map_data"]

_N_CLUSTERS = 8
_TOLD_FEATURES = 5


def map_data(
    comparison: Comparison, rows: Shown, metrics: Sequence[Learned]
) -> dict[str, Any]:
    """Return all that the maps and the lists of neighbours are drawn from.

    Parameters
    ----------
    comparison : Comparison
        Says which metric did best.
    rows : Shown
        The rows of the page.
    metrics : sequence of Learned
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
                "xy": packed(_on_a_square(metric.picture), "u2"),
                "near": packed(metric.neighbors, "u4"),
            }
            for metric in metrics
        ],
        **_colours(rows, best),
    }
    if rows.pixels is not None:
        _, height, width = rows.pixels.thumbnails.shape
        data["pixels"] = {
            "height": height,
            "width": width,
            "grey": packed(rows.pixels.thumbnails, "u1"),
        }
    if rows.pixels is None or rows.pixels.of_features is None:
        data |= _told(rows, best, comparison.setting.feature_names)
    return data


def _on_a_square(picture: FloatArray) -> IntArray:
    """Return points as integers from 0 to 65535, both axes in one unit."""
    low, high = picture.min(axis=0), picture.max(axis=0)
    size = float((high - low).max()) or 1.0
    placed = (picture - (low + high) / 2) / size + 0.5
    return np.rint(65535 * placed).clip(0, 65535).astype(np.intp)


def _colours(rows: Shown, best: Learned) -> dict[str, Any]:
    if rows.target is not None and not rows.classes:
        # Six digits are more than a colour or a reader can tell apart.
        return {"kind": "number", "values": [float(f"{v:.6g}") for v in rows.target]}
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


def _told(rows: Shown, best: Learned, names: Sequence[str]) -> dict[str, Any]:
    """Return the values of the features that the best metric listens to most."""
    share = np.nan_to_num(shares(best.components))
    told = np.argsort(-share, kind="stable")[:_TOLD_FEATURES]
    return {
        "features": [short(names[j], 28) for j in told],
        "told": [
            ["missing" if np.isnan(value) else f"{value:.4g}" for value in row]
            for row in rows.X[:, told]
        ],
    }
