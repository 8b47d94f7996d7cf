"""Rules of matches that are given: pairs (NCA, eq. 8), match matrices, soft labels."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.rules import NeighborWeights


@dataclass(frozen=True)
class Listed:
    """A sparse matrix as kernels read it: runs of columns and their values."""

    starts: IntArray
    stops: IntArray
    columns: IntArray
    values: FloatArray

    @classmethod
    def of(cls, matrix: csr_array, dtype: np.dtype[Any]) -> "Listed":
        """Read a matrix; NaN-free, a row for each point."""
        pointers = matrix.indptr.astype(np.intp)
        return cls(
            pointers[:-1],
            pointers[1:],
            matrix.indices.astype(np.intp),
            matrix.data.astype(dtype),
        )


@dataclass(frozen=True)
class GivenPairs:
    """Pairs, eq. 8 of NCA: the value is Σ_j s_ij log p_ij.

    Attributes
    ----------
    shares : Listed
        s_ij: each point's partners, with shares that sum to 1.
    masses : NeighborWeights
        Of single points.
    attraction : ndarray of shape (n_points,)
        How much a point's partners weigh together; 0 where it has none.
    repulsion : ndarray of shape (n_points,)
        How much p_ij weighs in the gradient: the same where p is normalised for each
        point.
    """

    shares: Listed
    masses: NeighborWeights
    attraction: FloatArray
    repulsion: FloatArray
    kernel = "pairs"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (
            self.shares.starts,
            self.shares.stops,
            self.masses.self_log_offsets,
            self.attraction,
            self.repulsion,
        )

    @property
    def reference_args(self) -> tuple[Any, ...]:
        """What the kernel needs to know of the points as columns."""
        return (self.masses.log_offsets, self.shares.columns, self.shares.values)


@dataclass(frozen=True)
class ListedMatches:
    """Matches κ_ij as a sparse matrix: the value is Σ_j p_ij κ_ij, or its logarithm."""

    matches: Listed
    masses: NeighborWeights
    power: float
    kernel = "listed_matches"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (
            self.matches.starts,
            self.matches.stops,
            self.masses.self_log_offsets,
            self.masses.counts,
        )

    @property
    def reference_args(self) -> tuple[Any, ...]:
        """What the kernel needs to know of the points as columns."""
        offsets = self.masses.log_offsets
        return (
            offsets,
            self.matches.columns,
            self.matches.values,
            np.array([self.power], dtype=offsets.dtype),
        )


@dataclass(frozen=True)
class SoftLabels:
    """Probabilities of classes Y: matches are κ_ij = Σ_c Y_ic Y_jc."""

    labels: FloatArray
    masses: NeighborWeights
    power: float
    kernel = "soft_labels"
    _transposed: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_transposed", np.ascontiguousarray(self.labels.T))

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (self.labels, self.masses.self_log_offsets, self.masses.counts)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""
        offsets = self.masses.log_offsets
        power = np.array([self.power], dtype=offsets.dtype)
        return (offsets, self._transposed, power)
