"""Expectation and maximisation of the leave-one-out likelihood (LCA, section 3).

What the M-step makes of the local scatter is the model's: a covariance of some form, or
a split into a Gaussian and a Parzen part. All points here are in the units of `Scaler`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from vicinal._typing import FloatArray
from vicinal.lca._e_step import Kernel, expectation


class Model(Protocol):
    """What is made of the local scatter."""

    def fit(self, C: FloatArray) -> Kernel:
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


class Start(NamedTuple):
    """Where EM begins."""

    kernel: Kernel
    local_scatter: FloatArray
    """C_L, which batches are averaged with (eq. 7)."""
    learned: bool
    """Whether that is a local scatter of the data, or only stands in for one."""


OnIteration = Callable[[Reached], bool]
"""Called after each iteration with what is reached so far; True stops."""


def exact_em(
    model: Model,
    U: FloatArray,
    start: Start,
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
    start : Start
        Where to start; its local scatter is not used.
    max_iter : int
        How many M-steps at most.
    tol : float
        Stops when an iteration gains less than this, in nats per point.
    n_threads : int
        Threads.
    on_iteration : callable
        Called after each iteration; True stops.
    """
    kernel = start.kernel
    seen = expectation(U, kernel, n_threads)
    curve = [objective(seen.log_means, kernel)]
    for _ in range(max_iter):
        kernel = model.fit(seen.C)
        seen = expectation(U, kernel, n_threads)
        curve.append(objective(seen.log_means, kernel))
        converged = curve[-1] - curve[-2] < tol
        reached = Reached(kernel, seen.C, curve, converged=True)
        if on_iteration(reached) or converged:
            return reached
    return Reached(kernel, seen.C, curve, converged=False)


def objective(log_means: FloatArray, kernel: Kernel) -> float:
    """Return the penalised mean leave-one-out log-likelihood."""
    return float(log_means.mean()) + kernel.constant
