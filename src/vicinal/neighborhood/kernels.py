"""Compiled kernels for one row of pairs at a time. Importing this module loads Numba.

The kernel of a loss takes a block of inner products ⟨z_i, z_j⟩, overwrites it with the
weights v_ij of the edges i→j, and writes one value for each row. Row r is a point at
column own[r] with squared norm norms_of[r]. Infinity does not occur: the distance to
excluded points is a large finite number.

A neighbor j may have a weight: p_ij ∝ weight_j exp(−d²). It is passed as the offset
log max weight − log weight_j ≥ 0, which is added to the squared distances. The weight
of a point in its own sum, if it represents several points, is self_log_offsets[r].
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from contextlib import suppress
from typing import Any

import numpy as np
from numba import njit, types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic, overload

# Sums may be reordered (SIMD) and multiplications fused; NaN and infinity keep their
# meaning.
FLAGS = {"reassoc", "contract", "arcp", "nsz"}
# Kernels are not called by address; C wrappers would only add compile time.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": FLAGS, "no_cfunc_wrapper": True}
step: Any = njit(**_OPTIONS)


class _Cache(FunctionCache):
    """Cache of a kernel's compiled code on disk, if it can be read or written.

    Files may be damaged, unreadable or of another user, and the disk may be full. With
    Numba's own class, the fit would fail.
    """

    def load_overload(self, *args):
        """Return the compiled code of a signature, or None to compile it."""
        try:
            return super().load_overload(*args)
        except Exception:  # noqa: BLE001  what damaged pickles raise may be anything
            return None

    def save_overload(self, *args):
        """Save the compiled code, if possible; a damaged index is replaced."""
        try:
            super().save_overload(*args)
        except Exception:  # noqa: BLE001  a cache that cannot be had is done without
            with suppress(Exception):
                self.flush()
                super().save_overload(*args)


def kernel(function: Any) -> Any:
    """Compile a function at its first call, and cache the code on disk if possible."""
    dispatcher: Any = step(function)
    # RuntimeError: neither the package's folder nor the user's is writable.
    with suppress(RuntimeError, OSError):
        dispatcher._cache = _Cache(function)
    return dispatcher


_intrinsic: Any = intrinsic


def exp(x: float) -> float:
    """Return exp(x) for x ≤ 0, as a polynomial that vectorizes; 0 if negligible.

    2^k · exp(r) with |r| ≤ ½ ln 2: k goes into the exponent's bits, and exp(r) is
    1 + r + r²·P(r) with Chebyshev coefficients. Below the cut-off, the result cannot
    change a sum whose largest term is 1, and an exact zero avoids slow subnormal
    numbers in later products.
    """
    raise NotImplementedError("compiled code only")


# Without "reassoc", which would remove the rounding by a large constant and the
# two-part ln 2.
@overload(exp, jit_options={"fastmath": {"contract", "nsz"}})
def _exp_compiled(x):
    if x == types.float32:

        def exp32(x):
            f, i = np.float32, np.int32
            y = x if x > f(-60.0) else f(-60.0)
            # Adding 1.5·2²³ leaves the nearest integer in the lowest bits.
            shifted = f(y * f(1.4426950408889634) + f(12582912.0))
            k = f(shifted - f(12582912.0))
            r = y - k * f(0.693359375) + k * f(2.12194440054691e-4)
            p = f(1.3926183587713495e-3)
            p = p * r + f(8.363179052722577e-3)
            p = p * r + f(4.1666554617204574e-2)
            p = p * r + f(1.6666576989698776e-1)
            p = p * r + f(0.5)
            p = p * r * r + r + f(1.0)
            two_to_k = _number(i((_bits(f(shifted)) + i(127)) << i(23)))
            return p * two_to_k if x > f(-60.0) else f(0.0)

        return exp32

    def exp64(x):
        f, i = np.float64, np.int64
        y = x if x > -600.0 else -600.0
        shifted = f(y * 1.4426950408889634 + 6755399441055744.0)
        k = shifted - 6755399441055744.0
        r = y - k * 0.693147180369123816490 - k * 1.90821492927058770002e-10
        p = 2.5100385495510319e-8
        p = p * r + 2.7620088445409748e-7
        p = p * r + 2.7557268459997065e-6
        p = p * r + 2.4801521295954375e-5
        p = p * r + 1.9841269863053617e-4
        p = p * r + 1.3888888917213717e-3
        p = p * r + 8.3333333333300618e-3
        p = p * r + 4.1666666666624128e-2
        p = p * r + 1.6666666666666667e-1
        p = p * r + 0.5
        p = p * r * r + r + 1.0
        two_to_k = _number(i((_bits(f(shifted)) + i(1023)) << i(52)))
        return p * two_to_k if x > -600.0 else 0.0

    return exp64


@_intrinsic
def _bits(_, number):
    """Return the bits of a float as an integer; non-negative floats keep their order.

    A minimum of integers vectorizes; a minimum of floats does not, because of NaN.
    """
    target = types.int32 if number == types.float32 else types.int64
    return target(number), _bitcast


@_intrinsic
def _number(_, bits):
    """Return the float with these bits."""
    target = types.float32 if bits == types.int32 else types.float64
    return target(bits), _bitcast


def _bitcast(context, builder, signature, args):
    return builder.bitcast(args[0], context.get_value_type(signature.return_type))


@step
def least(row):
    """Return the smallest of a row of non-negative numbers."""
    least = _bits(row[0])
    for j in range(1, row.shape[0]):
        least = min(least, _bits(row[j]))
    return _number(least)


@step
def to_squared_distances(row, norm, norms, log_offsets):
    """Turn ⟨z_i, z_j⟩ into ‖z_i − z_j‖² plus the offset of j; return the minimum."""
    zero, two, far = row.dtype.type(0), row.dtype.type(2), row.dtype.type(np.inf)
    least = _bits(far)
    for j in range(row.shape[0]):
        distance = (norm + norms[j]) - two * row[j]
        row[j] = (distance if distance > zero else zero) + log_offsets[j]
        least = min(least, _bits(row[j]))
    return _number(least)


@step
def to_distances_of(row, i, norm, norms, log_offsets, itself):
    """Turn a row into squared distances with offsets; set its own entry i to itself."""
    # Before the loop, so that the minimum is over the candidates of i.
    row[i] = norms[i] - (itself - log_offsets[i]) / 2
    return to_squared_distances(row, norm, norms, log_offsets)


@step
def to_exponentials(row, shift):
    """Turn squared distances into exp(shift − d²); return their sum."""
    total = row.dtype.type(0)
    for j in range(row.shape[0]):
        e = exp(shift - row[j])
        row[j] = e
        total += e
    return total


@step
def scale(row, factor):
    """Multiply a row by a number."""
    for j in range(row.shape[0]):
        row[j] *= factor


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
    """Compute the weights of NCA's eq. 7 or 5: p_i^power p_ij (1 − [c_i = c_j] / p_i).

    With power 0 this is the derivative of log p_i, the value; with power 1, of p_i. The
    class of row r is columns starts[r] … stops[r] − 1; its term in the sum is
    multiplied by counts[r]. A point that is alone in its class has no match under any
    map, and contributes nothing.
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
        # The class has its own shift, so that its sum never underflows.
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
        # 1 − 1 / p_i is −missed / (share · matched), without cancellation if p_i is 1.
        scale(same, -factor * missed / matched)
        scale(left, factor)
        scale(right, factor)


@kernel
def collapsed_classes(
    block, own, norms_of, starts, stops, self_log_offsets, norms, log_offsets, values
):
    """Compute the weights of MCML: v_ij = p_ij − [c_i = c_j] / (n_i − 1).

    n_i is the size of i's class. Values are the mean of log p_ij over the other points
    of the class. A point that is alone in its class contributes nothing.
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
    """Compute the weights of squared votes: v_ij = p_ij (Σ_c g_c q_c − g_{c_j}).

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
            # Sum of the other votes: 1 − q_c would cancel if q_c is nearly 1.
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
    """Compute the weights of soft matches, v_ij = p_ij (κ_i − κ_ij).

    Values are κ_i = Σ_j p_ij κ_ij. κ_ij = exp(−(t_i − t_j)²) is the agreement of two
    targets (NCA, section 5).
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
    """Compute the weights of kernel regression: v_ij = 2 p_ij (t_i − t̂_i)(t̂_i − t_j).

    Values are −(t_i − t̂_i)² with t̂_i = Σ_j p_ij t_j, the mean of the neighbors.
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
        # Relative to t_i, which avoids loss of digits for large targets.
        mean /= total
        values[r] = -mean * mean
        factor = -2 * counts[r] * mean / total
        for j in range(row.shape[0]):
            row[j] *= factor * (mean - (targets[j] - targets[i]))


@kernel
def perplexities(
    block, own, norms_of, self_log_offsets, norms, log_offsets, copies, values
):
    """Write exp(−Σ_j p_ij log p_ij), the effective number of neighbors of i.

    If row j represents several points, copies[j] is the logarithm of their number, and
    its p_ij is divided among them.
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
        if copies[i] > 0:  # one of the point's copies is the point itself
            e = exp(nearest - row[i])
            moment += e * (copies[i] - np.log(np.exp(copies[i]) - 1))
        values[r] = total * np.exp(-moment / total)


@kernel
def normalize(block, query_norms, norms, log_offsets, values):
    """Turn inner products of queries and points into p_ij; each row sums to 1.

    Values are log Σ_j mass_j exp(−d²_ij), the logarithm of the normalization.
    """
    for r in range(block.shape[0]):
        row = block[r]
        nearest = to_squared_distances(row, query_norms[r], norms, log_offsets)
        total = to_exponentials(row, nearest)
        values[r] = np.log(total) - nearest
        scale(row, 1 / total)


@kernel
def gather(block, first, columns, points, log_offsets):
    """Write −½ (‖z_i − z_j‖² + the offset of j) for the listed neighbors j of i.

    Row r is point first + r. The kernel of a rule reads these as inner products of
    points with norm 0.
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
    """Write −½ ‖q − z_j‖² from differences, which is exact if products would cancel.

    The kernel of a rule reads these as inner products of points with norm 0.
    """
    for r in range(block.shape[0]):
        for j in range(block.shape[1]):
            distance = block.dtype.type(0)
            for a in range(queries.shape[1]):
                gap = queries[r, a] - points[j, a]
                distance += gap * gap
            block[r, j] = -distance / 2


@kernel
def add_differences(block, own, points, product):
    """Add the edges of some rows to L Z: v_ij (z_i − z_j) to i, its negative to j."""
    for r in range(block.shape[0]):
        i = own[r]
        for j in range(block.shape[1]):
            if block[r, j] != 0:
                for a in range(points.shape[1]):
                    term = block[r, j] * (points[i, a] - points[j, a])
                    product[i, a] += term
                    product[j, a] -= term


@kernel
def squared_distances(block, query_norms, norms):
    """Turn inner products into squared distances."""
    for r in range(block.shape[0]):
        for j in range(block.shape[1]):
            distance = (query_norms[r] + norms[j]) - 2 * block[r, j]
            block[r, j] = distance if distance > 0 else block.dtype.type(0)


@kernel
def plain_distances(block, query_norms, norms, least, distances):
    """Write distances, of at least √least, and −½ times these into the block."""
    for r in range(block.shape[0]):
        for j in range(block.shape[1]):
            squared = (query_norms[r] + norms[j]) - 2 * block[r, j]
            distance = np.sqrt(squared if squared > least else least)
            distances[r, j] = distance
            block[r, j] = -distance / 2


@kernel
def halve_and_divide(block, distances):
    """Divide each entry by twice its distance."""
    for r in range(block.shape[0]):
        for j in range(block.shape[1]):
            block[r, j] /= 2 * distances[r, j]


@kernel
def add_levels(codes, levels, points):
    """Add the vectors of the levels of each row; a code below 0 has none."""
    for r in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            if codes[r, c] >= 0:
                level = levels[int(codes[r, c])]
                for a in range(level.shape[0]):
                    points[r, a] += level[a]


@kernel
def sum_levels(codes, gradient, sums):
    """Add the gradient of each row to the sums of its levels."""
    for r in range(codes.shape[0]):
        for c in range(codes.shape[1]):
            if codes[r, c] >= 0:
                level = sums[int(codes[r, c])]
                for a in range(level.shape[0]):
                    level[a] += gradient[r, a]


@kernel
def responsibilities(
    block, own, norms_of, self_log_offsets, norms, log_offsets, values
):
    """Compute λ_ij of LCA's eq. 3; values are log Σ_{j≠i} mass_j exp(−d²_ij)."""
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
    """Compute LFDA's affinities, v_ij = exp(−s_i s_j d²_ij); values are their sums.

    s is 1 / σ, the local scale of a point; the affinity of a point to itself is 0.
    """
    for r in range(block.shape[0]):
        row, total = block[r], block.dtype.type(0)
        for j in range(row.shape[0]):
            distance = (norms_of[r] + norms[j]) - 2 * row[j]
            distance = distance if distance > 0 else block.dtype.type(0)
            # Multiply one factor at a time: the product of two large ones may overflow.
            e = exp(-((distance * sharpness_of[r]) * sharpness[j]))
            row[j] = e
            total += e
        values[r] = total - row[own[r]]
        row[own[r]] = 0


@kernel
def log_sums(block, query_norms, norms, log_offsets, values):
    """Write log Σ_j mass_j exp(−d²_j) of each query; the block is overwritten."""
    for r in range(block.shape[0]):
        row = block[r]
        nearest = to_squared_distances(row, query_norms[r], norms, log_offsets)
        values[r] = np.log(to_exponentials(row, nearest)) - nearest


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
    """Compute the weights of NCA's eq. 8: v_ij = repulsion_i p_ij − attraction_i s_ij.

    s_ij are the shares of i's partners, which sum to 1. Values are Σ_j s_ij log p_ij;
    for points without a partner, −log Σ_{j≠i} exp(−d²_ij).
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
    """Compute the weights of given matches κ_ij: κ_i^power p_ij (1 − κ_ij / κ_i).

    With power 1 the value is κ_i = Σ_j p_ij κ_ij; with power 0, its logarithm. A point
    without matches contributes nothing.
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
        # Matches have their own shift, so that their sum never underflows.
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
    """Write Σ_c Y_ic Y_jc of one row i and all j; most classes are skipped."""
    kappa[:] = 0
    for c in range(labels.shape[0]):
        weight = labels_of[c]
        if weight > 0:
            for j in range(kappa.shape[0]):
                kappa[j] += weight * labels[c, j]


@kernel
def _nearest_match(row, kappa):
    """Return the least squared distance to a point with κ > 0; −1 if there is none."""
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
    """Compute the weights of `listed_matches` for κ_ij = Σ_c Y_ic Y_jc of all pairs.

    labels is Y transposed, so that each class is contiguous in memory.
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
            # A point that is nearer than all points with κ > 0 has κ = 0.
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


@step
def insert(distances, numbers, distance, number):
    """Insert a point into a list that is sorted by distance, then by number.

    It must be nearer than the last point of the list, which is removed.
    """
    place = distances.shape[0] - 1
    while place > 0 and (
        distances[place - 1] > distance
        or (distances[place - 1] == distance and numbers[place - 1] > number)
    ):
        distances[place] = distances[place - 1]
        numbers[place] = numbers[place - 1]
        place -= 1
    distances[place] = distance
    numbers[place] = number


@step
def _offer(distances, numbers, distance, number):
    """Insert a point into a list of nearest points if it belongs there."""
    last = distances.shape[0] - 1
    if distance < distances[last] or (
        distance == distances[last] and number < numbers[last]
    ):
        insert(distances, numbers, distance, number)


@kernel
def list_nearest(
    block, half_norms_of, half_norms, first_row, first_column, distances, numbers
):
    """Turn inner products into ½ ‖q − x‖², and list the nearest columns of each row.

    Row r is point first_row + r, column c is point first_column + c; a point is not its
    own neighbor. The lists of distances and numbers are sorted; `far` and the largest
    integer mark empty entries.
    """
    zero, step = block.dtype.type(0), 64
    for r in range(block.shape[0]):
        row = block[r]
        for c in range(row.shape[0]):
            distance = (half_norms_of[r] + half_norms[c]) - row[c]
            row[c] = distance if distance > zero else zero
        last = distances.shape[1] - 1
        for start in range(0, row.shape[0], step):
            part = row[start : start + step]
            if least(part) <= distances[r, last]:
                for c in range(part.shape[0]):
                    number = first_column + start + c
                    if part[c] <= distances[r, last] and number != first_row + r:
                        _offer(distances[r], numbers[r], part[c], number)


@kernel
def list_nearest_rows(block, first_row, distances, numbers):
    """List the nearest rows of each column, for a block of distances.

    The resulting lists do not depend on the order of the blocks.
    """
    last, step = distances.shape[1] - 1, 64
    bounds = distances[:, last].copy()
    for r in range(block.shape[0]):
        row = block[r]
        for start in range(0, row.shape[0], step):
            part, limits = row[start : start + step], bounds[start : start + step]
            near = 0
            for c in range(part.shape[0]):
                near += part[c] <= limits[c]
            if near:
                for c in range(part.shape[0]):
                    if part[c] <= limits[c]:
                        column = start + c
                        _offer(
                            distances[column], numbers[column], part[c], first_row + r
                        )
                        limits[c] = distances[column, last]


@step
def _count_below(row, start, stop, radius):
    """Return the number of columns in a range that are below a radius."""
    near = np.int32(0)
    for c in range(start, stop):
        near += np.int32(1) if row[c] < radius else np.int32(0)
    return near


@kernel
def count_within(block, query_norms, norms, radii, starts, stops, counts):
    """Turn inner products into squared distances, and count those below a radius.

    The columns starts[r] … stops[r] − 1 are the row's own class, and are not counted.
    """
    zero, two = block.dtype.type(0), block.dtype.type(2)
    for r in range(block.shape[0]):
        row, n = block[r], block.shape[1]
        for c in range(n):
            distance = (query_norms[r] + norms[c]) - two * row[c]
            row[c] = distance if distance > zero else zero
        counts[r] = _count_below(row, 0, starts[r], radii[r])
        counts[r] += _count_below(row, stops[r], n, radii[r])


@kernel
def list_within(block, own, radii, starts, stops, kept, counts, columns):
    """List the columns below a radius, row by row, as `count_within` counts them.

    If `kept` is below 2³², a pair is kept if the hash of its numbers is below `kept`.
    `counts` is overwritten with the numbers of kept pairs. Return their total.
    """
    written, step = 0, 64
    for r in range(block.shape[0]):
        row, before, left = block[r], written, counts[r]
        for start in range(0, block.shape[1], step):
            stop = min(start + step, block.shape[1])
            if left == 0:
                break
            if _count_below(row, start, stop, radii[r]) == 0:
                continue
            for c in range(start, stop):
                if row[c] < radii[r] and (c < starts[r] or c >= stops[r]):
                    left -= 1
                    if _hash(own[r], c) < kept:
                        columns[written] = c
                        written += 1
        counts[r] = written - before
    return written


@step
def _hash(i, j):
    """Return a 32-bit hash of a pair of numbers (as splitmix64)."""
    mixed = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed >> np.uint64(32)


@step
def _squared_distance(points, i, others, j):
    """Return ‖z_i − z_j‖², from differences."""
    total = points.dtype.type(0)
    for a in range(points.shape[1]):
        gap = points[i, a] - others[j, a]
        total += gap * gap
    return total


@step
def _add_edge(points, i, j, weight, product):
    """Add an edge to L Z: w (z_i − z_j) to i, and its negative to j."""
    for a in range(points.shape[1]):
        term = weight * (points[i, a] - points[j, a])
        product[i, a] += term
        product[j, a] -= term


@step
def _violations(distance, reach, active):
    """Count the margins that a distance violates; return the count and total excess."""
    violated, excess = 0, 0.0
    for t in range(reach.shape[0]):
        if distance < reach[t]:
            violated += 1
            active[t] += 1
            excess += reach[t] - distance
    return violated, excess


@kernel
def hinges(
    points, queries, targets, ends, columns, margin, pull, push, values, product
):
    """Add the LMNN terms of some points: values of the loss, and L Z of its edges.

    The impostors of the r-th query are columns[ends[r]] … columns[ends[r + 1] − 1]. Its
    target neighbors are targets[r]; −1 marks empty entries. The edge to a target has
    the weight pull, plus push for each impostor within its margin; the edge to an
    impostor has −push for each such target.
    """
    n_targets = targets.shape[1]
    reach, active = np.empty(n_targets), np.empty(n_targets)
    for r in range(queries.shape[0]):
        i, value = queries[r], 0.0
        for t in range(n_targets):
            active[t], reach[t] = 0, -1.0
            if targets[r, t] >= 0:
                distance = _squared_distance(points, i, points, targets[r, t])
                value += pull * distance
                reach[t] = distance + margin
        for place in range(ends[r], ends[r + 1]):
            j = columns[place]
            distance = _squared_distance(points, i, points, j)
            violated, excess = _violations(distance, reach, active)
            if violated:
                value += push * excess
                weight = points.dtype.type(-push * violated)
                _add_edge(points, i, j, weight, product)
        for t in range(n_targets):
            if targets[r, t] >= 0:
                weight = points.dtype.type(pull + push * active[t])
                _add_edge(points, i, targets[r, t], weight, product)
        values[r] = value


@step
def _list_class(row, query_norm, norms, start, stop, nearest, numbers):
    """Turn a class's inner products into squared distances, and list the smallest."""
    zero, last = row.dtype.type(0), nearest.shape[0] - 1
    nearest[:] = row.dtype.type(3e38)
    for j in range(start, stop):
        distance = (query_norm + norms[j]) - 2 * row[j]
        row[j] = distance if distance > zero else zero
        if row[j] < nearest[last]:
            insert(nearest, numbers, row[j], j)


@step
def _add_pushes(distance, own, nearest, found, scales, energy):
    """Add the cost of a point of class own at this distance to all other classes."""
    for c in range(found.shape[0]):
        if c != own:
            for t in range(found[c]):
                gap = nearest[c, t] + 1 - distance
                energy[c] += scales[c] * gap if gap > 0 else 0.0


@kernel
def energies(block, query_norms, norms, bounds, reach, n_neighbors, pull, push, out):
    """Write the LMNN energy of each query in each class; the block is overwritten.

    Class c is the columns bounds[c] … bounds[c + 1] − 1. reach[l] has the squared
    distances from training point l to its target neighbors, plus the margin; −1 marks
    empty entries. A class with fewer points is scaled as if it had n_neighbors.
    """
    n_classes, n_targets = bounds.shape[0] - 1, reach.shape[1]
    nearest = np.empty((n_classes, n_neighbors), dtype=block.dtype)
    numbers = np.empty(n_neighbors, dtype=np.int64)
    found = np.minimum(n_neighbors, bounds[1:] - bounds[:-1])
    invaded, unused = np.empty(n_classes), np.empty(n_targets)
    for r in range(block.shape[0]):
        row, energy, farthest = block[r], out[r], -1.0
        for c in range(n_classes):
            k = found[c]
            _list_class(
                row, query_norms[r], norms, bounds[c], bounds[c + 1],
                nearest[c, :k], numbers[:k],
            )  # fmt: skip
            energy[c] = pull * nearest[c, :k].sum() * n_neighbors / k
            farthest = max(farthest, nearest[c, k - 1] + 1)
        for c in range(n_classes):
            invaded[c] = 0
            for j in range(bounds[c], bounds[c + 1]):
                invaded[c] += _violations(row[j], reach[j], unused)[1]
                if row[j] < farthest:
                    _add_pushes(
                        row[j], c, nearest, found, push * n_neighbors / found, energy
                    )
        energy += push * (invaded.sum() - invaded)


@step
def _contrast(points, i, others, j, both, rate, seed, count, drawn, near):
    """Step along the gradient of log q_ij / (q_ij + Σ_m q_im), q = 1 / (1 + d²).

    The m are drawn at random. With `both`, points are among the others and both ends
    of each pair move.
    """
    total = points.dtype.type(0)
    for m in range(drawn.shape[0]):
        drawn[m] = _hash(count + m, seed) % np.uint64(others.shape[0])
        near[m] = 1 / (1 + _squared_distance(points, i, others, drawn[m]))
        total += near[m]
    neighbor = 1 / (1 + _squared_distance(points, i, others, j))
    total += neighbor
    pull = 2 * rate * neighbor * (1 - neighbor / total)
    for a in range(points.shape[1]):
        place = points[i, a]
        step_i = pull * (others[j, a] - place)
        if both:
            others[j, a] -= step_i
        for m in range(drawn.shape[0]):
            push = 2 * rate * near[m] * near[m] / total * (place - others[drawn[m], a])
            step_i += push
            if both:
                others[drawn[m], a] -= push
        points[i, a] = place + step_i


@kernel
def arrange(points, neighbors, n_epochs, n_draws, seed):
    """Move points so that each is nearer to its neighbors than to random points.

    Stochastic gradient ascent of Σ_i Σ_j∈N(i) log q_ij / (q_ij + Σ_m q_im); the step
    falls linearly from 1 to 0.
    """
    n, k = neighbors.shape
    drawn, near = np.empty(n_draws, dtype=np.int64), np.empty(n_draws)
    count = 0
    for epoch in range(n_epochs):
        rate = 1 - epoch / n_epochs
        for i in range(n):
            for c in range(k):
                j = neighbors[i, c]
                _contrast(points, i, points, j, True, rate, seed, count, drawn, near)
                count += n_draws


@kernel
def place(points, others, neighbors, n_epochs, n_draws, seed):
    """Move points among others that stay; the place of one does not depend on the rest.

    The objective is that of `arrange`, and the step falls from ½ to 0.
    """
    n, k = neighbors.shape
    drawn, near = np.empty(n_draws, dtype=np.int64), np.empty(n_draws)
    for i in range(n):
        count = 0
        for epoch in range(n_epochs):
            rate = (1 - epoch / n_epochs) / 2
            for c in range(k):
                j = neighbors[i, c]
                _contrast(points, i, others, j, False, rate, seed, count, drawn, near)
                count += n_draws
