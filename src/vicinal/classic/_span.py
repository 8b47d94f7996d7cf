"""The few dimensions that the rows span, when there are more features than rows."""

from dataclasses import dataclass

import numpy as np

from vicinal._typing import FloatArray


@dataclass(frozen=True, eq=False)
class Span:
    """Centred points in coordinates of their own, and the way back.

    Any direction that sees no difference between the rows is of no use to a method
    that looks at their scatter. With more features than rows, an orthonormal basis of
    the rows therefore loses nothing, and the scatters shrink from D×D to n×n.

    Attributes
    ----------
    points : ndarray of shape (n_samples, min(n_samples, n_features))
        The coordinates: differences and inner products are those of the centred rows,
        apart from the unit. Of the type of X.
    basis : ndarray of shape (n_features, n_samples) or None
        Orthonormal columns; None where the features themselves are the coordinates.
    unit : float
        What a coordinate of 1 is in X: no square of a coordinate can overflow.
    """

    points: FloatArray
    basis: FloatArray | None
    unit: float

    def directions(self, columns: FloatArray) -> FloatArray:
        """Return directions, given as columns in the coordinates, as rows over X."""
        rows: FloatArray = columns.T if self.basis is None else (self.basis @ columns).T
        return rows


def span(X: FloatArray) -> Span:
    """Centre the rows and, with more features than rows, turn them into their span.

    Raises
    ------
    ValueError
        When all rows are equal.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centred = X - X.mean(axis=0, dtype=np.float64)
        unit = float(np.abs(centred).max())
    if not np.isfinite(unit):
        raise ValueError("X has values too large to compute with. Scale the data.")
    if unit <= np.finfo(X.dtype).eps * float(np.abs(X).max()):
        raise ValueError("All rows of X are equal: there is no scatter to look at.")
    centred /= unit
    if X.shape[1] <= X.shape[0]:
        return Span(centred.astype(X.dtype, copy=False), None, unit)
    # A QR decomposition serves as well as an SVD, costs less, and bears any rank.
    basis, triangle = np.linalg.qr(centred.T)
    return Span(triangle.T.astype(X.dtype), basis, unit)
