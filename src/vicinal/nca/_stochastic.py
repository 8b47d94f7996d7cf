"""Stochastic optimisation: steps on mini-batches, then the scale on the whole.

A part of the data is thinner than the data, so that the scale which suits its
neighbourhoods is too small for the whole. Directions are learned from parts; the scale
is set at the end, by some points' terms with sums over all points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray, IntArray
from vicinal.nca._preconditioner import Preconditioner
from vicinal.nca._scale import fitted_scale, queries_of_all, to_perplexity
from vicinal.objectives import MinibatchSampler
from vicinal.objectives.base import PairObjective
from vicinal.objectives.minibatch import sample_indices
from vicinal.solvers import Solution
from vicinal.solvers.adam import Stochastic, TakeSteps, take_steps, typical_entry
from vicinal.solvers.base import OnIteration

BATCH_SIZE, N_REFERENCES = 2048, 2048
"""A part's queries and references, at its largest."""
STEPS = 12, 25
"""Steps in an iteration: where a surrogate comes first, and where there is none."""
WARMUP_FRACTION = 0.4
"""Where there is a surrogate to begin with: its part of the iterations."""

# How many times smaller parts may be: for the surrogate, and where there is none.
_SHRINKAGE = 4, 2

# The largest step, in units of the map's typical entry: while the map finds its place,
# and once it has.
_WARMUP_STEP, _FINAL_STEP = 0.3, 0.1


@dataclass(frozen=True)
class StochasticOptimizer:
    """Maximises an objective by steps on random parts of the data.

    Parameters
    ----------
    preconditioner : Preconditioner
        The coordinates to take the steps in.
    batch_size, n_references : int or None
        The size of a part; None is what suits most data.
    max_iter : int
        Iterations, of `steps` steps each.
    alpha : float
        The penalty, for each point.
    seed : int
        For all that is drawn.
    step : float, default=1.0
        Makes all steps shorter.
    warmup_fraction : float, default=0.4
        Where there is a surrogate to begin with: its part of the iterations.
    pool : slice or None, default=None
        The rows whose terms count; None is all.
    steps : tuple of two int, default=(12, 25)
        Steps in an iteration: where a surrogate comes first, and where there is none.
    largest : tuple of two int, default=(2048, 2048)
        Queries and references of a part where they are not given, at its largest.
    take : callable, default=take_steps
        Takes an iteration's steps.
    """

    preconditioner: Preconditioner
    batch_size: int | None
    n_references: int | None
    max_iter: int
    alpha: float
    seed: int
    step: float = 1.0
    warmup_fraction: float = WARMUP_FRACTION
    pool: slice | None = None
    steps: tuple[int, int] = STEPS
    largest: tuple[int, int] = BATCH_SIZE, N_REFERENCES
    take: TakeSteps = take_steps

    def maximize(
        self, objective: PairObjective, start: FloatArray, on_iteration: OnIteration
    ) -> Solution:
        """Maximise the objective from a start; see `vicinal.solvers.base.Solver`.

        f's slopes vanish where a point is far from all of its class, and its scale
        runs away where data are thin. So g goes first, and then f turns the map while
        its size is held.
        """
        rng = np.random.default_rng(self.seed)
        if self.preconditioner.projection is not None:
            objective = objective.in_basis(self.preconditioner.projection)
        curve: list[float] = []
        stopped = False

        def watch(components: FloatArray, latest: list[float]) -> bool:
            nonlocal stopped
            curve.extend(latest[-1:] if curve else latest)
            stopped = on_iteration(self.preconditioner.back(components), curve)
            return stopped

        A = self.preconditioner.start(start)
        for solver, batches in self._phases(objective):
            A = self._set_perplexity(batches, A, rng)
            reached = solver.maximize(batches, A, watch)
            A = reached.components
            if stopped or not reached.converged:
                break
        if reached.converged:
            A = self._fit_scale(objective, A, rng)
        curve = curve or reached.curve
        components, n_iter = self.preconditioner.back(A), len(curve) - 1
        return Solution(components, n_iter, curve, reached.reason, reached.message)

    @property
    def is_stochastic(self) -> bool:
        """Whether iterations see random parts of the data."""
        return True

    def describe(self, n_features: int) -> str:
        """Return how it goes about it, for `verbose`."""
        projection = self.preconditioner.projection
        kept = n_features if projection is None else projection.shape[1]
        return f"solver stochastic, in {kept} of {n_features} directions"

    def queries(self, objective: PairObjective) -> IntArray:
        """Return the points whose neighbours are counted in the end."""
        return queries_of_all(objective, np.random.default_rng(self.seed))

    def rescaled(self, objective: PairObjective, A: FloatArray) -> FloatArray:
        """Return a map of the features with the scale that suits all of the data.

        For maps from the middle of a fit, which have the scale of a part.
        """
        rng = np.random.default_rng(self.seed)
        if self.preconditioner.projection is not None:
            objective = objective.in_basis(self.preconditioner.projection)
        before = self.preconditioner.start(A)
        sized = self._set_perplexity(self._batches(objective), before, rng)
        after = self._fit_scale(objective, sized, rng)
        return A * (typical_entry(after) / typical_entry(before))

    def _phases(
        self, objective: PairObjective
    ) -> list[tuple[Stochastic, MinibatchSampler]]:
        """Return the solvers, and what each is to maximise."""
        surrogate = objective.warmup_surrogate()
        solver = partial(Stochastic, take=self.take)
        largest = _WARMUP_STEP * self.step
        if surrogate is None:
            only = solver(self.max_iter, self.seed, self.steps[1], largest)
            return [(only, self._batches(objective, smaller=_SHRINKAGE[1]))]
        n_first = int(self.warmup_fraction * self.max_iter)
        first = solver(n_first, self.seed, self.steps[0], largest)
        second = solver(
            self.max_iter - n_first,
            self.seed + 1,
            self.steps[0],
            _FINAL_STEP * self.step,
            # A penalty keeps the size by itself.
            size_held=not self.alpha,
        )
        phases = [
            (first, self._batches(*surrogate, smaller=_SHRINKAGE[0])),
            (second, self._batches(objective)),
        ]
        return [(solver, parts) for solver, parts in phases if solver.max_iter]

    def _batches(
        self,
        objective: PairObjective,
        report: Callable[[FloatArray], FloatArray] = np.asarray,
        smaller: int = 1,
    ) -> MinibatchSampler:
        return MinibatchSampler(
            objective,
            self.batch_size or self.largest[0] // smaller,
            self.n_references or self.largest[1] // smaller,
            self.alpha,
            self.preconditioner.whitening,
            report,
            None if self.pool is None else objective.positions(self.pool),
        )

    def _set_perplexity(
        self, batches: MinibatchSampler, A: FloatArray, rng: Generator
    ) -> FloatArray:
        """Return the map scaled so that in a mini-batch points see a few neighbours."""
        objective = batches.objective
        rows = sample_indices(rng, objective.n_rows, batches.n_references)
        within = self.preconditioner.unwhitening(A)
        scaled = to_perplexity(objective.subset(rows), within, rng)
        return A * (typical_entry(scaled) / typical_entry(within))

    def _fit_scale(
        self, objective: PairObjective, A: FloatArray, rng: Generator
    ) -> FloatArray:
        """Return the map with the scale that suits all of the data best."""
        in_basis = self.preconditioner.unwhitening(A)
        return fitted_scale(objective, in_basis, rng, self.alpha) * A


def part_size(
    n: int, batch_size: int | None, n_references: int | None, in_two_phases: bool
) -> tuple[float, float]:
    """Return how many pairs and rows a step evaluates, on average over a fit."""

    def size(smaller: int) -> tuple[int, int]:
        m = min(n, n_references or N_REFERENCES // smaller)
        return m * min(m, batch_size or BATCH_SIZE // smaller), m

    if not in_two_phases:
        return size(_SHRINKAGE[1])
    (first, rows), (second, more_rows) = size(_SHRINKAGE[0]), size(1)
    return (
        WARMUP_FRACTION * first + (1 - WARMUP_FRACTION) * second,
        WARMUP_FRACTION * rows + (1 - WARMUP_FRACTION) * more_rows,
    )
