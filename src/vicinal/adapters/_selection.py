"""Choice of start, penalty and temperature, and evidence, on held-out queries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

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

# Of an objective, a penalty, initial maps and the center of the penalty.
Solve = Callable[[RetrievalObjective, float, FloatArray, FloatArray], OptimizeResult]
Scores = dict[str, FloatArray]


class Candidate(NamedTuple):
    """Settings, the maps of each fold, and the weighted precisions of the queries.

    `ridge` is the penalty of the closed form at the center, None for the start. With an
    infinite `alpha`, the maps are the center itself.
    """

    ridge: float | None
    alpha: float
    temperature: float
    maps: list[FloatArray]
    precision: FloatArray


@dataclass(frozen=True)
class Centers:
    """Maps that cost no penalty: those before learning, and closed forms.

    Parameters
    ----------
    kept : ndarray of shape (n_components, n_features) or None
        Map of the queries before learning. None is the Procrustes rotation to the
        documents, if their width is another.
    frame : ndarray of shape (n_components, n_document_features)
        Map of the documents before learning.
    side : {"query", "both", "two"}
        Mapped vectors.
    widths : tuple of int
        Numbers of features of queries and documents.
    """

    kept: FloatArray | None
    frame: FloatArray
    side: str
    widths: tuple[int, int]

    def __call__(
        self, objective: RetrievalObjective, ridge: float | None
    ) -> FloatArray:
        """Return the maps before learning or, given a penalty, a closed form."""
        A = self.kept
        if ridge is not None or A is None:
            W = objective.regression.solve(np.inf if ridge is None else ridge)
            A = self.frame @ W[: self.widths[0], : self.widths[1]].T
        if self.side == "two":
            return np.stack([self.padded(one) for one in (A, self.frame)])
        return A

    def padded(self, vectors: FloatArray) -> FloatArray:
        """Append zeros to the narrower vectors, so that two maps have one shape."""
        missing = max(self.widths) - vectors.shape[1]
        if self.side != "two" or not missing:
            return vectors
        return np.pad(vectors, [(0, 0), (0, missing)])


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
        centers: Centers,
        temperatures: Callable[[float | None], Sequence[float]],
    ) -> list[Candidate]:
        """Try closed forms, and paths from the start and from the best closed form.

        Parameters
        ----------
        solve : callable
            Solves for an objective, a penalty, initial maps and a center.
        centers : Centers
            Start and closed forms.
        temperatures : callable
            Returns the temperatures to try around a center, given its penalty.

        Returns
        -------
        list of Candidate
            The start, closed forms, and learned maps.
        """

        def center(ridge: float | None, temperature: float) -> Candidate:
            maps = [centers(objective, ridge) for objective in self.train]
            return self._candidate(ridge, np.inf, temperature, maps)

        start = center(None, temperatures(None)[0])
        candidates = [start, *self.fit_path(solve, start, temperatures(None))]
        if centers.side == "both":
            return candidates
        closed = [center(ridge, start.temperature) for ridge in RIDGE_ALPHAS]
        candidates += closed
        best = max(closed, key=_total)
        if _total(best) > _total(start):
            candidates += self.fit_path(solve, best, temperatures(best.ridge))
        return candidates

    def fit_path(
        self,
        solve: Solve,
        center: Candidate,
        temperatures: Sequence[float],
    ) -> list[Candidate]:
        """Try penalties around a center, then other temperatures with the best one.

        Penalties get weaker, each fit starts from the one before, and the path ends if
        two penalties in a row are worse than the best.
        """
        candidates: list[Candidate] = []
        maps, best = [*center.maps], 0
        for temperature in temperatures:
            is_first = temperature == temperatures[0]
            for alpha in ALPHAS if is_first else [candidates[best].alpha]:
                for k, objective in enumerate(self.train):
                    objective.temperature = temperature
                    maps[k] = solve(objective, alpha, maps[k], center.maps[k]).x
                tried = self._candidate(center.ridge, alpha, temperature, [*maps])
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
        precision = [
            sample.sample_weight * self._scores(sample, maps[fold])["map"]
            for fold, sample in zip(self.folds, self.samples, strict=True)
        ]
        return Candidate(ridge, alpha, temperature, maps, np.concatenate(precision))

    def evaluate(
        self, candidates: list[Candidate], *, unmapped: bool
    ) -> tuple[Candidate, Scores, Scores]:
        """Score each part among all documents, with settings chosen on the others.

        Parameters
        ----------
        candidates : list of Candidate
            Settings to choose from, the start first.
        unmapped : bool
            Whether the scores before are those of the vectors as they are; otherwise of
            the start.

        Returns
        -------
        chosen : Candidate
            The one with the largest gain over the start less its standard error. The
            start, if learning does not gain more than one standard error over it, or if
            the first ranks lose.
        before, after : dict of str to ndarray
            Scores of the held-out queries, in the order of the queries.
        """
        precision = np.stack([one.precision for one in candidates])
        part = np.repeat(
            np.arange(len(self.tests)), [len(t.queries) for t in self.tests]
        )

        def surest(rows: Any) -> Candidate:
            gains, errors = paired_gains(precision[:, rows], 0)
            return candidates[1 + int((gains - errors)[1:].argmax())]

        best = [surest(part != k) for k in range(len(self.tests))]
        kept, after = (
            self._all_scores(
                [one.maps[fold] for one, fold in zip(some, self.folds, strict=True)]
            )
            for some in (candidates[:1] * len(best), best)
        )
        before = self._all_scores([None] * len(best)) if unmapped else kept
        both = np.stack([after["map"], kept["map"]]) * self.sample_weight
        gains, errors = paired_gains(both, -1)
        chosen = candidates[0]
        first = f"ndcg@{max(self.ks)}"  # all relevant documents may gain, but not these
        loses = self.sample_weight @ (after[first] - kept[first]) < 0
        if gains[0] > errors[0] and not loses:
            chosen = surest(slice(None))
        return chosen, before, after

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


def nested_axes(objective: RetrievalObjective, maps: FloatArray) -> FloatArray:
    """Return a rotation of the mapped vectors whose first axes matter most.

    The inner product of a query u and a document v sums over the axes r of a rotation:
    ⟨u, v⟩ = Σ ⟨r, u⟩⟨r, v⟩. The mean of a term over relevant pairs is rᵀ C r, with the
    symmetric part C of the mean of u vᵀ. The axes are the eigenvectors of C plus the
    second moments of the documents, which order axes that few queries determine.
    """
    (U, _), (V, _) = objective.mapped(maps)
    weighted = objective.sample_weight.astype(U.dtype)[:, None] * U
    C = weighted.T @ (objective.weights @ V) / len(U)
    moments = (C + C.T) / 2 + V.T @ V / len(V)
    _, axes = np.linalg.eigh(moments.astype(np.float64))
    return axes[:, ::-1].T


def _total(candidate: Candidate) -> float:
    return float(candidate.precision.sum())
