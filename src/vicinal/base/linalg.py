"""Linear algebra that is robust to rounding: scatter, whitening, row spaces."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cholesky, eigh, eigvalsh, qr, solve_triangular, svd
from scipy.sparse import csr_array, issparse
from sklearn.utils import (
    check_array,
    check_consistent_length,
    column_or_1d,
    gen_batches,
)
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import unscale_components, validate_data
from vicinal.neighborhood.threads import (
    SMALL,
    map_in_order,
    rows_per_block,
    single_threaded_blas,
)


def rounding(X: FloatArray) -> FloatArray:
    """Return the rounding error of each feature: 8 eps of its largest value."""
    return 8 * float(np.finfo(X.dtype).eps) * largest(X)


def largest(X: FloatArray) -> FloatArray:
    """Return each feature's largest absolute value, in float64."""
    sizes: FloatArray = np.maximum(X.max(axis=0, initial=0), -X.min(axis=0, initial=0))
    return sizes.astype(np.float64)


def distinct_rows(X: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the first of each set of equal rows, and the number of each row's set."""
    rows = np.ascontiguousarray(X + 0.0)  # compared as bytes: -0.0 becomes 0.0
    as_bytes = rows.view(np.dtype((np.void, rows.strides[0]))).ravel()
    _, first, which = np.unique(as_bytes, return_index=True, return_inverse=True)
    return first, which


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
    counts = np.ones(len(X)) if weights is None else weights
    sums = np.zeros((n_classes, X.shape[1]))
    for rows in gen_batches(len(X), 1 + 2**18 // max(1, X.shape[1])):
        columns = np.arange(rows.stop - rows.start)
        entries = counts[rows], (codes[rows], columns)
        sums += csr_array(entries, shape=(n_classes, len(columns))) @ X[rows]
    sizes = np.bincount(codes, counts)
    means: FloatArray = sums / np.where(sizes > 0, sizes, 1)[:, None]
    return means


def mean(X: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Return the mean of the points, in float64; exact for constant features.

    The sum of equal numbers has a rounding error, which would look like a feature if
    all other features are small.
    """
    if weights is None:
        average = X.mean(axis=0, dtype=np.float64)
    else:
        average = weights @ X.astype(np.float64) / weights.sum()
    return np.where((X[0] != X).any(axis=0), average, X[0])


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
    found: FloatArray = np.sqrt(np.mean(np.square(residuals), axis=0))
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
) -> Spread:
    """Return the principal axes of points around their class means.

    Parameters
    ----------
    X, codes, weights
        As for `within_class_residuals`.
    n_threads : int, default=1
        Number of threads; the result is bitwise identical for any number.
    """
    n, n_features = X.shape
    if n < n_features:  # the covariance would be larger than the points
        noise = rounding(X)
        residuals = within_class_residuals(X, codes, weights)
        units = deviations(residuals, X)
        varying = units > 0
        scaled: FloatArray = residuals[:, varying] / units[varying]
        with single_threaded_blas():
            _, sizes, rows = np.linalg.svd(scaled, full_matrices=False)
        variances, axes = sizes[::-1] ** 2 / n, rows[::-1].T
    else:
        C, unit = covariance(X, codes, weights, n_threads)
        noise = 8 * float(np.finfo(X.dtype).eps) * unit  # at least `rounding`
        found = np.sqrt(np.diag(C))
        units = np.where(unit * found > noise, unit * found, 0.0)
        varying = units > 0
        scaled = C[np.ix_(varying, varying)]
        scaled /= np.multiply.outer(found[varying], found[varying])
        with single_threaded_blas():
            variances, axes = np.linalg.eigh(scaled)
    noise = np.square(axes).T @ np.square(noise[varying] / units[varying])
    # Eigenvalues of a float64 covariance have a relative precision of about 1e-13.
    floor = np.maximum(1e-13 * variances.max(initial=0), noise)
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
    units = np.exp2(np.ceil(np.log2(np.where(size > 0, size, 1.0))))
    roots = None if weights is None else np.sqrt(weights / weights.mean())
    product = np.zeros((n_features, n_features))

    def square(rows: slice) -> FloatArray:
        residuals = (X[rows] - means[own[rows]]) / units
        if roots is not None:
            residuals *= roots[rows, None]
        term: FloatArray = residuals.T @ residuals
        return term

    size_of_block = max(rows_per_block(n, 8 * n_features), n_features)
    parts = list(gen_batches(n, size_of_block))
    alone = n_threads == 1 or n * n_features**2 <= SMALL
    with single_threaded_blas():
        terms = map(square, parts) if alone else map_in_order(square, parts, n_threads)
        for term in terms:
            product += term
    return product / n, units


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
    means, class_sizes = class_means(X, codes, weights), np.bincount(codes, weights)
    apart = (means - class_sizes @ means / class_sizes.sum()) @ white
    if class_weight == "size":
        apart *= np.sqrt(class_sizes)[:, None]
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
    # Zeros, if the data have fewer dimensions.
    rows = np.zeros((d, X.shape[1]))
    rows[: len(directions)] = (white @ directions.T).T
    return rows


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
        If sparse X needs too much memory.
    """
    n, n_features = X.shape
    if issparse(X):
        needed = 8 * n * min(n, n_features) / 2**20
        allowed = 4 * sklearn.get_config()["working_memory"]
        if needed > allowed:
            raise ValueError(
                f"Sparse X of {n} rows and {n_features} features would need "
                f"{needed:.0f} MiB of dense coordinates, more than four times "
                f"scikit-learn's working_memory ({allowed // 4} MiB). Reduce the "
                "features first, for instance with sklearn.decomposition.TruncatedSVD, "
                "fit fewer rows, or raise working_memory."
            )
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
    # Features in a small unit may be lost in the products beside others. The rank with
    # each feature in its own unit tells; the SVD loses half as many digits.
    sizes = largest(points)
    varying = sizes > rounding(X) / unit
    scaled = wide[:, varying] / sizes[varying]
    scaled -= scaled.mean(axis=0)
    variances = eigvalsh(scaled @ scaled.T)
    least = negligible(X.dtype, n, n_features) * variances[-1]
    rank = int(np.count_nonzero(variances > least))
    if rank <= span.n_coordinates:
        return span
    _, lengths, axes = svd(wide - wide.mean(axis=0), full_matrices=False)
    seen = lengths > n_features * np.finfo(np.float64).eps * lengths[0]
    axes = axes[: min(rank, np.count_nonzero(seen))]
    coordinates = (wide @ axes.T).astype(X.dtype)
    return RowSpace(coordinates, float(unit), axes, np.eye(len(axes)), n_features)


class Centered(NamedTuple):
    """Centered rows, in a unit in which no square of float32 values overflows."""

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
    """Center dense rows."""
    origin = mean(X).astype(X.dtype)
    points = X - origin
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
    C, units = covariance(coordinates, n_threads=n_threads)
    varying = np.diagonal(C) > 0
    axes = np.eye(len(C))[:, varying]
    if not varying.any():
        return axes
    kept = axes_of_scatter(
        C[np.ix_(varying, varying)],
        units[varying],
        coordinates.shape,
        coordinates.dtype,
    )
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
        X = self.X.astype(np.float64)
        varying = self.varying()
        means = np.where(varying, X.mean(axis=0), X[0])
        scale = np.where(varying, X.std(axis=0), 1.0)
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
