"""Preconditioner: optional PCA, then within-class whitening, from a sample of rows.

Stochastic steps of one length in all directions suit data that vary about equally in
all of them; and where features are many, few directions hold what there is to learn.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from scipy.sparse import issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.base.whitening import class_means, deviations, within_class_residuals

# Below this many features nothing is gained by leaving some directions out; above
# this many, a covariance costs more than it gives.
_MANY_FEATURES, _TOO_MANY_FEATURES = 100, 2000
_KEPT_VARIANCE = 0.95
# The reduced rows are a copy: no larger than this, and at most half of the data.
_MAX_COPY_BYTES = 2**29
# So is the sample of the rows.
_SAMPLE_BYTES = 2**25
# What is added to each variance before one divides by it, as part of their mean.
_RIDGE = 1e-3


@dataclass(frozen=True)
class Preconditioner:
    """Coordinates x ↦ (xᵀ projection) whitening, in which to take stochastic steps.

    Attributes
    ----------
    rows : ndarray of int
        The sample that the coordinates come from.
    projection : ndarray of shape (n_features, n_kept) or None
        The leading principal directions, where they do as well as all features.
    whitening : ndarray of shape (n_kept, n_kept) or (n_features,)
        Gives the points of a class unit covariance, nearly; or, for diagonal maps and
        where features are very many, each feature unit variance.
    """

    rows: IntArray
    projection: FloatArray | None
    whitening: FloatArray

    @classmethod
    def find(
        cls,
        X: FloatArray,
        codes: IntArray | None,
        n_components: int,
        diagonal: bool,
        rng: Generator,
        all_directions: bool = False,
    ) -> Self:
        """Find the coordinates.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The points, of which a sample is looked at.
        codes : ndarray of shape (n_samples,) or None
            Their classes; None where there are none.
        n_components : int
            The rows of the map; no fewer directions are kept.
        diagonal : bool
            Whether the map is diagonal.
        rng : Generator
            Draws the sample.
        all_directions : bool, default=False
            Leave none out, as these points do not speak for all there will be.
        """
        rows = sample_rows(X, rng)
        if issparse(X):  # a unit for each feature would make rare ones loud
            return cls(rows, None, np.ones(X.shape[1]))
        points: FloatArray = X[rows]
        labels = np.zeros(len(rows), dtype=int) if codes is None else codes[rows]
        if diagonal or X.shape[1] > _TOO_MANY_FEATURES:
            _, units = _in_units(within_class_residuals(points, labels), points)
            return cls(rows, None, 1 / units)
        projection = None
        many = X.shape[1] > _MANY_FEATURES and not all_directions
        if codes is not None and many:
            projection = _useful(points, labels, n_components, len(X), rng)
        if projection is not None:
            points = points @ projection
        return cls(rows, projection, _whitening(points, labels))

    def start(self, A: FloatArray) -> FloatArray:
        """Return a map of the features as one of the coordinates."""
        projected = A if self.projection is None else A @ self.projection
        if self.whitening.ndim == 1:
            return projected / self.whitening
        return np.linalg.solve(self.whitening, projected.T).T

    def unwhitening(self, A: FloatArray) -> FloatArray:
        """Return a map of the coordinates as one of the projected points."""
        return A * self.whitening if self.whitening.ndim == 1 else A @ self.whitening.T

    def back(self, A: FloatArray) -> FloatArray:
        """Return a map of the coordinates as one of the features."""
        projected = self.unwhitening(A)
        return projected if self.projection is None else projected @ self.projection.T


def sample_rows(X: FloatArray, rng: Generator) -> IntArray:
    """Return the rows of a sample that is large enough for a covariance."""
    n, D = X.shape
    return np.sort(rng.choice(n, sample_size(n, D, X.dtype.itemsize), replace=False))


def sample_size(n: int, n_features: int, itemsize: int) -> int:
    """Return how many of n rows are enough for a covariance, in moderate memory."""
    most = max(1000, _SAMPLE_BYTES // (n_features * itemsize))
    return min(n, max(5000, 10 * n_features), most)


def _useful(
    X: FloatArray, codes: IntArray, n_components: int, n: int, rng: Generator
) -> FloatArray | None:
    """Return the principal directions that do as well as all features, or None.

    "As well" is put to the test: a linear discriminant learned from half of the sample
    must be no worse on the other half, within a standard error.
    """
    # Halves at random: every other row may well be of the same class.
    order = rng.permutation(len(X))
    X, codes = X[order], codes[order]
    centered = X - X.mean(axis=0)
    # Squares of very large or small numbers would leave float32.
    centered /= max(float(np.abs(centered).max()), np.finfo(X.dtype).tiny)
    variances, axes = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    variances = np.maximum(variances[::-1], 0)
    kept = np.cumsum(variances) / max(variances.sum(), np.finfo(float).tiny)
    k = int(np.searchsorted(kept, _KEPT_VARIANCE)) + 1
    k = max(k, 2 * n_components)
    if 2 * k > X.shape[1] or n * k * X.itemsize > _MAX_COPY_BYTES:
        return None
    projection: FloatArray = axes[:, ::-1][:, :k].astype(X.dtype)
    accuracy = _held_out_accuracy(centered, codes)
    error = np.sqrt(accuracy * (1 - accuracy) / (len(X) / 2))
    return (
        projection
        if _held_out_accuracy(centered @ projection, codes) >= accuracy - error
        else None
    )


def _held_out_accuracy(X: FloatArray, codes: IntArray) -> float:
    """Return how well a linear discriminant of every other point does on the rest.

    Features are in units of their own: raw ones would hide small features behind the
    ridge, and make any directions look as good as all.
    """
    learn, judge = X[::2].astype(np.float64), X[1::2]
    labels = codes[::2]
    n_classes = codes.max() + 1
    sizes = np.bincount(labels, minlength=n_classes)
    means = np.zeros((n_classes, X.shape[1]))
    known = class_means(learn, labels)
    means[: len(known)] = known
    residuals, units = _in_units(learn - means[labels], learn)
    means, judge = means / units, judge / units
    within = residuals.T @ residuals / len(learn)
    within[np.diag_indices_from(within)] += _RIDGE
    weights = np.linalg.solve(within, means.T)
    offsets = np.log(np.maximum(sizes, 1e-9)) - 0.5 * np.sum(means.T * weights, axis=0)
    return float(((judge @ weights + offsets).argmax(axis=1) == codes[1::2]).mean())


def _whitening(X: FloatArray, codes: IntArray) -> FloatArray:
    """Return what whitens the points of a class, with features in their own units."""
    residuals, units = _in_units(within_class_residuals(X, codes), X)
    variances, axes = np.linalg.eigh(residuals.T @ residuals / len(X))
    # In these units the mean is the share of features that vary at all.
    floored = np.maximum(variances, 0) + _RIDGE * max(variances.mean(), 1e-6)
    whitening: FloatArray = (axes / np.sqrt(floored)) / units[:, None]
    return whitening


def _in_units(
    residuals: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return residuals in units of each feature's standard deviation, and these.

    Where that is a matter of rounding, there are no residuals, and the unit is 1, or
    larger for large numbers, whose rounding is large.
    """
    found = deviations(residuals, points)
    sizes = np.maximum(np.abs(points).max(axis=0), 1.0)
    units = np.where(found > 0, found, sizes)
    return np.where(found > 0, residuals / units, 0.0), units
