"""NCA's steps as tasks: each share takes some by itself, and the maps are averaged."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from vicinal._typing import FloatArray
from vicinal.dask._memory import freed_memory_kept
from vicinal.dask._pool import Pool, Share
from vicinal.dask._tasks import summed
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import MinibatchSampler, NCAObjective
from vicinal.optimize import Adam, Progress, average, take_steps


@dataclass(frozen=True)
class Batches:
    """The mini-batches that a share draws, whatever its rows.

    Attributes
    ----------
    kind : str
        The objective.
    sizes, prior : ndarray of shape (n_classes,)
        How many rows each class has in all of the data, and p(c).
    batch_size, n_references, alpha, report
        As for `MinibatchSampler`.
    """

    kind: str
    sizes: FloatArray
    prior: FloatArray
    batch_size: int
    n_references: int
    alpha: float
    report: Callable[[FloatArray], FloatArray]


def steps_of_share(
    share: Share,
    batches: Batches,
    components: FloatArray,
    adam: Adam,
    etas: Sequence[float],
    seed: Any,
) -> Progress:
    """Take steps on mini-batches of a share, as they are taken in memory: a task.

    Values are of all of the data.
    """
    rows = share.rows
    with freed_memory_kept(), single_threaded_blas():
        objective = NCAObjective.from_codes(
            rows.X,
            rows.codes,
            batches.kind,
            np.ones(len(rows)),
            batches.prior,
            1,
            batches.sizes,
        )
        sampler = MinibatchSampler(
            objective,
            batches.batch_size,
            batches.n_references,
            batches.alpha,
            share.basis,
            batches.report,
        )
        rng = np.random.default_rng(seed)
        reached = take_steps(sampler, components, adam, etas, rng)
    scale = float(batches.sizes.sum()) / len(rows)
    values = [scale * value for value in reached.batch_values]
    return reached._replace(batch_values=values)


@dataclass(frozen=True)
class StepsOnShares:
    """Takes steps in all shares of a pool at once; see `vicinal.optimize`.

    A step's way to the cluster and back takes longer than its work. So each share takes
    all steps that it is asked for from the same map, with its part of the queries; then
    the maps are averaged, and Adam's memories. Where a share comes upon a value that is
    not finite, all are back where they were.

    Attributes
    ----------
    pool : Pool
        What is drawn from.
    sizes, prior : ndarray of shape (n_classes,)
        How many rows each class has, and p(c).
    """

    pool: Pool
    sizes: FloatArray
    prior: FloatArray

    def __call__(
        self,
        sampler: MinibatchSampler,
        components: FloatArray,
        adam: Adam,
        etas: Sequence[float],
        rng: Generator,
    ) -> Progress:
        """Take a step of each size, on mini-batches as of the sampler."""
        shares, tasks = self.pool.next(), self.pool.chunks.tasks
        batches = Batches(
            sampler.objective.kind,  # type: ignore[attr-defined]
            self.sizes,
            self.prior,
            -(-sampler.batch_size // len(shares)),
            sampler.n_references,
            sampler.alpha,
            sampler.report,
        )
        seed = int(rng.integers(2**63))
        handles = tasks.map(
            steps_of_share,
            [
                (share, batches, components, adam, etas, (seed, k))
                for k, share in enumerate(shares)
            ],
        )
        reached: Progress = summed(tasks, average, handles)
        if not reached.finite:
            return Progress(components, adam, reached.batch_values, finite=False)
        return reached
