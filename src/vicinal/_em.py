"""Expectation and maximisation of the leave-one-out likelihood (LCA, sections 3 and 5).

What the M-step makes of the local scatter is the model's: a covariance of some form, or
a split into a Gaussian and a Parzen part. All points here are in the units of `Units`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.random import RandomState
from sklearn.utils.random import sample_without_replacement

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    Masses,
    Responsibilities,
    back_project,
    look,
    project,
    resolvable,
    scatter,
)

# How many points the stochastic form judges its progress by.
N_JUDGES = 1000
# How many of them set the final scale, in how many steps at most, and when it is found.
N_RESCALERS, N_RESCALINGS, SAME_SCALE = 500, 10, 0.01


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


class Model(Protocol):
    """What is made of the local scatter."""

    def maximise(self, C: FloatArray) -> Kernel:
        """Return the kernel that the M-step gives for C_L, without regularisation."""


@dataclass(frozen=True)
class Reached:
    """Where EM ended.

    Attributes
    ----------
    kernel : Kernel
        The last one.
    local_scatter : ndarray of shape (n_features, n_features)
        C_L of eq. 4 or 7, from which the next would be made.
    curve : list of float
        The penalised mean leave-one-out log-likelihood, in EM's units.
    converged : bool
        Whether the gain fell below tol.
    """

    kernel: Kernel
    local_scatter: FloatArray
    curve: list[float]
    converged: bool

    @property
    def n_iter(self) -> int:
        """How many iterations there were."""
        return len(self.curve) - 1


OnIteration = Callable[[Kernel, list[float]], bool]
"""Called after each iteration with the kernel and the curve so far; True stops."""


class _Expectation(NamedTuple):
    log_means: FloatArray
    C: FloatArray


def exact_em(
    model: Model,
    U: FloatArray,
    kernel: Kernel,
    *,
    max_iter: int,
    tol: float,
    n_threads: int,
    on_iteration: OnIteration,
) -> Reached:
    """Alternate eq. 3 and 4 over all pairs; the curve never falls.

    Parameters
    ----------
    model : Model
        The M-step.
    U : ndarray of shape (n_samples, n_features)
        The points.
    kernel : Kernel
        Where to start.
    max_iter : int
        How many M-steps at most.
    tol : float
        Stops when an iteration gains less than this, in nats per point.
    n_threads : int
        Threads.
    on_iteration : callable
        Told of each iteration.
    """
    seen = expectation(U, kernel, n_threads)
    curve = [_objective(seen.log_means, kernel)]
    for _ in range(max_iter):
        kernel = model.maximise(seen.C)
        seen = expectation(U, kernel, n_threads)
        curve.append(_objective(seen.log_means, kernel))
        converged = curve[-1] - curve[-2] < tol
        if on_iteration(kernel, curve) or converged:
            return Reached(kernel, seen.C, curve, converged=True)
    return Reached(kernel, seen.C, curve, converged=False)


@dataclass(frozen=True)
class Sampling:
    """How the stochastic form looks at the data (section 5).

    Attributes
    ----------
    batch_size : int
        B, the locations of an update.
    n_references : int
        N, the random neighbours that the locations of an update look at.
    discount : float
        γ: the weight that C_L keeps over a pass through the data (eq. 7).
    """

    batch_size: int
    n_references: int
    discount: float

    def draw(self, batch: IntArray, n: int, rng: RandomState) -> IntArray:
        """Return the batch, followed by random others: N points together.

        The locations are neighbours of each other, which saves mapping as many.
        """
        n_wanted = max(min(self.n_references, n), len(batch), 2)
        found = batch
        while len(found) < n_wanted:
            # Repeats are few among many: cheaper to draw again than to keep track.
            many = 2 * n_wanted < n
            drawn = rng.randint(n, size=n_wanted) if many else rng.permutation(n)
            found = np.concatenate([found, drawn])
            found = found[np.sort(np.unique(found, return_index=True)[1])]
        return found[:n_wanted]

    def update(
        self,
        model: Model,
        U: FloatArray,
        kernel: Kernel,
        C: FloatArray,
        weight: float,
        locations: IntArray,
        rng: RandomState,
        n_threads: int,
    ) -> tuple[Kernel, FloatArray, float]:
        """Let some locations pass, a batch at a time; return kernel, C_L and weight.

        The weight says of how much C_L is the average, at most 1, for then this is
        eq. 7. A start that nothing was learned from should count for little: then C_L
        is the mean of what was seen so far, until a pass or two have gone by.
        """
        for batch in np.array_split(locations, -(-len(locations) // self.batch_size)):
            points = U[self.draw(batch, len(U), rng)]
            Y = narrowed(mapped(points, kernel, n_threads))
            seen = expectation_of(Y, kernel, n_threads, np.arange(len(batch)))
            kept = self.discount ** (len(batch) / len(U))
            before, weight = kept * weight, kept * weight + (1 - kept)
            C = (before * C + (1 - kept) * seen.C) / weight  # eq. 7 where weight is 1
            kernel = model.maximise(C)
        return kernel, C, weight

    def weight_of_start(self, n: int) -> float:
        """Return the weight of a C_L that nothing was learned from: one batch's."""
        return 1 - self.discount ** (min(self.batch_size, n) / n)


def stochastic_em(
    model: Model,
    U: FloatArray,
    kernel: Kernel,
    C: FloatArray,
    sampling: Sampling,
    *,
    max_iter: int,
    tol: float,
    rng: RandomState,
    n_threads: int,
    on_iteration: OnIteration,
) -> Reached:
    """Average the local covariances of mini-batches (eq. 7); an iteration is a pass.

    The curve is the objective at the same random points, against the same random
    neighbours, after each pass. At the end the kernel is scaled to all neighbours.

    Parameters
    ----------
    model, U, kernel, max_iter, tol, n_threads, on_iteration
        As for `exact_em`.
    C : ndarray of shape (n_features, n_features)
        The local covariance to start from.
    sampling : Sampling
        Batches and neighbours.
    rng : RandomState
        What is drawn.
    """
    judges = sample_without_replacement(
        len(U), min(len(U), N_JUDGES), random_state=rng
    ).astype(np.intp)
    field = U[sampling.draw(judges, len(U), rng)]

    def objective(kernel: Kernel) -> float:
        return _objective(
            log_means(field, kernel, n_threads, np.arange(len(judges))), kernel
        )

    curve = [objective(kernel)]
    converged = False
    weight = sampling.weight_of_start(len(U))
    for _ in range(max_iter):
        order = rng.permutation(len(U))
        kernel, C, weight = sampling.update(
            model, U, kernel, C, weight, order, rng, n_threads
        )
        curve.append(objective(kernel))
        stopped = curve[-1] - curve[-2] < tol
        if on_iteration(kernel, curve) or stopped:
            converged = True
            break
    if sampling.n_references < len(U):
        kernel, C = _rescale(model, U, kernel, C, judges, n_threads)
    return Reached(kernel, C, curve, converged)


def _rescale(
    model: Model,
    U: FloatArray,
    kernel: Kernel,
    C: FloatArray,
    judges: IntArray,
    n_threads: int,
) -> tuple[Kernel, FloatArray]:
    """Fit the size of C_L, and nothing else of it, to all points as neighbours.

    Among fewer neighbours the nearest are further away, so that what was learned from
    them is too wide for the density, which is of all points (section 5.2). This is EM
    over a factor of C_L, from a few locations.
    """
    for _ in range(N_RESCALINGS):
        Y = narrowed(mapped(U, kernel, n_threads))
        seen = expectation_of(Y, kernel, n_threads, judges[:N_RESCALERS])
        local = kernel.map[: kernel.n_local]
        now, before = (float(np.sum((local @ M) * local)) for M in (seen.C, C))
        if not (now > 0 and before > 0):  # no Parzen directions, or all points twice
            break
        factor = now / before
        C = C * factor
        kernel = model.maximise(C)
        if abs(factor - 1) < SAME_SCALE:
            break
    return kernel, C


def expectation(
    U: FloatArray,
    kernel: Kernel,
    n_threads: int,
    queries: IntArray | None = None,
) -> _Expectation:
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
        centred = U - U.mean(axis=0, dtype=np.float64)
        C = back_project(centred, centred, n_threads) * (2 / (len(U) - 1))
        return _Expectation(np.zeros(len(U)), C)
    return expectation_of(mapped(U, kernel, n_threads), kernel, n_threads, queries)


def expectation_of(
    Y: FloatArray,
    kernel: Kernel,
    n_threads: int,
    queries: IntArray | None = None,
) -> _Expectation:
    """Do what `expectation` does, for points that are `mapped` already."""
    d, q = len(kernel.map), kernel.n_local
    carried = None if q == d else Y
    values, S = scatter(Y[:, :q], _rule(Y), n_threads, queries, carried)
    C = kernel.inverse @ (2 * S / len(values)) @ kernel.inverse.T
    return _Expectation(values.astype(np.float64) - np.log(len(Y) - 1), (C + C.T) / 2)


def mapped(U: FloatArray, kernel: Kernel, n_threads: int) -> FloatArray:
    """Return the points under the kernel's map, where exp(−½ …) is exp(−d²)."""
    return resolved(U, kernel.map * np.sqrt(0.5), n_threads)


def narrowed(Y: FloatArray) -> FloatArray:
    """Return mapped points in float32 where it can tell their distances apart.

    Rounding is far below what a sample of the points errs by, and half as long to
    compute with.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = (Y - Y.mean(axis=0)).astype(np.float32)
    return narrow if resolvable(narrow) else Y


def log_means(
    U: FloatArray, kernel: Kernel, n_threads: int, queries: IntArray | None = None
) -> FloatArray:
    """Return log mean_{j≠i} exp(−d²_ij) alone; parameters as for `expectation`."""
    if not kernel.n_local:
        return np.zeros(len(U) if queries is None else len(queries))
    half = kernel.map[: kernel.n_local] * np.sqrt(0.5)
    Z = resolved(U, half, n_threads)
    return look(Z, _rule(Z), n_threads, queries).astype(np.float64) - np.log(len(U) - 1)


def resolved(U: FloatArray, components: FloatArray, n_threads: int) -> FloatArray:
    """Map the points, in float64 where float32 would not do for their distances."""
    with np.errstate(over="ignore", invalid="ignore"):
        Z = project(U, components.astype(U.dtype), n_threads)
        if resolvable(Z - Z.mean(axis=0)):
            return Z
    return project(U, components, n_threads)


def _rule(Z: FloatArray) -> Responsibilities:
    ones = np.ones(len(Z))
    return Responsibilities(Masses.build(ones, ones, Z.dtype))


def _objective(log_means: FloatArray, kernel: Kernel) -> float:
    return float(log_means.mean()) + kernel.constant
