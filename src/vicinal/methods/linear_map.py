"""A fitted pipeline as four arrays: what fills, what scales, and the map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray

__all__ = ["LinearMap", "linear_map"]


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A fitted pipeline in four arrays.

    A row x goes to ``components @ ((filled - mean) / scale)``, where `filled` is x
    with `median` where a number is missing; up to a translation, which changes no
    distance.
    """

    median: FloatArray
    mean: FloatArray
    scale: FloatArray
    components: FloatArray


def linear_map(pipeline: Pipeline) -> LinearMap:
    """Return what a fitted pipeline of `Method.pipeline` does to a row."""
    median: FloatArray = pipeline.named_steps["impute"].statistics_
    D = median.size
    scaler = pipeline.named_steps["scale"]
    plain = isinstance(scaler, str)
    mean = np.zeros(D) if plain else scaler.mean_
    scale = np.ones(D) if plain else scaler.scale_
    return LinearMap(
        median, mean, scale, _components(pipeline.named_steps["metric"], D)
    )


def _components(metric: Any, n_features: int) -> FloatArray:
    if isinstance(metric, str):
        return np.eye(n_features)
    if isinstance(metric, LinearDiscriminantAnalysis):
        return metric.scalings_[:, : metric.get_feature_names_out().size].T
    components: FloatArray = metric.components_
    if isinstance(metric, PCA) and metric.whiten:
        return components / np.sqrt(metric.explained_variance_)[:, None]
    return components
