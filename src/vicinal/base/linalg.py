"""Linear algebra that is robust to rounding: scatter, whitening, row spaces."""

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

# A deviation is nonzero if it exceeds this many roundings of a feature's largest value.
_ROUNDINGS = 8.0
# Relative precision of the eigenvalues of a float64 covariance.
_PRECISION = 1e-13
# Number of array entries that are copied at a time.
_AT_ONCE = 2**18


def rounding(X: FloatArray) -> FloatArray:
    """Return the rounding error of each feature, given the dtype of X."""
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
        Class codes from 0. The mean of an empty class is 0.
    weights : ndarray of shape (n_samples,) or None, default=None
        Number of points that each row represents; None is one.

    Returns
    -------
    ndarray of shape (n_classes, n_features)
    """
    n_classes = int(codes.max(initial=-1)) + 1
    means = np.zeros((n_classes, X.shape[1]))
    sizes = np.bincount(codes, weights)
    # Sort by class, so that one pass over the points sums all classes.
    order = np.argsort(codes, kind="stable")
    for part in blocks(slice(0, len(X)), max(1, _AT_ONCE // max(1, X.shape[1]))):
        rows = order[part]
        first = np.flatnonzero(np.diff(codes[rows], prepend=-1))
        block = X[rows].astype(np.float64)
        # Divide before adding: the sum of large numbers may overflow.
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
    """Return the points minus the means of their classes, in float64.

    Parameters
    ----------
    X, codes, weights
        As for `class_means`; if codes is None, all points are in one class.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        With weights, each row is multiplied by the root of its weight divided by the
        mean weight, so that plain mean squares are weighted mean squares.
    """
    residuals = X - (
        mean(X, weights) if codes is None else class_means(X, codes, weights)[codes]
    )
    if weights is None:
        return residuals
    return residuals * np.sqrt(weights / weights.mean())[:, None]


def deviations(residuals: FloatArray, X: FloatArray) -> FloatArray:
    """Return each feature's standard deviation; 0 if it is within rounding error.

    Parameters
    ----------
    residuals : ndarray of shape (n_samples, n_features)
        The points minus their means.
    X : ndarray of shape (n_samples, n_features)
        The points. Their dtype and size determine the rounding error.
    """
    largest = np.abs(residuals).max(axis=0, initial=0)
    # In units of the largest value, so that squares neither overflow nor underflow.
    unit = np.where(largest > 0, largest, 1.0)
    found: FloatArray = unit * np.sqrt(np.mean(np.square(residuals / unit), axis=0))
    return np.where(found > rounding(X), found, 0.0)


class Spread(NamedTuple):
    """Principal axes of residuals, with each feature in its own unit.

    Attributes
    ----------
    units : ndarray of shape (n_features,)
        Standard deviations of the features; infinity for constant features.
    axes : ndarray of shape (n_features, n_axes)
        Orthonormal axes of the scaled features, in ascending order of variance.
    variances : ndarray of shape (n_axes,)
        Variances along the axes; axes within rounding error are excluded.
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
            Shrinkage of the covariance towards that of independent features, in [0, 1].
            With 0, axes without variance are mapped to zero.
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
    """Return the principal axes of points around their class means.

    Parameters
    ----------
    X, codes, weights
        As for `within_class_residuals`.
    n_threads : int, default=1
        Number of threads; the result is bitwise identical for any number.
    measured : ndarray of shape (n_samples, n_features) or None, default=None
        Original points, whose dtype and size determine the rounding error; None is X.
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
    """Return the covariance of the residuals in float64, and the features' units.

    Parameters
    ----------
    X, codes, weights
        As for `within_class_residuals`.
    n_threads : int, default=1
        Number of threads; the result is bitwise identical for any number.

    Returns
    -------
    C : ndarray of shape (n_features, n_features)
        Covariance of the scaled features, whose squares neither overflow nor underflow.
    units : ndarray of shape (n_features,)
        Powers of two, so that the division is exact.
    """
    n, n_features = X.shape
    own = np.zeros(n, dtype=int) if codes is None else codes
    means = mean(X, weights)[None] if codes is None else class_means(X, codes, weights)
    size = largest(X)
    # The largest power of two is 2¹⁰²³; a float may be nearly twice as large.
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
    """Return S_W^(−1/2), or its leading directions at low rank (RCA).

    Parameters
    ----------
    X, codes, weights
        As for `class_means`.
    d : int
        Number of rows of the map.
    shrinkage : float, default=0.0
        As for `Spread.inverse_root`.
    n_threads : int, default=1
        Number of threads; the result is bitwise identical for any number.

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

    Beyond the directions that separate the classes, the whitened data have no preferred
    direction. The remaining rows follow the principal axes within the classes, in
    descending order of variance, so that rounding does not determine them.

    Parameters
    ----------
    X, codes, weights
        As for `class_means`.
    within : Spread
        Principal axes of the residuals within the classes.
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
    # The weighted deviations of the class means sum to zero.
    directions = directions[kept][: min(d, len(apart) - 1)]
    # Gram-Schmidt on the whitened axes, ordered by within-class variance; axes that are
    # nearly in the span of the others come last.
    axes = np.eye(n_axes)[np.argsort(-within.variances, kind="stable")]
    for smallest in (0.1, 1e-6):
        for axis in axes:
            if len(directions) == min(d, n_axes):
                break
            rest = axis - directions.T @ (directions @ axis)
            rest -= directions.T @ (directions @ rest)
            if np.linalg.norm(rest) > smallest:
                directions = np.vstack([directions, rest / np.linalg.norm(rest)])
    return filled((white @ directions.T).T, d)


def filled(rows: FloatArray, d: int) -> FloatArray:
    """Return d rows, padded with zeros if the data have fewer dimensions."""
    return np.vstack([rows, np.zeros((d - len(rows), rows.shape[1]))])


# If the smallest unit exceeds this share of the largest, products stay precise.
ALIKE = 1e-3


def rank_in_own_units(
    points: FloatArray, X: FloatArray, unit: float, negligible: float
) -> int:
    """Return the rank of the rows, with each feature in its own unit.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        The centered rows, divided by `unit`.
    X : ndarray of shape (n_samples, n_features)
        The rows. Their magnitude determines the rounding error.
    unit : float
        Divisor of the points.
    negligible : float
        Share of the largest variance that is rounding error.

    Returns
    -------
    int
        0 also if the units differ too little to lose precision.
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
    """Return at most `rank` orthonormal principal axes of the points, in order.

    The SVD of the points loses half as many digits to large features as the
    eigendecomposition of their products.
    """
    wide = points.astype(np.float64)
    wide -= wide.mean(axis=0)
    _, sizes, axes = svd(wide, full_matrices=False)
    seen = sizes > max(wide.shape) * np.finfo(np.float64).eps * sizes[0]
    found: NDArray[np.float64] = axes[: min(rank, np.count_nonzero(seen))]
    return found


@dataclass(frozen=True, eq=False)
class RowSpace:
    """Coordinates of the rows: centered and scaled, with the same geometry.

    Attributes
    ----------
    coordinates : ndarray of shape (n_samples, n_coordinates)
        The rows, in the dtype of X; zeros if all rows are equal.
    unit : float
        Length in X of a coordinate of 1, such that no squared coordinate overflows.
    rows : ndarray, sparse array or None
        The scaled rows of X, or a basis of their span, if the coordinates are not
        features; otherwise None.
    weights : ndarray of shape (n_samples, n_coordinates) or None
        Weights that map coordinates to features: a direction b is rowsᵀ (weights b).
    n_features : int
        Number of features of X.
    """

    coordinates: FloatArray
    unit: float
    rows: Any
    weights: NDArray[np.float64] | None
    n_features: int

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates: features, or the dimension of the span of the rows."""
        return self.coordinates.shape[1]

    def to_features(self, directions: FloatArray) -> NDArray[np.float64]:
        """Convert directions, given in columns, to rows over the features."""
        if self.weights is None:
            return directions.T.astype(np.float64, copy=False)
        found: NDArray[np.float64] = self.rows.T @ (self.weights @ directions)
        return found.T

    def basis_to_features(self, directions: FloatArray) -> NDArray[np.float64]:
        """Convert orthonormal directions to rows, orthonormal to machine precision.

        The rows of `to_features` are orthonormal up to the rounding error of X Xᵀ. The
        Cholesky factor of their products corrects it, as a QR decomposition would.
        """
        found = self.to_features(directions)
        if self.weights is None or not found.any():  # all rows are equal
            return found
        R = cholesky(found @ found.T)
        rows: NDArray[np.float64] = solve_triangular(R, found, trans="T")
        return rows


def span_of(X: Any) -> RowSpace:
    """Return the coordinates of the rows.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n_samples, n_features)
        Validated points; float32 or float64.

    Raises
    ------
    ValueError
        If differences in X overflow, or sparse X needs too much memory.
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
    """Centered rows, in a unit in which no square overflows."""

    points: FloatArray
    """(X − origin) / unit. Constant features are exactly 0."""
    origin: FloatArray
    """The mean; for a constant feature, its value."""
    unit: Any
    """A power of two, in the dtype of X."""

    def also(self, X: FloatArray) -> FloatArray:
        """Apply the same centering and scaling to other rows."""
        moved: FloatArray = X.astype(self.points.dtype) - self.origin
        moved /= self.unit
        return moved


def centered(X: FloatArray) -> Centered:
    """Center dense rows.

    Raises
    ------
    ValueError
        If differences in X overflow.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        means = X.mean(axis=0, dtype=np.float64).astype(X.dtype)
        # The mean of equal numbers has a rounding error, which would look like a
        # feature if all other features are small.
        origin = np.where((X[0] != X).any(axis=0), means, X[0])
        points = X - origin
    if not np.isfinite([points.max(initial=0), points.min(initial=0)]).all():
        raise ValueError("X has values too large to compute with. Scale the data.")
    unit = unit_of(points)
    points /= unit
    return Centered(points, origin, unit)


def unit_of(numbers: FloatArray) -> Any:
    """Return the power of two that scales the largest number to about one.

    Squares stay finite in that unit and the division is exact. Neither the neighbors
    nor ΔΔᵀ/σ² depend on it.
    """
    largest = max(numbers.max(initial=0), -numbers.min(initial=0))
    return numbers.dtype.type(2.0 ** (np.frexp(largest)[1] - 1) if largest else 1)


def _thin(rows: Any, unit: float, gram: NDArray[np.float64]) -> RowSpace:
    """Compute coordinates from the inner products of the rows: X Xᵀ = U S² Uᵀ."""
    n, n_features = rows.shape
    # Center the products, since sparse rows cannot be centered.
    means = gram.mean(axis=0)
    gram = gram - means - means[:, None] + means.mean()
    squares, U = eigh(gram)
    least = negligible(rows.dtype, n, n_features) * squares[-1]
    kept = squares > max(least, 0)
    if not kept.any():  # all rows are equal: one coordinate of zeros
        nothing = np.zeros((n, 1))
        return RowSpace(nothing.astype(rows.dtype), unit, rows, nothing, n_features)
    sizes, U = np.sqrt(squares[kept][::-1]), U[:, kept][:, ::-1]
    # U is orthogonal to the ones, so that Xᵀ U does not need centered X.
    return RowSpace((U * sizes).astype(rows.dtype), unit, rows, U / sizes, n_features)


def negligible(dtype: Any, n: int, n_features: int) -> float:
    """Return the share of the largest variance that is rounding error in X."""
    noise = 10 * n_features * np.finfo(dtype).eps ** 2
    return float(noise + 10 * max(n, n_features) * np.finfo(np.float64).eps)


def varying_axes(coordinates: FloatArray, n_threads: int = 1) -> NDArray[np.float64]:
    """Return an orthonormal basis, in columns, of the span of the centered rows.

    The rounding error is judged with each coordinate in its own unit, so that a
    coordinate with a small unit is not lost beside others. The result does not depend
    on the number of threads.
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
    """Return a basis of the directions whose scatter exceeds the rounding error.

    Parameters
    ----------
    scatter : ndarray of shape (n_features, n_features)
        Scatter of the rows, with each feature in its own unit.
    units : ndarray of shape (n_features,)
        Units of the features.
    shape, dtype : tuple, dtype
        Shape and dtype of the rows.

    Returns
    -------
    ndarray of shape (n_features, rank) or None
        Orthonormal columns; None if all directions are kept.
    """
    sizes = np.sqrt(np.diagonal(scatter))
    variances, vectors = eigh(scatter / np.outer(sizes, sizes))
    kept = variances > negligible(dtype, *shape) * variances[-1]
    if kept.all():
        return None
    scales = units * sizes
    return orthonormal((scales / scales.max())[:, None] * vectors[:, kept])


def orthonormal(columns: FloatArray) -> NDArray[np.float64]:
    """Orthonormalize the columns, each against those before it."""
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
    """Labeled rows, sorted by class, and their standardization.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows as given.
    codes : ndarray of shape (n_samples,)
        Class codes, ascending.
    origin, scale : ndarray of shape (n_features,)
        Offset and divisor of each feature.
    """

    X: FloatArray
    codes: IntArray
    origin: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def build(cls, X: FloatArray, codes: IntArray) -> "Domain":
        """Sort the rows by class, without standardization."""
        order = np.argsort(codes, kind="stable")
        n_features = X.shape[1]
        return cls(X[order], codes[order], np.zeros(n_features), np.ones(n_features))

    def without_rows(self) -> "Domain":
        """Return a domain with the same standardization and without rows."""
        return replace(self, X=self.X[:0], codes=self.codes[:0])

    def standardized(self) -> "Domain":
        """Return the domain with mean 0 and standard deviation 1."""
        points, origin, unit = centered(self.X)
        means = origin + points.mean(axis=0, dtype=np.float64) * float(unit)
        scale = points.std(axis=0, dtype=np.float64) * float(unit)
        scale[~self.varying()] = 1
        return Domain(self.X, self.codes, means, scale)

    def varying(self) -> NDArray[np.bool_]:
        """Return a mask of the features that are not constant."""
        different: NDArray[np.bool_] = (self.X[:1] != self.X).any(axis=0)
        return different

    def points(self, kept: NDArray[np.bool_]) -> FloatArray:
        """Return the standardized rows of the selected features."""
        return ((self.X[:, kept] - self.origin[kept]) / self.scale[kept]).astype(
            self.X.dtype
        )

    def map_of(
        self, directions: NDArray[np.float64], kept: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        """Return map and offset, for rows as given, that project onto directions."""
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
    """Return the validated source domain of an estimator, or None.

    The labels of both domains must be of the same kind.
    """
    if X_source is None and y_source is None:
        return None
    if X_source is None or y_source is None:
        raise ValueError("X_source and y_source go together: give both, or neither.")
    # Not validate_data: its messages would name X and y.
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
    validate_data(estimator, X_source, reset=False, skip_check_array=True)  # names
    unique_labels(y, labels)  # rejects mixed strings and numbers
    return points, labels
