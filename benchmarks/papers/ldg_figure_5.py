"""LDG's figure 5: 3-NN accuracy in a target domain with two labelled rows per class.

Office + Caltech, ten classes, 800 visual words counted; all pairs of amazon, dslr and
webcam. All source rows, two random target rows of each class, the rest of the target
to test with; each domain standardised by its labelled rows, features that are constant
in either dropped. PCA and FDA of the pooled domains, FDA also with its covariance
shrunk; ITML across the domains (2,000 pairs, gamma 1, at most 60 iterations), whole and
with features picked by MRMR.
"""

import os
import time
import warnings
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.splits import cell
from benchmarks.speed.timing import table
from vicinal import TransferLDG
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import FDA, MRMR, TransferITML

DOMAINS = {"amazon": 0, "dslr": 2, "webcam": 3}
DIMENSIONS = [5, 10, 15, 20, 30, 50, 75, 100]
ROWS_PER_CLASS = 2
ITERATIONS = 60
# What is said of a method beside its best dimension: what TransferLDG would choose
# with ten classes, and ITML without picking features.
ALSO = {"transfer LDG": "15", "transfer ITML": "all"}

Mapped = tuple[FloatArray, FloatArray, FloatArray]
"""Source, labelled target and test rows, dimensions in their order."""


def main(n_splits: int | None) -> None:
    """Print a table of accuracies by dimension for each pair, and one of the best."""
    n_splits = n_splits or 10
    folder = Path(os.environ["VICINAL_DATA"])
    with np.load(folder / "office_caltech10_surf.npz", allow_pickle=False) as file:
        X, y, domain = file["X"].astype(np.float64), file["y"], file["domain"]
    best = []
    for source, target in permutations(DOMAINS, 2):
        ours, theirs = domain == DOMAINS[source], domain == DOMAINS[target]
        scores: dict[str, dict[str, list[float]]] = {}
        seconds: dict[str, list[float]] = {}
        chosen = []
        for seed in range(n_splits):
            part = Pair.draw(X[ours], y[ours], X[theirs], y[theirs], seed)
            for name, learn in METHODS.items():
                started = time.perf_counter()
                mapped = learn(part)
                seconds.setdefault(name, []).append(time.perf_counter() - started)
                rows = scores.setdefault(name, {})
                for d, accuracy in part.accuracies(mapped).items():
                    rows.setdefault(d, []).append(accuracy)
            chosen.append((part.alpha, part.gamma, part.k))
        print(f"\n{source} → {target}, {n_splits} splits; (α, γ, k): {chosen}\n")
        columns = [*map(str, DIMENSIONS), "all"]
        lines = [
            [name, *(cell(rows[d]) if d in rows else "–" for d in columns)]
            for name, rows in scores.items()
        ]
        print(table(["method", *columns], lines), flush=True)
        line = [f"{source} → {target}"]
        for name, rows in scores.items():
            means = {d: float(np.mean(found)) for d, found in rows.items()}
            d = max(means, key=means.__getitem__)
            line.append(f"{cell(rows[d])} (d = {d}, {np.mean(seconds[name]):.1f} s)")
        line += [cell(scores[name][d]) for name, d in ALSO.items()]
        best.append(line)
    print(f"\n3-NN accuracy (%) at each method's best dimension, {n_splits} splits\n")
    also = [f"{name}, d = {d}" for name, d in ALSO.items()]
    print(table(["pair", *METHODS, *also], best))


class Pair:
    """One random split of a pair of domains."""

    def __init__(
        self,
        source: tuple[FloatArray, IntArray],
        target: tuple[FloatArray, IntArray],
        test: tuple[FloatArray, IntArray],
    ) -> None:
        self.source, self.target, self.test = source, target, test
        self.alpha, self.gamma, self.k = np.nan, np.nan, 0
        kept = (source[0].std(axis=0) > 0) & (target[0].std(axis=0) > 0)
        of_source, of_target = (
            (points[:, kept].mean(axis=0), points[:, kept].std(axis=0))
            for points, _ in (source, target)
        )
        self.standardised: Mapped = (
            (source[0][:, kept] - of_source[0]) / of_source[1],
            (target[0][:, kept] - of_target[0]) / of_target[1],
            (test[0][:, kept] - of_target[0]) / of_target[1],
        )

    @classmethod
    def draw(
        cls,
        X_source: FloatArray,
        y_source: IntArray,
        X: FloatArray,
        y: IntArray,
        seed: int,
    ) -> "Pair":
        """Draw the labelled rows of the target."""
        rng = np.random.default_rng(seed)
        labelled = np.concatenate([
            rng.permutation(np.flatnonzero(y == label))[:ROWS_PER_CLASS]
            for label in np.unique(y)
        ])  # fmt: skip
        rest = np.setdiff1d(np.arange(len(y)), labelled)
        return cls((X_source, y_source), (X[labelled], y[labelled]), (X[rest], y[rest]))

    @property
    def pooled(self) -> tuple[FloatArray, IntArray]:
        """The labelled rows of both domains."""
        source, target, _ = self.standardised
        return np.vstack([source, target]), np.r_[self.source[1], self.target[1]]

    def accuracies(self, mapped: Mapped) -> dict[str, float]:
        """Return 3-NN accuracy in the first dimensions, and in all of them."""
        source, target, test = mapped
        rows, labels = np.vstack([source, target]), self.pooled[1]
        cuts = {f"{d}": d for d in DIMENSIONS if d <= rows.shape[1]}
        return {
            name: float(
                KNeighborsClassifier(3)
                .fit(rows[:, :d], labels)
                .score(test[:, :d], self.test[1])
            )
            for name, d in {**cuts, "all": rows.shape[1]}.items()
        }


def by_ldg(part: Pair) -> Mapped:
    """Return the rows under TransferLDG, all of its choices by itself."""
    ldg = TransferLDG(max(DIMENSIONS), random_state=0)
    ldg.fit(*part.target, X_source=part.source[0], y_source=part.source[1])
    part.alpha, part.gamma, part.k = ldg.alpha_, ldg.gamma_, ldg.n_neighbors_
    return (
        ldg.transform_source(part.source[0]),
        ldg.transform(part.target[0]),
        ldg.transform(part.test[0]),
    )


def by_pca(part: Pair) -> Mapped:
    """Return the rows under the pooled rows' principal components."""
    pca = PCA(max(DIMENSIONS), svd_solver="full").fit(part.pooled[0])
    source, target, test = map(pca.transform, part.standardised)
    return source, target, test


def by_fda(part: Pair) -> Mapped:
    """Return the rows under the pooled rows' discriminants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of collinear features
        fda = LinearDiscriminantAnalysis().fit(*part.pooled)
    source, target, test = map(fda.transform, part.standardised)
    return source, target, test


def by_shrunk_fda(part: Pair) -> Mapped:
    """Return the same, with the scatter within the classes shrunk."""
    source, target, test = map(FDA(None).fit(*part.pooled).transform, part.standardised)
    return source, target, test


def by_itml(part: Pair) -> Mapped:
    """Return the rows under TransferITML, features in the order MRMR picks them."""
    source, target, test = part.standardised
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        itml = TransferITML(
            1.0, n_constraints=2000, max_iter=ITERATIONS, random_state=0
        ).fit(target, part.target[1], X_source=source, y_source=part.source[1])
        Z, labels = itml.transform(part.pooled[0]), part.pooled[1]
        picks = MRMR(max(DIMENSIONS)).fit(Z, labels).order_
    rest = np.setdiff1d(np.arange(Z.shape[1]), picks)
    order = np.r_[picks, rest]
    source, target, test = (itml.transform(points)[:, order] for points in
                            (source, target, test))  # fmt: skip
    return source, target, test


METHODS: dict[str, Callable[[Pair], Mapped]] = {
    "transfer LDG": by_ldg,
    "pooled PCA": by_pca,
    "pooled FDA": by_fda,
    "pooled FDA, shrunk": by_shrunk_fda,
    "transfer ITML": by_itml,
}
