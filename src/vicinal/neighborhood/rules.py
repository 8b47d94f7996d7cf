"""Weights of the edges: one class for each loss, a few lines long.

A rule that compares labels needs the points sorted by class, so that a row's matches
are one run of columns, and the loop over pairs compares no labels.
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
    """How much each point weighs: as a neighbour, to itself, and in the sum.

    Attributes
    ----------
    log_offsets : ndarray of shape (n_points,)
        log max mass − log mass_j, of the points as neighbours: p_ij ∝ mass_j exp(−d²).
    self_log_offsets : ndarray of shape (n_points,)
        The same for a point in its own sum: `excluded_distance` for a single point; a
        point that stands for c equal ones has c − 1 of them as neighbors.
    counts : ndarray of shape (n_points,)
        How often a point's own term counts in the objective.
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
        """Build from how many points each stands for, and the mass of one of them."""
        if (counts == 1).all() and (mass_of_one == mass_of_one[:1]).all():
            # Most often: the formulas below would give the same, and cost as much as a
            # tenth of a mini-batch.
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
            # A count barely above 1 has a large offset, which rounding must not make ∞.
            np.clip(self_log_offsets, 0, excluded_distance(dtype)).astype(dtype),
            counts.astype(dtype),
        )


@dataclass(frozen=True)
class ClassRuns:
    """For each of the points sorted by class, the run of points of its class."""

    starts: IntArray
    stops: IntArray

    @classmethod
    def from_sorted(cls, codes: IntArray) -> "ClassRuns":
        """Build from class codes in ascending order."""
        starts = np.searchsorted(codes, codes, side="left")
        return cls(starts, np.searchsorted(codes, codes, side="right"))


@dataclass(frozen=True)
class ExpectedMatches:
    """NCA's f, eq. 3: the value is p_i, the chance that i picks a match."""

    classes: ClassRuns
    masses: NeighborWeights
    kernel = "matches"
    power: ClassVar[float] = 1.0

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernel needs to know of the points as rows."""
        masses = self.masses
        return (
            self.classes.starts,
            self.classes.stops,
            masses.self_log_offsets,
            masses.counts,
        )

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns, and of p_i."""
        log_offsets = self.masses.log_offsets
        return (log_offsets, np.array([self.power], dtype=log_offsets.dtype))


@dataclass(frozen=True)
class LogMatches(ExpectedMatches):
    """NCA's g, eq. 6: the value is log p_i."""

    power = 0.0


@dataclass(frozen=True)
class SoftMatches:
    """Soft matches of targets (NCA, section 5): the value is Σ_j p_ij κ_ij.

    κ_ij = exp(−(t_i − t_j)²), so that the targets' unit sets the width.
    """

    targets: FloatArray
    masses: NeighborWeights
    kernel = "soft_matches"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (self.masses.self_log_offsets, self.masses.counts)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""
        return (self.masses.log_offsets, self.targets)


@dataclass(frozen=True)
class SquaredErrors(SoftMatches):
    """Kernel regression (MLKR): the value is −(t_i − Σ_j p_ij t_j)²."""

    kernel = "squared_errors"


@dataclass(frozen=True)
class Perplexities:
    """No weights; the value is the effective number of neighbours of i."""

    masses: NeighborWeights
    kernel = "perplexities"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (self.masses.self_log_offsets,)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""
        # Below 1 there are no copies to share with.
        return (self.masses.log_offsets, np.log(np.maximum(self.masses.counts, 1)))


@dataclass(frozen=True)
class Responsibilities:
    """LCA's λ_ij, eq. 3; the value is log Σ_{j≠i} exp(−d²_ij)."""

    masses: NeighborWeights
    kernel = "responsibilities"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (self.masses.self_log_offsets,)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""
        return (self.masses.log_offsets,)


@dataclass(frozen=True)
class Affinities:
    """LFDA's A_ij = exp(−d²_ij / (σ_i σ_j)); the value is Σ_{j≠i} A_ij."""

    sharpness: FloatArray
    """1 / σ_i, of which the product of two must be finite."""
    kernel = "affinities"

    @property
    def query_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (self.sharpness,)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""
        return (self.sharpness,)


@dataclass(frozen=True)
class CollapsedClasses:
    """MCML: the value is the mean of log p_ij over the other points j of i's class."""

    classes: ClassRuns
    masses: NeighborWeights
    kernel = "collapsed_classes"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernel needs to know of the points as rows."""
        return (self.classes.starts, self.classes.stops, self.masses.self_log_offsets)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""
        return (self.masses.log_offsets,)


@dataclass(frozen=True)
class SquaredVotes:
    """The neighbours' vote against the class: −Σ_c ([c_i = c] − Σ_{j ∈ c} p_ij)²."""

    classes: ClassRuns
    masses: NeighborWeights
    kernel = "squared_votes"

    @property
    def query_args(self) -> tuple[FloatArray | IntArray, ...]:
        """What the kernel needs to know of the points as rows."""
        starts = self.classes.starts
        return (starts, self.masses.self_log_offsets, self.masses.counts)

    @property
    def reference_args(self) -> tuple[FloatArray, ...]:
        """What the kernel needs to know of the points as columns."""
        bounds: Any = np.append(np.unique(self.classes.starts), self.classes.stops[-1:])
        return (self.masses.log_offsets, bounds)


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
