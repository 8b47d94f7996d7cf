"""Forms of a kernel's covariance: what each makes of the scatter in the M-step.

Each form returns the maximiser of −log|Σ| − tr(Σ⁻¹C) among the covariances of its kind
whose eigenvalues are at least `FLOOR`; clipping eigenvalues is that maximiser, so
that EM never loses by it.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from vicinal._typing import FloatArray

FLOOR = 1e-10
"""The least variance of a kernel in any direction, in units of the data's variance."""


@dataclass(frozen=True, eq=False)
class Covariance:
    """A covariance Σ, ready for use.

    Attributes
    ----------
    matrix : ndarray of shape (n_features, n_features)
        Σ.
    root : ndarray of shape (n_features, n_features)
        A with AᵀA = Σ⁻¹.
    inverse : ndarray of shape (n_features, n_features)
        A⁻¹.
    log_det : float
        log|Σ|.
    n_floored : int
        In how many directions there was less variance than `FLOOR`.
    """

    matrix: FloatArray
    root: FloatArray
    inverse: FloatArray
    log_det: float
    n_floored: int


class Form(Protocol):
    """A kind of covariance."""

    alike: bool
    """Whether the form depends on how the features' scales compare."""

    def maximise(self, C: FloatArray) -> Covariance:
        """Return the best covariance of this kind for a scatter C."""


class Full:
    """Any covariance: Σ = C (eq. 4)."""

    alike = False

    def maximise(self, C: FloatArray) -> Covariance:
        """Return C, with its eigenvalues floored."""
        try:
            lower = cholesky(C, lower=True, check_finite=False)
        except LinAlgError:
            return _from_spectrum(*eigh(C, check_finite=False))
        pivots = np.diag(lower)
        # A pivot is never below the least eigenvalue, but may be well above it.
        if pivots.min() ** 2 < 100 * len(C) * FLOOR:
            return _from_spectrum(*eigh(C, check_finite=False))
        root = solve_triangular(lower, np.eye(len(C)), lower=True, check_finite=False)
        return Covariance(C, root, lower, 2 * float(np.log(pivots).sum()), 0)


class Diagonal:
    """Independent features: Σ is the diagonal of C."""

    alike = False

    def maximise(self, C: FloatArray) -> Covariance:
        """Return the diagonal of C, floored."""
        return _from_spectrum(np.diag(C), np.eye(len(C)))


class Spherical:
    """A multiple of the identity with the trace of C."""

    alike = True

    def maximise(self, C: FloatArray) -> Covariance:
        """Return the identity times the mean of C's diagonal, floored."""
        return _from_spectrum(np.full(len(C), np.trace(C) / len(C)), np.eye(len(C)))


@dataclass(frozen=True)
class LowRank:
    """A matrix of low rank plus a multiple of the identity.

    The leading eigenvalues of C are kept, the others replaced by their mean, as in
    probabilistic principal component analysis.
    """

    rank: int
    alike = True

    def maximise(self, C: FloatArray) -> Covariance:
        """Return C with its small eigenvalues made equal, floored."""
        variances, axes = eigh(C, check_finite=False)
        n_small = len(C) - self.rank
        variances[:n_small] = variances[:n_small].mean()
        return _from_spectrum(variances, axes)


def _from_spectrum(variances: FloatArray, axes: FloatArray) -> Covariance:
    floored = np.maximum(variances, FLOOR)
    return Covariance(
        matrix=(axes * floored) @ axes.T,
        root=(axes / np.sqrt(floored)).T,
        inverse=axes * np.sqrt(floored),
        log_det=float(np.log(floored).sum()),
        n_floored=int((variances < FLOOR).sum()),
    )
