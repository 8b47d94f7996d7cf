"""Rows to learn from and rows that judge: what start and penalty are chosen by."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import gen_batches

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import of_unscaled
from vicinal.nca._data import ClassificationData, RegressionData
from vicinal.nca._sparse import row_keys
from vicinal.neighborhood import NeighborWeights, average, effective_n_threads
from vicinal.objectives import NCAObjective, TargetObjective
from vicinal.objectives.base import PairObjective

HELD_OUT = 0.2
"""The part of the rows that judges."""
MOST_ROWS = 1000
"""How many rows take part in the trial."""
N_FOLDS, FEW_ROWS = 3, 400
"""How many times rows are held out, other ones each time, where there are so few."""
FEWEST_ROWS = 40
"""Fewer rows than this cannot be divided; they get the penalty `SAFE`."""
# A smaller probability counts as this: one row that judges should not decide.
_LEAST_P = 1e-4
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
    components = of_unscaled(A, 1.0, dtype)
    weights = NeighborWeights.build(data.weights, np.ones(len(data.X)), dtype)
    targets = data.targets.astype(dtype)[:, None]
    n_threads = effective_n_threads(n_jobs)
    queries, points = judges.X @ components.T, data.X @ components.T
    means = average(queries, points, targets, weights, n_threads)[:, 0]
    errors: FloatArray = np.square(means.astype(np.float64) - judges.targets)
    return errors


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
