"""The density that EM has learned: a Parzen part times a Gaussian part."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray, IntArray
from vicinal.lca._data import Copies, Scaler
from vicinal.lca._e_step import Kernel, log_means, project_resolvable, resolved_pair
from vicinal.neighborhood import NeighborWeights, average, log_sums, project

# Where a ball tree outruns the blocks of `log_sums`.
TREE_DIMENSIONS = 2
TREE_POINTS = 500_000
# The tree subtracts from a sum that begins at n times the kernel's peak: of a density
# this far below it, in logarithms, no digits are left to keep a relative error.
TREE_DEPTH = -20.0


@dataclass(frozen=True, eq=False)
class ProductDensity:
    """p(x) = N(A_G (x − μ); 0, I) · mean_j N(A_L (x − x_j); 0, I) · |det A|.

    Attributes
    ----------
    units : Scaler
        The units of everything else.
    kernel : Kernel
        A_L and A_G; in LCA there is no A_G.
    U : ndarray of shape (n_samples, n_features)
        The training points x_j.
    rtol : float
        The relative error of a density that is allowed where it saves time.
    copies : Copies or None, default=None
        Which training points are equal; a point is left out with all its copies.
    """

    units: Scaler
    kernel: Kernel
    U: FloatArray
    rtol: float
    copies: Copies | None = None

    @cached_property
    def log_peak(self) -> float:
        """The log-density's normalising constant, log|det A| − d/2 log 2π."""
        d = len(self.kernel.map)
        return float(
            self.kernel.log_det
            - d / 2 * np.log(2 * np.pi)
            - np.log(self.units.scale).sum()
        )

    def log_density(self, X: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of new points, against all training points; float64."""
        return self.log_density_of(self.units.transform(X), n_threads)

    def log_density_of(self, U: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of points that are in EM's units already."""
        return self._parzen(U, n_threads) + self._gaussian(U, n_threads) + self.log_peak

    def leave_one_out(self, n_threads: int, rows: IntArray | None = None) -> FloatArray:
        """Return log p(x_i) of training points, each against the others; float64."""
        if self.copies is not None:
            return self._leave_copies_out(self.copies, n_threads, rows)
        U = self.U if rows is None else self.U[rows]
        log_mean = log_means(self.U, self.kernel, n_threads, rows)
        return self.of_log_means(log_mean, U, n_threads)

    def _leave_copies_out(
        self, copies: Copies, n_threads: int, rows: IntArray | None
    ) -> FloatArray:
        """Return what `leave_one_out` does, each point without all its copies."""
        U = self.U[copies.first]
        queries, which = None, copies.group
        if rows is not None:
            queries, which = np.unique(copies.group[rows], return_inverse=True)
        log_mean = log_means(U, self.kernel, n_threads, queries, copies.counts)
        seen = U if queries is None else U[queries]
        return self.of_log_means(log_mean, seen, n_threads)[which.ravel()]

    def with_copies(self, copies: Copies) -> "ProductDensity":
        """Return the density of all points, for one that was learned of distinct."""
        return replace(self, U=self.U[copies.group], copies=copies)

    def of_log_means(
        self, log_mean: FloatArray, U: FloatArray, n_threads: int
    ) -> FloatArray:
        """Return log p(x_i) from each point's log mean_j exp(−d²_ij)."""
        return log_mean + self._gaussian(U, n_threads) + self.log_peak

    def sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Return points drawn from the density."""
        q = self.kernel.n_local
        drawn = rng.standard_normal((n_samples, len(self.kernel.map)))
        centers = self.U[rng.randint(len(self.U), size=n_samples)]
        drawn[:, :q] += centers @ self.kernel.map[:q].T
        drawn[:, q:] += self._mean @ self.kernel.map[q:].T
        return self._back(drawn)

    def modes(
        self, X: FloatArray, width: float, max_iter: int, tol: float, n_threads: int
    ) -> tuple[FloatArray, int]:
        """Ascend from X to the modes by mean shift; also return how many steps."""
        A = self.kernel.map[: self.kernel.n_local] / width
        queries = self.units.transform(X)
        half = A * np.sqrt(0.5)
        Z = project_resolvable(self.U, half, n_threads)
        at = project(queries, half, n_threads).astype(Z.dtype, copy=False)
        ones = np.ones(len(Z))
        masses = NeighborWeights.build(ones, ones, Z.dtype)
        moving = np.arange(len(at))
        n_steps = 0
        while len(moving) and (n_steps := n_steps + 1) <= max_iter:
            goal = average(at[moving], Z, Z, masses, n_threads)
            gone = np.linalg.norm(goal - at[moving], axis=1)
            at[moving] = goal
            moving = moving[gone > tol]
        image = np.zeros((len(at), len(self.kernel.map)))
        image[:, : len(A)] = at * (width * np.sqrt(2))
        image[:, len(A) :] = self._mean @ self.kernel.map[len(A) :].T
        return self._back(image), n_steps

    @cached_property
    def _mean(self) -> FloatArray:
        """Return μ, the mean of the Gaussian part."""
        mean: FloatArray = self.U.mean(axis=0, dtype=np.float64)
        return mean

    def _back(self, image: FloatArray) -> FloatArray:
        """Return the points with an image under A, of the data's type."""
        return self.units.inverse_transform(image @ self.kernel.inverse.T).astype(
            self.U.dtype, copy=False
        )

    def _gaussian(self, U: FloatArray, n_threads: int) -> FloatArray:
        gaussian = self.kernel.map[self.kernel.n_local :]
        if not len(gaussian):
            return np.zeros(len(U))
        image = project(U - self._mean, gaussian, n_threads)
        return -0.5 * np.einsum("ij,ij->i", image, image)

    def _parzen(self, U: FloatArray, n_threads: int) -> FloatArray:
        q = self.kernel.n_local
        if not q:
            return np.zeros(len(U))
        half = self.kernel.map[:q] * np.sqrt(0.5)
        Z, Q = resolved_pair(self.U, U, half, n_threads)
        if not self.rtol or q > TREE_DIMENSIONS or len(Z) < TREE_POINTS:
            return _by_blocks(Q, Z, n_threads)
        found = self._by_tree(Q, Z)
        deep = found < TREE_DEPTH
        if deep.any():
            found[deep] = _by_blocks(Q[deep], Z, n_threads)
        return found

    def _by_tree(self, Q: FloatArray, Z: FloatArray) -> FloatArray:
        """Return log mean_j exp(−‖q − z_j‖²), each mean to the relative error rtol."""
        from sklearn.neighbors import KernelDensity

        width = np.sqrt(0.5)
        tree = KernelDensity(
            bandwidth=width, algorithm="ball_tree", rtol=self.rtol, leaf_size=100
        ).fit(Z)
        normaliser = Z.shape[1] * (0.5 * np.log(2 * np.pi) + np.log(width))
        return tree.score_samples(Q) + normaliser


def _by_blocks(Q: FloatArray, Z: FloatArray, n_threads: int) -> FloatArray:
    """Return log mean_j exp(−‖q − z_j‖²), exactly."""
    sums = log_sums(Q, Z, np.zeros(len(Z), dtype=Z.dtype), n_threads)
    return sums.astype(np.float64) - np.log(len(Z))
