"""What a fit on a cluster costs by the model of docs/dask.md: bytes and seconds.

A few times are measured on this machine, each by itself; the rest is counting. The
benchmark compares whole fits with it, and the page goes on to machines we do not have.
"""

import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.speed.timing import seconds as least_seconds

# What a round moves beside maps: its tasks' descriptions and states.
TASK_BYTES, ROUND_BYTES = 5000, 2500
# How many cores all processes here share.
N_CORES = len(os.sched_getaffinity(0))
# Of a fit that has not all rows in its pool: to check them, for the sample, for the
# pool, and for the scale.
N_PASSES = 8


def bytes_of_round(d: int, k: int, n_tasks: int) -> float:
    """Return what docs/dask.md says that a round moves.

    A map and Adam's two memories, in float64, go to the scheduler once and on to each
    task; as many come back from each, by way of the scheduler and so twice.
    """
    there, back = (1 + n_tasks) * 3 * d * k * 8, 2 * n_tasks * 3 * d * k * 8
    return there + back + n_tasks * TASK_BYTES + ROUND_BYTES


@dataclass(frozen=True)
class Costs:
    """What was measured by itself, in seconds.

    Attributes
    ----------
    chunk : float
        The client's and the scheduler's for a chunk without rows to speak of, with its
        part of the tree.
    looking, taking : float
        A core's for each number of a chunk, to check it and to draw rows.
    way : float
        Of a round whose tasks do nothing: the way there and back.
    task : float
        A core's for the work of a task of a round.
    """

    chunk: float
    looking: float
    taking: float
    way: float
    task: float


def seconds_of_round(way: float, task: float, n_tasks: int, n_workers: int) -> float:
    """Return a round's time: there and back, and the tasks one after the other."""
    return way + task * -(-n_tasks // min(n_workers, N_CORES))


def seconds_of_passes(
    costs: Costs, n_chunks: int, numbers: float, n_workers: int, loading: float
) -> float:
    """Return the time of all passes.

    Parameters
    ----------
    costs : Costs
        What was measured.
    n_chunks : int
        How many chunks there are.
    numbers : float
        How many numbers one has.
    n_workers : int
        How many work at the same time.
    loading : float
        A worker's seconds to load or make a chunk, which each pass does.
    """
    work = numbers * (costs.looking + (N_PASSES - 1) * costs.taking)
    work += N_PASSES * loading
    return -(-n_chunks // n_workers) * work + N_PASSES * n_chunks * costs.chunk


def large_fit(costs: Costs) -> list[list[str]]:
    """Return the lines of docs/dask.md for 10⁹ rows × 128 on 100 machines.

    Each has one core as this machine's, and reads half a gigabyte a second.
    """
    n, k, d, n_workers, chunk, n_rounds = 10**9, 128, 30, 100, 250_000, 50
    n_chunks, numbers = n // chunk, chunk * k
    reading = 4 * numbers / 0.5e9
    bare = seconds_of_passes(costs, n_chunks, numbers, n_workers, 0)
    scheduling = N_PASSES * n_chunks * costs.chunk
    rounds = n_rounds * (costs.way + costs.task)
    moved = n_rounds * bytes_of_round(d, k, 2)
    read = N_PASSES * n_chunks / n_workers * reading
    # Chunks of half the size, and so on, until the scheduler takes as long as all else.
    most = n_chunks * (bare - scheduling + read) / scheduling
    return [
        ["chunks", f"{n_chunks:,} of {4 * numbers / 1e6:.0f} MB"],
        ["reading, 8 passes", f"{read:.0f} s"],
        ["checking and drawing", f"{bare - scheduling:.0f} s"],
        ["scheduling", f"{scheduling:.0f} s, {1000 * costs.chunk:.1f} ms a chunk"],
        ["50 rounds of two tasks", f"{rounds:.0f} s, {moved / 1e6:.0f} MB"],
        ["all", f"{bare + read + rounds:.0f} s"],
        ["chunks that the scheduler takes half of the passes for", f"{most:,.0f}"],
    ]


def measured(client: Any, tiny: tuple[Any, Any], k: int, d: int) -> Costs:
    """Measure each part of the costs by itself.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    tiny : tuple of two dask arrays
        Rows and labels in many chunks without rows to speak of.
    k, d : int
        The map's features and dimensions.
    """
    return Costs(
        _chunk_seconds(client, *tiny),
        *_seconds_of_a_number(),
        way_seconds(client, k, d),
        task_seconds(k, d),
    )


def _rows(n: int, width: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, width), dtype=np.float32), rng.integers(8, size=n)


def _chunk_seconds(client: Any, X: Any, y: Any) -> float:
    """Time a pass over chunks, for each of them."""
    from vicinal.dask._chunks import find_chunks
    from vicinal.dask._tasks import Tasks

    start = time.perf_counter()
    find_chunks(Tasks(client), X, y, labeled=True)
    return (time.perf_counter() - start) / X.numblocks[0]


def _seconds_of_a_number(n: int = 100_000, width: int = 32) -> tuple[float, float]:
    """Time what one worker does with a chunk in memory, for each of its numbers."""
    from vicinal.dask._chunks import _look
    from vicinal.dask._sampling import take

    X, y = _rows(n, width)
    quotas = np.bincount(y) // 10
    looking = least_seconds(lambda: _look(0, X.dtype, X, y), 3)
    taking = least_seconds(lambda: take(X, y, quotas, 0, 0, None), 3)
    return looking / X.size, taking / X.size


def way_seconds(client: Any, k: int, d: int, n_tasks: int = 2) -> float:
    """Time a round of tasks that return what they are given."""
    from vicinal.dask._tasks import Tasks

    tasks, given = Tasks(client), tuple(np.zeros((3, d, k)))

    def rounds() -> None:
        for _ in range(20):
            tasks.result(tasks.map(_returned, [given] * n_tasks))

    return least_seconds(rounds, 3) / 20


def _returned(*given: Any) -> Any:
    return given


def task_seconds(k: int, d: int, n_queries: int = 512) -> float:
    """Time the work of a task of a round on g, in this process."""
    from vicinal.dask._nca import steps_of_share
    from vicinal.dask._sampling import Rows, share
    from vicinal.nca._stochastic import N_REFERENCES, StochasticOptimizer
    from vicinal.objectives import MinibatchSampler
    from vicinal.optimize import Adam

    X, y = _rows(60_000, k)
    rows = Rows(X, y, np.arange(len(X)))
    given = share(0, 0, 2, 2 * N_REFERENCES, np.eye(k), rows)
    # g's steps are on half as many rows as f's.
    settings = {
        "kind": "log",
        "class_sizes": np.bincount(y).astype(float),
        "class_prior": np.full(8, 1 / 8),
    }
    nothing: Any = None  # the task makes its own objective
    batches = MinibatchSampler(nothing, n_queries, N_REFERENCES // 2)
    A, etas = np.eye(d, k), [0.0] * StochasticOptimizer.steps[1]
    return least_seconds(
        lambda: steps_of_share(given, batches, settings, A, Adam(), etas, 0), 5
    )
