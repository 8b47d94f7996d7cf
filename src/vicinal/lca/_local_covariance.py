"""LCA with one covariance for each point, smoothed towards the shared one (section 3).

Everything here is in the coordinates V = U Aᵀ in which the shared covariance is the
identity. The kernels differ, so that distances are no longer of one metric: a pair
costs d² instead of d. But a quadratic form is linear in the products of two
coordinates, and so all of it is products of matrices.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.engine import for_each_block
from vicinal.neighborhood.threads import ReproducibleSum

# Numbers in all the covariances together.
MOST_NUMBERS = 10**8
# A term this far below the largest, in logarithms, is lost in the sum's rounding. What
# is smaller would become a subnormal number, which processors are slow at.
NEGLIGIBLE = -100.0


@dataclass(frozen=True, eq=False)
class LocalKernels:
    """One Gaussian kernel for each point.

    Attributes
    ----------
    V : ndarray of shape (n_samples, n_features)
        The points.
    covariances : ndarray of shape (n_samples, n_features, n_features)
        Σ_j.
    """

    V: FloatArray
    covariances: FloatArray

    @cached_property
    def precisions(self) -> FloatArray:
        """Σ_j⁻¹."""
        return np.linalg.inv(self.covariances)

    @cached_property
    def log_roots(self) -> FloatArray:
        """−½ log|Σ_j|."""
        return np.linalg.slogdet(self.covariances)[1] * -0.5

    @cached_property
    def coefficients(self) -> FloatArray:
        """What a quadratic form's exponent is linear in, for `monomials`."""
        V, P, (rows, columns) = self.V, self.precisions, _pairs(self.V.shape[1])
        pulled = np.einsum("jkl,jl->jk", P, V)
        # Off the diagonal each product stands for two entries of the matrix.
        twice = np.where(rows == columns, -0.5, -1.0)
        offsets = -0.5 * np.einsum("jk,jk->j", V, pulled)
        return np.hstack([P[:, rows, columns] * twice, pulled, offsets[:, None]])

    def log_terms(self, Q: FloatArray, width: float = 1.0) -> FloatArray:
        """Return −½ (q − v_j)ᵀΣ_j⁻¹(q − v_j) / width² − ½ log|Σ_j| of each pair."""
        exponents = monomials(Q) @ self.coefficients.T
        # Rounding must not make a density above the kernel's peak.
        np.minimum(exponents, 0, out=exponents)
        return exponents / width**2 + self.log_roots

    def log_sums(
        self,
        Q: FloatArray,
        n_threads: int,
        own: IntArray | None = None,
        counts: FloatArray | None = None,
    ) -> FloatArray:
        """Return log Σ_j c_j |Σ_j|^(−½) exp(−½ …) of each query.

        Parameters
        ----------
        Q : ndarray of shape (n_queries, n_features)
            The queries.
        n_threads : int
            Threads.
        own : ndarray of int of shape (n_queries,) or None, default=None
            The kernel that each query leaves out.
        counts : ndarray of shape (n_samples,) or None, default=None
            c_j, how often a kernel counts; None is once.
        """
        peaks = self.log_roots if counts is None else self.log_roots + np.log(counts)
        sums = np.empty(len(Q))
        self._for_each_block(monomials(Q), peaks, sums, own, n_threads)
        return sums

    def expectation(self, n_threads: int) -> "LocalExpectation":
        """Do the E-step over all pairs (eq. 3), in one pass."""
        V = self.V
        n, d = V.shape
        known = monomials(V)
        sums = np.empty(n)
        total = ReproducibleSum(np.zeros_like(known))

        def add_up(block: FloatArray, rows: slice, term: Any, scratch: Any) -> None:
            # λ_ij is the block over its rows' sums, which has fewer rows here.
            shares = known[rows] / block.sum(axis=1, keepdims=True)
            term += np.matmul(block.T, shares, out=scratch)

        self._for_each_block(
            known, self.log_roots, sums, np.arange(n), n_threads, add_up, total
        )
        moments, means = total.total[:, : -d - 1], total.total[:, -d - 1 : -1]
        weights = total.total[:, -1]
        rows, columns = _pairs(d)
        matrices = np.empty((n, d, d))
        matrices[:, rows, columns] = matrices[:, columns, rows] = moments
        cross = means[:, :, None] * V[:, None, :]
        matrices -= cross
        matrices -= cross.transpose(0, 2, 1)
        matrices += (weights[:, None] * V)[:, :, None] * V[:, None, :]
        return LocalExpectation(sums, weights, matrices)

    def _for_each_block(
        self,
        queries: FloatArray,
        log_peaks: FloatArray,
        log_sums: FloatArray,
        own: IntArray | None,
        n_threads: int,
        consume: Any = None,
        total: ReproducibleSum | None = None,
    ) -> None:
        """Compute the terms of each query over its largest, and hand on the blocks.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_monomials)
            The queries' monomials.
        log_peaks : ndarray of shape (n_samples,)
            The logarithm of each kernel at its centre.
        log_sums : ndarray of shape (n_queries,)
            Where the logarithm of each query's sum is written.
        own : ndarray of int or None
            Which kernel each query leaves out.
        n_threads, consume, total
            As for `for_each_block`.
        """
        coefficients = self.coefficients.copy()
        coefficients[:, -1] += log_peaks

        def fill(block: FloatArray, rows: slice) -> None:
            np.matmul(queries[rows], coefficients.T, out=block)
            # As in `log_terms`.
            np.minimum(block, log_peaks, out=block)
            if own is not None:
                block[np.arange(len(block)), own[rows]] = -np.inf
            peaks = block.max(axis=1, keepdims=True)
            block -= np.where(np.isfinite(peaks), peaks, 0)
            np.maximum(block, NEGLIGIBLE, out=block)
            np.exp(block, out=block)
            log_sums[rows] = peaks[:, 0] + np.log(block.sum(axis=1))

        shape = (len(queries), len(self.V))
        for_each_block(shape, queries.dtype, fill, n_threads, consume, total)


class LocalExpectation(NamedTuple):
    """What the E-step finds: of each point, and of each kernel."""

    log_sums: FloatArray
    """log Σ_{j≠i} |Σ_j|^(−½) exp(−½ …) of each point i."""
    weights: FloatArray
    """Σ_i λ_ij of each kernel j."""
    matrices: FloatArray
    """Σ_i λ_ij v_ij v_ijᵀ of each kernel j."""


def monomials(V: FloatArray) -> FloatArray:
    """Return the products of two coordinates, the coordinates, and 1, of each point."""
    rows, columns = _pairs(V.shape[1])
    return np.hstack([V[:, rows] * V[:, columns], V, np.ones((len(V), 1))])


def _pairs(d: int) -> tuple[IntArray, IntArray]:
    """Return which two coordinates each product is of."""
    rows, columns = np.triu_indices(d)
    return rows, columns


def local_em(
    V: FloatArray,
    smoothing: float,
    max_iter: int,
    tol: float,
    n_threads: int,
    on_iteration: Callable[[LocalKernels, list[float]], bool],
) -> tuple[LocalKernels, list[float], bool]:
    """Alternate eq. 3 and Σ_j = (Σ_i λ_ij v_ij v_ijᵀ + s I) / (Σ_i λ_ij + s).

    That M-step maximises the likelihood less s/2 (log|Σ_j| + tr Σ_j⁻¹ − d) for each
    point, which is least where Σ_j is the shared covariance; the curve never falls.

    Parameters
    ----------
    V : ndarray of shape (n_samples, n_features)
        The points, where the shared covariance is the identity; float64.
    smoothing : float
        s: how many points' worth of the shared covariance each has.
    max_iter, tol, n_threads
        As for `vicinal.lca._em.exact_em`.
    on_iteration : callable
        Called after each iteration with the kernels and the curve; True stops.

    Returns
    -------
    LocalKernels, list of float, bool
        The kernels, the curve in these coordinates, and whether EM converged.
    """
    n, d = V.shape
    kernels = LocalKernels(V, np.broadcast_to(np.eye(d), (n, d, d)))

    def height(sums: FloatArray) -> float:
        traces = np.trace(kernels.precisions, axis1=1, axis2=2)
        penalty = smoothing / 2 * np.mean(traces - d - 2 * kernels.log_roots)
        constant = np.log(n - 1) + d / 2 * np.log(2 * np.pi)
        return float(sums.mean() - constant - penalty)

    seen = kernels.expectation(n_threads)
    curve = [height(seen.log_sums)]
    for _ in range(max_iter):
        matrices = seen.matrices + smoothing * np.eye(d)
        matrices /= (seen.weights + smoothing)[:, None, None]
        kernels = LocalKernels(V, matrices)
        seen = kernels.expectation(n_threads)
        curve.append(height(seen.log_sums))
        converged = curve[-1] - curve[-2] < tol
        if on_iteration(kernels, curve) or converged:
            return kernels, curve, True
    return kernels, curve, False
