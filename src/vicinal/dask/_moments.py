"""Means and scatters of all rows, in coordinates in which nothing overflows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.dask._chunks import Chunks
from vicinal.dask._tasks import summed
from vicinal.neighborhood import single_threaded_blas

# How many rows of a chunk are copied at a time.
_AT_ONCE = 8192


@dataclass(frozen=True)
class Frame:
    """The coordinates that distances are computed in.

    Attributes
    ----------
    origin : ndarray of shape (n_features,)
        The mean of all rows.
    unit : float
        A power of two, in which no square overflows.
    varies : ndarray of bool of shape (n_features,)
        Which features vary by more than rounding.
    """

    origin: FloatArray
    unit: float
    varies: NDArray[np.bool_]

    @classmethod
    def of(cls, chunks: Chunks) -> "Frame":
        """Put the origin into the middle of all chunks."""
        low, high, dtype = chunks.low, chunks.high, chunks.dtype
        largest = np.maximum(np.abs(low), np.abs(high))
        with np.errstate(over="ignore", invalid="ignore"):
            varies = high - low > 4 * np.finfo(dtype).eps * largest
            origin = np.where(varies, chunks.mean.astype(dtype), low)
            reach = np.maximum(high - origin, origin - low)
        if not np.isfinite(reach).all():
            raise ValueError("X has values too large to compute with. Scale the data.")
        size = float(reach[varies].max(initial=0))
        unit = 2.0 ** (np.frexp(size)[1] - 1) if size else 1.0
        return cls(origin, unit, varies)

    def reach(self, chunks: Chunks) -> FloatArray:
        """Return the largest coordinate of each feature, 0 where it does not vary."""
        reach = np.maximum(chunks.high - self.origin, self.origin - chunks.low)
        return np.where(self.varies, reach / self.unit, 0.0)

    def place(self, X: FloatArray) -> FloatArray:
        """Return rows in these coordinates."""
        moved = X - self.origin.astype(X.dtype)
        moved /= X.dtype.type(self.unit)
        moved[:, ~self.varies] = 0
        return moved


def own_scatter(
    X: FloatArray,
    codes: IntArray,  # noqa: ARG001
    frame: Frame,
    reach: FloatArray,
) -> FloatArray:
    """Return Σ xxᵀ of a chunk, with each varying feature in a unit of its own."""
    there = reach > 0
    total = np.zeros((there.sum(), there.sum()))
    with single_threaded_blas():
        for start in range(0, len(X), _AT_ONCE):
            wide = frame.place(X[start : start + _AT_ONCE])[:, there] / reach[there]
            total += wide.T @ wide
    return total


def add(*terms: FloatArray) -> FloatArray:
    """Add arrays up in their order."""
    total = terms[0].copy()
    for term in terms[1:]:
        total += term
    return total


def scatter_of(chunks: Chunks, frame: Frame, reach: FloatArray) -> FloatArray:
    """Return Σ xxᵀ of all rows in a frame, each varying feature in a unit of its own.

    Parameters
    ----------
    chunks, frame : Chunks, Frame
        The data, and their coordinates.
    reach : ndarray of shape (n_features,)
        The units; features of which it is 0 are left out.
    """
    n = len(chunks.X)
    parts = chunks.map(own_scatter, [frame] * n, [reach] * n)
    total: FloatArray = summed(chunks.tasks, add, parts)
    return total
