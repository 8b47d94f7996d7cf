"""Choice of penalty and temperature, and evidence, on held-out queries."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from vicinal._typing import FloatArray
from vicinal.adapters._evaluation import score_vectors
from vicinal.adapters._objective import N_SAMPLED_DOCUMENTS, RetrievalObjective
from vicinal.base.selection import paired_gains
from vicinal.objectives.base import sample_indices

# From a map near the identity to one close to the unpenalized maximum.
ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
# Up to this number of queries, all of them are held out in folds; of more, 500 are
# held out once; see "Large collections" in docs/adapters.md.
MAX_CROSS_VALIDATED = 4000

Solve = Callable[[RetrievalObjective, float, FloatArray], OptimizeResult]
Scores = dict[str, FloatArray]


class Candidate(NamedTuple):
    """Settings, the maps of each fold, and the sum of average precisions by part."""

    alpha: float
    temperature: float
    maps: list[FloatArray]
    precision: FloatArray


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
        Seed of the splits.
    """

    def __init__(
        self, objective: RetrievalObjective, n_folds: int, ks: Sequence[int], seed: int
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
        cross_validated = n_groups <= MAX_CROSS_VALIDATED
        if cross_validated:
            n_folds = min(n_folds, n_groups)
            splitter = GroupKFold(n_folds, shuffle=True, random_state=seed)
        else:
            splitter = GroupShuffleSplit(1, test_size=500, random_state=seed)
        rng, n_documents = np.random.default_rng(seed), len(objective.documents)
        sampled = None
        if n_documents > N_SAMPLED_DOCUMENTS:
            sampled = sample_indices(rng, n_documents, N_SAMPLED_DOCUMENTS)
        self.ks = ks
        self.train: list[RetrievalObjective] = []
        # The fold of each part, its queries, and the documents to compare settings on.
        self.folds: list[int] = []
        self.tests: list[RetrievalObjective] = []
        self.samples: list[RetrievalObjective] = []
        parts = []
        for fold, (train, test) in enumerate(splitter.split(Q, groups=groups)):
            self.train.append(objective.subset(train))
            first = np.isin(groups[test], np.unique(groups[test])[::2])
            for rows in [test] if cross_validated else [test[first], test[~first]]:
                parts.append(rows)
                self.folds.append(fold)
                self.tests.append(objective.subset(rows))
                self.samples.append(objective.subset(rows, sampled))
        self.rows = np.concatenate(parts)

    def fit_path(
        self, solve: Solve, start: FloatArray, temperatures: Sequence[float]
    ) -> list[Candidate]:
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
        candidates: list[Candidate] = []
        maps, best = [start] * len(self.train), 0
        for temperature in temperatures:
            is_first = temperature == temperatures[0]
            for alpha in ALPHAS if is_first else [candidates[best].alpha]:
                for k, objective in enumerate(self.train):
                    objective.temperature = temperature
                    maps[k] = solve(objective, alpha, maps[k]).x
                precision = [
                    self._scores(sample, maps[fold])["map"].sum()
                    for fold, sample in zip(self.folds, self.samples, strict=True)
                ]
                tried = Candidate(alpha, temperature, [*maps], np.array(precision))
                candidates.append(tried)
                if tried.precision.sum() > candidates[best].precision.sum():
                    best = len(candidates) - 1
                elif is_first and len(candidates) - 1 - best == 2:
                    break
        return candidates

    def evaluate(
        self, candidates: list[Candidate], start: FloatArray
    ) -> tuple[Scores, Scores, bool]:
        """Score each part among all documents, with settings chosen on the others.

        Returns
        -------
        before, after : dict of str to ndarray
            Scores of the held-out queries, in the order of the queries.
        improves : bool
            Whether learning gains more than one standard error over the vectors as
            they are or, if dimensions are dropped, over the initial maps.
        """
        sums = np.stack([one.precision for one in candidates])
        chosen = np.argmax(sums.sum(axis=1, keepdims=True) - sums, axis=0)
        maps = [
            candidates[best].maps[fold]
            for best, fold in zip(chosen, self.folds, strict=True)
        ]
        unmapped: list[FloatArray | None] = [None] * len(maps)
        before, after = self._all_scores(unmapped), self._all_scores(maps)
        kept = before
        if start.shape[-2] < start.shape[-1]:
            kept = self._all_scores([start] * len(maps))
        gains, errors = paired_gains(np.stack([after["map"], kept["map"]]), -1)
        return before, after, bool(gains[0] > errors[0])

    def _all_scores(self, maps: Sequence[FloatArray | None]) -> Scores:
        """Return the scores of all held-out queries, in their order."""
        found = [self._scores(*part) for part in zip(self.tests, maps, strict=True)]
        order = np.argsort(self.rows)
        return {
            name: np.concatenate([one[name] for one in found])[order]
            for name in found[0]
        }

    def _scores(self, test: RetrievalObjective, maps: FloatArray | None) -> Scores:
        U, V = test.queries, test.documents
        if maps is not None:
            (U, _), (V, _) = test.mapped(maps)
        return score_vectors(
            U,
            V,
            test.weights,
            self.ks,
            unit_length=test.unit_length,
            n_threads=test.n_threads,
        )
