"""Which start and which penalty predict best: tried on rows that are held out.

A map that is learned without a penalty fits the training rows as closely as it can. So
estimators that predict learn a short path of maps from some of the rows, from a strong
penalty to none, each from where the last one ended, and take the one that predicts the
other rows best. Where none is better than the start itself, the start is kept.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.utils import gen_batches

from vicinal._typing import FloatArray, IntArray
from vicinal.base.n_components import ordered_by_size
from vicinal.nca._data import ClassificationData, RegressionData
from vicinal.nca._optimizer import maximize_in_unit
from vicinal.nca._scale import best_scale, typical_distance
from vicinal.neighborhood import NeighborWeights, average, effective_n_threads
from vicinal.objectives import NCAObjective, Penalized, TargetObjective
from vicinal.objectives.base import PairObjective
from vicinal.objectives.minibatch import sample_indices
from vicinal.solvers import LBFGS

PENALTIES = (1.0, 0.1, 0.01, 0.0)
"""What is tried: λ‖A‖² for each point, at the size of the start."""
ITERATIONS = 6
"""Iterations for each of them."""
PATIENCE = 2
"""After so many penalties without a new best, the smaller ones are not tried."""
N_ERRORS = 0.5
"""Of the penalties within so many standard errors of the best, the strongest wins."""
HELD_OUT = 0.2
"""The part of the rows that judges."""
MOST_ROWS = 1000
"""How many rows take part in the trial."""
MOST_FEATURES = 100
"""With more features, a map of low rank is not first learned at full rank."""
FEWEST_ROWS = 20
"""Fewer rows than this cannot be divided; they get the penalty `SAFE`."""
SAFE = 0.1
# A term of the objective below this counts as this: one outlier should not decide.
_LEAST_TERM = -20.0
# Nor one row that judges, by a probability of next to nothing.
_LEAST_P = 1e-4
# The points whose terms decide on a scale.
_N_QUERIES = 1000
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

    def mean(self, losses: FloatArray) -> float:
        """Return the mean loss; infinity where it is not a number."""
        found = float(np.average(losses, weights=self.weights))
        return found if np.isfinite(found) else np.inf

    def is_close(self, losses: FloatArray, best: FloatArray) -> bool:
        """Return whether losses are within some standard errors of the best ones."""
        worse = losses - best
        excess = self.mean(worse)
        variance = self.mean((worse - excess) ** 2) / self.weights.sum()
        return excess <= N_ERRORS * np.sqrt(variance)


def class_trial(
    data: ClassificationData, kind: str, n_jobs: int | None
) -> Trial[ClassificationData] | None:
    """Return a trial that is judged by log-loss; None where rows are too few.

    Parameters
    ----------
    data : ClassificationData
        All rows.
    kind : str
        The objective.
    n_jobs : int or None
        Threads.
    """
    learn, held = hold_out_rows(data.X, data.weights)
    held = held[np.isin(data.codes[held], data.codes[learn])]
    part, judges = data.subproblem(learn), data.part(held)
    if data.weights.sum() < FEWEST_ROWS or not len(held) or len(part.classes) < 2:
        return None
    objective = class_objective(part, kind, n_jobs)
    truth = np.searchsorted(part.classes, data.classes[judges.codes])

    def losses(A: FloatArray) -> FloatArray:
        p = objective.class_probabilities(A, judges.X)[np.arange(len(truth)), truth]
        return -np.log(np.maximum(p.astype(np.float64), _LEAST_P))

    return Trial(part, objective, losses, judges.weights)


def target_trial(
    data: RegressionData, kind: str, width: float, n_jobs: int | None
) -> Trial[RegressionData] | None:
    """Return a trial that is judged by squared error; None where rows are too few.

    Parameters
    ----------
    data, kind, n_jobs
        As for `class_trial`.
    width : float
        Of soft matches, in units of the targets' deviation.
    """
    learn, held = hold_out_rows(data.X, data.weights)
    if data.weights.sum() < FEWEST_ROWS:
        return None
    part, judges = data.part(learn), data.part(held)
    objective = target_objective(part, kind, width, n_jobs)

    def losses(A: FloatArray) -> FloatArray:
        return squared_errors(part, judges, A, n_jobs)

    return Trial(part, objective, losses, judges.weights)


def class_objective(
    data: ClassificationData, kind: str, n_jobs: int | None
) -> NCAObjective:
    """Return NCA's objective of these rows."""
    return NCAObjective(
        data.X,
        data.codes,
        kind,
        sample_weight=data.weights,
        class_prior=data.prior,
        n_jobs=n_jobs,
    )


def target_objective(
    data: RegressionData, kind: str, width: float, n_jobs: int | None
) -> TargetObjective:
    """Return the objective of these rows, in the unit of their targets."""
    return TargetObjective(
        data.X,
        data.targets,
        kind,
        width=width,
        sample_weight=data.weights,
        n_jobs=n_jobs,
    )


def squared_errors(
    data: RegressionData, judges: RegressionData, A: FloatArray, n_jobs: int | None
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


def hold_out_rows(X: FloatArray, weights: FloatArray) -> tuple[IntArray, IntArray]:
    """Return rows to learn from and rows to judge by, about `MOST_ROWS` at most.

    What a row holds decides on which side it is, so that equal rows are on the same:
    a copy of a row that was learned from is no judge. And a weight of 2 is then the
    same as a row that is there twice.
    """
    lot = _lots(X)
    taken = min(1.0, MOST_ROWS / float(weights.sum()))
    judges = lot < HELD_OUT * taken
    if judges.all() or not judges.any():  # few rows, or few different ones
        order = np.random.default_rng(0).permutation(len(X))
        n_held = max(1, round(HELD_OUT * len(X)))
        return np.sort(order[n_held:]), np.sort(order[:n_held])
    return np.flatnonzero((lot < taken) & ~judges), np.flatnonzero(judges)


def _lots(X: FloatArray) -> FloatArray:
    """Return a number in [0, 1) for each row, as if drawn, and equal for equal rows.

    It is a hash of the row to three digits: rounding to float32, or another unit of
    the data, seldom changes it.
    """
    rng = np.random.default_rng(0)
    factors = rng.integers(2**63, size=X.shape[1], dtype=np.uint64) * 2 + 1
    largest = np.maximum(np.abs(X).max(axis=0), np.finfo(X.dtype).tiny)
    mantissa, exponent = np.frexp(largest.astype(np.float64))
    exponent -= mantissa == 0.5  # a power of two is not above itself
    mixed = np.empty(len(X), dtype=np.uint64)
    for rows in gen_batches(len(X), max(1, _LOTS_AT_ONCE // X.shape[1])):
        digits = np.rint(np.ldexp(X[rows].astype(np.float64), 10 - exponent))
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
    queries = sample_indices(np.random.default_rng(0), objective.n_rows, _N_QUERIES)
    counts = judged.counts[queries]

    def loss(log_scale: float) -> float:
        terms = judged.terms(np.exp(log_scale) * A, queries).astype(np.float64)
        return -float(np.average(np.maximum(terms, _LEAST_TERM), weights=counts))

    return float(np.exp(best_scale(loss, -np.log(distance)))) * A


def safe_choice(starts: dict[str, FloatArray]) -> Selected:
    """Return the first start with a moderate penalty, for rows too few to judge."""
    name, A = next(iter(starts.items()))
    size = float(np.square(A).sum())
    return Selected(name, SAFE / size if size > 0 else 0.0, A, np.nan)


def reduced_start(full: Selected, trial: Trial[Any], n_components: int) -> FloatArray:
    """Return the main directions of the best map of full rank, at their best scale.

    Few rows at a time are easily stuck: a map of full rank is learned with fewer
    detours, and most of its size lies in the directions that matter.
    """
    return scaled_by_loss(
        trial.objective, ordered_by_size(full.components)[:n_components]
    )


def select(
    trial: Trial[Any],
    starts: dict[str, FloatArray],
    max_iter: int,
    tol: float,
    say: Callable[[str], None] = lambda _: None,
) -> Selected:
    """Return the start and the penalty that predict best.

    Parameters
    ----------
    trial : Trial
        What to learn from, and what judges.
    starts : dict of str to ndarray
        Maps to start from, by name, at the scale that suits them.
    max_iter, tol : int, float
        The solver's bounds; no more than `ITERATIONS` are made for a penalty.
    say : callable
        Takes a line for each trial, for the curious.
    """
    tried: list[tuple[Selected, FloatArray]] = []

    def judge(init: str, alpha: float, A: FloatArray) -> None:
        losses = trial.losses(A)
        tried.append((Selected(init, alpha, A, trial.mean(losses)), losses))
        say(f"held-out loss {tried[-1][0].loss:.4f}: {init}, alpha={alpha:.2g}")

    solver = LBFGS(min(ITERATIONS, max_iter), tol)
    for init, start in starts.items():
        judge(init, np.inf, start)
        size = float(np.square(start).sum())
        A, path = start, list[float]()
        for penalty in PENALTIES if size > 0 else ():
            alpha = penalty / size
            penalized = Penalized(trial.objective, alpha * trial.objective.n_points)
            A = maximize_in_unit(solver, penalized, A, lambda *_: False).components
            judge(init, alpha, A)
            path.append(tried[-1][0].loss)
            if min(path) < min(path[-PATIENCE:]):
                break
    # The strongest penalty that is as good as any, as far as these rows can tell.
    best, reference = min(tried, key=lambda entry: entry[0].loss)
    return next(
        selected
        for selected, losses in tried
        if selected.init == best.init and trial.is_close(losses, reference)
    )
