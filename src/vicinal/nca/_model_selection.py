"""Which start and which penalty predict best: tried on rows that are held out.

A map that is learned without a penalty fits the training rows as closely as it can. So
estimators that predict learn a short path of maps from some of the rows, from a strong
penalty to none, each from where the last one ended, and take the one that predicts the
other rows best. Where none is better than the start itself, the start is kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal._typing import FloatArray
from vicinal.base.n_components import ordered_by_size
from vicinal.nca._optimizer import SolverInUnit
from vicinal.nca._scale import (
    best_scale,
    data_unit,
    perplexity,
    to_perplexity,
    typical_distance,
)
from vicinal.nca._trials import Data, Trial
from vicinal.objectives import Penalized
from vicinal.objectives.base import PairObjective
from vicinal.objectives.minibatch import sample_indices
from vicinal.solvers import LBFGS
from vicinal.solvers.base import power_of_two

PENALTIES = (1.0, 0.1, 0.01, 0.0)
"""What is tried: λ‖A‖² for each point, at the size of the start."""
ITERATIONS = 6
"""Iterations for each of them."""
N_ERRORS = 0.5
"""Of the penalties within so many standard errors of the best, the strongest wins."""
MOST_FEATURES = 100
"""With more features, a map of low rank is not first learned at full rank."""
MANY_ROWS = 10_000
"""From no more rows is a start made again that is kept."""
SAFE = 0.1
# A term of the objective below this counts as this: one outlier should not decide.
_LEAST_TERM = -20.0
# The points whose terms decide on a scale.
_N_QUERIES = 1000
# Points look alike to one that has more than this part of them for neighbours.
_ALIKE = 0.5


@dataclass(frozen=True)
class Selected:
    """What the trial found.

    Attributes
    ----------
    init : str
        The name of the start.
    alpha : float
        λ for each point; infinity where no learned map was better than the start.
    components : ndarray
        The best map of the trial.
    loss : float
        Its loss on the rows held out.
    """

    init: str
    alpha: float
    components: FloatArray
    loss: float

    @property
    def attributes(self) -> dict[str, Any]:
        """What a fitted estimator tells of it."""
        return {"init_": self.init, "alpha_": self.alpha}


def scaled_by_loss(objective: PairObjective, A: FloatArray) -> FloatArray:
    """Return the map at the scale with the best leave-one-out terms.

    For f that is the scale which g likes best: f's own is that of the nearest
    neighbour alone.
    """
    surrogate = objective.warmup_surrogate()
    judged = objective if surrogate is None else surrogate[0]
    distance = typical_distance(objective, A)
    if not (distance > 0 and np.isfinite(distance)):
        return A
    unit = power_of_two(distance)
    A, distance = A / unit, distance / unit
    queries = sample_indices(np.random.default_rng(0), objective.n_rows, _N_QUERIES)
    counts = judged.counts[queries]

    def loss(log_scale: float) -> float:
        terms = judged.terms(np.exp(log_scale) * A, queries).astype(np.float64)
        return -float(np.average(np.maximum(terms, _LEAST_TERM), weights=counts))

    return float(np.exp(best_scale(loss, -np.log(distance)))) * A


def scaled_starts(
    objective: PairObjective, starts: dict[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return starts, by name, each at the scale with the best leave-one-out terms.

    Where all points look alike at that scale, every loss is moderate and nothing can be
    learned from there. Then the same start is offered at a scale at which a point sees
    several neighbours, too.
    """
    found = {}
    rng = np.random.default_rng(0)
    queries = sample_indices(rng, objective.n_rows, _N_QUERIES)
    others = float(objective.row_counts.sum()) - 1
    for name, A in starts.items():
        found[name] = scaled_by_loss(objective, A)
        if perplexity(objective, found[name], queries) > _ALIKE * others:
            found[f"{name}, scaled up"] = to_perplexity(objective, found[name], rng)
    return found


def strongest(A: FloatArray) -> float:
    """Return λ of the strongest penalty that is tried, for a start of this size."""
    size = float(np.square(A).sum())
    return PENALTIES[0] / size if size > 0 else 0.0


def safe_choice(starts: dict[str, FloatArray]) -> Selected:
    """Return the first start with a moderate penalty, for rows too few to judge."""
    name, A = next(iter(starts.items()))
    size = float(np.square(A).sum())
    return Selected(name, SAFE / size if size > 0 else 0.0, A, np.nan)


def reduced_start(full: Selected, trial: Trial[Data], n_components: int) -> FloatArray:
    """Return the main directions of the best map of full rank, at their best scale.

    Few rows at a time are easily stuck: a map of full rank is learned with fewer
    detours, and most of its size lies in the directions that matter.
    """
    return scaled_by_loss(
        trial.objective, ordered_by_size(full.components)[:n_components]
    )


def select(
    trials: list[Trial[Data]],
    starts_of: Callable[[Trial[Data]], dict[str, FloatArray]],
    max_iter: int,
    tol: float,
    say: Callable[[str], None] = lambda _: None,
) -> Selected:
    """Return the start and the penalty that predict best.

    Parameters
    ----------
    trials : list of Trial
        What to learn from, and what judges.
    starts_of : callable
        Takes a trial, and returns maps to start from, by name, at the scale that suits
        them; names that not all trials have are left out.
    max_iter, tol : int, float
        The solver's bounds; no more than `ITERATIONS` are made for a penalty.
    say : callable
        Takes a line for each start and penalty, for the curious.
    """
    solver = LBFGS(min(ITERATIONS, max_iter), tol)
    maps: dict[tuple[str, float], list[tuple[float, FloatArray]]] = {}
    losses: dict[tuple[str, float], list[FloatArray]] = {}
    for trial in trials:
        for init, start in starts_of(trial).items():
            for penalty, alpha, A in _path(trial.objective, start, solver):
                maps.setdefault((init, penalty), []).append((alpha, A))
                losses.setdefault((init, penalty), []).append(trial.losses(A))
    weights = np.concatenate([trial.weights for trial in trials])
    judged = {
        key: np.concatenate(parts)
        for key, parts in losses.items()
        if len(parts) == len(trials)
    }
    means = {key: _mean(loss, weights) for key, loss in judged.items()}
    for (init, penalty), mean in means.items():
        say(f"held-out loss {mean:.4f}: init {init}, penalty {penalty:g}")
    # The strongest penalty that is as good as any, as far as these rows can tell.
    best = min(means, key=lambda key: means[key])
    chosen = next(
        key
        for key in means
        if key[0] == best[0] and _is_close(judged[key], judged[best], weights)
    )
    alpha, A = maps[chosen][0]
    return Selected(chosen[0], alpha, A, means[chosen])


def _path(
    objective: PairObjective, start: FloatArray, solver: LBFGS
) -> Iterator[tuple[float, float, FloatArray]]:
    """Yield penalties, from infinite to none, with λ for each point and the map."""
    yield np.inf, np.inf, start
    size = float(np.square(start).sum())
    A, in_unit = start, SolverInUnit(solver, 1 / data_unit(objective))
    for penalty in PENALTIES:
        alpha = penalty / size if size > 0 else 0.0
        penalized = Penalized(objective, alpha * objective.n_points)
        A = in_unit.maximize(penalized, A, lambda *_: False).components
        yield penalty, alpha, A


def _mean(losses: FloatArray, weights: FloatArray) -> float:
    """Return the mean loss; infinity where it is not a number."""
    found = float(np.average(losses, weights=weights))
    return found if np.isfinite(found) else np.inf


def _is_close(losses: FloatArray, best: FloatArray, weights: FloatArray) -> bool:
    """Return whether losses are within some standard errors of the best ones."""
    worse = losses - best
    excess = _mean(worse, weights)
    error = np.sqrt(_mean((worse - excess) ** 2, weights) / weights.sum())
    return excess <= N_ERRORS * error
