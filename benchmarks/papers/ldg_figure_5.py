"""LDG's figure 5: 3-NN in a target domain of which two rows of each class are known."""

import os
import time
import warnings
from collections.abc import Callable
from functools import cached_property, lru_cache
from itertools import permutations
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.ndimage import zoom
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.drawing import draw_curves, panels
from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    among_best,
    mean_and_error,
)
from benchmarks.papers.splits import classes_of
from benchmarks.speed.timing import table
from vicinal import TransferLDG
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import FDA, ITML, MRMR, TransferITML

DOMAINS = {"amazon": 0, "dslr": 2, "webcam": 3}
DIGITS = ("mnist", "usps")
MOST_SOURCE_DIGITS = 3000
DIMENSIONS = (5, 10, 15, 20, 30, 50, 75, 100)
ROWS_PER_CLASS = 2
N_PAIRS = 2000
ITERATIONS = 60

Mapped = tuple[FloatArray, FloatArray, FloatArray]
"""Source, labelled target and test rows, dimensions in their order."""


def cases(scope: Scope) -> list[Case]:
    """Return source, target and seed of each run."""
    pairs = [*permutations(DOMAINS, 2), *permutations(DIGITS, 2)]
    if scope.quick:
        pairs = [("even digits", "odd digits")]
    return [
        (source, target, seed) for source, target in pairs for seed in scope.repeats(10)
    ]


def run(source: str, target: str, seed: int) -> Outcome:
    """Return the accuracy by method and dimension, and the seconds by method."""
    part = Pair.draw(*_domain(source), *_domain(target), seed)
    outcome: Outcome = {}
    for name, learn in METHODS.items():
        started = time.perf_counter()
        mapped = learn(part)
        outcome[f"{name}, seconds"] = time.perf_counter() - started
        for d, accuracy in part.accuracies(mapped).items():
            outcome[f"{name}, d = {d}"] = accuracy
    return outcome


@lru_cache(maxsize=2)
def _domain(name: str) -> tuple[FloatArray, IntArray]:
    """Return the rows of a domain, and their classes."""
    if name in DOMAINS:
        folder = Path(os.environ["VICINAL_DATA"])
        with np.load(folder / "office_caltech10_surf.npz", allow_pickle=False) as file:
            own = file["domain"] == DOMAINS[name]
            return file["X"][own].astype(np.float64), file["y"][own]
    if name.endswith("digits"):
        X, y = load_digits(return_X_y=True)
        rows = slice(0, 400, 2) if name == "even digits" else slice(1, 400, 2)
        return X[rows], y[rows]
    X, y = classes_of(name)
    order = np.random.default_rng(0).permutation(len(X))[:MOST_SOURCE_DIGITS]
    X, y = X[order].astype(np.float64), y[order]
    if name == "mnist":
        images = X.reshape(-1, 28, 28)
        X = zoom(images, (1, 16 / 28, 16 / 28), order=1).reshape(len(X), -1)
    return X, y


class Pair:
    """One random split of a pair of domains."""

    def __init__(
        self,
        source: tuple[FloatArray, IntArray],
        target: tuple[FloatArray, IntArray],
        test: tuple[FloatArray, IntArray],
    ) -> None:
        self.source, self.target, self.test = source, target, test
        kept = (source[0].std(axis=0) > 0) & (target[0].std(axis=0) > 0)
        of_source, of_target = (
            (points[:, kept].mean(axis=0), points[:, kept].std(axis=0))
            for points, _ in (source, target)
        )
        self.standardized: Mapped = (
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
        labeled = np.concatenate([
            rng.permutation(np.flatnonzero(y == label))[:ROWS_PER_CLASS]
            for label in np.unique(y)
        ])  # fmt: skip
        rest = np.setdiff1d(np.arange(len(y)), labeled)
        return cls((X_source, y_source), (X[labeled], y[labeled]), (X[rest], y[rest]))

    @property
    def pooled(self) -> tuple[FloatArray, IntArray]:
        """The labelled rows of both domains."""
        source, target, _ = self.standardized
        return np.vstack([source, target]), np.r_[self.source[1], self.target[1]]

    @cached_property
    def itml(self) -> FloatArray:
        """Λ^½ Lᵀ of the metric M = L Λ Lᵀ that TransferITML learns."""
        source, target, _ = self.standardized
        itml = TransferITML(
            1.0, n_constraints=N_PAIRS, max_iter=ITERATIONS, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            itml.fit(target, self.target[1], X_source=source, y_source=self.source[1])
        return itml.components_

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


def _most(part: Pair) -> int:
    """Return how many dimensions there are to learn."""
    return min(max(DIMENSIONS), part.standardized[0].shape[1])


def by_ldg(part: Pair) -> Mapped:
    """Return the rows under TransferLDG, all of its choices by itself."""
    ldg = TransferLDG(_most(part), random_state=0)
    ldg.fit(*part.target, X_source=part.source[0], y_source=part.source[1])
    return (
        ldg.transform_source(part.source[0]),
        ldg.transform(part.target[0]),
        ldg.transform(part.test[0]),
    )


def by_pca(part: Pair) -> Mapped:
    """Return the rows under the pooled rows' principal components."""
    pca = PCA(_most(part), svd_solver="full").fit(part.pooled[0])
    source, target, test = map(pca.transform, part.standardized)
    return source, target, test


def by_fda(part: Pair) -> Mapped:
    """Return the rows under the pooled rows' discriminants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of collinear features
        fda = LinearDiscriminantAnalysis().fit(*part.pooled)
    source, target, test = map(fda.transform, part.standardized)
    return source, target, test


def by_shrunk_fda(part: Pair) -> Mapped:
    """Return the same, with the scatter within the classes shrunk."""
    source, target, test = map(FDA(None).fit(*part.pooled).transform, part.standardized)
    return source, target, test


def by_itml(part: Pair) -> Mapped:
    """Return the rows under TransferITML, features in the order MRMR picks them."""
    return _picked(part, part.itml)


def by_itml_root(part: Pair) -> Mapped:
    """Return the same with the features of M^½ x, one for each word or pixel."""
    U, values, _ = np.linalg.svd(part.itml.T, full_matrices=False)
    return _picked(part, (U * values) @ U.T)


def by_itml_of_any_pairs(part: Pair) -> Mapped:
    """Return the rows under ITML, whose pairs are any target row and any source row.

    So do the authors of ITML draw pairs: most are of two classes.
    """
    source, target, _ = part.standardized
    rng = np.random.default_rng(0)
    first, second = (rng.integers(len(rows), size=N_PAIRS) for rows in (target, source))
    alike = part.target[1][first] == part.source[1][second]
    pairs = np.stack([target[first], source[second]], axis=1)
    itml = ITML(1.0, max_iter=ITERATIONS, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        itml.fit(pairs, np.where(alike, 1, -1))
    return _picked(part, itml.components_)


def _picked(part: Pair, components: FloatArray) -> Mapped:
    """Return mapped rows, features in the order in which MRMR picks them."""
    Z, labels = part.pooled[0] @ components.T, part.pooled[1]
    picks = MRMR(_most(part)).fit(Z, labels).order_
    rest = np.setdiff1d(np.arange(Z.shape[1]), picks)
    order = np.r_[picks, rest]
    source, target, test = (
        points @ components[order].T for points in part.standardized
    )
    return source, target, test


METHODS: dict[str, Callable[[Pair], Mapped]] = {
    "transfer LDG": by_ldg,
    "pooled PCA": by_pca,
    "pooled FDA": by_fda,
    "pooled FDA, shrunk": by_shrunk_fda,
    "transfer ITML": by_itml,
    "transfer ITML, M^½": by_itml_root,
    "transfer ITML, any pairs": by_itml_of_any_pairs,
}
IN_THE_PAPER = ("transfer LDG", "pooled PCA", "pooled FDA", "transfer ITML")
IN_ANOTHER_READING = (*IN_THE_PAPER[:3], "transfer ITML, M^½")


def show(results: Results) -> Page:
    """Return accuracies at the best dimension of each method, and the panels."""
    pairs = list(results.heads(2))
    columns = [*map(str, DIMENSIONS), "all"]
    found = {
        pair: {
            method: {
                d: results.values(f"{method}, d = {d}", *pair)
                for d in columns
                if results.values(f"{method}, d = {d}", *pair).size
            }
            for method in METHODS
        }
        for pair in pairs
    }
    rows = []
    for pair, by_method in found.items():
        row = [f"{pair[0]} → {pair[1]}"]
        for of in by_method.values():
            d = max(of, key=lambda d: float(of[d].mean()))
            row.append(f"{mean_and_error(of[d], factor=100)} (d = {d})")
        row.append(mean_and_error(by_method["transfer ITML"]["all"], factor=100))
        rows.append(row)
    text = "3-NN accuracy (%) at each method's best dimension, ± a standard error:\n\n"
    text += table(["pair", *METHODS, "transfer ITML, all features"], rows)
    text += "\n\nAt how many of the dimensions each of the paper's methods is best, or "
    text += "not significantly below the best\n(paired t-test, 95 %; the paper's "
    text += "diamonds); FDA has at most nine dimensions:"
    for methods in (IN_THE_PAPER, IN_ANOTHER_READING):
        marked = [
            [f"{pair[0]} → {pair[1]}", *_times_best(by_method, methods)]
            for pair, by_method in found.items()
        ]
        text += "\n\n" + table(["pair", *methods, "of"], marked)

    def draw() -> Figure:
        n_columns = min(4, len(pairs))
        figure, axes = panels(-(-len(pairs) // n_columns), n_columns, 2.8)
        for ax, (pair, by_method) in zip(axes.flat, found.items(), strict=False):
            title = f"{pair[0]} → {pair[1]}"
            for method, of in by_method.items():
                known = [d for d in of if d != "all"]
                curve = {method: [100 * of[d] for d in known]}
                draw_curves(ax, [float(d) for d in known], curve, title=title)
            ax.set_xlabel("dimension")
        axes[0, 0].set_ylabel("3-NN accuracy (%)")
        labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(*labels, loc="outside lower center", ncols=4)
        return figure

    return Page(text, draw)


def _times_best(
    by_method: dict[str, dict[str, NDArray[np.float64]]], methods: tuple[str, ...]
) -> list[str]:
    """Return at how many dimensions a method is among the best, and of how many."""
    shown = [d for d in map(str, DIMENSIONS) if d in by_method[methods[0]]]
    best = [
        among_best({of: by_method[of][d] for of in methods if d in by_method[of]})
        for d in shown
    ]
    counts = [sum(method in names for names in best) for method in methods]
    return [*map(str, counts), str(len(shown))]


EXPERIMENT = Experiment(
    name="ldg-figure-5",
    title="LDG, figure 5: transfer between domains",
    about=f"""
Two labelled rows of each class in the target domain, all rows of the source, the rest
of the target to test with; each domain standardised by its labelled rows, features
that are constant in either dropped. Office + Caltech (ten classes, 800 visual words;
the paper has thirty classes), and MNIST at 16 × 16 pixels against USPS with
{MOST_SOURCE_DIGITS:,} random digits of each. PCA and FDA of the pooled domains, FDA
also with its covariance shrunk; ITML across the domains ({N_PAIRS:,} pairs, half of
one class and half of two, gamma 1, at most {ITERATIONS} iterations), with features in
the order of MRMR, and whole.

Two more readings of the paper's ITML are tried. The paper writes M = L Λ Lᵀ and picks
among the features Λ^½ Lᵀ x, the projections on eigenvectors; "M^½" picks among those
of M^½ x, which is the same metric with one feature for each word or pixel. "Any pairs"
draws {N_PAIRS:,} pairs of any target and any source row, as the authors of ITML do, of
which nine in ten are of two classes.

With M^½ nearly all that the paper says of its figure comes out: transfer LDG is best
or tied at most dimensions of every pair, pooled FDA is poor, and ITML is best with no
reduction at all, but not above LDG's best; pooled PCA comes near LDG on amazon →
webcam (there: with amazon as the source) and in digits. With the features as the
paper writes them ITML is ahead of LDG on most pairs of Office, however its pairs are
drawn. We take it that the paper's program picked among the former. One more reading
was tried by hand, on one split of amazon → dslr: ITML's own cyclic projections, ended
after one or three rounds, as the limit of its authors' program would end them with
thirty classes. It moves ITML by a few points and does not bring LDG ahead.
""",
    cases=cases,
    run=run,
    show=show,
    needs=("office_caltech10_surf", "mnist", "usps"),
)
