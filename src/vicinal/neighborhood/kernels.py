"""Compiled kernels of the rules, one row of pairs at a time.

A rule's kernel takes a block of inner products ⟨z_i, z_j⟩ and leaves in its
place the weights v_ij of the edges i→j; it writes the rule's value for each row. Row r
is a point that stands at column own[r], and has the squared norm norms_of[r].
The steps that rules share are in `row_steps`. No infinity ever occurs: the distance to
what is no neighbour is a large finite number.

A neighbour j may have a mass: p_ij ∝ mass_j exp(−d²). It comes as the offset
log max mass − log mass_j ≥ 0, which is added to the squared distances; so does what a
point adds to its own sum, self_log_offsets[r]: none unless it stands for several.

Importing this module loads Numba; only a rule does, when it first weighs.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

import numpy as np

from vicinal.neighborhood.compiling import kernel
from vicinal.neighborhood.row_steps import (
    exp,
    least,
    scale,
    to_distances_of,
    to_exponentials,
    to_squared_distances,
)


@kernel
def matches(
    block,
    own,
    norms_of,
    starts,
    stops,
    self_log_offsets,
    counts,
    norms,
    log_offsets,
    power,
    values,
):
    """Weigh by NCA's eq. 7 or 5: v_ij = p_i^power p_ij (1 − [c_i = c_j] / p_i).

    With power 0 that is the derivative of log p_i, the value; with power 1 of p_i. The
    class of row r are the columns starts[r] … stops[r] − 1; its term in the sum counts
    counts[r] times. A point that is alone in its class can be matched by no map: it
    adds nothing.
    """
    for r in range(block.shape[0]):
        row = block[r]
        left, same, right = row[: starts[r]], row[starts[r] : stops[r]], row[stops[r] :]
        if same.shape[0] < 2 and counts[r] <= 1:
            row[:] = 0
            values[r] = 0
            continue
        nearest = to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        # The class has a shift of its own, so that its sum never underflows.
        nearest_match = least(same)
        share = exp(nearest - nearest_match)
        matched = to_exponentials(same, nearest_match)
        missed = to_exponentials(left, nearest) + to_exponentials(right, nearest)
        total = share * matched + missed
        factor = counts[r] / total
        if power[0] > 0:
            values[r] = share * matched / total
            factor *= values[r]
        elif share > 0:
            values[r] = -np.log1p(missed / (share * matched))
        else:
            values[r] = (nearest - nearest_match) + np.log(matched / total)
        # 1 − 1 / p_i is −missed / (share · matched): no cancellation when p_i is 1.
        scale(same, -factor * missed / matched)
        scale(left, factor)
        scale(right, factor)


@kernel
def collapsed_classes(
    block, own, norms_of, starts, stops, self_log_offsets, norms, log_offsets, values
):
    """Weigh by MCML: v_ij = p_ij − [c_i = c_j] / (n_i − 1), n_i the size of i's class.

    Values are the mean of log p_ij over the other points of the class. A point that
    is alone in its class adds nothing.
    """
    for r in range(block.shape[0]):
        row, i = block[r], own[r]
        others = stops[r] - starts[r] - 1
        if others < 1:
            row[:] = 0
            values[r] = 0
            continue
        nearest = to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        inside = row.dtype.type(0)
        for j in range(starts[r], stops[r]):
            inside += row[j] - nearest if j != i else row.dtype.type(0)
        total = to_exponentials(row, nearest)
        values[r] = -inside / others - np.log(total)
        scale(row, 1 / total)
        for j in range(starts[r], stops[r]):
            row[j] -= row.dtype.type(1) / others
        row[i] = 0


@kernel
def squared_votes(
    block,
    own,
    norms_of,
    starts,
    self_log_offsets,
    counts,
    norms,
    log_offsets,
    bounds,
    values,
):
    """Weigh by squared errors of the vote: v_ij = p_ij (Σ_c g_c q_c − g_{c_j}).

    q_c = Σ_{j ∈ c} p_ij is the vote for class c, the columns bounds[c] … bounds[c + 1]
    − 1, and g_c = 2 ([c_i = c] − q_c); the value is −Σ_c ([c_i = c] − q_c)².
    """
    n_classes = bounds.shape[0] - 1
    sums = np.empty(n_classes, dtype=block.dtype)
    for r in range(block.shape[0]):
        row = block[r]
        nearest = to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = row.dtype.type(0)
        for c in range(n_classes):
            sums[c] = to_exponentials(row[bounds[c] : bounds[c + 1]], nearest)
            total += sums[c]
        value, mean = row.dtype.type(0), row.dtype.type(0)
        for c in range(n_classes):
            # What the others got: 1 − q_c would cancel where q_c is nearly 1.
            error = -sums[c] / total
            if bounds[c] == starts[r]:
                error = (total - sums[c]) / total
            value -= error * error
            mean += 2 * error * (sums[c] / total)
        values[r] = value
        for c in range(n_classes):
            error = -sums[c] / total
            if bounds[c] == starts[r]:
                error = (total - sums[c]) / total
            scale(
                row[bounds[c] : bounds[c + 1]], counts[r] * (mean - 2 * error) / total
            )


@kernel
def soft_matches(
    block, own, norms_of, self_log_offsets, counts, norms, log_offsets, targets, values
):
    """Weigh by soft matches: v_ij = p_ij (κ_i − κ_ij); values are κ_i = Σ_j p_ij κ_ij.

    κ_ij = exp(−(t_i − t_j)²) is the agreement of two targets (NCA, section 5).
    """
    for r in range(block.shape[0]):
        row, i = block[r], own[r]
        nearest = to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = to_exponentials(row, nearest)
        agreement = row.dtype.type(0)
        for j in range(row.shape[0]):
            gap = targets[i] - targets[j]
            agreement += row[j] * exp(-gap * gap)
        agreement /= total
        values[r] = agreement
        factor = counts[r] / total
        for j in range(row.shape[0]):
            gap = targets[i] - targets[j]
            row[j] *= factor * (agreement - exp(-gap * gap))


@kernel
def squared_errors(
    block, own, norms_of, self_log_offsets, counts, norms, log_offsets, targets, values
):
    """Weigh by kernel regression: v_ij = 2 p_ij (t_i − t̂_i)(t̂_i − t_j).

    Values are −(t_i − t̂_i)² with t̂_i = Σ_j p_ij t_j, the mean of the neighbours.
    """
    for r in range(block.shape[0]):
        row, i = block[r], own[r]
        nearest = to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = to_exponentials(row, nearest)
        mean = row.dtype.type(0)
        for j in range(row.shape[0]):
            mean += row[j] * (targets[j] - targets[i])
        # From here on relative to t_i, which costs no digits where targets are large.
        mean /= total
        values[r] = -mean * mean
        factor = -2 * counts[r] * mean / total
        for j in range(row.shape[0]):
            row[j] *= factor * (mean - (targets[j] - targets[i]))


@kernel
def perplexities(
    block, own, norms_of, self_log_offsets, norms, log_offsets, copies, values
):
    """Write exp(−Σ_j p_ij log p_ij), the effective number of neighbours of i.

    A row that stands for several points, the logarithm of whose number is copies[j],
    shares its p_ij out among them.
    """
    for r in range(block.shape[0]):
        row, i = block[r], own[r]
        nearest = to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total, moment = row.dtype.type(0), row.dtype.type(0)
        for j in range(row.shape[0]):
            further = nearest - row[j]
            e = exp(further)
            total += e
            moment += e * (further - copies[j]) if e > 0 else row.dtype.type(0)
        if copies[i] > 0:  # of the point's own copies, one is the point itself
            e = exp(nearest - row[i])
            moment += e * (copies[i] - np.log(np.exp(copies[i]) - 1))
        values[r] = total * np.exp(-moment / total)


@kernel
def normalize(block, query_norms, norms, log_offsets, values):
    """Turn inner products of queries and points into p_ij; each row sums to 1.

    Values are log Σ_j mass_j exp(−d²_ij), by which the rows were divided.
    """
    for r in range(block.shape[0]):
        row = block[r]
        nearest = to_squared_distances(row, query_norms[r], norms, log_offsets)
        total = to_exponentials(row, nearest)
        values[r] = np.log(total) - nearest
        scale(row, 1 / total)


@kernel
def gather(block, first, columns, points, log_offsets):
    """Write −½ (‖z_i − z_j‖² + the offset of j) for the listed neighbours j of i.

    Row r is point first + r. To a rule's kernel these are inner products of points
    whose norms are 0.
    """
    for r in range(block.shape[0]):
        z = points[first + r]
        for c in range(block.shape[1]):
            j = columns[r, c]
            distance = log_offsets[j]
            for a in range(z.shape[0]):
                gap = z[a] - points[j, a]
                distance += gap * gap
            block[r, c] = -distance / 2


@kernel
def half_distances(block, queries, points):
    """Write −½ ‖q − z_j‖², from differences: exact where products would cancel.

    To a rule's kernel these are inner products of points whose norms are 0.
    """
    for r in range(block.shape[0]):
        for j in range(block.shape[1]):
            distance = block.dtype.type(0)
            for a in range(queries.shape[1]):
                gap = queries[r, a] - points[j, a]
                distance += gap * gap
            block[r, j] = -distance / 2


@kernel
def squared_distances(block, query_norms, norms):
    """Turn inner products into squared distances."""
    for r in range(block.shape[0]):
        for j in range(block.shape[1]):
            distance = (query_norms[r] + norms[j]) - 2 * block[r, j]
            block[r, j] = distance if distance > 0 else block.dtype.type(0)


@kernel
def add_differences(block, own, points, product):
    """Add the edges of some rows to L Z: v_ij (z_i − z_j) to i, and less it to j."""
    for r in range(block.shape[0]):
        i = own[r]
        for j in range(block.shape[1]):
            if block[r, j] != 0:
                for a in range(points.shape[1]):
                    term = block[r, j] * (points[i, a] - points[j, a])
                    product[i, a] += term
                    product[j, a] -= term


@kernel
def add_outer_products(block, own, points, matrix):
    """Add Σ_j v_ij (x_i − x_j)(x_i − x_j)ᵀ of some rows i to a matrix."""
    gaps = np.empty(points.shape[1])
    for r in range(block.shape[0]):
        for j in range(block.shape[1]):
            if block[r, j] != 0:
                for a in range(gaps.shape[0]):
                    gaps[a] = points[own[r], a] - points[j, a]
                for a in range(gaps.shape[0]):
                    weighed = block[r, j] * gaps[a]
                    for b in range(gaps.shape[0]):
                        matrix[a, b] += weighed * gaps[b]


@kernel
def responsibilities(
    block, own, norms_of, self_log_offsets, norms, log_offsets, values
):
    """Weigh by LCA's eq. 3, v_ij = λ_ij; values are log Σ_{j≠i} mass_j exp(−d²_ij)."""
    for r in range(block.shape[0]):
        row = block[r]
        nearest = to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = to_exponentials(row, nearest)
        values[r] = np.log(total) - nearest
        scale(row, 1 / total)


@kernel
def affinities(block, own, norms_of, sharpness_of, norms, sharpness, values):
    """Weigh by LFDA's affinity, v_ij = exp(−s_i s_j d²_ij); values are their sums.

    s is 1 / σ, the point's own scale; a point weighs nothing to itself.
    """
    for r in range(block.shape[0]):
        row, total = block[r], block.dtype.type(0)
        for j in range(row.shape[0]):
            distance = (norms_of[r] + norms[j]) - 2 * row[j]
            distance = distance if distance > 0 else block.dtype.type(0)
            # One factor after the other: a product of two large ones may overflow.
            e = exp(-((distance * sharpness_of[r]) * sharpness[j]))
            row[j] = e
            total += e
        values[r] = total - row[own[r]]
        row[own[r]] = 0


@kernel
def log_sums(block, query_norms, norms, log_offsets, values):
    """Write log Σ_j mass_j exp(−d²_j) of each query; the block is left as scratch."""
    for r in range(block.shape[0]):
        row = block[r]
        nearest = to_squared_distances(row, query_norms[r], norms, log_offsets)
        values[r] = np.log(to_exponentials(row, nearest)) - nearest
