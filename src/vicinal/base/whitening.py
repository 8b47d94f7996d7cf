"""Residuals within classes and the map that whitens them, safe against rounding.

What separates a direction that varies from one that only rounds is tied to the type
that the data came in, and to each feature's own size: never to a fixed number.
"""

from typing import NamedTuple

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.blas import single_threaded_blas
from vicinal.neighborhood.parallel import (
    SMALL,
    ReproducibleSum,
    blocks,
    rows_per_block,
    run_in_threads,
)

# How many roundings of a feature's largest value make a deviation.
_ROUNDINGS = 8.0
# Covariances are formed in float64, whose eigenvalues are good to this of the largest.
_PRECISION = 1e-13
# How many numbers of the points are copied at a time.
_AT_ONCE = 2**18


def rounding(X: FloatArray) -> FloatArray:
    """Return what each feature's values may be off by, given the type of X."""
    return _ROUNDINGS * float(np.finfo(X.dtype).eps) * largest(X)


def largest(X: FloatArray) -> FloatArray:
    """Return each feature's largest absolute value, in float64."""
    sizes: FloatArray = np.maximum(X.max(axis=0, initial=0), -X.min(axis=0, initial=0))
    return sizes.astype(np.float64)


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
    sizes = np.bincount(codes, weights)
    # Sorted by class, so that the sums of all classes are one pass over the points.
    order = np.argsort(codes, kind="stable")
    for part in blocks(slice(0, len(X)), max(1, _AT_ONCE // max(1, X.shape[1]))):
        rows = order[part]
        first = np.flatnonzero(np.diff(codes[rows], prepend=-1))
        block = X[rows].astype(np.float64)
        # Divided before they are added up: the sum of large numbers may overflow.
        shares = 1 / sizes[codes[rows]]
        block *= (shares if weights is None else weights[rows] * shares)[:, None]
        means[codes[rows[first]]] += np.add.reduceat(block, first, axis=0)
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


def spread(
    X: FloatArray,
    codes: IntArray | None = None,
    weights: FloatArray | None = None,
    n_threads: int = 1,
    measured: FloatArray | None = None,
) -> Spread:
    """Return along which axes points vary about their classes' means, and how much.

    Parameters
    ----------
    X, codes, weights
        As for `within_class_residuals`.
    n_threads : int, default=1
        The result is the same, bit for bit, for any number.
    measured : ndarray of shape (n_samples, n_features) or None, default=None
        The points as they came, whose type and size tell what rounding is; None is X.
    """
    n, n_features = X.shape
    measured = X if measured is None else measured
    noise = rounding(measured)
    if n < n_features:  # the covariance would be larger than the points
        residuals = within_class_residuals(X, codes, weights)
        units = deviations(residuals, measured)
        varying = units > 0
        scaled: FloatArray = residuals[:, varying] / units[varying]
        with single_threaded_blas():
            _, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
        variances, axes = sizes[::-1] ** 2 / n, rows[::-1].T
    else:
        C, unit = covariance(X, codes, weights, n_threads)
        found = np.sqrt(np.diag(C))
        units = np.where(unit * found > noise, unit * found, 0.0)
        varying = units > 0
        scaled = C[np.ix_(varying, varying)]
        scaled /= np.multiply.outer(found[varying], found[varying])
        with single_threaded_blas():
            variances, axes = np.linalg.eigh(scaled)
    noise = np.square(axes).T @ np.square(noise[varying] / units[varying])
    floor = np.maximum(_PRECISION * variances.max(initial=0), noise)
    kept = variances > floor
    whole = np.zeros((n_features, int(kept.sum())))
    whole[varying] = axes[:, kept]
    return Spread(np.where(varying, units, np.inf), whole, variances[kept])


def covariance(
    X: FloatArray,
    codes: IntArray | None = None,
    weights: FloatArray | None = None,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return the mean product of residuals, in float64, and the features' units.

    Parameters
    ----------
    X, codes, weights
        As for `within_class_residuals`.
    n_threads : int, default=1
        The result is the same, bit for bit, for any number.

    Returns
    -------
    C : ndarray of shape (n_features, n_features)
        Of the features in these units, so that squares neither overflow nor vanish.
    units : ndarray of shape (n_features,)
        Powers of two, by which dividing rounds nothing.
    """
    n, n_features = X.shape
    own = np.zeros(n, dtype=int) if codes is None else codes
    means = mean(X, weights)[None] if codes is None else class_means(X, codes, weights)
    size = largest(X)
    # The largest power of two is 2¹⁰²³: a number may be nearly twice as large.
    exponents = np.ceil(np.log2(np.where(size > 0, size, 1.0)))
    units = np.exp2(np.minimum(exponents, 1023))
    roots = None if weights is None else np.sqrt(weights / weights.mean())
    product = ReproducibleSum(np.zeros((n_features, n_features)))

    def do(position: int, rows: slice) -> None:
        residuals = (X[rows] - means[own[rows]]) / units
        if roots is not None:
            residuals *= roots[rows, None]
        product.add(position, np.matmul(residuals.T, residuals, out=product.buffer()))

    size_of_block = rows_per_block(n, 8 * n_features)
    parts = blocks(slice(0, n), max(size_of_block, n_features))
    run_in_threads(lambda: do, parts, n_threads if n * n_features**2 > SMALL else 1)
    return product.total / n, units


def relevant_components(
    X: FloatArray,
    codes: IntArray,
    d: int,
    shrinkage: float = 0.0,
    weights: FloatArray | None = None,
    n_threads: int = 1,
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
    n_threads : int, default=1
        The result is the same, bit for bit, for any number.

    Returns
    -------
    ndarray of shape (d, n_features)
    """
    within = spread(X, codes, weights, n_threads)
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
    class_weight: str = "size",
) -> FloatArray:
    """Return d rows that whiten the classes, the most discriminative first.

    Beyond the directions that separate the classes, the whitened data have no direction
    of their own. The rest follows the principal axes within the classes, largest
    variance first, so that rounding decides nothing.

    Parameters
    ----------
    X, codes, weights
        As for `class_means`.
    within : Spread
        Of the residuals within the classes.
    d : int
        Number of rows.
    class_weight : {"size", "equal"}, default="size"
        Weight of each class in the scatter between classes: its size, or 1.
    """
    white = within.whitening()
    n_axes = white.shape[1]
    apart = (class_means(X, codes, weights) - mean(X, weights)) @ white
    if class_weight == "size":
        apart *= np.sqrt(np.bincount(codes, weights))[:, None]
    sizes, directions = np.linalg.svd(apart, full_matrices=False)[1:]
    kept = sizes > 1e-10 * max(sizes.max(initial=0), 1e-300)
    directions = directions[kept][:d]
    if len(directions) < min(d, n_axes):
        # Gram-Schmidt on the axes in whitened coordinates, by variance within classes.
        axes = np.eye(n_axes)[np.argsort(-within.variances, kind="stable")]
        for axis in axes:
            if len(directions) == min(d, n_axes):
                break
            rest = axis - directions.T @ (directions @ axis)
            rest -= directions.T @ (directions @ rest)
            if np.linalg.norm(rest) > 0.1:
                directions = np.vstack([directions, rest / np.linalg.norm(rest)])
        for axis in axes:  # those that were nearly in the span already
            if len(directions) == min(d, n_axes):
                break
            rest = axis - directions.T @ (directions @ axis)
            rest -= directions.T @ (directions @ rest)
            if np.linalg.norm(rest) > 1e-6:
                directions = np.vstack([directions, rest / np.linalg.norm(rest)])
    return filled((white @ directions.T).T, d)


def filled(rows: FloatArray, d: int) -> FloatArray:
    """Return d rows: zeros where the data have fewer dimensions."""
    return np.vstack([rows, np.zeros((d - len(rows), rows.shape[1]))])
