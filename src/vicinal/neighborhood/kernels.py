"""Compiled kernels, one row of pairs at a time; the only compiled code.

A rule's kernel takes a block of inner products ⟨z_i, z_j⟩ and leaves in its
place the weights v_ij of the edges i→j; it writes the rule's value for each row. Row r
is a point that stands at column own[r], and has the squared norm norms_of[r].
The steps that rules share are the small functions at the top. No infinity ever
occurs: the distance to what is no neighbour is a large finite number.

A neighbour j may have a mass: p_ij ∝ mass_j exp(−d²). It comes as the offset
log max mass − log mass_j ≥ 0, which is added to the squared distances; so does what a
point adds to its own sum, self_log_offsets[r]: none unless it stands for several.

Importing this module loads Numba; only a rule does, when it first weighs.
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
_FLAGS = {"reassoc", "contract", "arcp", "nsz"}
# Nobody calls these by address; what that would take has to be compiled, too.
_OPTIONS: dict[str, Any] = {"nogil": True, "fastmath": _FLAGS, "no_cfunc_wrapper": True}
_step: Any = njit(**_OPTIONS)
_intrinsic: Any = intrinsic


class _Cache(FunctionCache):
    """A kernel's compiled code on disk, if that can be read or written.

    Files may be damaged, unreadable, of another user, or the disk full; with Numba's
    own class, the fit fails then, with whichever error it was.
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


def _kernel(function: Any) -> Any:
    """Compile when first called, and keep the result on disk where that is possible."""
    dispatcher: Any = _step(function)
    # RuntimeError: neither the package's folder nor the user's can be written.
    with suppress(RuntimeError, OSError):
        dispatcher._cache = _Cache(function)
    return dispatcher


def _exp(x: float) -> float:
    """exp(x) for x ≤ 0, as a polynomial that vectorises; exactly 0 when negligible.

    2^k · exp(r) with |r| ≤ ½ ln 2: k goes into the exponent's bits, and exp(r) is
    1 + r + r²·P(r) with Chebyshev coefficients. Below the cut-off the result cannot
    change a sum whose largest term is 1, and a true zero keeps the products that
    follow out of slow subnormal numbers.
    """
    raise NotImplementedError("compiled code only")


# No "reassoc" here: it would simplify away the rounding by a large constant and the
# two-part ln 2.
@overload(_exp, jit_options={"fastmath": {"contract", "nsz"}})
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


@_step
def _least(row):
    """Return the smallest of a row of non-negative numbers."""
    least = _bits(row[0])
    for j in range(1, row.shape[0]):
        least = min(least, _bits(row[j]))
    return _number(least)


@_step
def _to_squared_distances(row, norm, norms, log_offsets):
    """Turn ⟨z_i, z_j⟩ into ‖z_i − z_j‖² plus the offset of j; return the least."""
    zero, two, far = row.dtype.type(0), row.dtype.type(2), row.dtype.type(np.inf)
    least = _bits(far)
    for j in range(row.shape[0]):
        distance = (norm + norms[j]) - two * row[j]
        row[j] = (distance if distance > zero else zero) + log_offsets[j]
        least = min(least, _bits(row[j]))
    return _number(least)


@_step
def _to_distances_of(row, i, norm, norms, log_offsets, itself):
    """Turn a row into squared distances with offsets, its own entry i into itself."""
    # Before the loop, so that the least is over what i may pick.
    row[i] = norms[i] - (itself - log_offsets[i]) / 2
    return _to_squared_distances(row, norm, norms, log_offsets)


@_step
def _to_exponentials(row, shift):
    """Turn squared distances into exp(shift − d²); return their sum."""
    total = row.dtype.type(0)
    for j in range(row.shape[0]):
        e = _exp(shift - row[j])
        row[j] = e
        total += e
    return total


@_step
def _scale(row, factor):
    for j in range(row.shape[0]):
        row[j] *= factor


@_kernel
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
        nearest = _to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        # The class has a shift of its own, so that its sum never underflows.
        nearest_match = _least(same)
        share = _exp(nearest - nearest_match)
        matched = _to_exponentials(same, nearest_match)
        missed = _to_exponentials(left, nearest) + _to_exponentials(right, nearest)
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
        _scale(same, -factor * missed / matched)
        _scale(left, factor)
        _scale(right, factor)


@_kernel
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
        nearest = _to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        inside = row.dtype.type(0)
        for j in range(starts[r], stops[r]):
            inside += row[j] - nearest if j != i else row.dtype.type(0)
        total = _to_exponentials(row, nearest)
        values[r] = -inside / others - np.log(total)
        _scale(row, 1 / total)
        for j in range(starts[r], stops[r]):
            row[j] -= row.dtype.type(1) / others
        row[i] = 0


@_kernel
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
        nearest = _to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = row.dtype.type(0)
        for c in range(n_classes):
            sums[c] = _to_exponentials(row[bounds[c] : bounds[c + 1]], nearest)
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
            _scale(
                row[bounds[c] : bounds[c + 1]], counts[r] * (mean - 2 * error) / total
            )


@_kernel
def soft_matches(
    block, own, norms_of, self_log_offsets, counts, norms, log_offsets, targets, values
):
    """Weigh by soft matches: v_ij = p_ij (κ_i − κ_ij); values are κ_i = Σ_j p_ij κ_ij.

    κ_ij = exp(−(t_i − t_j)²) is the agreement of two targets (NCA, section 5).
    """
    for r in range(block.shape[0]):
        row, i = block[r], own[r]
        nearest = _to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = _to_exponentials(row, nearest)
        agreement = row.dtype.type(0)
        for j in range(row.shape[0]):
            gap = targets[i] - targets[j]
            agreement += row[j] * _exp(-gap * gap)
        agreement /= total
        values[r] = agreement
        factor = counts[r] / total
        for j in range(row.shape[0]):
            gap = targets[i] - targets[j]
            row[j] *= factor * (agreement - _exp(-gap * gap))


@_kernel
def squared_errors(
    block, own, norms_of, self_log_offsets, counts, norms, log_offsets, targets, values
):
    """Weigh by kernel regression: v_ij = 2 p_ij (t_i − t̂_i)(t̂_i − t_j).

    Values are −(t_i − t̂_i)² with t̂_i = Σ_j p_ij t_j, the mean of the neighbours.
    """
    for r in range(block.shape[0]):
        row, i = block[r], own[r]
        nearest = _to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = _to_exponentials(row, nearest)
        mean = row.dtype.type(0)
        for j in range(row.shape[0]):
            mean += row[j] * (targets[j] - targets[i])
        # From here on relative to t_i, which costs no digits where targets are large.
        mean /= total
        values[r] = -mean * mean
        factor = -2 * counts[r] * mean / total
        for j in range(row.shape[0]):
            row[j] *= factor * (mean - (targets[j] - targets[i]))


@_kernel
def perplexities(
    block, own, norms_of, self_log_offsets, norms, log_offsets, copies, values
):
    """Write exp(−Σ_j p_ij log p_ij), the effective number of neighbours of i.

    A row that stands for several points, the logarithm of whose number is copies[j],
    shares its p_ij out among them.
    """
    for r in range(block.shape[0]):
        row, i = block[r], own[r]
        nearest = _to_distances_of(
            row, i, norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total, moment = row.dtype.type(0), row.dtype.type(0)
        for j in range(row.shape[0]):
            further = nearest - row[j]
            e = _exp(further)
            total += e
            moment += e * (further - copies[j]) if e > 0 else row.dtype.type(0)
        if copies[i] > 0:  # of the point's own copies, one is the point itself
            e = _exp(nearest - row[i])
            moment += e * (copies[i] - np.log(np.exp(copies[i]) - 1))
        values[r] = total * np.exp(-moment / total)


@_kernel
def normalize(block, query_norms, norms, log_offsets, values):
    """Turn inner products of queries and points into p_ij; each row sums to 1.

    Values are log Σ_j mass_j exp(−d²_ij), by which the rows were divided.
    """
    for r in range(block.shape[0]):
        row = block[r]
        nearest = _to_squared_distances(row, query_norms[r], norms, log_offsets)
        total = _to_exponentials(row, nearest)
        values[r] = np.log(total) - nearest
        _scale(row, 1 / total)


@_kernel
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


@_kernel
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


@_kernel
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


@_kernel
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


@_kernel
def responsibilities(
    block, own, norms_of, self_log_offsets, norms, log_offsets, values
):
    """Weigh by LCA's eq. 3, v_ij = λ_ij; values are log Σ_{j≠i} mass_j exp(−d²_ij)."""
    for r in range(block.shape[0]):
        row = block[r]
        nearest = _to_distances_of(
            row, own[r], norms_of[r], norms, log_offsets, self_log_offsets[r]
        )
        total = _to_exponentials(row, nearest)
        values[r] = np.log(total) - nearest
        _scale(row, 1 / total)


@_kernel
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
            e = _exp(-((distance * sharpness_of[r]) * sharpness[j]))
            row[j] = e
            total += e
        values[r] = total - row[own[r]]
        row[own[r]] = 0


@_kernel
def log_sums(block, query_norms, norms, log_offsets, values):
    """Write log Σ_j mass_j exp(−d²_j) of each query; the block is left as scratch."""
    for r in range(block.shape[0]):
        row = block[r]
        nearest = _to_squared_distances(row, query_norms[r], norms, log_offsets)
        values[r] = np.log(_to_exponentials(row, nearest)) - nearest


@_step
def _insert(distances, numbers, distance, number):
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


@_step
def _offer(distances, numbers, distance, number):
    """Put a point into a list of nearest points if it belongs there."""
    last = distances.shape[0] - 1
    if distance < distances[last] or (
        distance == distances[last] and number < numbers[last]
    ):
        _insert(distances, numbers, distance, number)


@_kernel
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
            if _least(part) <= distances[r, last]:
                for c in range(part.shape[0]):
                    number = first_column + start + c
                    if part[c] <= distances[r, last] and number != first_row + r:
                        _offer(distances[r], numbers[r], part[c], number)


@_kernel
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
