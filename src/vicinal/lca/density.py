"""The densities of LCA and LCA-Gauss, with an optional Gaussian background.

A Parzen density is a poor model of data that are Gaussian in many dimensions, and of
points that no kernel reaches. A mixture with one Gaussian, weighted by the
leave-one-out likelihood, is never much worse than either.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.random import RandomState
from scipy.linalg import eigh
from scipy.optimize import brentq

from vicinal._typing import FloatArray, IntArray
from vicinal.lca.data import DuplicateRows, ScaledData, Scaler
from vicinal.lca.em import (
    N_EXACT,
    N_JUDGES,
    Kernel,
    log_means,
    narrowed,
    project_resolvable,
)
from vicinal.neighborhood import (
    NeighborWeights,
    average,
    log_sums,
    project,
)

LEAST_RIDGE = 8 * float(np.finfo(np.float32).eps)
"""About 1e-6, in units of the features' variances. The scatter of float32 points of
unit variance is exact to eps, and float32 and float64 should give the same density."""
TREE_POINTS = 500_000
"""From here on a ball tree is faster than blocks, in one or two dimensions."""


@dataclass(frozen=True, eq=False)
class Background:
    """The Gaussian N(μ, S + νI), with the ν of the best leave-one-out likelihood.

    Attributes
    ----------
    mean : ndarray of shape (n_features,)
        μ.
    axes : ndarray of shape (n_features, n_features)
        The eigenvectors of S, as columns.
    variances : ndarray of shape (n_features,)
        The eigenvalues of S + νI.
    ridge : float
        ν.
    loo_scores : ndarray of shape (n_samples,)
        The log-density of each point under mean and covariance of the others.
    """

    mean: FloatArray
    axes: FloatArray
    variances: FloatArray
    ridge: float
    loo_scores: FloatArray

    @classmethod
    def fit(
        cls, U: FloatArray, covariance: FloatArray, ridge: float | None = None
    ) -> "Background":
        """Fit the Gaussian.

        Parameters
        ----------
        U : ndarray of shape (n_samples, n_features)
            The scaled points.
        covariance : ndarray of shape (n_features, n_features)
            S, with a ridge in constant columns.
        ridge : float or None, default=None
            ν; None chooses it between 1 and `LEAST_RIDGE`, in steps of √10.
        """
        n, d = U.shape
        mean = U.mean(axis=0, dtype=np.float64)
        variances, axes = eigh(covariance, check_finite=False)
        variances = np.maximum(variances, 0)
        squares = np.square((U - mean) @ axes)
        wider = n / (n - 1)

        def leave_one_out(nu: float) -> FloatArray:
            # Without the point at distance r from μ, S is n/(n−1) S − n/(n−1)² r rᵀ:
            # one inverse and determinant give all (Sherman and Morrison).
            spread = wider * variances + nu
            distances = squares @ (1 / spread)
            rest = np.maximum(1 - distances * wider / (n - 1), np.finfo(float).eps)
            log_det = np.log(spread).sum() + np.log(rest)
            distances = wider**2 * distances / rest
            return -0.5 * (distances + log_det + d * np.log(2 * np.pi))

        ridges = np.append(10.0 ** np.arange(0, -6, -0.5), LEAST_RIDGE)
        if ridge is not None:
            ridges = np.array([ridge])
        scores = [leave_one_out(nu) for nu in ridges]
        best = int(np.argmax([score.mean() for score in scores]))
        chosen = float(ridges[best])
        return cls(mean, axes, variances + chosen, chosen, scores[best])

    def log_density(self, U: FloatArray) -> FloatArray:
        """Return the log-density of scaled points."""
        squares = np.square((U - self.mean) @ self.axes) @ (1 / self.variances)
        constant = np.log(self.variances).sum() + len(self.mean) * np.log(2 * np.pi)
        return -0.5 * (squares + constant)

    def sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Draw scaled points."""
        noise = rng.standard_normal((n_samples, len(self.mean)))
        return self.mean + (noise * np.sqrt(self.variances)) @ self.axes.T


def mixture_weight(parzen: FloatArray, gaussian: FloatArray) -> float:
    """Return the weight π of the Gaussian with the best leave-one-out likelihood.

    One pseudo-observation of each part keeps both weights above zero, so that a point
    unlike all others has a low density, not zero.

    Parameters
    ----------
    parzen, gaussian : ndarray of shape (n_samples,)
        Leave-one-out log-densities of the same points.
    """
    largest = np.log(np.finfo(np.float64).max) / 2
    gain = np.expm1(np.clip(gaussian - parzen, -largest, largest))

    def slope(weight: float) -> float:  # falls with the weight, through zero
        slopes = gain / (1 + weight * gain)
        return float(slopes.sum() + 1 / weight - 1 / (1 - weight))

    eps = float(np.finfo(np.float64).eps)
    return float(brentq(slope, eps, 1 - eps))


def mix(parzen: FloatArray, gaussian: FloatArray, weight: float) -> FloatArray:
    """Return log((1 − π) exp(parzen) + π exp(gaussian))."""
    return np.logaddexp(parzen + np.log1p(-weight), gaussian + np.log(weight))


@dataclass(frozen=True, eq=False, kw_only=True)
class ParzenDensity:
    """(1 − π) times a kernel density plus π times one Gaussian.

    The kernel density is N(A_G (x − μ); 0, I) · mean_j N(A_L (x − x_j); 0, I) · |A|.

    Attributes
    ----------
    units : Scaler
        The units of everything else.
    kernel : Kernel
        The kernel that all points share.
    U : ndarray of shape (n_samples, n_features)
        The training points x_j.
    duplicates : DuplicateRows or None, default=None
        Equal training points; a point is left out together with its copies.
    background : Background or None, default=None
        The Gaussian; None if π is 0.
    weight : float, default=0.0
        π.
    gain : float, default=inf
        The leave-one-out log-likelihood of the mixture minus that of the Gaussian, in
        nats per point.
    rtol : float, default=0.0
        The relative error of a density that is allowed if it saves time.
    """

    units: Scaler
    kernel: Kernel
    U: FloatArray
    duplicates: DuplicateRows | None = None
    background: Background | None = None
    weight: float = 0.0
    gain: float = np.inf
    rtol: float = 0.0

    def log_density(self, X: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of new points, over all training points; float64."""
        return self.log_density_of(self.units.transform(X), n_threads)

    def log_density_of(self, U: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of scaled points."""
        parzen = self.kernel_log_density(U, n_threads)
        if self.background is None:
            return parzen
        gaussian = self.background.log_density(U) - self.units.log_unit
        return mix(parzen, gaussian, self.weight)

    def leave_one_out(self, n_threads: int, rows: IntArray | None = None) -> FloatArray:
        """Return log p(x_i) of training points, each given the others; float64."""
        parzen = self.kernel_leave_one_out(n_threads, rows)
        if self.background is None:
            return parzen
        gaussian = self.background.loo_scores
        gaussian = gaussian if rows is None else gaussian[rows]
        return mix(parzen, gaussian - self.units.log_unit, self.weight)

    def sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Draw points from the density."""
        drawn = self.kernel_sample(n_samples, rng)
        if self.background is not None:
            far = np.flatnonzero(rng.random_sample(n_samples) < self.weight)
            points = self.background.sample(len(far), rng)
            drawn[far] = self.units.inverse_transform(points)
        return drawn

    def with_background(self, data: ScaledData, ridge: float | None = None) -> Self:
        """Mix in a Gaussian, with the weight of the best leave-one-out likelihood.

        Parameters
        ----------
        data : ScaledData
            The training points.
        ridge : float or None, default=None
            The ridge of the Gaussian; None is chosen.
        """
        covariance = data.covariance + np.diag(data.constant_ridge())
        background = Background.fit(data.U, covariance, ridge)
        rows, n = None, len(data.U)
        gaussian = background.loo_scores - self.units.log_unit
        if n > N_EXACT:
            rows = RandomState(0).choice(n, N_JUDGES, replace=False)
            gaussian = gaussian[rows]
        parzen = self.kernel_leave_one_out(data.n_threads, rows)
        weight = mixture_weight(parzen, gaussian)
        gain = float((mix(parzen, gaussian, weight) - gaussian).mean())
        return replace(self, background=background, weight=weight, gain=gain)

    def learned_nothing(self, n_parameters: int) -> bool:
        """Return whether the kernels predict no better than the background alone.

        The leave-one-out likelihood does not count that the covariance was learned from
        the point as well, worth one nat per parameter over all points (Akaike).
        """
        return self.gain <= n_parameters / len(self.U)

    def with_duplicates(self, duplicates: DuplicateRows) -> Self:
        """Return the density of all rows, given that of the distinct rows."""
        group, background = duplicates.group, self.background
        if background is not None:
            background = replace(background, loo_scores=background.loo_scores[group])
        return replace(
            self, U=self.U[group], duplicates=duplicates, background=background
        )

    def _inverse(self, image: FloatArray) -> FloatArray:
        """Return the points with this image under A, in the data's units and type."""
        return self.units.inverse_transform(image @ self.kernel.inverse.T).astype(
            self.U.dtype, copy=False
        )

    def kernel_log_density(self, U: FloatArray, n_threads: int) -> FloatArray:
        """Return the log-density of scaled points under the kernels alone."""
        q = self.kernel.n_local
        parzen: FloatArray = np.zeros(len(U))
        if q:
            half = self.kernel.map[:q] * np.sqrt(0.5)
            Z, Q = (project(V, half, n_threads) for V in (self.U, U))
            if self.U.dtype == np.float32:  # faster, if the queries are not far away
                Z, Q = narrowed(Z, Q)
            rest = np.ones(len(Q), dtype=bool)
            if self.rtol and q <= 2 and len(Z) >= TREE_POINTS:
                parzen = self._tree_log_means(Q, Z)
                # The tree subtracts from a sum that starts at n times the peak, which
                # leaves no digits below.
                rest = parzen < -20
            if rest.any():
                sums = log_sums(Q[rest], Z, np.zeros(len(Z), dtype=Z.dtype), n_threads)
                parzen[rest] = sums.astype(np.float64) - np.log(len(Z))
        return self.normalized(parzen, U, n_threads)

    def kernel_leave_one_out(
        self, n_threads: int, rows: IntArray | None = None
    ) -> FloatArray:
        """Return the leave-one-out log-densities under the kernels alone."""
        if self.duplicates is None:
            found = log_means(self.U, self.kernel, n_threads, rows)
            return self.normalized(
                found, self.U if rows is None else self.U[rows], n_threads
            )
        U, counts = self.U[self.duplicates.first], self.duplicates.counts
        queries, which = np.arange(len(U)), self.duplicates.group
        if rows is not None:
            queries, which = np.unique(which[rows], return_inverse=True)
        found = log_means(U, self.kernel, n_threads, queries, counts)
        return self.normalized(found, U[queries], n_threads)[which.ravel()]

    def normalized(
        self, log_mean: FloatArray, U: FloatArray, n_threads: int
    ) -> FloatArray:
        """Return log p(x) from log mean_j exp(−d²_ij) of scaled points."""
        constant = self.kernel.log_peak - self.units.log_unit
        gaussian = self.kernel.map[self.kernel.n_local :]
        if not len(gaussian):
            return log_mean + constant
        image = project(U - self._mean, gaussian, n_threads)
        return log_mean - 0.5 * np.einsum("ij,ij->i", image, image) + constant

    def kernel_sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Draw points from the kernels, in the units of the data."""
        A, q = self.kernel.map, self.kernel.n_local
        drawn = rng.standard_normal((n_samples, len(A)))
        centers = self.U[rng.randint(len(self.U), size=n_samples)]
        drawn[:, :q] += centers @ A[:q].T
        drawn[:, q:] += self._mean @ A[q:].T
        return self._inverse(drawn)

    def modes(
        self, X: FloatArray, width: float, max_iter: int, tol: float, n_threads: int
    ) -> tuple[FloatArray, int]:
        """Ascend the kernel density by mean shift; also return the number of steps."""
        A, q = self.kernel.map, self.kernel.n_local
        half = A[:q] * (np.sqrt(0.5) / width)
        Z = project_resolvable(self.U, half, n_threads)
        at = project(self.units.transform(X), half, n_threads)
        at = at.astype(Z.dtype, copy=False)
        ones = np.ones(len(Z))
        weights = NeighborWeights.build(ones, ones, Z.dtype)
        moving = np.arange(len(at))
        n_steps = 0
        while len(moving) and (n_steps := n_steps + 1) <= max_iter:
            goal = average(at[moving], Z, Z, weights, n_threads)
            moved = np.linalg.norm(goal - at[moving], axis=1)
            at[moving] = goal
            moving = moving[moved > tol]
        image = np.zeros((len(at), len(A)))
        image[:, :q] = at * (width * np.sqrt(2))
        image[:, q:] = self._mean @ A[q:].T
        return self._inverse(image), n_steps

    @cached_property
    def _mean(self) -> FloatArray:
        return self.U.mean(axis=0, dtype=np.float64)

    def _tree_log_means(self, Q: FloatArray, Z: FloatArray) -> FloatArray:
        """Return log mean_j exp(−‖q − z_j‖²), each mean with a relative error rtol."""
        from sklearn.neighbors import KernelDensity

        width = np.sqrt(0.5)
        tree = KernelDensity(
            bandwidth=width, algorithm="ball_tree", rtol=self.rtol, leaf_size=100
        ).fit(Z)
        scores: FloatArray = tree.score_samples(Q)
        return scores + Z.shape[1] * (0.5 * np.log(2 * np.pi) + np.log(width))
