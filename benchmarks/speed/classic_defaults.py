"""RCA's and MMC's choices on rows held out, beside metric-learn's, over five splits.

The ten sets of `benchmarks.speed.classic` were looked at when these choices were made;
the others were not.
"""

import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed import classic
from benchmarks.speed.timing import table
from vicinal.classic import MMC, RCA, pairs_from_labels
from vicinal.classic.rca import _ledoit_wolf

N_SPLITS = 5
PEERS = ("RCA", "MMC, diagonal")
OURS: dict[str, Callable[[Any, Any], Any]] = {
    "RCA": lambda X, y: RCA().fit(X, y),
    "RCA, Ledoit and Wolf": lambda X, y: RCA(shrinkage=_ledoit_wolf(X, y)).fit(X, y),
    "MMC, diagonal": lambda X, y: MMC("diagonal", random_state=0).fit(X, y),
    "MMC, diagonal, the optimum": lambda X, y: MMC(
        "diagonal", prior_weight=0.0, random_state=0
    ).fit(X, y),
    "MMC": lambda X, y: MMC(random_state=0).fit(X, y),
    "MMC, the optimum": lambda X, y: MMC(prior_weight=0.0, random_state=0).fit(X, y),
}
COLUMNS = ("as they are", "metric-learn RCA", "metric-learn MMC, diagonal", *OURS)
# Whose weights are looked at: the optimum beside what metric-learn ends at.
WEIGHTS = ("MMC, diagonal, the optimum", "metric-learn MMC, diagonal")


def main(quick: bool) -> None:
    """Print accuracies for each set, and gains with standard errors over the sets."""
    warnings.simplefilter("ignore")
    for title, names in (("looked at", classic.TEN), ("not looked at", classic.OTHERS)):
        means, weights = {}, {}
        for name in names:
            splits = [_one_split(name, s) for s in range(1 if quick else N_SPLITS)]
            # Where the peer fails on a split, its mean is of the others.
            means[name], weights[name] = (
                np.nanmean([found[i] for found in splits], axis=0) for i in (0, 1)
            )
            print(name, *(f"{value:.1f}" for value in means[name]), flush=True)
        rows = [[name, *(f"{x:.1f}" for x in row)] for name, row in means.items()]
        print(f"\nAccuracy of 3-NN, %; sets {title}\n")
        print(table(["", *COLUMNS], rows), "\n")
        _print_gains(np.array(list(means.values())))
        rows = [[name, *(f"{x:.2f}" for x in row)] for name, row in weights.items()]
        header = [
            f"{what}: {whose}" for what in ("weights", "MMC") for whose in WEIGHTS
        ]
        print("Effective number of weights, and MMC's objective on other pairs\n")
        print(table(["", *header], rows), "\n", flush=True)


def _one_split(name: str, seed: int) -> tuple[list[float], list[float]]:
    """Return what each map gets right, and what the weights of diagonal MMC are."""
    X, X_test, y, y_test = classic.split(
        name, seed, classic.MOST_ROWS, classic.MOST_FEATURES
    )
    calls = {peer: classic.THEIRS[peer] for peer in PEERS}
    with tempfile.TemporaryDirectory() as folder:
        theirs = classic.run_peer(X, y, calls, folder, classic.LIMIT)
    missing = np.full((1, X.shape[1]), np.nan)
    found = [np.eye(X.shape[1])]
    found += [
        missing if isinstance(one, str) else np.array(one) for _, one in theirs.values()
    ]
    found += [learn(X, y).components_ for learn in OURS.values()]
    maps = dict(zip(COLUMNS, found, strict=True))
    right = [
        classic.accuracy(A, X, y, X_test, y_test) if np.isfinite(A).all() else np.nan
        for A in maps.values()
    ]
    # The same draws for both, and not those that either has learned from.
    pairs, signs = pairs_from_labels(y, 4_000, random_state=1_000 + seed)
    gaps = X[pairs[:, 0]] - X[pairs[:, 1]]
    numbers = [_effective_number(np.square(maps[one]).sum(axis=0)) for one in WEIGHTS]
    numbers += [_far_apart(gaps @ maps[one].T, signs) for one in WEIGHTS]
    return right, numbers


def _effective_number(weights: Any) -> float:
    return float(weights.sum() ** 2 / np.square(weights).sum())


def _far_apart(gaps: Any, signs: Any) -> float:
    """Return how long pairs not alike are, in root mean squares of those alike."""
    squares = np.square(gaps).sum(axis=1)
    near, far = squares[signs == 1].mean(), np.sqrt(squares[signs == -1]).mean()
    return float(far / np.sqrt(near))


def _print_gains(means: Any) -> None:
    rows = []
    for ours, other in (
        ("RCA", "metric-learn RCA"),
        ("RCA", "RCA, Ledoit and Wolf"),
        ("MMC, diagonal", "metric-learn MMC, diagonal"),
        ("MMC, diagonal", "MMC, diagonal, the optimum"),
        ("MMC", "MMC, the optimum"),
    ):
        gain = means[:, COLUMNS.index(ours)] - means[:, COLUMNS.index(other)]
        gain = gain[np.isfinite(gain)]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        rows.append(
            [ours, other, str(len(gain)), f"{gain.mean():+.2f}", f"{error:.2f}"]
        )
    print(table(["", "over", "sets", "gain", "s.e."], rows), "\n", flush=True)
