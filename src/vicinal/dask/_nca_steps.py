"""NCA's steps as tasks: each share's queries give a value and a gradient."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray
from vicinal.dask._pool import Pool, Share, meeting
from vicinal.dask._tasks import summed
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import MinibatchSampler, NCAObjective
from vicinal.solvers.base import Objective


@dataclass(frozen=True)
class Part:
    """What a step evaluates, whatever the map and the rows.

    Attributes
    ----------
    kind : str
        The objective.
    sizes, prior : ndarray of shape (n_classes,)
        How many rows each class has in all of the data, and p(c).
    n_queries, n_references : int
        Of a task.
    report : callable
        The terms that the value is the sum of, as a function of the objective's.
    seed : int
        Of what is drawn.
    """

    kind: str
    sizes: FloatArray
    prior: FloatArray
    n_queries: int
    n_references: int
    report: Callable[[FloatArray], FloatArray]
    seed: int


class Slope(NamedTuple):
    """The sum of some queries' terms, and its derivative."""

    value: float
    n_queries: int
    gradient: FloatArray


def evaluate(share: Share, part: Part, step: int, k: int, A: FloatArray) -> Slope:
    """Evaluate the terms of a share's queries at a map, one task of a step."""
    seeds = (part.seed, step, 1 + k), (part.seed, step, 0)
    rows, n = meeting(share, part.n_queries, part.n_references, seeds)
    with single_threaded_blas():
        objective = NCAObjective.from_codes(
            rows.X, rows.codes, part.kind, np.ones(len(rows)), part.prior, 1, part.sizes
        )
        queries = objective.positions(slice(0, n))
        terms, gradient = objective.terms_and_gradient(A, queries)
    value = float(part.report(terms).sum(dtype=np.float64))
    return Slope(value, n, gradient)


def add(*slopes: Slope) -> Slope:
    """Add slopes up in their order, in float64."""
    gradient = slopes[0].gradient.astype(np.float64)
    for slope in slopes[1:]:
        gradient += slope.gradient
    return Slope(
        sum(slope.value for slope in slopes),
        sum(slope.n_queries for slope in slopes),
        gradient,
    )


@dataclass(frozen=True)
class Step:
    """A mini-batch on the cluster: the terms of its queries, scaled up to all rows."""

    pool: Pool
    part: Part
    n_points: float

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Estimate the whole's value and gradient at a map."""
        shares, step = self.pool.next()
        tasks = self.pool.chunks.tasks
        handles = tasks.map(
            evaluate,
            [(share, self.part, step, k, components) for k, share in enumerate(shares)],
        )
        total: Slope = summed(tasks, add, handles)
        scale = self.n_points / total.n_queries
        return scale * total.value, scale * total.gradient


@dataclass(frozen=True)
class ChunkBatches(MinibatchSampler):
    """Draws mini-batches from a pool on the cluster instead of from memory.

    The objective is that of a sample, which finds the first scale; values are of all
    rows.
    """

    from_pool: Any = None
    sizes: Any = None
    prior: Any = None

    @property
    def _n_points(self) -> float:
        return float(self.sizes.sum())

    def _part(self, rng: Generator) -> Objective:
        shares = self.from_pool.n_shares
        part = Part(
            self.objective.kind,  # type: ignore[attr-defined]
            self.sizes,
            self.prior,
            -(-self.batch_size // shares),
            self.n_references,
            self.report,
            int(rng.integers(2**31)),
        )
        return Step(self.from_pool, part, self._n_points)
