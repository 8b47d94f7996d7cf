"""Steps that kernels share, on one row of pairs: distances, exponentials, the least.

Importing this module loads Numba.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic, overload

from vicinal.neighborhood.compiling import step

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
