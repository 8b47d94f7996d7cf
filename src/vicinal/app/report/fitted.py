"""Each compared metric, learned once more on the rows of the page.

What the page draws of it: a picture in two dimensions, the neighbours of each row, and
how much each feature contributes.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from vicinal.app.methods.linear_map import linear_map

if TYPE_CHECKING:
    from collections.abc import Callable

    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison import Comparison, Setting
    from vicinal.app.report.displayed import DisplayedRows

__all__ = ["FAILURES", "PLAIN", "FittedMetric", "fit_metrics", "fit_pipeline"]

# Metrics that have learned nothing but units.
PLAIN = ("euclidean", "standardised")
# How many neighbours of a row are listed.
_LISTED = 8
# Up to how many the covariances of all dimensions are quickly decomposed.
_FEW_DIMENSIONS = 1000
# What fits may raise on rows that are of no use to them; all else is a bug.
FAILURES = (ValueError, ArithmeticError, RuntimeError, MemoryError)


@dataclass(frozen=True, eq=False)
class FittedMetric:
    """One metric on the rows of the page.

    Attributes
    ----------
    name : str
        The method's.
    points : ndarray of shape (n_shown, n_components)
        The rows under it, in as many dimensions as were compared.
    picture : ndarray of shape (n_shown, 2)
        The rows in the plane.
    caption : str
        How they came there.
    neighbors : ndarray of int of shape (n_shown, n_listed)
        The nearest other rows among `points`, nearest first.
    components : ndarray of shape (n_components, n_features)
        The map of features in units of their standard deviations.
    effective_neighbors : ndarray of shape (n_known,) or None
        The effective number of neighbours of each row, where the method knows it.
    """

    name: str
    points: FloatArray
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
    """Learn every metric of a comparison on the rows of the page.

    Parameters
    ----------
    comparison : Comparison
        Which metrics.
    rows : DisplayedRows
        Which rows.
    on_progress : callable, optional
        Called after each metric as ``on_progress(done, total, method)``.

    Returns
    -------
    metrics : list of FittedMetric
        In the comparison's order, without those that could not be learned; before
        them plain standardised features, where no plain metric was compared.
    left_out : list of str
        A sentence for each of these.
    """
    names = [result.name for result in comparison.results]
    if not set(names).intersection(PLAIN):
        # Nothing is seen of "after" without a "before".
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
    X, target = rows.X, rows.target
    flat, messages = fit_pipeline(name, X, target, setting, min(2, X.shape[1]))
    points = flat.transform(rows.X)
    full = flat
    # A method with more than two dimensions now has not heeded that two were asked for.
    if points.shape[1] <= 2 and setting.n_components != 2:
        full, _ = fit_pipeline(name, X, target, setting, setting.n_components)
    picture, caption = _picture(points)
    points = full.transform(rows.X)
    _check_points(points)
    if _is_network(full):
        messages.append("Its map bends; features are those of the nearest linear one.")
    effective = getattr(full.named_steps["metric"], "effective_neighbors_", None)
    return FittedMetric(
        name=name,
        points=points,
        picture=picture,
        caption=" ".join([caption, *messages]),
        neighbors=_neighbors(points, setting),
        components=_in_standard_units(full, rows.X),
        effective_neighbors=None
        if effective is None
        else effective[np.isfinite(effective)],
    )


def fit_pipeline(
    name: str, X: FloatArray, target: Any, setting: Setting, n_components: int | None
) -> tuple[Pipeline, list[str]]:
    """Return a method's fitted pipeline, and what it warned about as sentences.

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
    # A generator would have moved on since, and make each page another one.
    seed = setting.random_state
    seed = int(seed) if isinstance(seed, int | np.integer) else 0
    pipeline = setting.method(name).pipeline(
        X, target, n_components, seed, setting.n_jobs
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


def _check_points(points: FloatArray) -> None:
    if not points.shape[1]:
        raise ValueError("it found no direction that tells these rows apart.")
    if not np.isfinite(points).all():
        raise ValueError("it has no finite distances on these rows.")


def _picture(points: FloatArray) -> tuple[FloatArray, str]:
    """Return points in the plane, and a sentence on how they came there."""
    n, d = points.shape
    _check_points(points)
    points = points.astype(np.float64)
    if d == 1:
        # In the order of the rows' golden-ratio steps: even, and the same each time.
        height = np.modf(np.arange(n) * 0.6180339887498949)[0] - 0.5
        spread = float(np.ptp(points)) or 1.0
        caption = "Learned in one dimension; the height of a point means nothing."
        return np.column_stack([points[:, 0], spread / 3 * height]), caption
    if d == 2:
        return points, "Learned in two dimensions."
    # Two of many components are wanted: a whole SVD would take seconds for pictures.
    solver = "covariance_eigh" if d <= _FEW_DIMENSIONS else "randomized"
    kept = PCA(2, svd_solver=solver, random_state=0).fit(points)
    share = float(np.nansum(kept.explained_variance_ratio_))
    return kept.transform(points), (
        f"The first two principal components of {d} dimensions, "
        f"with {share:.0%} of the variance."
    )


def _neighbors(points: FloatArray, setting: Setting) -> IntArray:
    search = NearestNeighbors(
        n_neighbors=min(_LISTED, len(points) - 1), n_jobs=setting.n_jobs
    )
    # Without rows to look up, it leaves each row itself out.
    nearest: Any = search.fit(points).kneighbors(return_distance=False)
    return nearest


def _in_standard_units(pipeline: Pipeline, X: FloatArray) -> FloatArray:
    """Return the map that acts on standardised features, whatever it was fitted on.

    For a network it is the linear map that comes nearest to it on these rows.
    """
    if _is_network(pipeline):
        filled = pipeline.named_steps["impute"].transform(X)
        rows = StandardScaler().fit_transform(filled)
        points = pipeline.transform(X).astype(np.float64)
        return np.linalg.lstsq(rows, points - points.mean(axis=0), rcond=None)[0].T
    found = linear_map(pipeline)
    filled = np.where(np.isnan(X), found.median, X)
    # A constant feature has no spread, and what the map makes of it changes nothing.
    return found.components * (filled.std(axis=0, dtype=np.float64) / found.scale)


def _is_network(pipeline: Pipeline) -> bool:
    return hasattr(pipeline.named_steps["metric"], "networks_")
