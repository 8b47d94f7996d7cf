"""The optimisers of a fit: over all pairs, or by mini-batches.

One object knows how to optimise, what its maps' scale is worth, and how to say so.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.nca._preconditioner import Preconditioner
from vicinal.nca._scale import data_unit, queries_of_all
from vicinal.objectives import Penalized
from vicinal.objectives.base import PairObjective
from vicinal.objectives.change_of_basis import InUnit
from vicinal.solvers import SOLVERS, Objective, Solution
from vicinal.solvers.base import OnIteration, Solver, power_of_two

# Entries of a start between the inverse of this and this are of an ordinary size.
_ORDINARY = 100.0
_AS_PLANNED = "as many iterations as were judged on the rows held out"


class Optimizer(Protocol):
    """What a fit needs of `ExactOptimizer` and `StochasticOptimizer`."""

    @property
    def preconditioner(self) -> Preconditioner | None:
        """Coordinates from a sample of the rows, which then also gives the start."""

    @property
    def is_stochastic(self) -> bool:
        """Whether iterations see random parts of the data."""

    def describe(self, n_features: int) -> str:
        """Return how it goes about it, for `verbose`."""

    def maximize(
        self, objective: PairObjective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Optimise from a start; see `vicinal.solvers.base.Solver`."""

    def rescaled(self, objective: PairObjective, A: FloatArray) -> FloatArray:
        """Return a map from the middle of a fit with the scale of a finished one."""

    def queries(self, objective: PairObjective) -> IntArray | None:
        """Return the points whose neighbours are counted in the end; None is all."""


@dataclass(frozen=True)
class SolverInUnit:
    """A solver of maps in a unit in which the start is neither tiny nor huge.

    A solver's tolerance on gradients, and its first step, mean something only then.

    Parameters
    ----------
    solver : Solver
        Which one.
    unit : float, default=1.0
        Of the map's entries, a power of two; that of the start takes its place where
        the start has other than ordinary sizes in it.
    """

    solver: Solver
    unit: float = 1.0

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Maximise the objective; see `vicinal.solvers.base.Solver`."""
        unit = self.unit
        size = float(np.abs(start).max(initial=0)) / unit
        if size > 0 and not 1 / _ORDINARY <= size <= _ORDINARY:
            unit *= power_of_two(size)
        if unit == 1:
            return self.solver.maximize(objective, start, on_iteration)
        reached = self.solver.maximize(
            InUnit(objective, unit),
            start / unit,
            lambda components, curve: on_iteration(unit * components, curve),
        )
        return replace(reached, components=unit * reached.components)


@dataclass(frozen=True)
class ExactOptimizer:
    """Sums over all pairs, or over lists of near ones that are refreshed.

    Parameters
    ----------
    solver : str
        A name in `vicinal.solvers.SOLVERS`.
    max_iter, tol : int, float
        Its bounds.
    alpha : float
        The penalty, for each point.
    short : bool, default=False
        Whether to end after so many iterations is as planned.
    """

    solver: str
    max_iter: int
    tol: float
    alpha: float
    short: bool = False
    preconditioner: None = None
    is_stochastic: bool = False

    def describe(self, n_features: int) -> str:  # noqa: ARG002  the other's needs it
        """Return how it goes about it, for `verbose`."""
        return f"solver {self.solver}"

    def maximize(
        self, objective: PairObjective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Optimise from a start; see `vicinal.solvers.base.Solver`."""
        unit = 1 / data_unit(objective)

        def make(*, max_iter: int, tol: float) -> Solver:
            return SolverInUnit(SOLVERS[self.solver](max_iter=max_iter, tol=tol), unit)

        solver = objective.make_solver(make, self.max_iter, self.tol)
        target: Objective = objective
        if self.alpha:
            target = Penalized(objective, self.alpha * objective.n_points)
        reached = solver.maximize(target, start, on_iteration)
        if self.short and reached.reason == "max_iter" and reached.n_iter:
            return replace(reached, reason="converged", message=_AS_PLANNED)
        return reached

    def rescaled(
        self,
        objective: PairObjective,  # noqa: ARG002
        A: FloatArray,
    ) -> FloatArray:
        """Return the map as it is: its scale was learned from all pairs."""
        return A

    def queries(self, objective: PairObjective) -> None:  # noqa: ARG002
        """Count the neighbours of all points."""
        return


@dataclass(frozen=True)
class KeptStart:
    """Does not optimise: no learned map predicted better than the start.

    The search for the start's scale counts as one iteration.

    Parameters
    ----------
    seed : int
        Draws the points whose terms tell where the start stands.
    """

    seed: int
    preconditioner: None = None
    is_stochastic: bool = False

    def describe(self, n_features: int) -> str:  # noqa: ARG002
        """Return how it goes about it, for `verbose`."""
        return "no learned map predicts better than the start, which is kept"

    def maximize(
        self, objective: PairObjective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Return the start; see `vicinal.solvers.base.Solver`."""
        queries = self.queries(objective)
        counts = objective.counts[queries]
        terms = objective.terms(start, queries).astype(np.float64)
        value = float(np.average(terms, weights=counts)) * objective.n_points
        on_iteration(start, [value, value])
        return Solution(start, 1, [value, value], "converged", self.describe(0))

    def rescaled(
        self,
        objective: PairObjective,  # noqa: ARG002
        A: FloatArray,
    ) -> FloatArray:
        """Return the map as it is."""
        return A

    def queries(self, objective: PairObjective) -> IntArray:
        """Return as many points as can be compared with all at a moderate cost."""
        return queries_of_all(objective, np.random.default_rng(self.seed))
