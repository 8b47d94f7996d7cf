"""The density whose kernels differ from point to point: values, samples, modes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray, IntArray
from vicinal.lca._data import Copies, Scaler
from vicinal.lca._e_step import Kernel
from vicinal.lca._local_covariance import LocalKernels
from vicinal.neighborhood.threads import blocks, run_in_threads

# Numbers in a block of mean shift's exponents.
BLOCK_NUMBERS = 2**20


@dataclass(frozen=True, eq=False)
class LocalDensity:
    """p(x) = mean_j N(x; x_j, Σ_j).

    Attributes
    ----------
    units : Scaler
        The units of everything else.
    kernel : Kernel
        The shared covariance.
    U : ndarray of shape (n_samples, n_features)
        The training points.
    kernels : LocalKernels
        Where the shared covariance is the identity.
    copies : Copies or None, default=None
        Which training points are equal; a point is left out with all its copies.
    """

    units: Scaler
    kernel: Kernel
    U: FloatArray
    kernels: LocalKernels
    copies: Copies | None = None

    def log_density(self, X: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of new points, against all training points."""
        return self.log_density_of(self.units.transform(X), n_threads)

    def log_density_of(self, U: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of points that are in EM's units already."""
        sums = self.kernels.log_sums(self._mapped(U), n_threads)
        return sums - np.log(len(self.U)) + self._constant

    def leave_one_out(self, n_threads: int, rows: IntArray | None = None) -> FloatArray:
        """Return log p(x_i) of training points, each against the others."""
        own = np.arange(len(self.U)) if rows is None else rows
        if self.copies is None:
            sums = self.kernels.log_sums(self.kernels.V[own], n_threads, own)
            return sums - np.log(len(self.U) - 1) + self._constant
        first, counts = self.copies.first, self.copies.counts
        V, which = self.kernels.V[first], self.copies.group[own]
        kernels = LocalKernels(V, self.kernels.covariances[first])
        sums = kernels.log_sums(V[which], n_threads, which, counts)
        return sums - np.log(len(self.U) - counts[which]) + self._constant

    def with_copies(self, copies: Copies) -> "LocalDensity":
        """Return the density of all points, for one that was learned of distinct."""
        V, covariances = self.kernels.V, self.kernels.covariances
        kernels = LocalKernels(V[copies.group], covariances[copies.group])
        return replace(self, U=self.U[copies.group], kernels=kernels, copies=copies)

    def sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Return points drawn from the density."""
        which = rng.randint(len(self.U), size=n_samples)
        spread = np.linalg.cholesky(self.kernels.covariances[which])
        noise = rng.standard_normal((n_samples, self.U.shape[1]))
        return self._back(
            self.kernels.V[which] + np.einsum("ijk,ik->ij", spread, noise)
        )

    def modes(
        self, X: FloatArray, width: float, max_iter: int, tol: float, n_threads: int
    ) -> tuple[FloatArray, int]:
        """Ascend from X to the modes; also return after how many steps.

        A step solves Σ_j w_j Σ_j⁻¹ (x − x_j) = 0 for the weights w_j at x.
        """
        V = self.kernels.V
        n, d = V.shape
        precisions = self.kernels.precisions.reshape(n, d * d)
        pulls = np.einsum("jkl,jl->jk", precisions.reshape(n, d, d), V)
        at = self._mapped(self.units.transform(X))
        moving = np.arange(len(at))
        size = max(1, BLOCK_NUMBERS // max(n, d * d))
        n_steps = 0
        while len(moving) and (n_steps := n_steps + 1) <= max_iter:
            gone = np.empty(len(moving))
            step = partial(self._step, at, moving, gone, precisions, pulls, width)
            whole = slice(0, len(moving))
            run_in_threads(partial(_always, step), blocks(whole, size), n_threads)
            moving = moving[gone > tol * width]
        return self._back(at), n_steps

    def _step(
        self,
        at: FloatArray,
        moving: IntArray,
        gone: FloatArray,
        precisions: FloatArray,
        pulls: FloatArray,
        width: float,
        _: int,
        part: slice,
    ) -> None:
        """Move a part of the points by one step; write the lengths to `gone`."""
        rows, d = moving[part], at.shape[1]
        terms = self.kernels.log_terms(at[rows], width=width)
        # Their sum is no matter: it is on both sides of what is solved.
        weights = np.exp(terms - terms.max(axis=1, keepdims=True))
        stiffness = (weights @ precisions).reshape(-1, d, d)
        goal = np.linalg.solve(stiffness, (weights @ pulls)[:, :, None])[:, :, 0]
        gone[part] = np.linalg.norm(goal - at[rows], axis=1)
        at[rows] = goal

    @property
    def _constant(self) -> float:
        d = self.U.shape[1]
        log_unit = np.log(self.units.scale).sum()
        return float(self.kernel.log_det - d / 2 * np.log(2 * np.pi) - log_unit)

    def _mapped(self, U: FloatArray) -> FloatArray:
        return U.astype(np.float64) @ self.kernel.map.T

    def _back(self, V: FloatArray) -> FloatArray:
        return self.units.inverse_transform(V @ self.kernel.inverse.T).astype(
            self.U.dtype, copy=False
        )


def _always(do: Callable[[int, slice], None]) -> Callable[[int, slice], None]:
    """Return the same function for each thread: it has no state."""
    return do
