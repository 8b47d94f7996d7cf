"""Choice of start, penalty and temperature, and evidence, on held-out queries."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult

from vicinal._typing import FloatArray
from vicinal.adapters._evaluation import score_vectors
from vicinal.adapters._objective import N_SAMPLED_DOCUMENTS, RetrievalObjective
from vicinal.base.selection import paired_gains
from vicinal.objectives.nca import sample_indices

# From a map near the center to one close to the unpenalized maximum.
ALPHAS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
# From the Procrustes rotation to a regression that is nearly unpenalized.
RIDGE_ALPHAS = (np.inf, 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
# Up to this number of queries, all of them are held out in folds; of more, 500 are
# held out once; see "Large collections" in docs/adapters.md.
MAX_CROSS_VALIDATED = 4000

# Center of the penalty: of an objective, with the penalty of a closed form, or None.
Center = Callable[[RetrievalObjective, float | None], FloatArray]
# Of an objective, a penalty, initial maps and the center of the penalty.
Solve = Callable[[RetrievalObjective, float, FloatArray, FloatArray], OptimizeResult]
Scores = dict[str, FloatArray]


class Candidate(NamedTuple):
    """Settings, the maps of each fold, and the sum of average precisions by part.

    `ridge` is the penalty of the closed form at the center, None for the start. With an
    infinite `alpha`, the maps are the center.
    """

    ridge: float | None
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
        self.sample_weight = objective.sample_weight[np.sort(self.rows)]

    def search(
        self,
        solve: Solve,
        center: Center,
        ridges: Sequence[float],
        temperatures: Callable[[float | None], Sequence[float]],
    ) -> tuple[list[Candidate], list[FloatArray]]:
        """Try closed forms, and paths from the start and from the best closed form.

        Parameters
        ----------
        solve : callable
            Solves for an objective, a penalty, initial maps and a center.
        center : callable
            Returns the start or, given a penalty, a closed form.
        ridges : sequence of float
            Penalties of closed forms.
        temperatures : callable
            Returns the temperatures to try around a center.

        Returns
        -------
        candidates : list of Candidate
            All that was tried.
        starts : list of ndarray
            The start of each fold.
        """
        starts = [center(objective, None) for objective in self.train]
        candidates = self.fit_path(solve, None, starts, temperatures(None))
        closed = [
            self._candidate(
                ridge,
                np.inf,
                1.0,
                [center(objective, ridge) for objective in self.train],
            )
            for ridge in ridges
        ]
        best = max(closed, key=_total, default=None)
        if best is not None and _total(best) > self._precision(starts).sum():
            candidates += self.fit_path(
                solve, best.ridge, best.maps, temperatures(best.ridge)
            )
        return [*closed, *candidates], starts

    def fit_path(
        self,
        solve: Solve,
        ridge: float | None,
        centers: list[FloatArray],
        temperatures: Sequence[float],
    ) -> list[Candidate]:
        """Try penalties, then other temperatures with the best penalty.

        Penalties get weaker, each fit starts from the one before, and the path ends if
        two penalties in a row are worse than the best.
        """
        candidates: list[Candidate] = []
        maps, best = [*centers], 0
        for temperature in temperatures:
            is_first = temperature == temperatures[0]
            for alpha in ALPHAS if is_first else [candidates[best].alpha]:
                for k, objective in enumerate(self.train):
                    objective.temperature = temperature
                    maps[k] = solve(objective, alpha, maps[k], centers[k]).x
                tried = self._candidate(ridge, alpha, temperature, [*maps])
                candidates.append(tried)
                if _total(tried) > _total(candidates[best]):
                    best = len(candidates) - 1
                elif is_first and len(candidates) - 1 - best == 2:
                    break
        return candidates

    def _candidate(
        self,
        ridge: float | None,
        alpha: float,
        temperature: float,
        maps: list[FloatArray],
    ) -> Candidate:
        return Candidate(ridge, alpha, temperature, maps, self._precision(maps))

    def _precision(self, maps: list[FloatArray]) -> FloatArray:
        """Return the weighted sum of average precisions by part."""
        return np.array(
            [
                sample.sample_weight @ self._scores(sample, maps[fold])["map"]
                for fold, sample in zip(self.folds, self.samples, strict=True)
            ]
        )

    def evaluate(
        self,
        candidates: list[Candidate],
        starts: list[FloatArray],
        *,
        unmapped: bool,
    ) -> tuple[Scores, Scores, bool]:
        """Score each part among all documents, with settings chosen on the others.

        Parameters
        ----------
        candidates : list of Candidate
            Settings to choose from.
        starts : list of ndarray
            Initial maps of each fold.
        unmapped : bool
            Whether the scores before are those of the vectors as they are; otherwise of
            the initial maps.

        Returns
        -------
        before, after : dict of str to ndarray
            Scores of the held-out queries, in the order of the queries.
        improves : bool
            Whether learning gains more than one standard error over the initial maps.
        """
        sums = np.stack([one.precision for one in candidates])
        chosen = np.argmax(sums.sum(axis=1, keepdims=True) - sums, axis=0)
        after = self._all_scores(
            [
                candidates[best].maps[fold]
                for best, fold in zip(chosen, self.folds, strict=True)
            ]
        )
        before = kept = self._all_scores([starts[fold] for fold in self.folds])
        if unmapped:
            before = self._all_scores([None] * len(self.folds))
        both = np.stack([after["map"], kept["map"]]) * self.sample_weight
        gains, errors = paired_gains(both, -1)
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


def _total(candidate: Candidate) -> float:
    return float(candidate.precision.sum())
