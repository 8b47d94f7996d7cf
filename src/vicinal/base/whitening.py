"""Residuals within classes and the map that whitens them, safe against rounding.

What separates a direction that varies from one that only rounds is tied to the type
that the data came in, and to each feature's own size: never to a fixed number.
"""

from typing import Any, NamedTuple

import numpy as np

from vicinal._typing import FloatArray, IntArray

# How many roundings of a feature's largest value make a deviation.
_ROUNDINGS = 8.0
# Covariances are formed in float64, whose eigenvalues are good to this of the largest.
_PRECISION = 1e-13


def rounding(X: FloatArray) -> FloatArray:
    """Return what each feature's values may be off by, given the type of X."""
    size = np.abs(X).max(axis=0, initial=0).astype(np.float64)
    return _ROUNDINGS * float(np.finfo(X.dtype).eps) * size


def class_means(
    X: FloatArray, codes: IntArray, weights: FloatArray | None = None
) -> FloatArray:
    """Return the mean of each class, in float64.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0; a class without points has the mean 0.
    weights : ndarray of shape (n_samples,) or None, default=None
        How many points each row stands for; None is one.

    Returns
    -------
    ndarray of shape (n_classes, n_features)
    """
    n_classes = int(codes.max(initial=-1)) + 1
    means = np.zeros((n_classes, X.shape[1]))
    for c in range(n_classes):
        members = codes == c
        if members.any():
            means[c] = mean(X[members], None if weights is None else weights[members])
    return means


def mean(X: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the mean of the points, in float64."""
    if weights is None:
        return X.mean(axis=0, dtype=np.float64)
    average: FloatArray = weights @ X.astype(np.float64) / weights.sum()
    return average


def within_class_residuals(
    X: FloatArray, codes: IntArray | None, weights: FloatArray | None = None
) -> FloatArray:
    """Return the points minus their classes' means, in float64.

    Parameters
    ----------
    X, codes, weights
        As for `class_means`; codes of None are one class.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        With weights, each row times the root of its weight, of which the mean is 1:
        plain mean squares of it are weighted ones of the points.
    """
    residuals = X - (
        mean(X, weights) if codes is None else class_means(X, codes, weights)[codes]
    )
    if weights is None:
        return residuals
    return residuals * np.sqrt(weights / weights.mean())[:, None]


def deviations(residuals: FloatArray, X: FloatArray) -> FloatArray:
    """Return each feature's standard deviation; 0 where it is a matter of rounding.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples, n_features)
        The points minus some means.
    X : ndarray of shape (n_samples, n_features)
        The points themselves, whose type and size tell what rounding is.
    """
    largest = np.abs(residuals).max(axis=0, initial=0)
    # In units of the largest, so that squares neither overflow nor vanish.
    unit = np.where(largest > 0, largest, 1.0)
    found: FloatArray = unit * np.sqrt(np.mean(np.square(residuals / unit), axis=0))
    return np.where(found > rounding(X), found, 0.0)


class Spread(NamedTuple):
    """The principal axes of residuals, in each feature's own unit.

    Attributes
    ----------
    units : ndarray of shape (n_features,)
        The features' deviations; infinity for those that do not vary.
    axes : ndarray of shape (n_features, n_axes)
        Orthonormal, of the features in their units; ascending by variance.
    variances : ndarray of shape (n_axes,)
        Along the axes; axes that only round are left out.
    """

    units: FloatArray
    axes: FloatArray
    variances: FloatArray

    def whitening(self) -> FloatArray:
        """Return the (n_features, n_axes) map W: residuals @ W have unit covariance."""
        white: FloatArray = self.axes / np.sqrt(self.variances)
        return white / self.units[:, None]

    def inverse_root(self, shrinkage: float = 0.0) -> FloatArray:
        """Return a square map under which residuals have unit covariance.

        Parameters
        ----------
        shrinkage : float, default=0.0
            In [0, 1]: how far the covariance is shrunk to that of independent
            features first. With 0, axes without variance are mapped to nothing.
        """
        shrunk = (1 - shrinkage) * self.variances + shrinkage
        rest = 1 / np.sqrt(shrinkage) if shrinkage > 0 else 0.0
        root = (self.axes * (1 / np.sqrt(shrunk) - rest)) @ self.axes.T
        root[np.diag_indices_from(root)] += rest
        square: FloatArray = root / self.units
        return square


def spread(residuals: FloatArray, X: FloatArray) -> Spread:
    """Return along which axes residuals vary, and how much.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples, n_features)
        The points minus some means, float64.
    X : ndarray of shape (n_samples, n_features)
        The points, whose type and size tell what rounding is.
    """
    n, n_features = residuals.shape
    units = deviations(residuals, X)
    varying = units > 0
    scaled: Any = residuals / np.where(varying, units, np.inf)
    if n < n_features:  # the covariance would be larger than the points
        _, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
        variances, axes = sizes[::-1] ** 2 / n, rows[::-1].T
    else:
        variances, axes = np.linalg.eigh(scaled.T @ scaled / n)
    noise = np.square(axes).T @ np.square(
        np.divide(rounding(X), units, out=np.zeros(n_features), where=varying)
    )
    floor = np.maximum(_PRECISION * variances.max(initial=0), noise)
    kept = variances > floor
    return Spread(np.where(varying, units, np.inf), axes[:, kept], variances[kept])


def relevant_components(
    X: FloatArray,
    codes: IntArray,
    d: int,
    shrinkage: float = 0.0,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return S_W^(−1/2), or at low rank the main directions of what it maps to: RCA.

    Parameters
    ----------
    X, codes, weights
        As for `class_means`.
    d : int
        How many rows the map shall have.
    shrinkage : float, default=0.0
        As for `Spread.inverse_root`.

    Returns
    -------
    ndarray of shape (d, n_features)
    """
    within = spread(within_class_residuals(X, codes, weights), X)
    if d == X.shape[1]:
        return within.inverse_root(shrinkage)
    if shrinkage > 0:
        shrunk = (1 - shrinkage) * within.variances + shrinkage
        within = within._replace(variances=shrunk)
    return discriminant_rows(X, codes, within, d, weights)


def discriminant_rows(
    X: FloatArray,
    codes: IntArray,
    within: Spread,
    d: int,
    weights: FloatArray | None = None,
) -> FloatArray:
    """Return d rows that whiten the classes, those that tell them apart first."""
    white = within.whitening()
    apart = (class_means(X, codes, weights) - mean(X, weights)) @ white
    apart *= np.sqrt(np.bincount(codes, weights))[:, None]
    directions = np.linalg.svd(apart)[2]
    return filled((white @ directions[:d].T).T, d)


def filled(rows: FloatArray, d: int) -> FloatArray:
    """Return d rows: zeros where the data have fewer dimensions."""
    return np.vstack([rows, np.zeros((d - len(rows), rows.shape[1]))])
