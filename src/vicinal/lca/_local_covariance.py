"""LCA with one covariance for each point, smoothed towards the shared one (section 3).

Everything is in the coordinates V = U Aᵀ in which the shared covariance is the
identity. Each kernel has its own metric, so that a pair costs d² instead of d. A
quadratic form is linear in the products of two coordinates, which turns all sums into
matrix products.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray, IntArray
from vicinal.lca.data import DuplicateRows
from vicinal.lca.density import ParzenDensity
from vicinal.lca.em import EMResult, OnIteration
from vicinal.neighborhood.engine import for_each_block
from vicinal.neighborhood.threads import (
    blocks,
    map_in_order,
    rows_per_block,
)

NEGLIGIBLE = 3 * float(np.log(np.finfo(np.float64).eps))
"""A log-term this far below the largest is lost in the rounding of the sum. Smaller
terms would become subnormal numbers, which are slow."""


class LocalExpectation(NamedTuple):
    """The result of an E-step."""

    log_sums: FloatArray
    """log Σ_{j≠i} |Σ_j|^(−½) exp(−½ …) of each point i."""
    weights: FloatArray
    """Σ_i λ_ij of each kernel j."""
    matrices: FloatArray
    """Σ_i λ_ij v_ij v_ijᵀ of each kernel j."""


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

    def __getitem__(self, rows: IntArray) -> "LocalKernels":
        """Return the kernels of some points."""
        return LocalKernels(self.V[rows], self.covariances[rows])

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
        """The coefficients of the exponents in the `monomials` of a query."""
        V, P = self.V, self.precisions
        rows, columns = np.triu_indices(V.shape[1])
        pulled = np.einsum("jkl,jl->jk", P, V)
        # Off the diagonal each product stands for two entries of the matrix.
        twice = np.where(rows == columns, -0.5, -1.0)
        offsets = -0.5 * np.einsum("jk,jk->j", V, pulled)
        return np.hstack([P[:, rows, columns] * twice, pulled, offsets[:, None]])

    def log_terms(self, Q: FloatArray, width: float = 1.0) -> FloatArray:
        """Return −½ (q − v_j)ᵀΣ_j⁻¹(q − v_j) / width² − ½ log|Σ_j| of each pair."""
        exponents = monomials(Q) @ self.coefficients.T
        np.minimum(exponents, 0, out=exponents)  # no rounding above the peak
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
            Number of threads.
        own : ndarray of int of shape (n_queries,) or None, default=None
            The kernel that each query leaves out.
        counts : ndarray of shape (n_samples,) or None, default=None
            c_j, the multiplicity of each kernel; None is 1.
        """
        peaks = self.log_roots if counts is None else self.log_roots + np.log(counts)
        sums = np.empty(len(Q))
        self._for_each_block(monomials(Q), peaks, sums, own, n_threads)
        return sums

    def expectation(self, n_threads: int) -> LocalExpectation:
        """Do the E-step over all pairs (eq. 3), in one pass."""
        V = self.V
        n, d = V.shape
        known = monomials(V)
        sums = np.empty(n)
        total = np.zeros_like(known)

        def add_up(block: FloatArray, rows: slice, term: Any) -> None:
            # λ_ij is the block over its rows' sums, which has fewer rows here.
            shares = known[rows] / block.sum(axis=1, keepdims=True)
            term += block.T @ shares

        own = np.arange(n)
        self._for_each_block(known, self.log_roots, sums, own, n_threads, add_up, total)
        moments, means = total[:, : -d - 1], total[:, -d - 1 : -1]
        weights = total[:, -1]
        rows, columns = np.triu_indices(d)
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
        total: FloatArray | None = None,
    ) -> None:
        """Compute the terms of each query over its largest, and pass on the blocks.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_monomials)
            The monomials of the queries.
        log_peaks : ndarray of shape (n_samples,)
            The logarithm of each kernel at its center.
        log_sums : ndarray of shape (n_queries,)
            Output: the logarithm of the sum of each query.
        own : ndarray of int or None
            The kernel that each query leaves out.
        n_threads, total
            As for `vicinal.neighborhood.engine.for_each_block`.
        consume : callable or None, default=None
            Called with each block, its rows and its term of `total`.
        """
        coefficients = self.coefficients.copy()
        coefficients[:, -1] += log_peaks

        def visit(block: FloatArray, rows: slice, term: Any) -> None:
            np.matmul(queries[rows], coefficients.T, out=block)
            np.minimum(block, log_peaks, out=block)  # no rounding above the peak
            if own is not None:
                block[np.arange(len(block)), own[rows]] = -np.inf
            peaks = block.max(axis=1, keepdims=True)
            block -= np.where(np.isfinite(peaks), peaks, 0)
            np.maximum(block, NEGLIGIBLE, out=block)
            np.exp(block, out=block)
            log_sums[rows] = peaks[:, 0] + np.log(block.sum(axis=1))
            if consume is not None:
                consume(block, rows, term)

        shape = (len(queries), len(self.V))
        for_each_block(shape, queries.dtype, visit, n_threads, total)


def monomials(V: FloatArray) -> FloatArray:
    """Return the products of two coordinates, the coordinates and 1 of each point."""
    rows, columns = np.triu_indices(V.shape[1])
    return np.hstack([V[:, rows] * V[:, columns], V, np.ones((len(V), 1))])


def local_em(
    shared: EMResult,
    U: FloatArray,
    smoothing: float,
    *,
    max_iter: int,
    tol: float,
    n_threads: int,
    on_iteration: OnIteration | None = None,
) -> EMResult:
    """Alternate eq. 3 and Σ_j = (Σ_i λ_ij v_ij v_ijᵀ + s I) / (Σ_i λ_ij + s).

    This M-step maximizes the likelihood minus s/2 (log|Σ_j| + tr Σ_j⁻¹ − d) for each
    point, a penalty that is 0 at the shared covariance; the curve never falls.

    Parameters
    ----------
    shared : EMResult
        The shared covariance, and its local scatter.
    U : ndarray of shape (n_samples, n_features)
        The points.
    smoothing : float
        s: the weight of the shared covariance in each Σ_j, in points.
    max_iter, tol, n_threads, on_iteration
        As for `vicinal.lca.em.exact_em`.
    """
    V = U.astype(np.float64) @ shared.kernel.map.T
    n, d = V.shape
    kernels = LocalKernels(V, np.broadcast_to(np.eye(d), (n, d, d)))

    def height(sums: FloatArray) -> float:
        traces = np.trace(kernels.precisions, axis1=1, axis2=2)
        penalty = smoothing / 2 * np.mean(traces - d - 2 * kernels.log_roots)
        return float(sums.mean() - np.log(n - 1) + shared.kernel.log_peak - penalty)

    seen = kernels.expectation(n_threads)
    curve = [height(seen.log_sums)]
    for _ in range(max_iter):
        matrices = seen.matrices + smoothing * np.eye(d)
        matrices /= (seen.weights + smoothing)[:, None, None]
        kernels = LocalKernels(V, matrices)
        seen = kernels.expectation(n_threads)
        curve.append(height(seen.log_sums))
        result = replace(shared, curve=curve, converged=True, local_kernels=kernels)
        stopped = on_iteration is not None and on_iteration(result)
        if stopped or curve[-1] - curve[-2] < tol:
            return result
    return replace(result, converged=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class LocalDensity(ParzenDensity):
    """p(x) = mean_j N(x; x_j, Σ_j).

    Attributes
    ----------
    kernels : LocalKernels
        The kernels, in the coordinates in which the shared covariance is the identity.
    """

    kernels: LocalKernels

    def kernel_log_density(self, U: FloatArray, n_threads: int) -> FloatArray:
        """Return the log-density of scaled points under the kernels alone."""
        sums = self.kernels.log_sums(self._mapped(U), n_threads)
        return sums - np.log(len(self.U)) + self._constant

    def kernel_leave_one_out(
        self, n_threads: int, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the leave-one-out log-densities under the kernels alone."""
        own, kernels = np.arange(len(self.U)) if rows is None else rows, self.kernels
        if self.duplicates is None:
            sums = kernels.log_sums(kernels.V[own], n_threads, own)
            return sums - np.log(len(self.U) - 1) + self._constant
        counts, own = self.duplicates.counts, self.duplicates.group[own]
        kernels = kernels[self.duplicates.first]
        sums = kernels.log_sums(kernels.V[own], n_threads, own, counts)
        return sums - np.log(len(self.U) - counts[own]) + self._constant

    def with_duplicates(self, duplicates: DuplicateRows) -> Self:
        """Return the density of all rows, given that of the distinct rows."""
        kernels = self.kernels[duplicates.group]
        return replace(super().with_duplicates(duplicates), kernels=kernels)

    def kernel_sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Draw points from the kernels, in the units of the data."""
        which = rng.randint(len(self.U), size=n_samples)
        spread = np.linalg.cholesky(self.kernels.covariances[which])
        noise = rng.standard_normal((n_samples, self.U.shape[1]))
        noise = np.einsum("ijk,ik->ij", spread, noise)
        return self._inverse(self.kernels.V[which] + noise)

    def modes(
        self, X: FloatArray, width: float, max_iter: int, tol: float, n_threads: int
    ) -> tuple[FloatArray, int]:
        """Ascend the kernel density to its modes; also return the number of steps.

        A step solves Σ_j w_j Σ_j⁻¹ (x − x_j) = 0 for the weights w_j at x.
        """
        n, d = self.kernels.V.shape
        precisions = self.kernels.precisions.reshape(n, d * d)
        pulled = np.einsum("jkl,jl->jk", self.kernels.precisions, self.kernels.V)
        at = self._mapped(self.units.transform(X))
        moving = np.arange(len(at))
        moved = np.empty(len(at))

        def step(part: slice) -> None:
            rows = moving[part]
            terms = self.kernels.log_terms(at[rows], width=width)
            # The sum of the weights cancels in the equation.
            weights = np.exp(terms - terms.max(axis=1, keepdims=True))
            matrices = (weights @ precisions).reshape(-1, d, d)
            goal = np.linalg.solve(matrices, (weights @ pulled)[:, :, None])[:, :, 0]
            moved[rows] = np.linalg.norm(goal - at[rows], axis=1)
            at[rows] = goal

        n_steps = 0
        while len(moving) and (n_steps := n_steps + 1) <= max_iter:
            size = rows_per_block(len(moving), 8 * max(n, d * d))
            parts = blocks(slice(0, len(moving)), size)
            for _ in map_in_order(step, parts, n_threads):
                pass
            moving = moving[moved[moving] > tol * width]
        return self._inverse(at), n_steps

    @property
    def _constant(self) -> float:
        return self.kernel.log_peak - self.units.log_unit

    def _mapped(self, U: FloatArray) -> FloatArray:
        return U.astype(np.float64) @ self.kernel.map.T
