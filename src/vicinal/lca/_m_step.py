"""Forms of a kernel's covariance: what each makes of the scatter in the M-step.

Each form returns the maximiser of −log|Σ| − tr(Σ⁻¹C) over the covariances of its kind
whose eigenvalues are at least `FLOOR`; clipping eigenvalues is that maximiser, so
that EM never loses by it.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from vicinal._typing import FloatArray
from vicinal.lca._e_step import Kernel

FLOOR = 1e-10
"""The least variance of a kernel in any direction, in units of the data's variance."""
DEFAULT_RANK = 10
"""Of the low-rank form."""


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

    isotropic: bool
    """Whether the form depends on how the features' scales compare."""

    def fit(self, C: FloatArray) -> Covariance:
        """Return the best covariance of this kind for a scatter C."""

    def n_parameters(self, n_features: int) -> int:
        """Return how many numbers make such a covariance."""


class Full:
    """Any covariance: Σ = C (eq. 4)."""

    isotropic = False

    def fit(self, C: FloatArray) -> Covariance:
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

    def n_parameters(self, n_features: int) -> int:
        """Return d(d + 1) / 2."""
        return n_features * (n_features + 1) // 2


def directions_below(C: FloatArray, least: float) -> int:
    """Return in how many directions a symmetric matrix has less variance than that."""
    try:
        pivots = np.diag(cholesky(C, lower=True, check_finite=False))
        if pivots.min() ** 2 >= 100 * len(C) * least:  # as above
            return 0
    except LinAlgError:
        pass
    return int((eigh(C, eigvals_only=True, check_finite=False) < least).sum())


class Diagonal:
    """Independent features: Σ is the diagonal of C."""

    isotropic = False

    def fit(self, C: FloatArray) -> Covariance:
        """Return the diagonal of C, floored."""
        return _from_spectrum(np.diag(C), np.eye(len(C)))

    def n_parameters(self, n_features: int) -> int:
        """Return d."""
        return n_features


class Spherical:
    """A multiple of the identity with the trace of C."""

    isotropic = True

    def fit(self, C: FloatArray) -> Covariance:
        """Return the identity times the mean of C's diagonal, floored."""
        return _from_spectrum(np.full(len(C), np.trace(C) / len(C)), np.eye(len(C)))

    def n_parameters(self, n_features: int) -> int:  # noqa: ARG002
        """Return 1."""
        return 1


@dataclass(frozen=True)
class LowRank:
    """A matrix of low rank plus a multiple of the identity.

    The leading eigenvalues of C are kept, the others replaced by their mean, as in
    probabilistic principal component analysis.
    """

    rank: int
    isotropic = True

    def fit(self, C: FloatArray) -> Covariance:
        """Return C with its small eigenvalues made equal, floored."""
        variances, axes = eigh(C, check_finite=False)
        n_small = len(C) - self.rank
        variances[:n_small] = variances[:n_small].mean()
        return _from_spectrum(variances, axes)

    def n_parameters(self, n_features: int) -> int:
        """Return what the leading eigenvectors take, and one more."""
        return self.rank * (2 * n_features - self.rank + 1) // 2 + 1


@dataclass(frozen=True, eq=False)
class CovarianceModel:
    """LCA's M-step: one covariance of a given form for all kernels.

    Attributes
    ----------
    form : Form
        The kind of covariance.
    ridge : ndarray of shape (n_features,)
        ν in the features' units. The penalty ½ν tr Σ⁻¹ per point adds νI to C.
    """

    form: Form
    ridge: FloatArray

    def fit(self, C: FloatArray) -> Kernel:
        """Return the kernel with the best covariance for C + νI."""
        best = self.form.fit(C + np.diag(self.ridge))
        log_det = -best.log_det / 2
        return self.kernel(best.root, best.inverse, log_det, best.n_floored)

    def kernel_near(self, covariance: FloatArray) -> Kernel:
        """Return the kernel with the covariance of this form next to another."""
        best = self.form.fit(covariance)
        return self.kernel(best.root, best.inverse, -best.log_det / 2)

    def kernel(
        self, root: FloatArray, inverse: FloatArray, log_det: float, n_floored: int = 0
    ) -> Kernel:
        """Return the kernel with a root of Σ⁻¹."""
        penalty = float(np.square(root).sum(axis=0) @ self.ridge) / 2
        return Kernel(root, inverse, len(root), log_det, penalty, n_floored)


FORMS = ("full", "diagonal", "spherical", "low-rank")


def form_of(covariance: str, rank: int | None, n_features: int) -> Form:
    """Return the form of that name; the shared one of "local" covariances is full.

    Parameters
    ----------
    covariance, rank : str, int or None
        As `covariance` and `n_components` of `LCA`.
    n_features : int
        How many there are.
    """
    if covariance == "diagonal":
        return Diagonal()
    if covariance == "spherical":
        return Spherical()
    if covariance != "low-rank":
        return Full()
    if rank is None:
        rank = min(DEFAULT_RANK, n_features - 1)
    if rank >= n_features and n_features > 1:
        raise ValueError(
            f"n_components={rank} leaves nothing for the multiple of the identity in "
            f"{n_features} features; choose less, or covariance='full'."
        )
    return LowRank(min(rank, n_features - 1))


def _from_spectrum(variances: FloatArray, axes: FloatArray) -> Covariance:
    floored = np.maximum(variances, FLOOR)
    return Covariance(
        matrix=(axes * floored) @ axes.T,
        root=(axes / np.sqrt(floored)).T,
        inverse=axes * np.sqrt(floored),
        log_det=float(np.log(floored).sum()),
        n_floored=int((variances < FLOOR).sum()),
    )
