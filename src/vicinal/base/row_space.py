"""The space that the rows of X span, and the way back to the features.

With more features than rows, the rows have as many coordinates as there are rows,
with the same distances: what is learned there is learned exactly.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy.linalg import cholesky, eigh, qr, solve_triangular
from scipy.sparse import issparse

from vicinal._typing import FloatArray
from vicinal.base.wide_units import principal_axes, rank_in_own_units
from vicinal.neighborhood.parallel import ReproducibleSum, blocks, run_in_threads


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
