"""Compiled kernels, one row of pairs at a time. Importing this module loads Numba.

A loss's kernel takes a block of inner products ⟨z_i, z_j⟩, overwrites it with the
weights v_ij of the edges i→j, and writes one value for each row. Row r is a point at
column own[r] with squared norm norms_of[r]. No infinity occurs: the distance to
excluded points is a large finite number.

A neighbor j may have a weight: p_ij ∝ weight_j exp(−d²). It comes as the offset
log max weight − log weight_j ≥ 0, which is added to the squared distances; so does the
part of a point in its own sum, self_log_offsets[r], if it stands for several points.
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
# Nobody calls these by address; what that would take has to be compiled, too.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": FLAGS, "no_cfunc_wrapper": True}
step: Any = njit(**_OPTIONS)


class _Cache(FunctionCache):
    """A kernel's compiled code on disk, if that can be read or written.

    Files may be damaged, unreadable, of another user, or the disk full; with Numba's
    own class, the fit then fails.
    """

    def load_overload(self, *args):
        """Return what was compiled for a signature, or None: compile it."""
        try:
            return super().load_overload(*args)
        except Exception:  # noqa: BLE001  what damaged pickles raise may be anything
            return None

    def save_overload(self, *args):
        """Keep what was compiled, if possible; a damaged index is replaced."""
        try:
            super().save_overload(*args)
        except Exception:  # noqa: BLE001  a cache that cannot be had is done without
            with suppress(Exception):
                self.flush()
                super().save_overload(*args)


def kernel(function: Any) -> Any:
    """Compile when first called, and keep the result on disk where that is possible."""
    dispatcher: Any = step(function)
    # RuntimeError: neither the package's folder nor the user's can be written.
    with suppress(RuntimeError, OSError):
        dispatcher._cache = _Cache(function)
    return dispatcher


_intrinsic: Any = intrinsic


def exp(x: float) -> float:
    """exp(x) for x ≤ 0, as a polynomial that vectorises; exactly 0 when negligible.

    2^k · exp(r) with |r| ≤ ½ ln 2: k goes into the exponent's bits, and exp(r) is
    1 + r + r²·P(r) with Chebyshev coefficients. Below the cut-off the result cannot
    change a sum whose largest term is 1, and a true zero keeps the products that
    follow out of slow subnormal numbers.
    """
    raise NotImplementedError("compiled code only")


# No "reassoc" here: it would simplify away the rounding by a large constant and the
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
    """Return a float's bits as an integer: they order as non-negative floats do.

    A minimum of integers vectorises; one of floats does not, for fear of NaN.
    """
    target = types.int32 if number == types.float32 else types.int64
    return target(number), _bitcast


@_intrinsic
def _number(_, bits):
    """Return the float that has these bits."""
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
    """Turn ⟨z_i, z_j⟩ into ‖z_i − z_j‖² plus the offset of j; return the least."""
    zero, two, far = row.dtype.type(0), row.dtype.type(2), row.dtype.type(np.inf)
    least = _bits(far)
    for j in range(row.shape[0]):
        distance = (norm + norms[j]) - two * row[j]
        row[j] = (distance if distance > zero else zero) + log_offsets[j]
        least = min(least, _bits(row[j]))
    return _number(least)


@step
def to_distances_of(row, i, norm, norms, log_offsets, itself):
    """Turn a row into squared distances with offsets, its own entry i into itself."""
    # Before the loop, so that the least is over what i may pick.
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


@step
def insert(distances, numbers, distance, number):
    """Put a point into a list, the nearest first and of equally near ones the first.

    It must be nearer than the last of the list, which falls out.
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
    """Put a point into a list of nearest points if it belongs there."""
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

    Row r is the point of number first_row + r, column c that of first_column + c; a
    point is not its own neighbour. The lists, distances and numbers, are sorted;
    `far` and the largest integer stand for nobody.
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
    """List the nearest rows of each column, where the block has the distances.

    Blocks may come in any order: the lists that they end in are the same.
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
    """Return how many of some columns are below a radius."""
    near = np.int32(0)
    for c in range(start, stop):
        near += np.int32(1) if row[c] < radius else np.int32(0)
    return near


@kernel
def count_within(block, query_norms, norms, radii, starts, stops, counts):
    """Turn inner products into squared distances, and count those below a radius.

    The columns starts[r] … stops[r] − 1 are of the row's own class, and not counted.
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
    """List the columns below a radius, row after row, as `count_within` counts them.

    With kept below 2³², a pair is kept where the hash of its numbers is below that;
    counts are replaced by how many were kept. Returns how many there are in all.
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
    """Return 32 bits that look as if drawn for a pair of numbers (as splitmix64)."""
    mixed = np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed >> np.uint64(32)


@step
def _squared_distance(points, i, j):
    """Return ‖z_i − z_j‖², from differences."""
    total = points.dtype.type(0)
    for a in range(points.shape[1]):
        gap = points[i, a] - points[j, a]
        total += gap * gap
    return total


@step
def _add_edge(points, i, j, weight, product):
    """Add an edge's part of L Z: w (z_i − z_j) to i, and less it to j."""
    for a in range(points.shape[1]):
        term = weight * (points[i, a] - points[j, a])
        product[i, a] += term
        product[j, a] -= term


@step
def _violations(distance, reach, active):
    """Count the margins that a distance is inside of; return that and their excess."""
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
    """Add LMNN's terms of some points: values of the loss, and L Z of its edges.

    The impostors of the r-th query are columns[ends[r]] … columns[ends[r + 1] − 1], its
    target neighbours targets[r], where −1 is nobody. The edge to a target weighs pull
    and push for each impostor that is nearer than it plus the margin; that to an
    impostor −push for each such target.
    """
    n_targets = targets.shape[1]
    reach, active = np.empty(n_targets), np.empty(n_targets)
    for r in range(queries.shape[0]):
        i, value = queries[r], 0.0
        for t in range(n_targets):
            active[t], reach[t] = 0, -1.0
            if targets[r, t] >= 0:
                distance = _squared_distance(points, i, targets[r, t])
                value += pull * distance
                reach[t] = distance + margin
        for place in range(ends[r], ends[r + 1]):
            j = columns[place]
            distance = _squared_distance(points, i, j)
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
    """Turn a class's inner products into squared distances, and list the least."""
    zero, last = row.dtype.type(0), nearest.shape[0] - 1
    nearest[:] = row.dtype.type(3e38)
    for j in range(start, stop):
        distance = (query_norm + norms[j]) - 2 * row[j]
        row[j] = distance if distance > zero else zero
        if row[j] < nearest[last]:
            insert(nearest, numbers, row[j], j)


@step
def _add_pushes(distance, own, nearest, found, scales, energy):
    """Add what a point of class own at this distance costs in each other class."""
    for c in range(found.shape[0]):
        if c != own:
            for t in range(found[c]):
                gap = nearest[c, t] + 1 - distance
                energy[c] += scales[c] * gap if gap > 0 else 0.0


@kernel
def energies(block, query_norms, norms, bounds, reach, n_neighbors, pull, push, out):
    """Write LMNN's energy of each query in each class; the block is left as scratch.

    Class c are the columns bounds[c] … bounds[c + 1] − 1; reach[l] are the squared
    distances from training point l to its target neighbours, plus the margin, and −1
    for nobody. A class of fewer than n_neighbors points counts as if it had so many.
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
