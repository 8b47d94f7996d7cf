"""The penalty of an adapter, and whether to learn at all, by queries held out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._evaluation import Evaluation
from vicinal.adapters._optimizer import Optimizer
from vicinal.adapters._scores import scores_of_vectors
from vicinal.objectives import RetrievalObjective
from vicinal.objectives.base import sample_indices

ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
# Temperatures as parts of the one under which relevant documents are most probable:
# lower ones look at the first ranks. The first is tried with all penalties.
FACTORS = (0.5, 1.0, 0.25)
# The score that decides, and by how many standard errors learning must raise it.
# Average precision counts all relevant documents, and varies less than others do.
DECISIVE = "map"
_N_ERRORS = 1.0
# After so many penalties in a row that were worse, no weaker one is tried.
_PATIENCE = 2
# With more queries, one part of them is held out instead of one fold after another.
_ENOUGH_QUERIES = 4000
_MOST_HELD_OUT = 500
# Documents among which settings are compared; the evidence is about all of them.
_MOST_DOCUMENTS = 20_000


@dataclass(frozen=True)
class Selection:
    """What was found on queries held out.

    Attributes
    ----------
    alpha, temperature : float
        The settings with the highest mean average precision.
    is_gain : bool
        Whether learning raised it by more than a standard error.
    evaluation : Evaluation
        Scores before and after. Each fold's maps were learned with the settings that
        were the best on the other folds, so that none was chosen for its own.
    tried : list of Trial
        What was tried, in order.
    """

    alpha: float
    temperature: float
    is_gain: bool
    evaluation: Evaluation
    tried: list["Trial"]


@dataclass(frozen=True)
class HeldOut:
    """One fold: an objective to learn from, one to judge by, grades, and queries."""

    learning: RetrievalObjective
    judging: RetrievalObjective
    grades: csr_array
    rows: IntArray


@dataclass(frozen=True, eq=False)
class Trial:
    """Settings, the maps that they gave on each fold, and the scores held out."""

    alpha: float
    temperature: float
    maps: list[FloatArray]
    scores: list[dict[str, FloatArray]]

    def sums(self) -> FloatArray:
        """Return the sum of the decisive score over each fold's queries."""
        return np.array([fold[DECISIVE].sum() for fold in self.scores])


def select(
    objective: RetrievalObjective,
    relevance: csr_array,
    optimizer: Optimizer,
    ks: Sequence[int],
    n_folds: int,
    seed: int,
    factors: Sequence[float] = FACTORS,
) -> Selection:
    """Try penalties and temperatures on queries held out.

    Penalties go from the strongest on, until held-out queries got worse twice; then the
    other temperatures are tried with the best.

    Parameters
    ----------
    objective : RetrievalObjective
        Of all queries, at the temperature of which the others are parts.
    relevance : csr_array of shape (n_queries, n_documents)
        The grades, for the scores.
    optimizer : Optimizer
        How maps are found.
    ks : sequence of int
        For the scores.
    n_folds, seed : int
        How queries are held out.
    factors : sequence of float, default=FACTORS
        The temperatures to try.

    Returns
    -------
    Selection
        The best settings, and the evidence.
    """
    folds = list(_folds(objective, relevance, n_folds, seed))
    thinned = [_thinned(fold, seed) for fold in folds]
    warmest = objective.temperature
    tried: list[Trial] = []

    def attempt(alpha: float, temperature: float, begin: list[FloatArray]) -> None:
        maps: list[FloatArray] = []
        for f, (fold, first) in enumerate(zip(folds, begin, strict=True)):
            if f and fold.learning is folds[f - 1].learning:
                maps.append(maps[-1])
                continue
            fold.learning.temperature = temperature
            maps.append(optimizer.maximize(fold.learning, alpha, first).components)
        scores = [
            _scores(fold, components, ks)
            for fold, components in zip(thinned, maps, strict=True)
        ]
        tried.append(Trial(alpha, temperature, maps, scores))

    maps = [optimizer.start for _ in folds]
    for alpha in ALPHAS:
        attempt(alpha, factors[0] * warmest, maps)
        maps = tried[-1].maps
        if len(tried) - 1 - tried.index(_best(tried)) == _PATIENCE:
            break
    best = _best(tried)
    for factor in factors[1:]:
        attempt(best.alpha, factor * warmest, best.maps)
    best = _best(tried)
    evaluation = _cross_fitted(folds, tried, ks, seed)
    gains = evaluation.after[DECISIVE] - _kept(folds, optimizer.start, evaluation, ks)
    error = float(gains.std(ddof=1) / np.sqrt(len(gains)))
    return Selection(
        best.alpha,
        best.temperature,
        bool(gains.mean() > _N_ERRORS * error),
        evaluation,
        tried,
    )


def _best(tried: list[Trial]) -> Trial:
    """Return the trial with the highest decisive score; of equal ones the first."""
    return max(tried, key=lambda trial: float(trial.sums().sum()))


def _folds(
    objective: RetrievalObjective, relevance: csr_array, n_folds: int, seed: int
) -> Iterator[HeldOut]:
    """Yield folds of the queries; equal queries are always in the same."""
    from sklearn.model_selection import GroupKFold, GroupShuffleSplit  # slow to import

    Q = objective.queries
    _, groups = np.unique(Q, axis=0, return_inverse=True)
    groups = groups.reshape(-1)  # NumPy 2.0 gave it another shape
    n_groups = int(groups.max()) + 1
    if n_groups == 1:
        raise ValueError(
            "All queries are equal: none can be held out to tell whether learning "
            "helps. Have others, or give alpha a number."
        )
    few = n_groups <= _ENOUGH_QUERIES
    splitter = (
        GroupKFold(min(n_folds, n_groups), shuffle=True, random_state=seed)
        if few
        else GroupShuffleSplit(1, test_size=_MOST_HELD_OUT, random_state=seed)
    )
    for learning, judging in splitter.split(Q, groups=groups):
        part = objective.subset(learning)
        # Of one part that is held out, each half has settings chosen by the other.
        halves = [judging]
        if not few:
            first = np.isin(groups[judging], np.unique(groups[judging])[::2])
            halves = [judging[first], judging[~first]]
        for rows in halves:
            yield HeldOut(part, objective.subset(rows), relevance[rows], rows)


def _thinned(fold: HeldOut, seed: int) -> HeldOut:
    """Return the fold with fewer documents to rank, where they are very many."""
    n_documents = len(fold.judging.documents)
    if n_documents <= _MOST_DOCUMENTS:
        return fold
    rng = np.random.default_rng(seed)
    some = sample_indices(rng, n_documents, _MOST_DOCUMENTS)
    kept = np.union1d(some, fold.grades.indices)
    places = np.searchsorted(kept, fold.grades.indices)
    grades = csr_array(
        (fold.grades.data, places, fold.grades.indptr), (len(fold.rows), len(kept))
    )
    every = np.arange(len(fold.rows))
    return replace(fold, judging=fold.judging.subset(every, some), grades=grades)


def _kept(
    folds: list[HeldOut], start: FloatArray, evaluation: Evaluation, ks: Sequence[int]
) -> FloatArray:
    """Return the decisive scores under what is kept if nothing is learned.

    That is the vectors as they are, or their main axes where fewer are asked for.
    """
    if start.shape[-2] == start.shape[-1]:
        return evaluation.before[DECISIVE]
    order = np.argsort(np.concatenate([fold.rows for fold in folds]))
    return _joined([_scores(fold, start, ks) for fold in folds], order)[DECISIVE]


def _cross_fitted(
    folds: list[HeldOut], tried: list[Trial], ks: Sequence[int], seed: int
) -> Evaluation:
    """Score each fold's queries under the settings that the other folds have chosen."""
    sums = np.array([trial.sums() for trial in tried])
    chosen = np.argmax(sums.sum(axis=1, keepdims=True) - sums, axis=0)
    before = [_scores(fold, None, ks) for fold in folds]
    after = []
    for f, t in enumerate(chosen):
        thin = len(folds[f].judging.documents) > _MOST_DOCUMENTS
        trial = tried[t]
        found = _scores(folds[f], trial.maps[f], ks) if thin else trial.scores[f]
        after.append(found)
    rows = np.concatenate([fold.rows for fold in folds])
    order = np.argsort(rows)
    return Evaluation(_joined(before, order), _joined(after, order), seed, rows[order])


def _scores(
    fold: HeldOut, components: FloatArray | None, ks: Sequence[int]
) -> dict[str, FloatArray]:
    """Score a fold's held-out queries under maps; None is the vectors as they are."""
    return scores_of_vectors(
        *fold.judging.images(components),
        fold.grades,
        ks,
        unit_length=fold.judging.unit_length,
        n_threads=fold.judging.n_threads,
    )


def _joined(
    parts: list[dict[str, FloatArray]], order: IntArray
) -> dict[str, FloatArray]:
    return {
        name: np.concatenate([part[name] for part in parts])[order] for name in parts[0]
    }
