"""What the page's script draws the maps from, as plain lists and packed numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans

from vicinal.app.report.sanitize import packed, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vicinal._typing import FloatArray
    from vicinal.app.report.displayed import DisplayedRows
    from vicinal.app.report.fitted import FittedMetric

__all__ = ["color_stops", "in_view", "map_data"]

_N_CLUSTERS = 8


def map_data(
    rows: DisplayedRows,
    metrics: Sequence[FittedMetric],
    before: str,
    after: str,
    columns: Sequence[dict[str, Any]] = (),
    names: Sequence[str] | None = None,
    target: str = "target",
) -> dict[str, Any]:
    """Return all that the maps and the lists of neighbours are drawn from.

    Parameters
    ----------
    rows : DisplayedRows
        The rows of the page.
    metrics : sequence of FittedMetric
        At least one.
    before, after : str
        The metrics whose neighbours are listed first.
    columns : sequence of dict
        The values of the rows, from `vicinal.app.report.cells.column_data`.
    names : sequence of str, optional
        What the rows are called.
    target : str, default="target"
        What the target is called.
    """
    shown = [metric.name for metric in metrics]
    last = metrics[shown.index(after)]
    data: dict[str, Any] = {
        "n": len(rows.X),
        "k": int(last.neighbors.shape[1]),
        "before": shown.index(before),
        "after": shown.index(after),
        "target": target,
        "rows": packed(rows.numbers, "u4"),
        "methods": [
            {
                "name": metric.name,
                "xy": packed(in_view(metric.picture), "f4"),
                "near": packed(metric.neighbors, "u4"),
            }
            for metric in metrics
        ],
        **_colors(rows, last),
    }
    if names is not None:
        data["names"] = list(names)
    if columns:
        data["columns"] = list(columns)
    if rows.pixels is not None:
        _, height, width = rows.pixels.thumbnails.shape
        data["pixels"] = {
            "height": height,
            "width": width,
            "grey": packed(rows.pixels.thumbnails, "u1"),
        }
    return data


def color_stops(target: FloatArray) -> tuple[list[float], bool]:
    """Return five numbers at even steps of the colours, and whether ranks decide.

    Where half of the numbers would share a sixth of the colours or less, they are
    the quartiles: otherwise a few large numbers would leave all others one colour.

    Parameters
    ----------
    target : ndarray of shape (n_shown,)
        The numbers to be coloured.
    """
    quartiles = np.percentile(target, [0, 25, 50, 75, 100])
    by_rank = bool(quartiles[3] - quartiles[1] < np.ptp(target) / 6)
    even = np.linspace(quartiles[0], quartiles[-1], 5)
    return (quartiles if by_rank else even).tolist(), by_rank


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


def _colors(rows: DisplayedRows, last: FittedMetric) -> dict[str, Any]:
    if rows.target is not None and not rows.classes:
        # They are read as well as coloured: as in the file, but for rounding errors.
        return {
            "kind": "number",
            "values": [float(f"{v:.12g}") for v in rows.target],
            "stops": color_stops(np.asarray(rows.target, dtype=np.float64))[0],
        }
    if rows.target is not None:
        names, codes, kind = rows.classes, rows.target, "class"
    else:
        k = min(_N_CLUSTERS, len(np.unique(last.points, axis=0)))
        found = KMeans(k, n_init=3, random_state=0).fit(last.points)
        names, codes = [f"cluster {i + 1}" for i in range(k)], found.labels_
        kind = "cluster"
    return {
        "kind": kind,
        "classes": [short(name) for name in names],
        "counts": np.bincount(codes, minlength=len(names)).tolist(),
        "codes": packed(codes, "u2"),
    }
