"""Which start and which penalty predict best: tried on rows that are held out.

A map that is learned without a penalty fits the training rows as closely as it can. So
estimators that predict learn a short path of maps from some of the rows, from a strong
penalty to none, each from where the last one ended, and take the one that predicts the
other rows best. Where none is better than the start itself, the start is kept.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from vicinal._typing import FloatArray, IntArray
from vicinal.base.n_components import ordered_by_size
from vicinal.nca._data import ClassificationData, RegressionData
from vicinal.nca._optimizer import SolverInUnit
from vicinal.nca._scale import (
    best_scale,
    data_unit,
    power_of_two,
    typical_distance,
)
from vicinal.nca._sparse import row_keys
from vicinal.neighborhood import NeighborWeights, average, effective_n_threads
from vicinal.objectives import NCAObjective, Penalized, TargetObjective
from vicinal.objectives.base import PairObjective
from vicinal.objectives.minibatch import sample_indices
from vicinal.solvers import LBFGS

PENALTIES = (1.0, 0.1, 0.01, 0.0)
"""What is tried: λ‖A‖² for each point, at the size of the start."""
ITERATIONS = 6
"""Iterations for each of them."""
N_ERRORS = 0.5
"""Of the penalties within so many standard errors of the best, the strongest wins."""
HELD_OUT = 0.2
"""The part of the rows that judges."""
MOST_ROWS = 1000
"""How many rows take part in the trial."""
N_FOLDS, FEW_ROWS = 3, 400
"""How many times rows are held out, other ones each time, where there are so few."""
MOST_FEATURES = 100
"""With more features, a map of low rank is not first learned at full rank."""
MANY_ROWS = 10_000
"""From no more rows is a start made again that is kept."""
FEWEST_ROWS = 40
"""Fewer rows than this cannot be divided; they get the penalty `SAFE`."""
SAFE = 0.1
# A term of the objective below this counts as this: one outlier should not decide.
_LEAST_TERM = -20.0
# Nor one row that judges, by a probability of next to nothing.
_LEAST_P = 1e-4
# The points whose terms decide on a scale.
_N_QUERIES = 1000
# To how many parts of a feature's largest value rows are told apart.
_DIGITS = 1000
# How many numbers of the rows are copied at a time.
_LOTS_AT_ONCE = 2**18


Data = TypeVar("Data", ClassificationData, RegressionData)


@dataclass(frozen=True)
class Trial(Generic[Data]):
    """Rows to learn from, and the losses of a map on rows that were held out.

    Attributes
    ----------
    data : ClassificationData or RegressionData
        The rows to learn from.
    objective : PairObjective
        What to maximise on them.
    losses : callable
        Takes a map, and returns the loss of each row that judges.
    weights : ndarray
        How many points each of these rows stands for.
    """

    data: Data
    objective: PairObjective
    losses: Callable[[FloatArray], FloatArray]
    weights: FloatArray


def class_trials(
    data: ClassificationData, kind: str, n_jobs: int | None
) -> list[Trial[ClassificationData]]:
    """Return trials that are judged by log-loss; none where rows are too few.

    Parameters
    ----------
    data : ClassificationData
        All rows.
    kind : str
        The objective.
    n_jobs : int or None
        Threads.
    """

    def trial(learn: IntArray, held: IntArray) -> Trial[ClassificationData]:
        part, judges = data.subproblem(learn), data.part(held)
        objective = class_objective(part, kind, n_jobs)
        truth = np.searchsorted(part.classes, data.classes[judges.codes])
        own = np.arange(len(truth)), truth

        def losses(A: FloatArray) -> FloatArray:
            p = objective.class_probabilities(A, judges.X)[own]
            return -np.log(np.maximum(p.astype(np.float64), _LEAST_P))

        return Trial(part, objective, losses, judges.weights)

    trials = []
    for learn, held in folds(data.X, data.weights):
        # A class that is not learned from cannot judge.
        known = held[np.isin(data.codes[held], data.codes[learn])]
        if len(known) and len(np.unique(data.codes[learn])) > 1:
            trials.append(trial(learn, known))
    return trials


def target_trials(
    data: RegressionData, kind: str, width: float, n_jobs: int | None
) -> list[Trial[RegressionData]]:
    """Return trials that are judged by squared error; none where rows are too few.

    Parameters
    ----------
    data, kind, n_jobs
        As for `class_trials`.
    width : float
        Of soft matches, in units of the targets' deviation.
    """

    def trial(learn: IntArray, held: IntArray) -> Trial[RegressionData]:
        part, judges = data.part(learn), data.part(held)
        objective = target_objective(part, kind, width, n_jobs)
        losses = partial(squared_errors, part, judges, n_jobs)
        return Trial(part, objective, losses, judges.weights)

    return [trial(*rows) for rows in folds(data.X, data.weights)]


def class_objective(
    data: ClassificationData, kind: str, n_jobs: int | None
) -> NCAObjective:
    """Return NCA's objective of these rows."""
    return NCAObjective.from_codes(
        data.X, data.codes, kind, data.weights, data.prior, n_jobs
    )


def target_objective(
    data: RegressionData, kind: str, width: float, n_jobs: int | None
) -> TargetObjective:
    """Return the objective of these rows, in the unit of their targets."""
    return TargetObjective.from_validated(
        data.X, data.targets, kind, width, data.weights, n_jobs
    )


def squared_errors(
    data: RegressionData, judges: RegressionData, n_jobs: int | None, A: FloatArray
) -> FloatArray:
    """Return how far rows are from the mean target of their soft neighbours."""
    dtype = data.X.dtype
    components = A.astype(dtype)
    weights = NeighborWeights.build(data.weights, np.ones(len(data.X)), dtype)
    targets = data.targets.astype(dtype)[:, None]
    n_threads = effective_n_threads(n_jobs)
    queries, points = judges.X @ components.T, data.X @ components.T
    means = average(queries, points, targets, weights, n_threads)[:, 0]
    errors: FloatArray = np.square(means.astype(np.float64) - judges.targets)
    return errors


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


def folds(X: FloatArray, weights: FloatArray) -> list[tuple[IntArray, IntArray]]:
    """Return rows to learn from and rows to judge by; several times where rows are few.

    What a row holds decides on which side it is, so that equal rows are on the same:
    a copy of a row that was learned from is no judge. And a weight of 2 is then the
    same as a row that is there twice.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows; of many, about `MOST_ROWS` take part.
    weights : ndarray of shape (n_samples,)
        How many points each stands for.
    """
    n_points = float(weights.sum())
    if n_points < FEWEST_ROWS:
        return []
    lot = _lots(X) * max(1.0, n_points / MOST_ROWS, len(X) / MOST_ROWS)
    taken = lot < 1
    found = []
    for k in range(N_FOLDS if n_points <= FEW_ROWS else 1):
        judges = (k * HELD_OUT <= lot) & (lot < (k + 1) * HELD_OUT)
        if 0 < 2 * weights[judges].sum() <= weights[taken].sum():
            found.append((np.flatnonzero(taken & ~judges), np.flatnonzero(judges)))
    if found and np.count_nonzero(taken) <= 2 * MOST_ROWS:
        return found
    # Few different rows, or weights that are no counts: by where the rows stand.
    order = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    n_held = max(1, round(HELD_OUT * len(order)))
    return [(np.sort(order[n_held:]), np.sort(order[:n_held]))]


def _lots(X: FloatArray) -> FloatArray:
    """Return a number in [0, 1) for each row, as if drawn, and equal for equal rows.

    It is a hash of the row to three digits of each feature's range: rounding to
    float32, or another unit or origin of the data, seldom changes it.
    """
    if issparse(X):
        X = row_keys(X)[:, None]
    rng = np.random.default_rng(0)
    factors = rng.integers(2**63, size=X.shape[1], dtype=np.uint64) * 2 + 1
    least = X.min(axis=0).astype(np.float64)
    # Half of it, since the whole may overflow.
    half = X.max(axis=0).astype(np.float64) / 2 - least / 2
    unit = np.where(half > 0, half, 1.0)
    mixed = np.empty(len(X), dtype=np.uint64)
    for rows in gen_batches(len(X), max(1, _LOTS_AT_ONCE // X.shape[1])):
        half = X[rows].astype(np.float64) / 2 - least / 2
        digits = np.rint(_DIGITS * (half / unit))
        mixed[rows] = digits.astype(np.int64).view(np.uint64) @ factors  # modulo 2⁶⁴
    # The finalizer of MurmurHash3: every bit of the sum changes every bit.
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    lots: FloatArray = (mixed >> np.uint64(11)).astype(np.float64) / 2.0**53
    return lots


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
        them; the same names for each.
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
    judged = {key: np.concatenate(parts) for key, parts in losses.items()}
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
