"""How an adapter's maps are found for one penalty: by L-BFGS, or for large data.

Over all candidates where that is affordable. Otherwise in closed form, with the
documents as one Gaussian cloud, where queries alone are mapped and compared by
cosines; and by mini-batches in all other cases.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize_scalar

from vicinal._typing import FloatArray
from vicinal.objectives import Penalized, RetrievalObjective
from vicinal.objectives.retrieval import draw_batch
from vicinal.optimize import LBFGS, Objective, OnIteration, Solution, Stochastic

# An evaluation over all documents of more multiplications than this is sampled.
_WORTH_SAMPLING = 2e10
# Queries and documents whose terms set the temperature, and where it is looked for, in
# the unit of squared distances.
_MOST_QUERIES, _MOST_DOCUMENTS = 512, 4096
_TEMPERATURES = (1e-3, 10.0)


@dataclass(frozen=True)
class Optimizer:
    """Finds the maps that maximise the objective less a penalty on leaving the start.

    Parameters
    ----------
    start : ndarray
        The maps that cost nothing, and where the search begins.
    max_iter, tol : int, float
        Bounds of L-BFGS; a sampled search does max_iter iterations of `steps` steps.
    batch_size, n_candidates : int
        Queries and random documents of a mini-batch.
    sampled : bool
        Whether there is too much for looking at all candidates in each step.
    seed : int
        For drawing them.
    """

    start: FloatArray
    max_iter: int
    tol: float
    batch_size: int
    n_candidates: int
    sampled: bool
    seed: int

    # Adam's largest step, in units of a map's typical entry.
    first_step = 0.05
    steps = 10

    def maximize(
        self,
        objective: RetrievalObjective,
        alpha: float,
        begin: FloatArray,
        on_iteration: OnIteration = lambda *_: False,
    ) -> Solution:
        """Return where the search from `begin` ends, with a penalty for each query."""
        if not self.sampled:
            penalized = Penalized(objective, alpha * objective.n_queries, self.start)
            solver = LBFGS(self.max_iter, self.tol)
            return solver.maximize(penalized, begin, on_iteration)
        if objective.has_closed_form:
            found = objective.closed_form(alpha)
            return Solution(found, 1, [0.0, 0.0], "converged", "a closed form")
        search = Stochastic(
            self.max_iter, self.seed, steps=self.steps, first_step=self.first_step
        )
        return search.maximize(_Sampled(objective, self, alpha), begin, on_iteration)


@dataclass(frozen=True)
class _Sampled:
    """The objective, of which mini-batches are drawn."""

    objective: RetrievalObjective
    optimizer: Optimizer
    alpha: float

    def draw(self, rng: Generator) -> Objective:
        """Return the penalised objective of a mini-batch."""
        settings = self.optimizer
        batch = draw_batch(
            self.objective, settings.batch_size, settings.n_candidates, rng
        )
        return Penalized(batch, self.alpha * batch.n_queries, settings.start)


def is_worth_sampling(objective: RetrievalObjective) -> bool:
    """Return whether an evaluation over all documents takes long."""
    n_queries, n_features = objective.queries.shape
    return n_queries * len(objective.documents) * n_features > _WORTH_SAMPLING


def fit_temperature(objective: RetrievalObjective, start: FloatArray) -> float:
    """Return the temperature under which the relevant documents are most probable.

    Parameters
    ----------
    objective : RetrievalObjective
        Whose temperature is to be replaced.
    start : ndarray
        The maps at which it is judged.
    """
    rng = np.random.default_rng(0)
    sample = draw_batch(objective, _MOST_QUERIES, _MOST_DOCUMENTS, rng)

    def loss(log_temperature: float) -> float:
        sample.temperature = float(np.exp(log_temperature))
        return -float(sample.terms(start).mean())

    unit = 1.0 if objective.unit_length else _variance(sample.documents)
    bounds = np.log(_TEMPERATURES) + np.log(unit)
    found = minimize_scalar(
        loss, bounds=bounds, method="bounded", options={"xatol": 0.02}
    )
    return float(np.exp(found.x))


def _variance(points: FloatArray) -> float:
    """Return the mean squared distance of points from their mean; 1 for equal ones."""
    centered = points.astype(np.float64) - points.mean(axis=0, dtype=np.float64)
    return float(np.square(centered).sum(axis=1).mean()) or 1.0
