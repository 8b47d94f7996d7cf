"""k-means after metrics that were learned from must-links and cannot-links."""

import warnings
from collections.abc import Callable

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.papers.experiment import (
    Case,
    Experiment,
    Outcome,
    Page,
    Results,
    Scope,
    mean_and_error,
)
from benchmarks.papers.splits import QUICK, classes_of
from benchmarks.speed.timing import table
from vicinal import PairNCA
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import ITML, MMC, RCA, pairs_from_labels

TABLES = (
    *("iris", "wine", "breast_cancer", "ionosphere", "dermatology", "balance_scale"),
    *("digits", "segment"),
)
N_PAIRS = (50, 200, 1000)
Fit = Callable[[FloatArray, IntArray, IntArray], FloatArray]


def by_chunklets(X: FloatArray, pairs: IntArray, links: IntArray) -> FloatArray:
    """Return the rows after RCA: must-links that share a row are one chunklet."""
    a, b = pairs[links == 1].T
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(len(X), len(X)))
    chunklet = connected_components(graph, directed=False)[1]
    alone = np.bincount(chunklet)[chunklet] == 1
    mapped: FloatArray = RCA().fit(X, np.where(alone, -1, chunklet)).transform(X)
    return mapped


MAPS: dict[str, Fit] = {
    "k-means": lambda X, _pairs, _links: X,
    "ITML": lambda X, pairs, links: (
        ITML(preprocessor=X, random_state=0).fit(pairs, links).transform(X)
    ),
    "MMC": lambda X, pairs, links: (
        MMC(preprocessor=X, random_state=0).fit(pairs, links).transform(X)
    ),
    "RCA": by_chunklets,
    "PairNCA": lambda X, pairs, links: (
        PairNCA(alpha=0.01, random_state=0).fit(X, pairs[links == 1]).transform(X)
    ),
}


def cases(scope: Scope) -> list[Case]:
    """Return metric, number of pairs, table and seed of each run."""
    names, sizes = (QUICK, N_PAIRS[:1]) if scope.quick else (TABLES, N_PAIRS)
    return [
        (of, n_pairs, name, seed)
        for name in names
        for n_pairs in sizes
        for seed in scope.repeats(5)
        for of in MAPS
    ]


def run(of: str, n_pairs: int, name: str, seed: int) -> Outcome:
    """Return the adjusted Rand index over the rows that are in no pair."""
    X, y = classes_of(name)
    X = StandardScaler().fit_transform(X)
    # Half of the rows are never in a pair.
    asked = np.random.default_rng(seed).permutation(len(X))[: len(X) // 2]
    pairs, links = pairs_from_labels(y[asked], n_pairs, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Z = MAPS[of](X, asked[pairs], links)
    means = KMeans(len(np.unique(y)), n_init=10, random_state=0).fit(Z)
    others = np.setdiff1d(np.arange(len(X)), asked)
    return {"ari": float(adjusted_rand_score(y[others], means.labels_[others]))}


def show(results: Results) -> Page:
    """Return the mean over tables by number of pairs, then the table by table."""
    sizes = list(dict.fromkeys(size for _, size in results.heads(2)))
    names = list(dict.fromkeys(str(name) for *_, name in results.heads(3)))
    means, by_table = [], []
    for of in MAPS:
        values = {
            (size, name): 100 * results.values("ari", of, size, name)
            for size in sizes
            for name in names
        }
        means.append(
            [of] + [mean_and_error([values[s, n].mean() for n in names]) for s in sizes]
        )
        for size in sizes if of != "k-means" else sizes[:1]:
            label = of if of == "k-means" else f"{of}, {size} pairs"
            by_table.append([label, *(mean_and_error(values[size, n]) for n in names)])
    return Page(
        f"Mean adjusted Rand index (%) over {len(names)} tables, by the number of "
        f"pairs:\n\n{table(['', *map(str, sizes)], means)}\n\n"
        f"Table by table:\n\n{table(['', *names], by_table)}"
    )


EXPERIMENT = Experiment(
    name="constraints",
    title="Clusters from must-links and cannot-links",
    about="""
k-means on standardised columns, and after metrics that were learned from pairs (not of
the papers): half of the pairs are must-links, half cannot-links, drawn from the labels
of one half of the rows. PairNCA (alpha=0.01) and RCA use the must-links alone. All rows
are clustered, with the true number of clusters; the score is the adjusted Rand index of
the other half of the rows. ± a standard error over tables, or over five draws.
""",
    cases=cases,
    run=run,
    show=show,
    needs=TABLES,
)
