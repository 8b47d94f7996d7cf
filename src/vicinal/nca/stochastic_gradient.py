"""Stochastic gradient ascent with steps that decay (thesis, section 3.3.1)."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import OptimizeResult

from vicinal._typing import FloatArray, IntArray
from vicinal.objectives.nca import PairObjective
from vicinal.optimize import (
    Objective,
    OnIteration,
    Place,
    Reparametrized,
    natural_step,
    solution,
)

__all__ = ["StochasticGradient"]


@dataclass(frozen=True)
class StochasticGradient:
    """Stochastic gradient ascent with η = η_0 / (t + t_0) in step t (thesis, 3.3.1).

    A step follows the mean gradient of a few random points, each compared with all
    points; an iteration is a pass over the data. η_0 is fixed, and t_0 is found by an
    exponential search on held-out rows: a tenth of the rows judges one pass over the
    others. `solver="stochastic"` needs fewer passes, and has no such search.

    Parameters
    ----------
    max_iter : int, default=20
        Number of passes; all of them are done.
    batch_size : int, default=50
        Number of points in a step.
    eta_0 : float, default=300.0
        η_0, in units of the step size that moves the start by its own length.
    t_0 : float or None, default=None
        t_0. None searches among eleven values at which the first step is between
        1/640 and 1.6 times as long as the start, each half of the next.
    seed : int, default=0
        Seed of the order of the points, and of the held-out rows.

    See Also
    --------
    vicinal.NCA : Takes it as `solver`; "decay" has the same rule for all points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import NCA
    >>> from vicinal.nca import StochasticGradient
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCA(2, solver=StochasticGradient(max_iter=10)).fit(X, y)
    >>> nca.n_iter_
    10
    """

    max_iter: int = 20
    batch_size: int = 50
    eta_0: float = 300.0
    t_0: float | None = None
    seed: int = 0

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start; see `vicinal.optimize.Solver`."""
        if isinstance(objective, Reparametrized) and objective.basis.ndim == 0:
            unit = float(objective.basis)  # steps do not depend on it
            found = self.maximize(
                objective.objective,
                unit * start,
                lambda A, c: on_iteration(A / unit, c),
            )
            found.x = found.x / unit
            return found
        if not isinstance(objective, PairObjective):
            raise TypeError(
                "StochasticGradient needs the terms of single points; use alpha=0."
            )
        A: FloatArray = start.astype(np.float64)
        value, gradient = objective.value_and_gradient(A)
        curve = [value]
        if not gradient.any():
            return solution(A, 0, curve, "converged", "the gradient is zero")
        mean = gradient.astype(np.float64) / objective.n_rows
        eta_0 = self.eta_0 * natural_step(Place(A, value, mean))
        t = self._search(objective, A, eta_0) if self.t_0 is None else self.t_0
        rng = np.random.default_rng(self.seed)
        for iteration in range(self.max_iter):
            A, terms = self._one_pass(objective, A, eta_0, t, rng)
            if not np.isfinite(A).all():
                message = "a step was too long; raise t_0"
                return solution(start, iteration, curve, "not_finite", message)
            t += -(-objective.n_rows // self.batch_size)
            curve.append(float(terms.mean()) * objective.n_rows)
            if on_iteration(A.copy(), curve):
                message = "stopped by a callback"
                return solution(A, iteration + 1, curve, "callback", message)
        return solution(A, self.max_iter, curve, "converged", "all passes are done")

    def _one_pass(
        self,
        objective: PairObjective,
        A: FloatArray,
        eta_0: float,
        t: float,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the map after a step for each batch, and the terms before each."""
        order: IntArray = rng.permutation(objective.n_rows)
        seen = []
        for first in range(0, len(order), self.batch_size):
            batch = np.sort(order[first : first + self.batch_size])
            try:
                terms, gradient = objective.terms_and_gradient(A, batch)
            except ValueError:  # distances overflow: a step was too long
                return np.full_like(A, np.nan), np.empty(0)
            A = A + eta_0 / t * gradient.astype(np.float64) / len(batch)
            seen.append(terms.astype(np.float64))
            t += 1
        return A, np.concatenate(seen)

    def _search(self, objective: PairObjective, A: FloatArray, eta_0: float) -> float:
        """Return the t_0 after whose first pass held-out rows are predicted best."""
        rows = np.random.default_rng(self.seed).permutation(objective.n_rows)
        n_held = max(1, objective.n_rows // 10)
        held, others = np.sort(rows[:n_held]), np.sort(rows[n_held:])
        train = objective.subset(others)

        def score(t_0: float) -> float:
            rng = np.random.default_rng(self.seed)
            reached = self._one_pass(train, A, eta_0, t_0, rng)[0]
            if not np.isfinite(reached).all():
                return -np.inf
            return float(objective.terms(reached, held).astype(np.float64).mean())

        return max((self.eta_0 / 1.6 * 2.0**k for k in range(11)), key=score)
