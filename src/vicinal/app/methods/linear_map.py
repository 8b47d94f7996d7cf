"""A fitted pipeline as a linear map: its matrix, feature shares and directions."""

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


@dataclass(frozen=True, eq=False)
class LinearMap:
    """A fitted pipeline in four arrays.

    A row x is mapped to ``components @ ((filled - mean) / scale)`` up to a translation;
    `filled` is x with missing values replaced by `median`.
    """

    median: FloatArray
    mean: FloatArray
    scale: FloatArray
    components: FloatArray


def linear_map(pipeline: Pipeline) -> LinearMap:
    """Return the linear map of a fitted pipeline of `Method.pipeline`."""
    steps = pipeline.named_steps
    scaler, metric = steps["scale"], steps["metric"]
    median: FloatArray = steps["impute"].statistics_
    d = median.size
    ours = type(metric).__module__.startswith("vicinal.")
    mean, scale = np.zeros(d), np.ones(d)
    if not isinstance(scaler, str):
        mean, scale = scaler.mean_, scaler.scale_
    components: FloatArray
    if isinstance(metric, str):
        components = np.eye(d)
    elif not is_linear(metric):
        raise ValueError(f"{type(metric).__name__} is no linear map: it has no matrix.")
    elif isinstance(metric, LinearDiscriminantAnalysis):
        components = metric.scalings_[:, : metric.get_feature_names_out().size].T
    elif ours or (isinstance(metric, PCA) and not metric.whiten):
        components = metric.components_
    else:
        components, _ = affine_map(metric, d)
    return LinearMap(median, mean, scale, components)


def is_linear(metric: Any) -> bool:
    """Return whether a fitted metric is a linear map: no network, and no curves."""
    return not (hasattr(metric, "networks_") or hasattr(metric, "shape_functions"))


def affine_map(
    transformer: Any, n_features: int, tol: float = 1e-5
) -> tuple[FloatArray, FloatArray]:
    """Return A and b of a fitted transformer that maps a row x to A x + b.

    They follow from the images of zero and of the unit vectors. Random rows are mapped
    to check that the transformer is affine.

    Parameters
    ----------
    transformer : estimator
        A fitted transformer.
    n_features : int
        Number of features.
    tol : float, default=1e-5
        Largest deviation from an affine map, relative to the largest image.

    Returns
    -------
    components : ndarray of shape (n_components, n_features)
        A.
    offset : ndarray of shape (n_components,)
        b.

    Raises
    ------
    ValueError
        If the transformer is not affine.
    """
    probes = np.random.default_rng(0).normal(size=(8, n_features))
    rows = np.concatenate([np.zeros((1, n_features)), np.eye(n_features), probes])
    with warnings.catch_warnings():
        # For example, that the columns have no names.
        warnings.simplefilter("ignore")
        mapped = np.asarray(transformer.transform(rows), dtype=np.float64)
    offset, images, found = np.split(mapped, [1, 1 + n_features])
    components = (images - offset).T
    error = np.abs(probes @ components.T + offset - found).max(initial=0)
    if not error <= tol * np.abs(mapped).max(initial=0):
        raise ValueError(
            f"{type(transformer).__name__} is not a linear map: it cannot be written "
            "as a matrix."
        )
    return components, offset[0]


def feature_shares(components: FloatArray) -> FloatArray:
    """Return the share of each feature in a map A: ‖A e_j‖² / ‖A‖².

    For independent features of unit variance, it is the part of the expected squared
    distance between rows that comes from feature j.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The map A, for features in comparable units.

    Returns
    -------
    ndarray of shape (n_features,)
        Shares that sum to one; all zero if the map is zero.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.linear_map import feature_shares
    >>> feature_shares(np.array([[3.0, 0.0], [0.0, 1.0]])).round(2).tolist()
    [0.9, 0.1]
    """
    squares = np.square(components).sum(axis=0)
    return squares / (squares.sum() or 1)


def directions(
    components: FloatArray, n_directions: int = 2
) -> tuple[FloatArray, FloatArray]:
    """Return the directions that a map stretches most: its right singular vectors.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The map A.
    n_directions : int, default=2
        The maximal number of directions.

    Returns
    -------
    shares : ndarray of shape (n_directions,)
        Share of each direction in the squared norm of the map.
    loadings : ndarray of shape (n_directions, n_features)
        Unit vectors; the largest entry of each is positive.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.linear_map import directions
    >>> shares, loadings = directions(np.array([[0.0, -2.0], [1.0, 0.0]]))
    >>> shares.round(2).tolist(), loadings.round(2).tolist()
    ([0.8, 0.2], [[0.0, 1.0], [1.0, 0.0]])
    """
    _, sizes, rows = np.linalg.svd(components, full_matrices=False)
    kept = min(n_directions, int(np.count_nonzero(sizes)))
    rows = rows[:kept]
    signs = np.sign(rows[np.arange(kept), np.abs(rows).argmax(axis=1)])
    shares = np.square(sizes[:kept]) / (np.square(sizes).sum() or 1)
    # Adding zero turns −0 into 0.
    return shares, rows * signs[:, None] + 0.0
