"""DANN beside k-NN: what its metrics gain, with and without shrinkage, and its time.

Digits led to the shrinkage; the other tables did not.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.speed import classic
from benchmarks.speed.timing import table
from vicinal.classic import DANNClassifier

MODELS: dict[str, Callable[[], Any]] = {
    "5-NN": lambda: KNeighborsClassifier(5),
    "DANN": DANNClassifier,
    "without shrinkage": lambda: DANNClassifier(shrinkage=0.0),
    "three updates": lambda: DANNClassifier(n_updates=3),
}
N_SPLITS = 5
MOST_ROWS = 1_000


def main(quick: bool) -> None:
    """Print accuracies on eighteen tables, and gains over 5-NN; `quick`: one split."""
    warnings.simplefilter("ignore")
    names = ("digits", *classic.TEN, *(n for n in classic.OTHERS if n != "digits"))
    n_splits = 1 if quick else N_SPLITS
    means, seconds = {}, {}
    for name in names:
        found = [_one_split(name, seed) for seed in range(n_splits)]
        means[name], seconds[name] = np.mean(found, axis=0).T
        print(name, *(f"{value:.1f}" for value in means[name]), flush=True)
    rows = [
        [name, *(f"{value:.1f}" for value in means[name]), f"{seconds[name][1]:.2f}"]
        for name in names
    ]
    gains = np.array([means[name] - means[name][0] for name in names[1:]])
    errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    cells = [
        f"{gain:+.2f} ± {error:.2f}"
        for gain, error in zip(gains.mean(axis=0), errors, strict=True)
    ]
    rows.append(["gain over 5-NN, without digits", "", *cells[1:], ""])
    print(f"\nAccuracy, %, {n_splits} splits; at most {MOST_ROWS} rows\n")
    print(table(["", *MODELS, "s of DANN, fit and test"], rows), "\n", flush=True)


def _one_split(name: str, seed: int) -> list[tuple[float, float]]:
    X, X_test, y, y_test = classic.split(name, seed, MOST_ROWS, classic.MOST_FEATURES)
    found = []
    for make in MODELS.values():
        start = time.perf_counter()
        right = 100 * make().fit(X, y).score(X_test, y_test)
        found.append((right, time.perf_counter() - start))
    return found
