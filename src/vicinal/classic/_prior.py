"""Coordinates of points under which a prior metric is the Euclidean one."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from vicinal._typing import FloatArray
from vicinal.base.linalg import RowSpace, span_of
from vicinal.base.metric import unscale_components

PRIORS = {"identity", "covariance"}


class PriorSpace(NamedTuple):
    """Coordinates of the points under which the prior is the identity."""

    n_coordinates: int
    of_points: Callable[[FloatArray], FloatArray]
    """Takes points to coordinates, in float64; of a span, what are coordinates."""
    unit: float
    """What a coordinate of 1 is in X, before the prior."""
    span: RowSpace | None
    """The points' own coordinates, where they have more features than rows."""
    root: FloatArray = np.eye(1)
    """R with R Rᵀ = the prior; of no meaning in a span."""
    of_data: bool = False
    """Whether the prior was taken from the points, in their unit."""

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return the points, all those that the space was made of, in coordinates."""
        if self.span is not None:
            return self.span.coordinates
        return self.of_points(points)

    def rows(self, A: FloatArray) -> FloatArray:
        """Return a map of coordinates as one of features in their unit: Λ^½ Lᵀ.

        That is of M = L Λ Lᵀ; the largest eigenvalue comes first.
        """
        if self.span is None:
            _, sizes, axes = np.linalg.svd(A @ self.root.T, full_matrices=False)
            return sizes[:, None] * axes
        _, sizes, axes = np.linalg.svd(A, full_matrices=False)
        rows: FloatArray = sizes[:, None] * self.span.basis_to_features(axes.T)
        return rows

    def to_map(self, A: FloatArray, dtype: Any) -> FloatArray:
        """Return the map of a metric near the prior, which is the same in any unit.

        But a prior that was taken from the data is in their unit.
        """
        return unscale_components(
            self.rows(A), self.unit if self.of_data else 1.0, dtype
        )

    def to_unscaled_map(self, A: FloatArray, dtype: Any) -> FloatArray:
        """Return the map of a metric whose scale is that of the data."""
        return unscale_components(self.rows(A), self.unit, dtype)


def prior_space(points: FloatArray, prior: str | ArrayLike) -> PriorSpace:
    """Return coordinates under which a prior is the identity.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        All points that matter.
    prior : {"identity", "covariance"} or array-like of shape (n_features, n_features)
        The identity; the inverse of the covariance, as Ledoit and Wolf estimate it; or
        a matrix, symmetric and positive definite.
    """
    n, n_features = points.shape
    named = isinstance(prior, str)
    if named and prior == "identity" and n_features > n:
        span = span_of(points.astype(np.float64))
        return PriorSpace(span.n_coordinates, lambda given: given, span.unit, span)
    # A unit in which no square overflows: it changes neither prior nor pairs.
    unit = float(np.abs(points).max()) or 1.0
    root: FloatArray = np.eye(n_features)
    if not named:
        root = _root_of(prior, n_features)
    elif prior == "covariance":
        from sklearn.covariance import ledoit_wolf  # slow to import

        covariance = ledoit_wolf(points.astype(np.float64) / unit)[0]
        values, vectors = np.linalg.eigh(covariance)
        if values[0] > 0:  # else all rows are equal
            root = vectors / np.sqrt(values)
    plain = named and prior == "identity"

    def of_points(given: FloatArray) -> FloatArray:
        seen = given.astype(np.float64) / unit
        return seen if plain else seen @ root

    return PriorSpace(
        n_features, of_points, unit, None, root, named and prior == "covariance"
    )


def _root_of(prior: ArrayLike, n_features: int) -> FloatArray:
    matrix = check_array(prior, dtype=np.float64, input_name="prior")
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"prior must have shape ({n_features}, {n_features}), a row and a column "
            f"for each feature; got {matrix.shape}."
        )
    size = np.abs(matrix).max()
    symmetric = np.allclose(matrix, matrix.T, rtol=0, atol=1e-8 * size)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if not symmetric or values[0] <= 1e-12 * size:
        raise ValueError("prior must be symmetric and positive definite.")
    root: FloatArray = vectors * np.sqrt(values)
    return root
