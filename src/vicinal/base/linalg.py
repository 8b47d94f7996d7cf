"""Linear algebra that is safe against rounding: scatter, whitening, row spaces."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, eigh, eigvalsh, qr, solve_triangular, svd
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import unscale_components, validate_data
from vicinal.neighborhood.threads import (
    SMALL,
    ReproducibleSum,
    blocks,
    rows_per_block,
    run_in_threads,
    single_threaded_blas,
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


# Of units that are nearer to each other than this, products lose nothing.
ALIKE = 1e-3


def rank_in_own_units(
    points: FloatArray, X: FloatArray, unit: float, negligible: float
) -> int:
    """Return how many directions rows vary in, with each feature in a unit of its own.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        The rows around their mean, divided by the unit.
    X : ndarray of shape (n_samples, n_features)
        The rows as they are; how large they are tells what rounding is.
    unit : float
        What the points were divided by.
    negligible : float
        What part of the largest variance is rounding.

    Returns
    -------
    int
        0 also where the units differ too little for anything to be lost.
    """
    sizes = np.abs(points).max(axis=0, initial=0).astype(np.float64)
    varying = sizes > rounding(X) / unit
    if not varying.any() or sizes[varying].min() > ALIKE * sizes.max():
        return 0
    scaled = points[:, varying] / sizes[varying]
    scaled -= scaled.mean(axis=0)
    variances = eigvalsh(scaled @ scaled.T)
    return int(np.count_nonzero(variances > negligible * variances[-1]))


def principal_axes(points: FloatArray, rank: int) -> NDArray[np.float64]:
    """Return at most so many orthonormal rows that the points vary along, in order.

    By the points themselves rather than by their products: half as many digits are
    lost to what is large.
    """
    wide = points.astype(np.float64)
    wide -= wide.mean(axis=0)
    _, sizes, axes = svd(wide, full_matrices=False)
    seen = sizes > max(wide.shape) * np.finfo(np.float64).eps * sizes[0]
    found: NDArray[np.float64] = axes[: min(rank, np.count_nonzero(seen))]
    return found


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Rows in coordinates of their own: centred, scaled, with the same geometry.

    Attributes
    ----------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        The rows, in X's type of float. Where they are all equal, zeros.
    unit : float
        What a coordinate of 1 is in X: no square of a coordinate can overflow.
    rows : ndarray, sparse array or None
        The scaled rows of X, or a basis of their span, where the coordinates are not
        features; else None.
    weights : ndarray of shape (n_samples, n_coordinates) or None
        What takes coordinates back: a direction b is rowsᵀ (weights b).
    n_features : int
        How many features X has.
    """

    coordinates: FloatArray
    unit: float
    rows: Any
    weights: NDArray[np.float64] | None
    n_features: int

    @property
    def n_coordinates(self) -> int:
        """How many coordinates there are: of features, or of what the rows span."""
        return self.coordinates.shape[1]

    def to_features(self, directions: FloatArray) -> NDArray[np.float64]:
        """Return directions, given in columns, as rows over the features."""
        if self.weights is None:
            return directions.T.astype(np.float64, copy=False)
        found: NDArray[np.float64] = self.rows.T @ (self.weights @ directions)
        return found.T

    def basis_to_features(self, directions: FloatArray) -> NDArray[np.float64]:
        """Return orthonormal directions as rows that are orthonormal to the last digit.

        Those of `to_features` are so only up to the rounding of the small squares in
        X Xᵀ: then the Cholesky factor of their products does what a QR decomposition
        would.
        """
        found = self.to_features(directions)
        if self.weights is None or not found.any():  # rows that are all equal
            return found
        R = cholesky(found @ found.T)
        rows: NDArray[np.float64] = solve_triangular(R, found, trans="T")
        return rows


def span_of(X: Any) -> RowSpace:
    """Return the rows in coordinates of their own.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
        Validated; float32 or float64.

    Raises
    ------
    ValueError
        When differences in X overflow, or sparse X needs too much memory.
    """
    n, n_features = X.shape
    if issparse(X):
        _check_room(n, n_features)
        if n > n_features:
            return span_of(X.toarray())
        unit = unit_of(X.data)
        rows = X.copy()
        rows.data /= unit
        wide = rows.astype(np.float64)
        return _thin(rows, float(unit), (wide @ wide.T).toarray())
    points, _, unit = centered(X)
    if n_features <= n:
        return RowSpace(points, float(unit), None, None, n_features)
    wide = points.astype(np.float64, copy=False)
    span = _thin(points, float(unit), wide @ wide.T)
    if span.n_coordinates == n - 1:
        return span
    rank = rank_in_own_units(points, X, unit, negligible(X.dtype, n, n_features))
    if rank <= span.n_coordinates:
        return span
    axes = principal_axes(points, rank)
    seen = (wide @ axes.T).astype(X.dtype)
    return RowSpace(seen, float(unit), axes, np.eye(len(axes)), n_features)


class Centered(NamedTuple):
    """Rows around their mean, in a unit in which no square overflows."""

    points: FloatArray
    """(X − origin) / unit. Constant features are 0 exactly."""
    origin: FloatArray
    """The mean; of a constant feature, its value."""
    unit: Any
    """A power of two, in X's type of float."""

    def also(self, X: FloatArray) -> FloatArray:
        """Return other rows in the same way."""
        moved: FloatArray = X.astype(self.points.dtype) - self.origin
        moved /= self.unit
        return moved


def centered(X: FloatArray) -> Centered:
    """Return dense rows around their mean.

    Raises
    ------
    ValueError
        When differences in X overflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        means = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        # The mean of equal numbers is one of them only up to rounding errors, which
        # would look like a feature of its own where all others are small.
        origin = np.where((X[0] != X).any(axis=0), means, X[0])
        points = X - origin
    if not np.isfinite([points.max(initial=0), points.min(initial=0)]).all():
        raise ValueError("X has values too large to compute with. Scale the data.")
    unit = unit_of(points)
    points /= unit
    return Centered(points, origin, unit)


def unit_of(numbers: FloatArray) -> Any:
    """Return a power of two that makes the largest number one or so.

    Squares stay finite in that unit, nothing is rounded, and neither the neighbours
    nor ΔΔᵀ/σ² depend on it.
    """
    largest = max(numbers.max(initial=0), -numbers.min(initial=0))
    return numbers.dtype.type(2.0 ** (np.frexp(largest)[1] - 1) if largest else 1)


def _thin(rows: Any, unit: float, gram: NDArray[np.float64]) -> RowSpace:
    """Take coordinates from the inner products of the rows: X Xᵀ = U S² Uᵀ."""
    n, n_features = rows.shape
    # Centred in the products, where sparse rows cannot be.
    means = gram.mean(axis=0)
    gram = gram - means - means[:, None] + means.mean()
    squares, U = eigh(gram)
    least = negligible(rows.dtype, n, n_features) * squares[-1]
    kept = squares > max(least, 0)
    if not kept.any():  # all rows are equal: one coordinate that says so
        nothing = np.zeros((n, 1))
        return RowSpace(nothing.astype(rows.dtype), unit, rows, nothing, n_features)
    sizes, U = np.sqrt(squares[kept][::-1]), U[:, kept][:, ::-1]
    # U is orthogonal to the ones, so that Xᵀ U needs no centred X.
    return RowSpace((U * sizes).astype(rows.dtype), unit, rows, U / sizes, n_features)


def negligible(dtype: Any, n: int, n_features: int) -> float:
    """Return what part of the largest variance is rounding of the numbers in X."""
    noise = 10 * n_features * np.finfo(dtype).eps ** 2
    return float(noise + 10 * max(n, n_features) * np.finfo(np.float64).eps)


def varying_axes(coordinates: FloatArray, n_threads: int = 1) -> NDArray[np.float64]:
    """Return an orthonormal basis, in columns, of the directions the rows vary in.

    What is rounding and what is not is judged with each coordinate in a unit of its
    own: one whose unit is small is not lost beside others. The result is the same for
    any number of threads.
    """
    n, d = coordinates.shape
    units = np.maximum(coordinates.max(axis=0), -coordinates.min(axis=0))
    there = units > 0
    units = units[there].astype(np.float64)
    axes = np.eye(d)[:, there]
    if not there.any():
        return axes
    total = ReproducibleSum(np.zeros((len(units), len(units))))

    def add(position: int, rows: slice) -> None:
        wide = coordinates[rows][:, there] / units
        total.add(position, np.matmul(wide.T, wide, out=total.buffer()))

    run_in_threads(lambda: add, blocks(slice(0, n), max(1024, d)), n_threads)
    kept = axes_of_scatter(total.total, units, (n, d), coordinates.dtype)
    return axes if kept is None else axes @ kept


def axes_of_scatter(
    scatter: FloatArray, units: FloatArray, shape: tuple[int, int], dtype: Any
) -> NDArray[np.float64] | None:
    """Return a basis of the directions in which there is a scatter that is no rounding.

    Parameters
    ----------
    scatter : ndarray of shape (n_features, n_features)
        Of the rows, with each feature in its own unit.
    units : ndarray of shape (n_features,)
        These units.
    shape, dtype : tuple, dtype
        How many rows and coordinates there were, and their type.

    Returns
    -------
    ndarray of shape (n_features, rank) or None
        Orthonormal columns; None where all directions are kept.
    """
    sizes = np.sqrt(np.diagonal(scatter))
    variances, vectors = eigh(scatter / np.outer(sizes, sizes))
    kept = variances > negligible(dtype, *shape) * variances[-1]
    if kept.all():
        return None
    scales = units * sizes
    return orthonormal((scales / scales.max())[:, None] * vectors[:, kept])


def orthonormal(columns: FloatArray) -> NDArray[np.float64]:
    """Return the columns, each made orthogonal to those before it and of length 1."""
    Q, R = qr(columns, mode="economic")
    signs = np.where(np.diag(R) < 0, -1.0, 1.0)
    found: NDArray[np.float64] = Q * signs
    return found


def _check_room(n: int, n_features: int) -> None:
    needed = 8 * n * min(n, n_features) / 2**20
    allowed = 4 * sklearn.get_config()["working_memory"]
    if needed > allowed:
        raise ValueError(
            f"Sparse X of {n} rows and {n_features} features would need {needed:.0f} "
            f"MiB of dense coordinates, more than four times scikit-learn's "
            f"working_memory ({allowed // 4} MiB). Reduce the features first, for "
            "instance with sklearn.decomposition.TruncatedSVD, fit fewer rows, or "
            "raise working_memory."
        )


@dataclass(frozen=True)
class Domain:
    """Labelled rows, sorted by class, and how they are standardised.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows as they were given.
    codes : ndarray of shape (n_samples,)
        Their classes, ascending.
    origin, scale : ndarray of shape (n_features,)
        What is taken away from the features, and what they are then divided by.
    """

    X: FloatArray
    codes: IntArray
    origin: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def build(cls, X: FloatArray, codes: IntArray) -> "Domain":
        """Sort the rows by class; nothing is standardised."""
        order = np.argsort(codes, kind="stable")
        n_features = X.shape[1]
        return cls(X[order], codes[order], np.zeros(n_features), np.ones(n_features))

    def without_rows(self) -> "Domain":
        """Return a domain that is standardised in the same way and has no rows."""
        return replace(self, X=self.X[:0], codes=self.codes[:0])

    def standardized(self) -> "Domain":
        """Return the domain with mean 0 and standard deviation 1."""
        points, origin, unit = centered(self.X)
        means = origin + points.mean(axis=0, dtype=np.float64) * float(unit)
        scale = points.std(axis=0, dtype=np.float64) * float(unit)
        scale[~self.varying()] = 1
        return Domain(self.X, self.codes, means, scale)

    def varying(self) -> NDArray[np.bool_]:
        """Return which features are not constant."""
        different: NDArray[np.bool_] = (self.X[:1] != self.X).any(axis=0)
        return different

    def points(self, kept: NDArray[np.bool_]) -> FloatArray:
        """Return the standardised rows with some of their features."""
        return ((self.X[:, kept] - self.origin[kept]) / self.scale[kept]).astype(
            self.X.dtype
        )

    def map_of(
        self, directions: NDArray[np.float64], kept: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the map and the offset that take rows, as given, along directions."""
        dtype = self.X.dtype
        components = np.zeros((len(directions), self.X.shape[1]), dtype=dtype)
        components[:, kept] = unscale_components(directions, self.scale[kept], dtype)
        return components, -(components @ self.origin).astype(dtype)


def source_of(
    estimator: Any,
    y: NDArray[Any],
    X_source: ArrayLike | None,
    y_source: ArrayLike | None,
) -> tuple[FloatArray, NDArray[Any]] | None:
    """Return the checked source of an estimator that has seen the target; or None.

    The labels of the two domains are of one kind, and otherwise any.
    """
    if X_source is None and y_source is None:
        return None
    if X_source is None or y_source is None:
        raise ValueError("X_source and y_source go together: give both, or neither.")
    # Not by validate_data, whose messages would speak of X and y.
    points = check_array(
        X_source, dtype=FLOATS, ensure_min_samples=2, input_name="X_source",
        estimator=estimator,
    )  # fmt: skip
    labels = column_or_1d(
        check_array(y_source, dtype=None, ensure_2d=False, input_name="y_source"),
        warn=True,
    )
    check_consistent_length(points, labels)
    check_classification_targets(labels)
    if points.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {estimator.n_features_in_} features, but X_source has "
            f"{points.shape[1]}: both domains must have the same features, in the same "
            "order."
        )
    validate_data(estimator, X_source, reset=False, skip_check_array=True)  # the names
    unique_labels(y, labels)  # which refuses to mix texts with numbers
    return points, labels
