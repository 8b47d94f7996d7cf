"""The E-step of LCA: who is whose neighbour, and the local scatter that follows.

All points here are in the units of `Scaler`.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    NeighborWeights,
    Responsibilities,
    back_project,
    float32_resolves,
    project,
    row_values,
    scatter,
)


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parameters of the density p(x) ∝ p_G(A_G x) · mean_j exp(−½‖A_L(x − x_j)‖²).

    Attributes
    ----------
    map : ndarray of shape (n_features, n_features)
        The rows of A_L, then those of A_G.
    inverse : ndarray of shape (n_features, n_features)
        The inverse of the map, which the M-step has at hand.
    n_local : int
        How many of the rows are A_L.
    log_det : float
        log|det map|.
    deduction : float
        What the Gaussian part and the penalties take from the mean log-likelihood.
    n_floored : int
        In how many directions the kernel was kept from collapsing.
    """

    map: FloatArray
    inverse: FloatArray
    n_local: int
    log_det: float
    deduction: float
    n_floored: int

    @property
    def constant(self) -> float:
        """What the objective has beside the mean of log mean_j exp(−d²_ij)."""
        d = len(self.map)
        return self.log_det - d / 2 * np.log(2 * np.pi) - self.deduction


class Expectation(NamedTuple):
    """What the E-step finds."""

    log_means: FloatArray
    """log mean_{j≠i} exp(−d²_ij) of each query."""
    C: FloatArray
    """C_L of eq. 4, float64."""


def expectation(
    U: FloatArray,
    kernel: Kernel,
    n_threads: int,
    queries: IntArray | None = None,
) -> Expectation:
    """Return each query's log mean_{j≠i} exp(−d²_ij), and C_L of eq. 4.

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        The points.
    kernel : Kernel
        The present parameters.
    n_threads : int
        Threads.
    queries : ndarray of int or None, default=None
        Whose local covariances to average; None is all.
    """
    if not kernel.n_local and queries is None:
        # All neighbours are equal: no pairs to look at.
        centered = U - U.mean(axis=0, dtype=np.float64)
        C = back_project(centered, centered, n_threads) * (2 / (len(U) - 1))
        return Expectation(np.zeros(len(U)), C)
    return expectation_of(mapped(U, kernel, n_threads), kernel, n_threads, queries)


def expectation_of(
    Y: FloatArray,
    kernel: Kernel,
    n_threads: int,
    queries: IntArray | None = None,
) -> Expectation:
    """Do what `expectation` does, for points that are `mapped` already."""
    d, q = len(kernel.map), kernel.n_local
    scattered = None if q == d else Y
    values, S = scatter(Y[:, :q], _rule(Y), n_threads, queries, scattered)
    C = kernel.inverse @ (2 * S / len(values)) @ kernel.inverse.T
    return Expectation(values.astype(np.float64) - np.log(len(Y) - 1), (C + C.T) / 2)


def mapped(U: FloatArray, kernel: Kernel, n_threads: int) -> FloatArray:
    """Return the points under the kernel's map, where exp(−½ …) is exp(−d²)."""
    return project_resolvable(U, kernel.map * np.sqrt(0.5), n_threads)


def to_float32_if_safe(Y: FloatArray) -> FloatArray:
    """Return mapped points in float32 where it can tell their distances apart.

    Rounding is far below what a sample of the points errs by, and half as long to
    compute with.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = (Y - Y.mean(axis=0)).astype(np.float32)
    return narrow if float32_resolves(narrow) else Y


def log_means(
    U: FloatArray,
    kernel: Kernel,
    n_threads: int,
    queries: IntArray | None = None,
    counts: FloatArray | None = None,
) -> FloatArray:
    """Return log mean_{j≠i} exp(−d²_ij) alone.

    Parameters
    ----------
    U, kernel, n_threads, queries
        As for `expectation`.
    counts : ndarray of shape (n_samples,) or None, default=None
        How many equal points each stands for, all of which it leaves out; None is one.
    """
    if not kernel.n_local:
        return np.zeros(len(U) if queries is None else len(queries))
    half = kernel.map[: kernel.n_local] * np.sqrt(0.5)
    Z = project_resolvable(U, half, n_threads)
    sums = row_values(Z, _rule(Z, counts), n_threads, queries).astype(np.float64)
    if counts is None:
        return sums - np.log(len(U) - 1)
    own = counts if queries is None else counts[queries]
    # The engine's masses are relative to the largest.
    return sums + np.log(counts.max()) - np.log(counts.sum() - own)


def project_resolvable(
    U: FloatArray, components: FloatArray, n_threads: int
) -> FloatArray:
    """Map the points, in float64 where float32 would not do for their distances."""
    if U.dtype == np.float64:
        return project(U, components, n_threads)
    with np.errstate(over="ignore", invalid="ignore"):
        Z = project(U, components.astype(U.dtype), n_threads)
        if float32_resolves(Z - Z.mean(axis=0)):
            return Z
    return project(U, components, n_threads)


def resolved_pair(
    U: FloatArray, queries: FloatArray, components: FloatArray, n_threads: int
) -> tuple[FloatArray, FloatArray]:
    """Map points and queries to one type: float32 where it will do for both.

    Queries may be far from all points, and alone.
    """
    Z, Q = (
        project_resolvable(points, components, n_threads) for points in (U, queries)
    )
    dtype = np.result_type(Z, Q)
    with np.errstate(over="ignore", invalid="ignore"):
        if not float32_resolves((Q - Z.mean(axis=0)).astype(dtype, copy=False)):
            dtype = np.dtype(np.float64)
            Z, Q = (project(points, components, n_threads) for points in (U, queries))
    return Z.astype(dtype, copy=False), Q.astype(dtype, copy=False)


def _rule(Z: FloatArray, masses: FloatArray | None = None) -> Responsibilities:
    ones = np.ones(len(Z))
    masses = ones if masses is None else masses
    return Responsibilities(NeighborWeights.build(ones, masses, Z.dtype))
