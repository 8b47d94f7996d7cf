"""A fitted pipeline as four arrays: what fills, what scales, and the map."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray

__all__ = ["LinearMap", "affine_map", "linear_map"]

# How far a map may be from an affine one, in parts of what it maps to.
_TOLERANCE = 1e-5


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
    ours = type(metric).__module__.startswith("vicinal.")
    if hasattr(metric, "networks_"):
        raise ValueError("a network is not a linear map, and has no matrix to keep.")
    if not ours and not isinstance(metric, PCA | LinearDiscriminantAnalysis):
        return affine_map(metric, n_features)[0]
    if isinstance(metric, LinearDiscriminantAnalysis):
        return metric.scalings_[:, : metric.get_feature_names_out().size].T
    components: FloatArray = metric.components_
    if isinstance(metric, PCA) and metric.whiten:
        return components / np.sqrt(metric.explained_variance_)[:, None]
    return components


def affine_map(transformer: Any, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Return A and b of a fitted transformer that maps a row x to A x + b.

    It is asked where it maps zero and a step along each feature, and then, whether
    random rows are mapped as follows from these.

    Parameters
    ----------
    transformer : estimator
        With a `transform`.
    n_features : int
        How many numbers a row has.

    Returns
    -------
    components : ndarray of shape (n_components, n_features)
        A.
    offset : ndarray of shape (n_components,)
        b.

    Raises
    ------
    ValueError
        When it is no such map.
    """
    probes = np.random.default_rng(0).normal(size=(8, n_features))
    asked = np.concatenate([np.zeros((1, n_features)), np.eye(n_features), probes])
    with warnings.catch_warnings():
        # That the columns have no names here, for one.
        warnings.simplefilter("ignore")
        mapped = np.asarray(transformer.transform(asked), dtype=np.float64)
    offset, along, found = mapped[0], mapped[1 : 1 + n_features], mapped[-8:]
    components = (along - offset).T
    expected = probes @ components.T + offset
    error = np.abs(expected - found).max(initial=0)
    if not error <= _TOLERANCE * np.abs(mapped).max(initial=0):
        raise ValueError(
            f"{type(transformer).__name__} is not a linear map: it cannot be written "
            "as a matrix."
        )
    return components, offset
