"""Edge weights: one function for each loss, with the name of its compiled kernel.

Rules that compare labels need the points sorted by class. The matches of a row are then
contiguous columns, and the loop over pairs does not compare labels.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray

EXCLUDED_DISTANCE: dict[Any, Any] = {
    np.dtype(np.float32): np.float32(1e38),
    np.dtype(np.float64): np.float64(1e300),
}
"""Sentinel distance of excluded points: finite, so that inf − inf never occurs."""


@dataclass(frozen=True)
class NeighborWeights:
    """Weights of the points: as neighbors, in their own sum, and in the objective.

    Attributes
    ----------
    log_offsets : ndarray of shape (n_points,)
        log max mass − log mass_j of the points as neighbors: p_ij ∝ mass_j exp(−d²).
    self_log_offsets : ndarray of shape (n_points,)
        Offset of a point in its own sum: `EXCLUDED_DISTANCE` for a single point; a
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
                np.full_like(zeros, EXCLUDED_DISTANCE[dtype]),
                np.ones_like(zeros),
            )
        masses = np.log(counts) + np.log(mass_of_one)
        self_log_offsets = np.full(len(counts), float(EXCLUDED_DISTANCE[dtype]))
        several = counts > 1
        self_log_offsets[several] = masses.max() - (
            np.log(counts[several] - 1) + np.log(mass_of_one[several])
        )
        return cls(
            (masses.max() - masses).astype(dtype),
            # The offset of a count barely above 1 is large; it must not overflow.
            np.clip(self_log_offsets, 0, EXCLUDED_DISTANCE[dtype]).astype(dtype),
            counts.astype(dtype),
        )


class Rule(NamedTuple):
    """Edge weights and values of the rows of a block of pairs.

    A compiled kernel is called with the block of inner products ⟨z_i, z_j⟩, the columns
    of the rows' own points, their squared norms, `query_args` of these rows, the
    columns' squared norms, `reference_args`, and an array for the rows' values; it
    overwrites the block with the weights v_ij. A function is called with the block of
    squared distances and the rows' positions, overwrites the block with the derivatives
    of each row's value, and returns the values.

    Attributes
    ----------
    kernel : str or callable
        Name of a compiled kernel, or a function.
    query_args : tuple of ndarray
        Arguments of the kernel with one entry for each row.
    reference_args : tuple of ndarray
        Arguments of the kernel about the columns.
    """

    kernel: Any
    query_args: tuple[Any, ...] = ()
    reference_args: tuple[Any, ...] = ()


class ClassSlices(NamedTuple):
    """Range of the points of the same class, for each of the points sorted by class."""

    starts: IntArray
    stops: IntArray

    @classmethod
    def from_sorted(cls, codes: IntArray) -> "ClassSlices":
        """Build from class codes in ascending order."""
        starts = np.searchsorted(codes, codes, side="left")
        return cls(starts, np.searchsorted(codes, codes, side="right"))


def expected_matches(
    classes: ClassSlices, masses: NeighborWeights, power: float = 1.0
) -> Rule:
    """NCA's f, eq. 3; the value is p_i, the probability that i picks a match."""
    offsets = masses.log_offsets
    return Rule(
        "matches",
        (*classes, masses.self_log_offsets, masses.counts),
        (offsets, np.array([power], dtype=offsets.dtype)),
    )


def log_matches(classes: ClassSlices, masses: NeighborWeights) -> Rule:
    """NCA's g, eq. 6; the value is log p_i."""
    return expected_matches(classes, masses, power=0.0)


def soft_matches(targets: FloatArray, masses: NeighborWeights) -> Rule:
    """Soft matches of targets (NCA, section 5); the value is Σ_j p_ij κ_ij.

    κ_ij = exp(−(t_i − t_j)²); the unit of the targets sets the width.
    """
    own = (masses.self_log_offsets, masses.counts)
    return Rule("soft_matches", own, (masses.log_offsets, targets))


def squared_errors(targets: FloatArray, masses: NeighborWeights) -> Rule:
    """Kernel regression (MLKR); the value is −(t_i − Σ_j p_ij t_j)²."""
    return soft_matches(targets, masses)._replace(kernel="squared_errors")


def perplexities(masses: NeighborWeights) -> Rule:
    """Perplexity; the value is the effective number of neighbors of i."""
    # A count below 1 has no copies.
    copies = np.log(np.maximum(masses.counts, 1))
    own = (masses.self_log_offsets,)
    return Rule("perplexities", own, (masses.log_offsets, copies))


def responsibilities(masses: NeighborWeights) -> Rule:
    """LCA's λ_ij, eq. 3; the value is log Σ_{j≠i} exp(−d²_ij)."""
    own = (masses.self_log_offsets,)
    return Rule("responsibilities", own, (masses.log_offsets,))


def affinities(sharpness: FloatArray) -> Rule:
    """LFDA's A_ij = exp(−d²_ij / (σ_i σ_j)); the value is Σ_{j≠i} A_ij.

    The sharpness is 1 / σ_i; the product of any two must be finite.
    """
    return Rule("affinities", (sharpness,), (sharpness,))


def collapsed_classes(classes: ClassSlices, masses: NeighborWeights) -> Rule:
    """MCML; the value is the mean of log p_ij over the other points j of i's class."""
    own = (*classes, masses.self_log_offsets)
    return Rule("collapsed_classes", own, (masses.log_offsets,))


def squared_votes(classes: ClassSlices, masses: NeighborWeights) -> Rule:
    """Squared error of the vote; the value is −Σ_c ([c_i = c] − Σ_{j ∈ c} p_ij)²."""
    bounds = np.append(np.unique(classes.starts), classes.stops[-1:])
    own = (classes.starts, masses.self_log_offsets, masses.counts)
    return Rule("squared_votes", own, (masses.log_offsets, bounds))


def given_pairs(
    shares: csr_array,
    masses: NeighborWeights,
    attraction: FloatArray,
    repulsion: FloatArray,
) -> Rule:
    """Pairs, eq. 8 of NCA; the value is Σ_j s_ij log p_ij.

    Parameters
    ----------
    shares : csr_array
        s_ij: the shares of each point's partners, which sum to 1.
    masses : NeighborWeights
        Weights of single points.
    attraction : ndarray of shape (n_points,)
        Total weight of a point's partners; 0 if it has none.
    repulsion : ndarray of shape (n_points,)
        Weight of p_ij in the gradient; equal to `attraction` if p is normalized for
        each point.
    """
    offsets = masses.log_offsets
    rows, columns = _csr_args(shares, offsets.dtype)
    own = (*rows, masses.self_log_offsets, attraction, repulsion)
    return Rule("pairs", own, (offsets, *columns))


def listed_matches(matches: csr_array, masses: NeighborWeights, power: float) -> Rule:
    """Sparse matches κ_ij; the value is Σ_j p_ij κ_ij, or its logarithm (power 0)."""
    offsets = masses.log_offsets
    rows, columns = _csr_args(matches, offsets.dtype)
    return Rule(
        "listed_matches",
        (*rows, masses.self_log_offsets, masses.counts),
        (offsets, *columns, np.array([power], dtype=offsets.dtype)),
    )


def soft_labels(labels: FloatArray, masses: NeighborWeights, power: float) -> Rule:
    """Class probabilities Y; the matches are κ_ij = Σ_c Y_ic Y_jc."""
    offsets = masses.log_offsets
    labels = labels.astype(offsets.dtype)
    return Rule(
        "soft_labels",
        (labels, masses.self_log_offsets, masses.counts),
        (
            offsets,
            np.ascontiguousarray(labels.T),
            np.array([power], dtype=offsets.dtype),
        ),
    )


def _csr_args(matrix: csr_array, dtype: Any) -> tuple[Any, Any]:
    """Return the bounds of the rows, and columns and values, of a sparse matrix."""
    pointers = matrix.indptr.astype(np.intp)
    columns = matrix.indices.astype(np.intp), matrix.data.astype(dtype)
    return (pointers[:-1], pointers[1:]), columns
