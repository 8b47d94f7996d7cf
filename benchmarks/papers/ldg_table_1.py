"""LDG's table 1: 3-NN accuracy when the dimension is chosen by leaving one out.

Random 70/30 splits, at most 3,000 training rows, features standardised by the training
part. LDG chooses neighbours, gamma and dimension by the paper's rules; the dimension of
the others grows as LDG's does. ITML has 20 pairs for each pair of classes and gamma 1.
Seconds are for all of it, but not for the classification. ITML is left out above 100
features, refinement (which the paper does not measure) above 1,000 rows.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.splits import Split, cell, classes_of, splits
from benchmarks.speed.timing import table
from vicinal import LDG
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import ITML, LFDA, MRMR
from vicinal.ldg._model_selection import grown_dimensions

PUBLISHED_METHODS = ["LDG", "PCA", "FDA", "LFDA", "ITML"]
# Their accuracies (%), and LDG's seconds. None is what could not be computed.
PUBLISHED: dict[str, tuple[list[float | None], str]] = {
    "pima": ([71.3, 67.9, 72.7, 69.2, 69.7], "1"),
    "wine": ([97.7, 95.8, 98.5, 98.5, 97.2], "< 1"),
    "segment": ([96.5, 92.5, 96.2, 95.0, 95.6], "4"),
    "german_numeric": ([71.1, 68.9, 71.4, 71.9, 69.5], "< 1"),
    "ringnorm": ([86.9, 85.8, 71.9, 85.8, 80.6], "9"),
    "dermatology": ([89.2, 92.5, 91.5, 92.5, 93.4], "< 1"),
    "ionosphere": ([86.2, 85.2, 83.2, 83.1, 84.3], "< 1"),
    "satimage": ([90.1, 90.1, 86.6, 88.3, 88.0], "10"),
    "usps": ([93.5, 92.0, 90.9, 92.6, 90.8], "24"),
    "isolet_1and5": ([87.9, 73.1, 88.9, 90.2, None], "94"),
    "mnist": ([89.1, 87.5, 76.2, 32.7, None], "55"),
    "arcene": ([76.0, 61.3, 53.7, None, None], "578"),
    "dexter": ([84.0, 58.1, None, None, None], "4365"),
}
MOST_ROWS = 3000
MOST_DIMENSIONS = 100
MOST_FEATURES_FOR_ITML = 100
MOST_ROWS_TO_REFINE = 1000

Map = Callable[[FloatArray], FloatArray]


def main(n_splits: int | None) -> None:
    """Print the table, a row at a time."""
    n_splits = n_splits or 10
    names = ["LDG", *OTHERS]
    print(f"3-NN accuracy (%), {n_splits} splits; ± one standard error\n")
    header = ["data", "n × D"]
    for name in names:
        header += [name, "paper", "s"]
    header += ["paper, s", "k, γ, d", "LDG, d = classes + 5"]
    print(table(header, []), flush=True)
    for name, (figures, seconds_then) in PUBLISHED.items():
        X, y = classes_of(name)
        rows: dict[str, list[tuple[float, float]]] = {method: [] for method in names}
        chosen, fixed = [], []
        shape = ""
        for split in splits(X, y, n_splits, MOST_ROWS):
            shape = f"{split[0].shape[0]} × {split[0].shape[1]}"
            started = time.perf_counter()
            ldg = LDG("grow", random_state=0).fit(split[0], split[2])
            spent = time.perf_counter() - started
            rows["LDG"].append((score(ldg.transform, split), spent))
            chosen.append((ldg.n_neighbors_, ldg.gamma_, ldg.n_components_))
            ldg.set_n_components(min(len(ldg.classes_) + 5, *split[0].shape))
            fixed.append(score(ldg.transform, split))
            for other, learn in OTHERS.items():
                started = time.perf_counter()
                found = learn(split[0], split[2])
                spent = time.perf_counter() - started
                if found is not None:
                    rows[other].append((score(found, split), spent))
        line = [name, shape]
        then = dict(zip(PUBLISHED_METHODS, figures, strict=True))
        for method in names:
            measured = np.array(rows[method])
            there = len(measured) > 0
            line.append(cell(measured[:, 0]) if there else "–")
            line.append("–" if then.get(method) is None else f"{then[method]}")
            line.append(f"{measured[:, 1].mean():.2f}" if there else "–")
        line.append(seconds_then)
        k, gamma, d = np.median(chosen, axis=0)
        print(
            table([], [[*line, f"{k:g}, {gamma:.1f}, {d:g}", cell(fixed)]])
            .splitlines()[-1],
            flush=True,
        )  # fmt: skip


def score(found: Map, split: Split) -> float:
    """Return 3-NN accuracy on the test part under a map."""
    X_train, X_test, y_train, y_test = split
    knn = KNeighborsClassifier(3).fit(found(X_train), y_train)
    return float(knn.score(found(X_test), y_test))


def cut(estimator: Any, X: FloatArray, y: IntArray) -> Map:
    """Return the estimator's map with its dimension grown as LDG's is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of collinear features, and early stops
        Z = estimator.fit(X, y).transform(X)[:, :MOST_DIMENSIONS]
    d = grown_dimensions(Z, y, 1)
    return lambda points: estimator.transform(points)[:, :d]


def by_pca(X: FloatArray, y: IntArray) -> Map:
    """Return PCA's map."""
    return cut(PCA(min(MOST_DIMENSIONS, *X.shape), random_state=0), X, y)


def by_fda(X: FloatArray, y: IntArray) -> Map:
    """Return the map of Fisher's discriminant analysis."""
    return cut(LinearDiscriminantAnalysis(), X, y)


def by_lfda(X: FloatArray, y: IntArray) -> Map:
    """Return LFDA's map."""
    return cut(
        LFDA(min(MOST_DIMENSIONS, X.shape[1], len(X) - 1), embedding="weighted"), X, y
    )


def by_itml(X: FloatArray, y: IntArray) -> Map | None:
    """Return the map of ITML and, of its features, those that MRMR picks first."""
    if X.shape[1] > MOST_FEATURES_FOR_ITML:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n_constraints = min(20 * len(np.unique(y)) ** 2, 10_000)
        itml = ITML(1.0, n_constraints=n_constraints, random_state=0).fit(X, y)
        Z = itml.transform(X)
        order = MRMR("all").fit(Z, y).order_
    d = grown_dimensions(Z[:, order], y, 1)
    return lambda points: itml.transform(points)[:, order[:d]]


def by_refined(X: FloatArray, y: IntArray) -> Map | None:
    """Return LDG's map after descending the objective that it approximates."""
    if len(X) > MOST_ROWS_TO_REFINE:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ldg = LDG("grow", refine=True, max_iter=100, random_state=0).fit(X, y)
    return ldg.transform


OTHERS: dict[str, Callable[[FloatArray, IntArray], Map | None]] = {
    "PCA": by_pca,
    "FDA": by_fda,
    "LFDA": by_lfda,
    "ITML": by_itml,
    "LDG, refined": by_refined,
}
