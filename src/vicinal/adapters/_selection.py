"""Choice of penalty and temperature, and evidence, on held-out queries."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._evaluation import Evaluation, score_vectors
from vicinal.adapters._objective import N_SAMPLED_DOCUMENTS, RetrievalObjective
from vicinal.objectives.base import sample_indices

# From a map near the identity to one close to the unpenalized maximum.
_ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
# Up to this number of queries, all of them are held out in folds; of more, a sample is
# held out once; see "Large collections" in docs/adapters.md.
_MAX_CROSS_VALIDATED = 4000
_N_HELD_OUT = 500

Solve = Callable[[RetrievalObjective, float, FloatArray], OptimizeResult]


class Trial(NamedTuple):
    """Settings with the maps of each split and the scores of the held-out queries."""

    alpha: float
    temperature: float
    maps: list[FloatArray]
    average_precision: list[FloatArray]


class HeldOutQueries:
    """Held-out queries: fits without them, and their scores.

    Equal queries are held out together. The parts of the held-out queries are the
    folds. If only one sample is held out, it has two parts, so that the settings under
    which a part is scored are chosen on other queries.

    Parameters
    ----------
    objective : RetrievalObjective
        Objective of all queries.
    n_folds : int
        Number of folds.
    ks : sequence of int
        Cutoffs of the scores.
    seed : int
        Seed of the splits and of the evaluation.
    positions : ndarray of shape (n_queries,)
        Positions of the queries, for the evaluation.
    """

    def __init__(
        self,
        objective: RetrievalObjective,
        n_folds: int,
        ks: Sequence[int],
        seed: int,
        positions: IntArray,
    ) -> None:
        from sklearn.model_selection import GroupKFold, GroupShuffleSplit  # slow import

        Q = objective.queries
        if len(Q) < 2 * n_folds:
            raise ValueError(
                f"{len(Q)} queries with relevant documents are too few to tell whether "
                f"learning helps: give {2 * n_folds} or more, or a number for alpha."
            )
        groups = np.unique(Q, axis=0, return_inverse=True)[1].reshape(-1)
        n_groups = int(groups.max()) + 1
        if n_groups == 1:
            raise ValueError(
                "All queries are equal and none can be held out. Give different "
                "queries, or a number for alpha."
            )
        self.ks, self.seed, self.positions = ks, seed, positions
        self.train: list[RetrievalObjective] = []
        self.parts: list[tuple[int, IntArray, RetrievalObjective]] = []
        cross_validated = n_groups <= _MAX_CROSS_VALIDATED
        splitter = (
            GroupKFold(min(n_folds, n_groups), shuffle=True, random_state=seed)
            if cross_validated
            else GroupShuffleSplit(1, test_size=_N_HELD_OUT, random_state=seed)
        )
        for split, (train, test) in enumerate(splitter.split(Q, groups=groups)):
            self.train.append(objective.subset(train))
            first = np.isin(groups[test], np.unique(groups[test])[::2])
            halves = [test] if cross_validated else [test[first], test[~first]]
            self.parts += [(split, rows, objective.subset(rows)) for rows in halves]

    def fit_path(
        self, solve: Solve, start: FloatArray, temperatures: Sequence[float]
    ) -> list[Trial]:
        """Try penalties, then other temperatures with the best penalty.

        Penalties get weaker, each fit starts from the one before, and the path ends if
        two penalties in a row are worse than the best.

        Parameters
        ----------
        solve : callable
            Solves for an objective, a penalty and initial maps.
        start : ndarray
            Initial maps.
        temperatures : sequence of float
            Temperatures to try.
        """
        trials: list[Trial] = []
        ranked = [self._with_fewer_documents(test) for _, _, test in self.parts]

        def attempt(alpha: float, temperature: float, init: list[FloatArray]) -> None:
            maps = []
            for objective, first in zip(self.train, init, strict=True):
                objective.temperature = temperature
                maps.append(solve(objective, alpha, first).x)
            scores = [
                self._scores(test, maps[split])["map"]
                for (split, _, _), test in zip(self.parts, ranked, strict=True)
            ]
            trials.append(Trial(alpha, temperature, maps, scores))

        maps = [start for _ in self.train]
        for alpha in _ALPHAS:
            attempt(alpha, temperatures[0], maps)
            maps = trials[-1].maps
            if not any(trial is best_trial(trials) for trial in trials[-2:]):
                break
        best = best_trial(trials)
        for temperature in temperatures[1:]:
            attempt(best.alpha, temperature, best.maps)
        return trials

    def evaluate(self, trials: list[Trial]) -> Evaluation:
        """Score each part among all documents, with settings chosen on the others."""
        sums = np.array([[x.sum() for x in one.average_precision] for one in trials])
        chosen = np.argmax(sums.sum(axis=1, keepdims=True) - sums, axis=0)
        maps = [
            trials[trial].maps[split]
            for trial, (split, _, _) in zip(chosen, self.parts, strict=True)
        ]
        rows = np.sort(np.concatenate([rows for _, rows, _ in self.parts]))
        return Evaluation(
            self.score(None), self.score(maps), self.seed, self.positions[rows]
        )

    def improves(self, evaluation: Evaluation, start: FloatArray) -> bool:
        """Return whether learning gains more than one standard error.

        The comparison is with the vectors as they are or, if dimensions are dropped,
        with the initial maps.
        """
        kept = evaluation.before
        if start.shape[-2] < start.shape[-1]:
            kept = self.score([start for _ in self.parts])
        gains = evaluation.after["map"] - kept["map"]
        return bool(gains.mean() > gains.std(ddof=1) / np.sqrt(len(gains)))

    def score(self, maps: Sequence[FloatArray] | None) -> dict[str, FloatArray]:
        """Return the scores of all held-out queries, in their order.

        Parameters
        ----------
        maps : sequence of ndarray or None
            Maps for each part; None scores the vectors as they are.
        """
        found = [
            self._scores(test, None if maps is None else maps[i])
            for i, (_, _, test) in enumerate(self.parts)
        ]
        order = np.argsort(np.concatenate([rows for _, rows, _ in self.parts]))
        return {
            name: np.concatenate([one[name] for one in found])[order]
            for name in found[0]
        }

    def _scores(
        self, test: RetrievalObjective, maps: FloatArray | None
    ) -> dict[str, FloatArray]:
        vectors = (test.queries, test.documents) if maps is None else test.mapped(maps)
        return score_vectors(
            *vectors,
            test.weights,
            self.ks,
            unit_length=test.unit_length,
            n_threads=test.n_threads,
        )

    def _with_fewer_documents(self, test: RetrievalObjective) -> RetrievalObjective:
        """Return the queries with a sample of the documents to compare settings on."""
        n_documents = len(test.documents)
        if n_documents <= N_SAMPLED_DOCUMENTS:
            return test
        rng = np.random.default_rng(self.seed)
        sample = sample_indices(rng, n_documents, N_SAMPLED_DOCUMENTS)
        return test.subset(np.arange(len(test.queries)), sample)


def best_trial(trials: list[Trial]) -> Trial:
    """Return the trial with the highest mean average precision; ties: the first."""
    return max(trials, key=lambda one: sum(x.sum() for x in one.average_precision))
