"""Expectation-maximization of the leave-one-out likelihood (LCA, sections 3 and 5).

`expectation` is the E-step, an `MStep` turns the local scatter C_L into a kernel;
`exact_em` and `stochastic_em` alternate them. All points are scaled by
`vicinal.lca.data.Scaler`.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import RandomState
from scipy.linalg import LinAlgError, cholesky, eigh, eigvalsh, solve_triangular
from sklearn.utils.random import sample_without_replacement

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    NeighborWeights,
    back_project,
    float32_resolves,
    laplacian_product,
    project,
    responsibilities,
    scatter,
)

N_EXACT = 20_000
"""The largest number of points for which all pairs are used by default."""
N_REFERENCES = 3000
"""N of the fast form (section 6.3)."""
N_JUDGES = 1000
"""Points at which sums over large tables are estimated."""
PATIENCE = 5
"""Passes over which mini-batches must gain `tol`: single gains are noise."""
FLOOR = 1e-10
"""The least variance of a kernel in any direction, relative to the data's variance."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parameters of the density p(x) ∝ p_G(A_G x) · mean_j exp(−½‖A_L(x − x_j)‖²).

    Attributes
    ----------
    map : ndarray of shape (n_features, n_features)
        The rows of A_L, then those of A_G.
    inverse : ndarray of shape (n_features, n_features)
        The inverse of the map.
    n_local : int
        The number of rows of A_L.
    log_det : float
        log|det map|.
    penalty : float
        The penalties, and minus the mean log-likelihood of the Gaussian part up to its
        normalization.
    n_floored : int
        The number of directions in which the variance was raised to `FLOOR`.
    """

    map: FloatArray
    inverse: FloatArray
    n_local: int
    log_det: float
    penalty: float
    n_floored: int

    @property
    def log_peak(self) -> float:
        """The log-density of the kernel at its center, log|det A| − d/2 log 2π."""
        return self.log_det - len(self.map) / 2 * float(np.log(2 * np.pi))


# E-step


class Expectation(NamedTuple):
    """The result of an E-step."""

    log_means: FloatArray
    """log mean_{j≠i} exp(−d²_ij) of each query."""
    C: FloatArray
    """C_L of eq. 4, float64."""


def expectation(
    U: FloatArray,
    kernel: Kernel,
    n_threads: int,
    queries: IntArray | None = None,
    *,
    narrow: bool = False,
) -> Expectation:
    """Compute the responsibilities (eq. 3) and the local scatter C_L (eq. 4).

    Parameters
    ----------
    U : ndarray of shape (n_samples, n_features)
        The points.
    kernel : Kernel
        The current parameters.
    n_threads : int
        Number of threads.
    queries : ndarray of int or None, default=None
        The points whose local covariances are averaged; None is all.
    narrow : bool, default=False
        Whether to compute in float32 if it resolves the distances. This halves the
        time of a mini-batch; rounding is far below the sampling error.
    """
    d, q = len(kernel.map), kernel.n_local
    if not q and queries is None:  # all responsibilities are equal
        centered = U - U.mean(axis=0, dtype=np.float64)
        C = back_project(centered, centered, n_threads) * (2 / (len(U) - 1))
        return Expectation(np.zeros(len(U)), C)
    # With the factor √½, exp(−½ (x − y)ᵀΣ⁻¹(x − y)) is exp(−d²).
    Y = project_resolvable(U, kernel.map * np.sqrt(0.5), n_threads)
    if narrow:
        Y = narrowed(Y)[0]
    ones = np.ones(len(Y))
    rule = responsibilities(NeighborWeights.build(ones, ones, Y.dtype))
    values, S = scatter(Y[:, :q], rule, n_threads, queries, None if q == d else Y)
    C = kernel.inverse @ (2 * S / len(values)) @ kernel.inverse.T
    return Expectation(values.astype(np.float64) - np.log(len(Y) - 1), (C + C.T) / 2)


def log_means(
    U: FloatArray,
    kernel: Kernel,
    n_threads: int,
    queries: IntArray | None = None,
    counts: FloatArray | None = None,
) -> FloatArray:
    """Return log mean_{j≠i} exp(−d²_ij) of each query, without C_L.

    Parameters
    ----------
    U, kernel, n_threads, queries
        As for `expectation`.
    counts : ndarray of shape (n_samples,) or None, default=None
        The number of equal points that each point stands for. A query leaves out all
        of its own. None is one.
    """
    if not kernel.n_local:
        return np.zeros(len(U) if queries is None else len(queries))
    Z = project_resolvable(U, kernel.map[: kernel.n_local] * np.sqrt(0.5), n_threads)
    ones = np.ones(len(Z))
    weights = ones if counts is None else counts
    rule = responsibilities(NeighborWeights.build(ones, weights, Z.dtype))
    sums = laplacian_product(Z, rule, n_threads, queries, values_only=True).values
    sums = sums.astype(np.float64)
    if counts is None:
        return sums - np.log(len(U) - 1)
    own = counts if queries is None else counts[queries]
    # The weights in the engine are relative to the largest.
    return sums + np.log(counts.max()) - np.log(counts.sum() - own)


def narrowed(*arrays: FloatArray) -> tuple[FloatArray, ...]:
    """Return mapped points, centered and in float32 if that resolves their distances.

    Parameters
    ----------
    *arrays : ndarray of shape (n_points, n_components)
        The points, and queries; the mean of the first is the origin of all.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        center = arrays[0].mean(axis=0)
        narrow = tuple((Y - center).astype(np.float32) for Y in arrays)
    return narrow if all(map(float32_resolves, narrow)) else arrays


def project_resolvable(
    U: FloatArray, components: FloatArray, n_threads: int
) -> FloatArray:
    """Map the points, in float64 if float32 does not resolve their distances."""
    if U.dtype == np.float32:
        with np.errstate(over="ignore", invalid="ignore"):
            Z = project(U, components.astype(U.dtype), n_threads)
            if float32_resolves(Z - Z.mean(axis=0)):
                return Z
    return project(U, components, n_threads)


# M-step


class MStep(Protocol):
    """The M-step of a model: a covariance of some form, or a split of the space."""

    def fit(self, C: FloatArray) -> Kernel:
        """Return the best kernel for the local scatter C_L, given without a ridge."""


@dataclass(frozen=True)
class Form:
    """A family of covariances: "full", "diagonal", "spherical" or "low-rank".

    "low-rank" keeps the `rank` leading eigenvalues of C_L and replaces the others by
    their mean, as in probabilistic principal component analysis.
    """

    name: str
    rank: int = 0

    def n_parameters(self, d: int) -> int:
        """Return the number of free parameters for d features."""
        sizes = {"full": d * (d + 1) // 2, "diagonal": d, "spherical": 1}
        return sizes.get(self.name, self.rank * (2 * d - self.rank + 1) // 2 + 1)


def form_of(covariance: str, rank: int | None, n_features: int) -> Form:
    """Return the form for the parameters `covariance` and `n_components` of `LCA`."""
    if covariance != "low-rank":
        return Form("full" if covariance == "local" else covariance)
    if rank is None:
        rank = min(10, n_features - 1)
    if rank >= n_features > 1:
        raise ValueError(
            f"n_components={rank} leaves nothing for the multiple of the identity in "
            f"{n_features} features; choose less, or covariance='full'."
        )
    return Form("low-rank", min(rank, n_features - 1))


@dataclass(frozen=True, eq=False)
class CovarianceMStep:
    """The M-step of LCA: one covariance Σ for all kernels (eq. 4).

    Σ maximizes −log|Σ| − tr(Σ⁻¹C) over the covariances of the form with eigenvalues of
    at least `FLOOR`. Clipping the eigenvalues gives that maximum, so that EM stays
    monotone.

    Attributes
    ----------
    form : Form
        The family of covariances.
    ridge : ndarray of shape (n_features,)
        ν in scaled units. The penalty ½ν tr Σ⁻¹ per point adds νI to C_L.
    """

    form: Form
    ridge: FloatArray

    def fit(self, C: FloatArray) -> Kernel:
        """Return the kernel with the best covariance for C + νI."""
        return self.kernel(C + np.diag(self.ridge))

    def kernel(self, C: FloatArray) -> Kernel:
        """Return the kernel with the covariance of this form that is next to C."""
        d = len(C)
        if self.form.name == "full":
            root, inverse, log_det, n_floored = inverse_root(C)
        else:
            variances, axes = np.diag(C), np.eye(d)
            if self.form.name == "spherical":
                variances = np.full(d, variances.mean())
            elif self.form.name == "low-rank":
                variances, axes = eigh(C, check_finite=False)
                n_small = d - self.form.rank
                variances[:n_small] = variances[:n_small].mean()
            root, inverse, log_det, n_floored = _spectral_root(variances, axes)
        penalty = float(np.square(root).sum(axis=0) @ self.ridge) / 2
        return Kernel(root, inverse, d, log_det, penalty, n_floored)


def inverse_root(C: FloatArray) -> tuple[FloatArray, FloatArray, float, int]:
    """Return A with AᵀA = C⁻¹, A⁻¹, log|det A| and the number of floored directions."""
    try:
        lower = cholesky(C, lower=True, check_finite=False)
    except LinAlgError:
        return _spectral_root(*eigh(C, check_finite=False))
    pivots = np.diag(lower)
    # The least pivot is at least the least eigenvalue, and may be well above it.
    if pivots.min() ** 2 < 100 * len(C) * FLOOR:
        return _spectral_root(*eigh(C, check_finite=False))
    root = solve_triangular(lower, np.eye(len(C)), lower=True, check_finite=False)
    return root, lower, -float(np.log(pivots).sum()), 0


def _spectral_root(
    variances: FloatArray, axes: FloatArray
) -> tuple[FloatArray, FloatArray, float, int]:
    """Return the same for a covariance with these eigenvalues and eigenvectors."""
    deviations = np.sqrt(np.maximum(variances, FLOOR))
    log_det = -float(np.log(deviations).sum())
    n_floored = int((variances < FLOOR).sum())
    return (axes / deviations).T, axes * deviations, log_det, n_floored


def directions_below(C: FloatArray, least: float) -> int:
    """Return the number of directions in which C has a smaller variance."""
    return int((eigvalsh(C, check_finite=False) < least).sum())


# EM


@dataclass(frozen=True, eq=False)
class EMResult:
    """The state of EM: its start, or the result of some iterations.

    Attributes
    ----------
    kernel : Kernel
        The current kernel.
    local_scatter : ndarray of shape (n_features, n_features)
        C_L of eq. 4 or 7 at that kernel.
    weight : float, default=1.0
        The mass of past mini-batches in C_L. At 1, its maximum, averaging is eq. 7; at
        0, C_L was not estimated from local neighborhoods and counts as one batch.
    curve : list of float
        The penalized mean leave-one-out log-likelihood of the scaled points.
    log_means : ndarray of shape (n_samples,) or None, default=None
        log mean_{j≠i} exp(−d²_ij) of each point at that kernel, of exact EM.
    converged : bool, default=True
        Whether the last gain was below tol, or a callback stopped EM.
    local_kernels : LocalKernels or None, default=None
        One covariance for each point, with covariance="local".
    """

    kernel: Kernel
    local_scatter: FloatArray
    weight: float = 1.0
    curve: list[float] = field(default_factory=list)
    log_means: Any = None
    converged: bool = True
    local_kernels: Any = None


OnIteration = Callable[[EMResult], bool]
"""Called after each iteration with the current state; True stops."""


def exact_em(
    m_step: MStep,
    U: FloatArray,
    start: EMResult,
    *,
    max_iter: int,
    tol: float,
    n_threads: int,
    on_iteration: OnIteration | None = None,
) -> EMResult:
    """Alternate eq. 3 and 4 over all pairs; the curve never falls.

    Parameters
    ----------
    m_step : MStep
        The M-step.
    U : ndarray of shape (n_samples, n_features)
        The points.
    start : EMResult
        The first kernel; the local scatter is not used.
    max_iter : int
        Maximum number of M-steps.
    tol : float
        EM stops when an iteration gains less, in nats per point.
    n_threads : int
        Number of threads.
    on_iteration : callable or None, default=None
        Called after each iteration; True stops.
    """
    kernel = start.kernel
    seen = expectation(U, kernel, n_threads)
    curve = [objective(seen.log_means, kernel)]
    for _ in range(max_iter):
        kernel = m_step.fit(seen.C)
        seen = expectation(U, kernel, n_threads)
        curve.append(objective(seen.log_means, kernel))
        result = EMResult(kernel, seen.C, 1.0, curve, seen.log_means)
        stopped = on_iteration is not None and on_iteration(result)
        if stopped or curve[-1] - curve[-2] < tol:
            return result
    return replace(result, converged=False)


def objective(log_means: FloatArray, kernel: Kernel) -> float:
    """Return the penalized mean leave-one-out log-likelihood."""
    return float(log_means.mean()) + kernel.log_peak - kernel.penalty


@dataclass(frozen=True)
class Sampling:
    """The samples of the fast form (section 5).

    Attributes
    ----------
    batch_size : int
        B, the number of locations of an update.
    n_references : int
        N, the number of random points that a location sees, including itself.
    discount : float
        γ: the weight that C_L keeps over a pass through the data (eq. 7).
    rescale : bool, default=True
        Whether the scale of the final C_L is fitted to all points as references.
    debias : bool, default=True
        Whether a start that was not learned counts as one batch; eq. 7 as written
        gives it full weight.
    """

    batch_size: int
    n_references: int
    discount: float
    rescale: bool = True
    debias: bool = True

    def groups(
        self, locations: IntArray, n: int, rng: RandomState
    ) -> Iterator[tuple[IntArray, int]]:
        """Yield groups of at most N locations, each followed by random other rows.

        A group and its other rows are N rows together, all of them references of each
        location in the group. The locations are references of each other, which saves
        mapping other rows.

        Yields
        ------
        rows : ndarray of shape (N,)
            The locations of the group, then the other rows.
        n_locations : int
            The size of the group.
        """
        N = max(min(self.n_references, n), 2)
        for group in np.array_split(locations, -(-len(locations) // N)):
            rows = group
            while len(rows) < N:
                # Drawing few of many rows again is cheaper than a permutation.
                drawn = rng.randint(n, size=N) if n > 2 * N else rng.permutation(n)
                rows = np.concatenate([rows, drawn])
                rows = rows[np.sort(np.unique(rows, return_index=True)[1])]
            yield rows[:N], len(group)

    def scatter(
        self,
        U: FloatArray,
        kernel: Kernel,
        batch: IntArray,
        rng: RandomState,
        n_threads: int,
    ) -> FloatArray:
        """Return Ĉ_L, the mean local covariance at a batch of locations."""
        C = np.zeros_like(kernel.map)
        for rows, n_locations in self.groups(batch, len(U), rng):
            own = np.arange(n_locations)
            seen = expectation(U[rows], kernel, n_threads, own, narrow=True)
            C += seen.C * (n_locations / len(batch))
        return C

    def step(
        self, m_step: MStep, state: EMResult, seen: FloatArray, part: float
    ) -> EMResult:
        """Average C_L with that of a batch, a part of a pass (eq. 7); fit the kernel.

        With `debias`, a start that was not learned has a small weight, so that C_L is
        the mean of the batches seen so far until a pass or two are done.
        """
        kept = self.discount**part
        before = kept * (state.weight or (1 - kept if self.debias else 1.0))
        weight = before + (1 - kept)
        C = (before * state.local_scatter + (1 - kept) * seen) / weight
        return EMResult(m_step.fit(C), C, weight)

    def update(
        self,
        m_step: MStep,
        U: FloatArray,
        state: EMResult,
        locations: IntArray,
        rng: RandomState,
        n_threads: int,
    ) -> EMResult:
        """Update C_L and the kernel at the locations, a batch at a time."""
        n_batches = -(-len(locations) // self.batch_size)
        for batch in np.array_split(locations, n_batches):
            seen = self.scatter(U, state.kernel, batch, rng, n_threads)
            state = self.step(m_step, state, seen, len(batch) / len(U))
        return state


def sampling_of(estimator: Any, shape: tuple[int, ...]) -> Sampling:
    """Return the samples for points of this shape and the parameters of `LCA`."""
    n, d = shape
    batch_size, n_references = estimator.batch_size, estimator.n_references
    if batch_size == "auto":
        # Each update maps its references anew: many locations should share them. The
        # paper has 100 (section 6.3). Four per feature keep C_L far from degenerate,
        # and more than 1000 updates per pass add little (docs/lca.md, "Many points").
        batch_size = max(100, 4 * d, n // 1000)
    if n_references == "auto":
        n_references = N_REFERENCES
    B, N = (n if k == "all" else min(int(k), n) for k in (batch_size, n_references))
    return Sampling(B, N, estimator.discount, estimator.rescale, estimator.debias)


def stochastic_em(
    m_step: MStep,
    U: FloatArray,
    start: EMResult,
    sampling: Sampling,
    *,
    max_iter: int,
    tol: float,
    rng: RandomState,
    n_threads: int,
    on_iteration: OnIteration | None = None,
    one_pass: Callable[[EMResult], EMResult] | None = None,
) -> EMResult:
    """Average the local covariances of mini-batches (eq. 7); an iteration is a pass.

    The curve is the objective at the same random points, against the same random
    references, after each pass. EM stops when the best of the last `PATIENCE` passes
    is less than `tol` above the best before them. At the end the kernel is rescaled to
    all references.

    Parameters
    ----------
    m_step, U, max_iter, tol, n_threads, on_iteration
        As for `exact_em`.
    start : EMResult
        The first kernel and C_L.
    sampling : Sampling
        Batches and references.
    rng : RandomState
        The random numbers.
    one_pass : callable or None, default=None
        Updates the kernel by a pass; None passes over U in random order.
    """
    n = len(U)

    def over_all_rows(state: EMResult) -> EMResult:
        return sampling.update(m_step, U, state, rng.permutation(n), rng, n_threads)

    update = over_all_rows if one_pass is None else one_pass
    judges = sample_without_replacement(n, min(n, N_JUDGES), random_state=rng)
    judges = judges.astype(np.intp)
    judged = [(U[rows], k) for rows, k in sampling.groups(judges, n, rng)]

    def height(kernel: Kernel) -> float:
        found = [log_means(V, kernel, n_threads, np.arange(k)) for V, k in judged]
        return objective(np.concatenate(found), kernel)

    state, curve = start, [height(start.kernel)]
    for _ in range(max_iter):
        state = update(state)
        curve.append(height(state.kernel))
        result = replace(state, curve=curve)
        stopped = on_iteration is not None and on_iteration(result)
        gain = max(curve[-PATIENCE:]) - max(curve[:-PATIENCE], default=-np.inf)
        if converged := stopped or gain < tol:
            break
    kernel, C = state.kernel, state.local_scatter
    if sampling.rescale and sampling.n_references < n:
        kernel, C = _rescale(m_step, U, kernel, C, judges[: N_JUDGES // 2], n_threads)
    return replace(
        state, kernel=kernel, local_scatter=C, curve=curve, converged=converged
    )


def _rescale(
    m_step: MStep,
    U: FloatArray,
    kernel: Kernel,
    C: FloatArray,
    locations: IntArray,
    n_threads: int,
    *,
    max_iter: int = 10,
    tol: float = 0.01,
) -> tuple[Kernel, FloatArray]:
    """Fit the scale of C_L to all points as references, by EM over a factor.

    Among fewer references the nearest are further away, so that C_L is too large for
    the density of all points (section 5.2).
    """
    for _ in range(max_iter):
        seen = expectation(U, kernel, n_threads, locations, narrow=True)
        A = kernel.map[: kernel.n_local]
        now, before = (float(np.sum((A @ M) * A)) for M in (seen.C, C))
        if not (now > 0 and before > 0):  # no Parzen directions, or duplicates only
            break
        C = C * (now / before)
        kernel = m_step.fit(C)
        if abs(now / before - 1) < tol:
            break
    return kernel, C
