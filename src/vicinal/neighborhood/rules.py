"""Edge weights: one small class for each loss.

Rules that compare labels need the points sorted by class. The matches of a row are then
contiguous columns, and the loop over pairs does not compare labels.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray


def excluded_distance(dtype: np.dtype[Any]) -> Any:
    """Sentinel distance of excluded points: finite, so that inf − inf never occurs."""
    return dtype.type(1e38 if dtype == np.float32 else 1e300)


@dataclass(frozen=True)
class NeighborWeights:
    """Weights of the points: as neighbors, in their own sum, and in the objective.

    Attributes
    ----------
    log_offsets : ndarray of shape (n_points,)
        log max mass − log mass_j of the points as neighbors: p_ij ∝ mass_j exp(−d²).
    self_log_offsets : ndarray of shape (n_points,)
        Offset of a point in its own sum: `excluded_distance` for a single point; a
        point that represents c equal points has c − 1 of them as neighbors.
    counts : ndarray of shape (n_points,)
        Multiplicity of a point's term in the objective.
    """

    log_offsets: FloatArray
    self_log_offsets: FloatArray
    counts: FloatArray

    def __iter__(self) -> Iterator[FloatArray]:
        return iter((self.log_offsets, self.self_log_offsets, self.counts))

    @classmethod
    def build(
        cls, counts: FloatArray, mass_of_one: FloatArray, dtype: np.dtype[Any]
    ) -> "NeighborWeights":
        """Build from the number of points that each represents, and the mass of one."""
        if (counts == 1).all() and (mass_of_one == mass_of_one[:1]).all():
            # The most frequent case. The formulas below give the same result, at the
            # cost of a tenth of a mini-batch.
            zeros = np.zeros(len(counts), dtype=dtype)
            return cls(
                zeros,
                np.full_like(zeros, excluded_distance(dtype)),
                np.ones_like(zeros),
            )
        masses = np.log(counts) + np.log(mass_of_one)
        self_log_offsets = np.full(len(counts), float(excluded_distance(dtype)))
        several = counts > 1
        self_log_offsets[several] = masses.max() - (
            np.log(counts[several] - 1) + np.log(mass_of_one[several])
        )
        return cls(
            (masses.max() - masses).astype(dtype),
            # The offset of a count barely above 1 is large; it must not overflow.
            np.clip(self_log_offsets, 0, excluded_distance(dtype)).astype(dtype),
            counts.astype(dtype),
        )


@dataclass(frozen=True)
class ClassRuns:
    """Range of the points of the same class, for each of the points sorted by class."""

    starts: IntArray
    stops: IntArray

    @classmethod
    def from_sorted(cls, codes: IntArray) -> "ClassRuns":
        """Build from class codes in ascending order."""
        starts = np.searchsorted(codes, codes, side="left")
        return cls(starts, np.searchsorted(codes, codes, side="right"))


@dataclass(frozen=True)
class ExpectedMatches:
    """NCA's f, eq. 3; the value is p_i, the probability that i picks a match."""

    classes: ClassRuns
    masses: NeighborWeights
    kernel = "matches"
    power: ClassVar[float] = 1.0

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """Arguments of the kernel for the rows."""
        masses = self.masses
        return (
            self.classes.starts,
            self.classes.stops,
            masses.self_log_offsets,
            masses.counts,
        )

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns, and the power of p_i."""
        log_offsets = self.masses.log_offsets
        return (log_offsets, np.array([self.power], dtype=log_offsets.dtype))


@dataclass(frozen=True)
class LogMatches(ExpectedMatches):
    """NCA's g, eq. 6; the value is log p_i."""

    power = 0.0


@dataclass(frozen=True)
class SoftMatches:
    """Soft matches of targets (NCA, section 5); the value is Σ_j p_ij κ_ij.

    κ_ij = exp(−(t_i − t_j)²); the unit of the targets sets the width.
    """

    targets: FloatArray
    masses: NeighborWeights
    kernel = "soft_matches"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the rows."""
        return (self.masses.self_log_offsets, self.masses.counts)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns."""
        return (self.masses.log_offsets, self.targets)


@dataclass(frozen=True)
class SquaredErrors(SoftMatches):
    """Kernel regression (MLKR); the value is −(t_i − Σ_j p_ij t_j)²."""

    kernel = "squared_errors"


@dataclass(frozen=True)
class Perplexities:
    """Perplexity; the value is the effective number of neighbors of i."""

    masses: NeighborWeights
    kernel = "perplexities"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the rows."""
        return (self.masses.self_log_offsets,)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns."""
        # A count below 1 has no copies.
        return (self.masses.log_offsets, np.log(np.maximum(self.masses.counts, 1)))


@dataclass(frozen=True)
class Responsibilities:
    """LCA's λ_ij, eq. 3; the value is log Σ_{j≠i} exp(−d²_ij)."""

    masses: NeighborWeights
    kernel = "responsibilities"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the rows."""
        return (self.masses.self_log_offsets,)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns."""
        return (self.masses.log_offsets,)


@dataclass(frozen=True)
class Affinities:
    """LFDA's A_ij = exp(−d²_ij / (σ_i σ_j)); the value is Σ_{j≠i} A_ij."""

    sharpness: FloatArray
    """1 / σ_i; the product of any two must be finite."""
    kernel = "affinities"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the rows."""
        return (self.sharpness,)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns."""
        return (self.sharpness,)


@dataclass(frozen=True)
class CollapsedClasses:
    """MCML; the value is the mean of log p_ij over the other points j of i's class."""

    classes: ClassRuns
    masses: NeighborWeights
    kernel = "collapsed_classes"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """Arguments of the kernel for the rows."""
        return (self.classes.starts, self.classes.stops, self.masses.self_log_offsets)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns."""
        return (self.masses.log_offsets,)


@dataclass(frozen=True)
class SquaredVotes:
    """Squared error of the vote; the value is −Σ_c ([c_i = c] − Σ_{j ∈ c} p_ij)²."""

    classes: ClassRuns
    masses: NeighborWeights
    kernel = "squared_votes"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """Arguments of the kernel for the rows."""
        starts = self.classes.starts
        return (starts, self.masses.self_log_offsets, self.masses.counts)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns."""
        bounds: Any = np.append(np.unique(self.classes.starts), self.classes.stops[-1:])
        return (self.masses.log_offsets, bounds)


@dataclass(frozen=True)
class Listed:
    """Sparse matrix in the format of the kernels: column ranges and values."""

    starts: IntArray
    stops: IntArray
    columns: IntArray
    values: FloatArray

    @classmethod
    def of(cls, matrix: csr_array, dtype: np.dtype[Any]) -> "Listed":
        """Convert a matrix without NaN, with a row for each point."""
        pointers = matrix.indptr.astype(np.intp)
        return cls(
            pointers[:-1],
            pointers[1:],
            matrix.indices.astype(np.intp),
            matrix.data.astype(dtype),
        )


@dataclass(frozen=True)
class GivenPairs:
    """Pairs, eq. 8 of NCA; the value is Σ_j s_ij log p_ij.

    Attributes
    ----------
    shares : Listed
        s_ij: the shares of each point's partners, which sum to 1.
    masses : NeighborWeights
        Weights of single points.
    attraction : ndarray of shape (n_points,)
        Total weight of a point's partners; 0 if it has none.
    repulsion : ndarray of shape (n_points,)
        Weight of p_ij in the gradient; equal to `attraction` if p is normalized for
        each point.
    """

    shares: Listed
    masses: NeighborWeights
    attraction: FloatArray
    repulsion: FloatArray
    kernel = "pairs"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """Arguments of the kernel for the rows."""
        return (
            self.shares.starts,
            self.shares.stops,
            self.masses.self_log_offsets,
            self.attraction,
            self.repulsion,
        )

    @property
    def reference_args(self) -> tuple[Any, ...]:
        """Arguments of the kernel for the columns."""
        return (self.masses.log_offsets, self.shares.columns, self.shares.values)


@dataclass(frozen=True)
class ListedMatches:
    """Sparse matches κ_ij; the value is Σ_j p_ij κ_ij, or its logarithm."""

    matches: Listed
    masses: NeighborWeights
    power: float
    kernel = "listed_matches"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """Arguments of the kernel for the rows."""
        return (
            self.matches.starts,
            self.matches.stops,
            self.masses.self_log_offsets,
            self.masses.counts,
        )

    @property
    def reference_args(self) -> tuple[Any, ...]:
        """Arguments of the kernel for the columns."""
        offsets = self.masses.log_offsets
        return (
            offsets,
            self.matches.columns,
            self.matches.values,
            np.array([self.power], dtype=offsets.dtype),
        )


@dataclass(frozen=True)
class SoftLabels:
    """Class probabilities Y; the matches are κ_ij = Σ_c Y_ic Y_jc."""

    labels: FloatArray
    masses: NeighborWeights
    power: float
    kernel = "soft_labels"
    _transposed: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_transposed", np.ascontiguousarray(self.labels.T))

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the rows."""
        return (self.labels, self.masses.self_log_offsets, self.masses.counts)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """Arguments of the kernel for the columns."""
        offsets = self.masses.log_offsets
        power = np.array([self.power], dtype=offsets.dtype)
        return (offsets, self._transposed, power)
