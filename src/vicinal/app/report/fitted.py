"""The metrics of the page, fitted on its rows: maps, neighbors and contributions."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from vicinal.app.methods.linear_map import is_linear, linear_map
from vicinal.app.report.text import packed, short
from vicinal.pictures import NeighborLayout

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison import Comparison, Setting
    from vicinal.app.report.rows import DisplayedRows

# Metrics that learn units alone.
PLAIN = ("euclidean", "standardised")
# Errors of a fit on unsuitable rows; all others are bugs.
FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError)


@dataclass(frozen=True, eq=False)
class FittedMetric:
    """One metric on the rows of the page.

    Attributes
    ----------
    name : str
        The name of the method.
    points : ndarray of shape (n_shown, n_components)
        The rows under it, in as many dimensions as were compared.
    crowd : ndarray of shape (n_crowd, 2)
        All held-out rows in the plane.
    picture : ndarray of shape (n_shown, 2)
        The shown ones among them.
    caption : str
        How the plane was obtained.
    neighbors : ndarray of int of shape (n_shown, n_listed)
        The nearest other rows among `points`, nearest first.
    components : ndarray of shape (n_components, n_features)
        The map of features in units of their standard deviations.
    effective_neighbors : ndarray of shape (n_known,) or None
        The effective number of neighbors of each training row, if it is known.
    """

    name: str
    points: FloatArray
    crowd: FloatArray
    picture: FloatArray
    caption: str
    neighbors: IntArray
    components: FloatArray
    effective_neighbors: FloatArray | None


def fit_metrics(
    comparison: Comparison,
    rows: DisplayedRows,
    on_progress: Callable[[int, int, str], object] | None = None,
) -> tuple[list[FittedMetric], list[str]]:
    """Fit every metric of a comparison on the rows of the page.

    Parameters
    ----------
    comparison : Comparison
        The metrics.
    rows : DisplayedRows
        The rows.
    on_progress : callable, optional
        Called after each metric as ``on_progress(done, total, method)``.

    Returns
    -------
    metrics : list of FittedMetric
        In the order of the comparison, without those that failed; after standardized
        features, if no plain metric was compared.
    left_out : list of str
        A sentence for each that failed.
    """
    names = [result.name for result in comparison.results]
    if not set(names).intersection(PLAIN):
        # A plain metric to compare with.
        names = ["standardised", *names]
    found, left_out = [], []
    for done, name in enumerate(names, start=1):
        try:
            found.append(_learned(name, rows, comparison.setting))
        except FAILURES as error:
            reason = str(error) or type(error).__name__
            left_out.append(f"{name} is not shown: {reason}")
        if on_progress is not None:
            on_progress(done, len(names), name)
    return found, left_out


def _learned(name: str, rows: DisplayedRows, setting: Setting) -> FittedMetric:
    X, target = rows.train, rows.train_target
    full, messages = fit_pipeline(name, X, target, setting, setting.n_components)
    learned, placed = full.transform(X), full.transform(rows.crowd)
    if not learned.shape[1]:
        raise ValueError("it found no direction that tells these rows apart.")
    if not all(np.isfinite(one).all() for one in (learned, placed)):
        raise ValueError("it has no finite distances on these rows.")
    points = placed[rows.shown]
    crowd, caption = _picture(placed, learned)
    if not is_linear(full[-1]):
        messages.append("Its map bends; features are those of the nearest linear one.")
    effective = getattr(full.named_steps["metric"], "effective_neighbors_", None)
    n_listed = min(8, len(points) - 1)
    nearest = NearestNeighbors(n_neighbors=n_listed, n_jobs=setting.n_jobs).fit(points)
    return FittedMetric(
        name=name,
        points=points,
        crowd=crowd,
        picture=crowd[rows.shown],
        caption=" ".join([caption, *messages]),
        neighbors=nearest.kneighbors(return_distance=False),
        components=_in_standard_units(full, X),
        effective_neighbors=None
        if effective is None
        else effective[np.isfinite(effective)],
    )


def fit_pipeline(
    name: str, X: FloatArray, target: Any, setting: Setting, n_components: int | None
) -> tuple[Pipeline, list[str]]:
    """Return the fitted pipeline of a method, and its warnings as sentences.

    Parameters
    ----------
    name : str
        The method's.
    X : ndarray of shape (n_rows, n_features)
        The rows to learn from.
    target : ndarray of shape (n_rows,) or None
        Their classes as integers, or numbers.
    setting : Setting
        Of the comparison.
    n_components : int or None
        Dimensions, for the methods that reduce them.
    """
    pipeline = setting.method(name).pipeline(
        X, target, n_components, setting.random_state, setting.n_jobs
    )
    with warnings.catch_warnings(record=True) as caught:
        for kind in (UserWarning, RuntimeWarning):
            warnings.simplefilter("always", kind)
        pipeline.fit(X, target)
    messages = dict.fromkeys(
        "It stopped at its iteration limit."
        if issubclass(one.category, ConvergenceWarning)
        else " ".join(str(one.message).split())
        for one in caught
    )
    return pipeline, list(messages)


def _picture(points: FloatArray, learned: FloatArray) -> tuple[FloatArray, str]:
    """Place points among the training rows in the plane, and say how.

    More than two dimensions are laid out. The widest direction is horizontal.
    """
    n, d = points.shape
    if d == 1:
        # In the order of the rows' golden-ratio steps: even, and the same each time.
        height = np.modf(np.arange(n) * 0.6180339887498949)[0] - 0.5
        spread = float(np.ptp(points)) or 1.0
        caption = "Learned in one dimension; the height of a point means nothing."
        return np.column_stack([points[:, 0], spread / 3 * height]), caption
    plane, caption = learned, "Learned in two dimensions."
    if d > 2:
        layout = NeighborLayout(random_state=0).fit(learned)
        # A row far away from all others is drawn beside the nearest.
        low, high = learned.min(axis=0), learned.max(axis=0)
        near = np.clip(points, 2 * low - high, 2 * high - low)
        plane, points = layout.embedding_, layout.transform(near)
        caption = (
            f"Neighbours in {d} dimensions are drawn near each other; long distances "
            "mean little."
        )
    kept = PCA(2, svd_solver="covariance_eigh").fit(plane.astype(np.float64))
    return kept.transform(points.astype(np.float64)), caption


def _in_standard_units(pipeline: Pipeline, X: FloatArray) -> FloatArray:
    """Return the map that acts on standardised features, whatever it was fitted on.

    For a network it is the linear map that comes nearest to it on these rows.
    """
    if not is_linear(pipeline[-1]):
        rows = np.nan_to_num(StandardScaler().fit_transform(X))
        points = pipeline.transform(X).astype(np.float64)
        return np.linalg.lstsq(rows, points - points.mean(axis=0), rcond=None)[0].T
    found = linear_map(pipeline)
    filled = np.where(np.isnan(X), found.median, X)
    # A constant feature has no spread and does not change distances.
    return found.components * (filled.std(axis=0, dtype=np.float64) / found.scale)


def before_and_after(comparison: Comparison, shown: Sequence[str]) -> tuple[str, str]:
    """Return the names of the two metrics to compare side by side.

    Parameters
    ----------
    comparison : Comparison
        Recommends one of them.
    shown : sequence of str
        The metrics that the page has; at least one.

    Returns
    -------
    before : str
        Standardized features; the raw ones if no others are shown, or if
        standardizing is recommended.
    after : str
        The recommended metric. If that is a plain one, the best learned metric, to
        show the difference. The same as `before` if there is no other.
    """
    ranked = [one.name for one in comparison.ranked() if one.name in shown]
    by_score = ranked or list(shown)
    advised = comparison.recommended
    if advised is None or advised not in shown:
        advised = by_score[0]
    plain = [name for name in reversed(PLAIN) if name in shown]
    if advised not in PLAIN:
        return (plain or [advised])[0], advised
    if advised == "standardised" and "euclidean" in shown:
        return "euclidean", advised
    others = [name for name in by_score if name not in PLAIN]
    others += [name for name in plain if name != advised]
    return advised, (others or [advised])[0]


def map_data(
    rows: DisplayedRows,
    metrics: Sequence[FittedMetric],
    before: str,
    after: str,
    columns: Sequence[dict[str, Any]] = (),
    names: Sequence[str] | None = None,
    target: str = "target",
) -> dict[str, Any]:
    """Return the data of the maps and the lists of neighbors, for the script.

    Parameters
    ----------
    rows : DisplayedRows
        The rows of the page.
    metrics : sequence of FittedMetric
        At least one.
    before, after : str
        The metrics whose neighbours are listed first.
    columns : sequence of dict
        The values of the rows, from `vicinal.app.report.rows.column_data`.
    names : sequence of str, optional
        The names of the rows.
    target : str, default="target"
        The name of the target.
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
                "aspect": view_of(metric.picture)[2],
                "near": packed(metric.neighbors, "u4"),
                "cells": _cells(metric, rows),
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

    If half of the numbers share a sixth of the colors or less, the stops are the
    quartiles: otherwise a few large numbers would leave one color for all others.

    Parameters
    ----------
    target : ndarray of shape (n_shown,)
        The numbers to be coloured.
    """
    quartiles = np.percentile(target, [0, 25, 50, 75, 100])
    by_rank = bool(quartiles[3] - quartiles[1] < np.ptp(target) / 6)
    even = np.linspace(quartiles[0], quartiles[-1], 5)
    return (quartiles if by_rank else even).tolist(), by_rank


def view_of(picture: FloatArray) -> tuple[FloatArray, float, float]:
    """Return the first view of a map: its middle, its size, and its height by width.

    It shows all points, or most of them if a few outliers would shrink the others to
    a dot. The panel is as high as the points need, from 0.3 to 1 of its width.

    Parameters
    ----------
    picture : ndarray of shape (n_shown, 2)
        Points in the plane.
    """
    ends = np.array([picture.min(axis=0), picture.max(axis=0)])
    inner = np.percentile(picture, [0.5, 99.5], axis=0)
    sides, inner_sides = np.ptp(ends, axis=0), np.ptp(inner, axis=0)
    if inner_sides.any() and sides.max() > 2 * inner_sides.max():
        ends, sides = inner, 1.1 * inner_sides
    size = float(sides.max()) or 1.0
    aspect = round(float(min(max(sides[1] / size, 0.3), 1.0)), 3)
    return ends.mean(axis=0), size, aspect


def in_view(picture: FloatArray, points: FloatArray | None = None) -> FloatArray:
    """Return points in units of the first view, which goes from 0 to 1.

    Parameters
    ----------
    picture : ndarray of shape (n_shown, 2)
        Both axes in one unit, before and after.
    points : ndarray of shape (n_samples, 2), optional
        Other points in the view of `picture`.
    """
    middle, size, _ = view_of(picture)
    return ((picture if points is None else points) - middle) / size + 0.5


def _cells(
    metric: FittedMetric, rows: DisplayedRows, n_bins: int = 96
) -> dict[str, str] | None:
    """Return the density of the held-out rows on a grid, if not all are shown.

    A cell has its place, the logarithm of its count, and the commonest class or the
    mean number of its rows; without a target, nothing.
    """
    if len(rows.crowd) == len(rows.X):
        return None
    places = np.floor(in_view(metric.picture, metric.crowd) * n_bins)
    inside = ((places >= 0) & (places < n_bins)).all(axis=1)
    at, of_points, counts = np.unique(
        (places[inside] @ [1, n_bins]).astype(int),
        return_inverse=True,
        return_counts=True,
    )
    found = {
        "at": packed(at, "u2"),
        "shade": packed(255 * np.log1p(counts) / np.log1p(counts.max()), "u1"),
    }
    if rows.crowd_target is not None:
        target = rows.crowd_target[inside]
        if rows.classes:
            votes = np.zeros((at.size, len(rows.classes)), dtype=np.uint32)
            np.add.at(votes, (of_points, target.astype(int)), 1)
            found["codes"] = packed(votes.argmax(axis=1), "u2")
        else:
            means = np.bincount(of_points, target) / counts
            found["values"] = packed(means, "f4")
    return found


def _colors(
    rows: DisplayedRows, last: FittedMetric, max_clusters: int = 8
) -> dict[str, Any]:
    """Return the colors of rows: by target, or by clusters of the last metric."""
    if rows.target is not None and not rows.classes:
        # They are read as well as coloured: as in the file, but for rounding errors.
        return {
            "kind": "number",
            "values": [float(f"{v:.12g}") for v in rows.target],
            "stops": color_stops(np.asarray(rows.target, dtype=np.float64))[0],
        }
    if rows.target is not None:
        names, codes, kind = rows.classes, np.asarray(rows.target, np.intp), "class"
    else:
        # Imported here: only data without a target need it, and it is slow to load.
        from sklearn.cluster import KMeans

        k = min(max_clusters, len(np.unique(last.points, axis=0)))
        found = KMeans(k, n_init=3, random_state=0).fit(last.points)
        names, codes = [f"cluster {i + 1}" for i in range(k)], found.labels_
        kind = "cluster"
    return {
        "kind": kind,
        "classes": [short(name) for name in names],
        "counts": np.bincount(codes, minlength=len(names)).tolist(),
        "codes": packed(codes, "u2"),
    }
