"""Compiled kernels of matches that are given one by one, or as soft labels.

As in `kernels`: a block of inner products comes in, the weights v_ij of the edges i→j
take their place, and each row's value is written. What is given for row r are the
entries starts[r] … stops[r] − 1 of two lists: columns, and their shares or matches.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import numpy as np

from vicinal.neighborhood.compiling import kernel
from vicinal.neighborhood.row_steps import (
    exp,
    scale,
    to_distances_of,
    to_exponentials,
)


@kernel
def pairs(
    block,
    own,
    norms_of,
    starts,
    stops,
    self_log_offsets,
    attraction,
    repulsion,
    norms,
    log_offsets,
    columns,
    shares,
    values,
):
    """Weigh by NCA's eq. 8: v_ij = repulsion_i p_ij − attraction_i s_ij.

    s_ij are the shares of i's partners, which sum to 1. Values are Σ_j s_ij log p_ij,
    for points without a partner −log Σ_{j≠i} exp(−d²_ij).
    """
    for r in range(block.shape[0]):
        row = block[r]
        if attraction[r] == 0 and repulsion[r] == 0:
            row[:] = 0
            values[r] = 0
            continue
        nearest = to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        distance = row.dtype.type(0)
        for e in range(starts[r], stops[r]):
            distance += shares[e] * row[columns[e]]
        total = to_exponentials(row, nearest)
        values[r] = (nearest - distance) - np.log(total)
        scale(row, repulsion[r] / total)
        for e in range(starts[r], stops[r]):
            row[columns[e]] -= attraction[r] * shares[e]


@kernel
def listed_matches(
    block,
    own,
    norms_of,
    starts,
    stops,
    self_log_offsets,
    counts,
    norms,
    log_offsets,
    columns,
    matches,
    power,
    values,
):
    """Weigh by given matches κ_ij: v_ij = κ_i^power p_ij (1 − κ_ij / κ_i).

    With power 1 the value is κ_i = Σ_j p_ij κ_ij, with power 0 its logarithm. A point
    without matches adds nothing.
    """
    for r in range(block.shape[0]):
        row = block[r]
        if starts[r] == stops[r]:
            row[:] = 0
            values[r] = 0
            continue
        nearest = to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        # Matches have a shift of their own, so that their sum never underflows.
        nearest_match = row[columns[starts[r]]]
        for e in range(starts[r], stops[r]):
            nearest_match = min(nearest_match, row[columns[e]])
        matched = row.dtype.type(0)
        for e in range(starts[r], stops[r]):
            matched += matches[e] * exp(nearest_match - row[columns[e]])
        factor = counts[r]
        shares = np.empty(stops[r] - starts[r], dtype=row.dtype)
        for e in range(starts[r], stops[r]):
            shares[e - starts[r]] = (
                matches[e] * exp(nearest_match - row[columns[e]]) / matched
            )
        total = to_exponentials(row, nearest)
        if power[0] > 0:
            values[r] = exp(nearest - nearest_match) * matched / total
            factor *= values[r]
        else:
            values[r] = (nearest - nearest_match) + np.log(matched / total)
        scale(row, factor / total)
        for e in range(starts[r], stops[r]):
            row[columns[e]] -= factor * shares[e - starts[r]]


@kernel
def _agreements(kappa, labels_of, labels):
    """Write Σ_c Y_ic Y_jc of one row i and all j; most classes have no part in it."""
    kappa[:] = 0
    for c in range(labels.shape[0]):
        weight = labels_of[c]
        if weight > 0:
            for j in range(kappa.shape[0]):
                kappa[j] += weight * labels[c, j]


@kernel
def _nearest_match(row, kappa):
    """Return the least squared distance to what has κ > 0; −1 where nothing has."""
    least = row.dtype.type(-1)
    for j in range(row.shape[0]):
        if kappa[j] > 0 and (least < 0 or row[j] < least):
            least = row[j]
    return least


@kernel
def soft_labels(
    block,
    own,
    norms_of,
    labels_of,
    self_log_offsets,
    counts,
    norms,
    log_offsets,
    labels,
    power,
    values,
):
    """Weigh as `listed_matches` does, with κ_ij = Σ_c Y_ic Y_jc of all pairs.

    labels is Y transposed, so that a class is one run of memory.
    """
    kappa = np.empty(block.shape[1], dtype=block.dtype)
    for r in range(block.shape[0]):
        row, zero = block[r], block.dtype.type(0)
        _agreements(kappa, labels_of[r], labels)
        if self_log_offsets[r] > 1e30:  # a single point does not match itself
            kappa[own[r]] = zero
        nearest = to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        nearest_match = _nearest_match(row, kappa)
        if nearest_match < zero:
            row[:] = zero
            values[r] = zero
            continue
        matched = zero
        for j in range(row.shape[0]):
            # A match that is nearer than all of κ > 0 has κ = 0.
            gap = nearest_match - row[j]
            kappa[j] *= exp(gap if gap < zero else zero)
            matched += kappa[j]
        total = to_exponentials(row, nearest)
        factor = counts[r]
        if power[0] > 0:
            values[r] = exp(nearest - nearest_match) * matched / total
            factor *= values[r]
        else:
            values[r] = (nearest - nearest_match) + np.log(matched / total)
        repel, attract = factor / total, factor / matched
        for j in range(row.shape[0]):
            row[j] = repel * row[j] - attract * kappa[j]
