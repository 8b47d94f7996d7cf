"""A Gaussian behind the kernels: what a point far from all kernels is judged by.

A Parzen density is a poor model of data that are Gaussian in many dimensions, and of a
row that no kernel reaches. A mixture with one Gaussian, weighted by the leave-one-out
likelihood, is never much worse than either. All points are in the units of `Scaler`.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import RandomState
from scipy.linalg import eigh
from scipy.optimize import brentq

from vicinal._typing import FloatArray, IntArray
from vicinal.lca._data import Copies, Scaler
from vicinal.lca._density import ProductDensity
from vicinal.lca._e_step import Kernel
from vicinal.lca._local_density import LocalDensity

LEAST_RIDGE = 8 * float(np.finfo(np.float32).eps)
"""About 1e-6. A float32 scatter of points of unit variance is exact to eps: less than
some eps would be rounding, and both types shall have the same densities."""
GAUSSIAN_RIDGES = np.append(10.0 ** np.arange(0, -6, -0.5), LEAST_RIDGE)
"""What is tried for the Gaussian's ridge, in units of the features' variances."""
# Of the search for a weight: how far from 0 and 1 its bounds are, how exact it is,
# and a difference of log-densities beyond which one of the two is as good as none.
_EDGE, SAME_WEIGHT, MOST_GAIN = 1e-14, 1e-10, 300.0


@dataclass(frozen=True, eq=False)
class Background:
    """The Gaussian N(μ, S + νI), with the ν that suits left-out points best.

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
        The log-density of each point, with mean and covariance of the others.
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
        """Choose the ridge by the exact leave-one-out likelihood of each.

        Parameters
        ----------
        U : ndarray of shape (n_samples, n_features)
            The points.
        covariance : ndarray of shape (n_features, n_features)
            Theirs, and what is added to it in columns that do not vary.
        ridge : float or None, default=None
            ν; None is the best.
        """
        mean = U.mean(axis=0, dtype=np.float64)
        variances, axes = eigh(covariance, check_finite=False)
        variances = np.maximum(variances, 0)
        squares = np.square((U - mean) @ axes)
        ridges = GAUSSIAN_RIDGES if ridge is None else np.array([ridge])
        scores = [_leave_one_out(squares, variances, nu) for nu in ridges]
        best = int(np.argmax([score.mean() for score in scores]))
        chosen = float(ridges[best])
        return cls(mean, axes, variances + chosen, chosen, scores[best])

    def log_density_of(self, U: FloatArray) -> FloatArray:
        """Return the log-density of points."""
        squares = np.square((U - self.mean) @ self.axes) @ (1 / self.variances)
        constant = np.log(self.variances).sum() + len(self.mean) * np.log(2 * np.pi)
        density: FloatArray = -0.5 * (squares + constant)
        return density

    def sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Return points drawn from the Gaussian."""
        drawn = rng.standard_normal((n_samples, len(self.mean)))
        points: FloatArray = self.mean + (drawn * np.sqrt(self.variances)) @ self.axes.T
        return points


def _leave_one_out(
    squares: FloatArray, variances: FloatArray, ridge: float
) -> FloatArray:
    """Return each point's log-density under N(μ, S + νI) of the others.

    Without the point whose deviation from μ is r, S becomes n/(n−1) S − n/(n−1)² r rᵀ:
    one of the inverse and of the determinant gives all (Sherman and Morrison).

    Parameters
    ----------
    squares : ndarray of shape (n_samples, n_features)
        The squared coordinates of each r along the eigenvectors of S.
    variances : ndarray of shape (n_features,)
        The eigenvalues of S.
    ridge : float
        ν.
    """
    n, d = squares.shape
    wider = n / (n - 1)
    all_rows = wider * variances + ridge
    distances = squares @ (1 / all_rows)
    left = np.maximum(1 - distances * wider / (n - 1), np.finfo(np.float64).eps)
    log_det = np.log(all_rows).sum() + np.log(left)
    return -0.5 * (wider**2 * distances / left + log_det + d * np.log(2 * np.pi))


def mixture_weight(parzen: FloatArray, gaussian: FloatArray) -> float:
    """Return the Gaussian's weight π in the mixture that suits left-out points best.

    One point more than there are is counted for each of the two, so that neither ever
    vanishes: a point unlike all others has a density that is low, and not zero.

    Parameters
    ----------
    parzen, gaussian : ndarray of shape (n_samples,)
        Log-densities of the same points, each left out.
    """
    gain = np.expm1(np.clip(gaussian - parzen, -MOST_GAIN, MOST_GAIN))

    def slope(weight: float) -> float:
        slopes = gain / (1 + weight * gain)
        return float(slopes.sum() + 1 / weight - 1 / (1 - weight))

    # Each slope, and so their sum, falls with the weight: from above 0 to below it.
    return float(brentq(slope, _EDGE, 1 - _EDGE, xtol=_EDGE, rtol=SAME_WEIGHT))


@dataclass(frozen=True, eq=False)
class MixtureDensity:
    """(1 − π) times a Parzen density plus π times one Gaussian.

    Attributes
    ----------
    parzen : ProductDensity or LocalDensity
        The kernels.
    background : Background
        The Gaussian.
    weight : float
        π.
    gain : float
        What the mixture has over the Gaussian alone, in nats per left-out point.
    """

    parzen: ProductDensity | LocalDensity
    background: Background
    weight: float
    gain: float

    @classmethod
    def build(
        cls,
        parzen: ProductDensity | LocalDensity,
        background: Background,
        n_threads: int,
        rows: IntArray | None,
    ) -> "MixtureDensity":
        """Find the weight by the leave-one-out likelihood of all points, or of rows."""
        kernels = parzen.leave_one_out(n_threads, rows)
        gaussian = (
            background.loo_scores if rows is None else background.loo_scores[rows]
        )
        gaussian = gaussian - np.log(parzen.units.scale).sum()
        weight = mixture_weight(kernels, gaussian)
        gain = float((mixed(kernels, gaussian, weight) - gaussian).mean())
        return cls(parzen, background, weight, gain)

    def with_copies(self, copies: Copies) -> "MixtureDensity":
        """Return the density of all points, for one that was learned of distinct."""
        parzen = self.parzen.with_copies(copies)
        loo_scores = self.background.loo_scores[copies.group]
        background = replace(self.background, loo_scores=loo_scores)
        return replace(self, parzen=parzen, background=background)

    @property
    def units(self) -> Scaler:
        """The units of everything else."""
        return self.parzen.units

    @property
    def kernel(self) -> Kernel:
        """The kernel that all points share."""
        return self.parzen.kernel

    @property
    def U(self) -> FloatArray:  # noqa: N802
        """The training points."""
        return self.parzen.U

    def log_density(self, X: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of new points, against all training points; float64."""
        return self.log_density_of(self.units.transform(X), n_threads)

    def log_density_of(self, U: FloatArray, n_threads: int) -> FloatArray:
        """Return log p(x) of points that are in EM's units already."""
        parzen = self.parzen.log_density_of(U, n_threads)
        return self._mixed(parzen, self.background.log_density_of(U))

    def leave_one_out(self, n_threads: int, rows: IntArray | None = None) -> FloatArray:
        """Return log p(x_i) of training points, each against the others; float64."""
        parzen = self.parzen.leave_one_out(n_threads, rows)
        gaussian = self.background.loo_scores
        return self._mixed(parzen, gaussian if rows is None else gaussian[rows])

    def sample(self, n_samples: int, rng: RandomState) -> FloatArray:
        """Return points drawn from the density."""
        drawn = self.parzen.sample(n_samples, rng)
        far = np.flatnonzero(rng.random_sample(n_samples) < self.weight)
        drawn[far] = self.units.inverse_transform(self.background.sample(len(far), rng))
        return drawn

    def modes(
        self, X: FloatArray, width: float, max_iter: int, tol: float, n_threads: int
    ) -> tuple[FloatArray, int]:
        """Ascend the kernels' part to its modes; also return after how many steps."""
        return self.parzen.modes(X, width, max_iter, tol, n_threads)

    def _mixed(self, parzen: FloatArray, gaussian: FloatArray) -> FloatArray:
        log_unit = np.log(self.units.scale).sum()
        return mixed(parzen, gaussian - log_unit, self.weight)


def mixed(parzen: FloatArray, gaussian: FloatArray, weight: float) -> FloatArray:
    """Return log((1 − π) exp(parzen) + π exp(gaussian))."""
    found: FloatArray = np.logaddexp(
        parzen + np.log1p(-weight), gaussian + np.log(weight)
    )
    return found
