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
from vicinal.classic import MMC, RCA

OTHERS = (
    "iris", "digits", "pima", "dermatology", "segment", "yeast", "umist", "talent_bank"
)  # fmt: skip
N_SPLITS = 5
PEERS = ("RCA", "MMC, diagonal")
OURS: dict[str, Callable[[], Any]] = {
    "RCA": RCA,
    "MMC, diagonal": lambda: MMC("diagonal", random_state=0),
    "MMC, diagonal, the optimum": lambda: MMC(
        "diagonal", prior_weight=0.0, random_state=0
    ),
    "MMC": lambda: MMC(random_state=0),
    "MMC, the optimum": lambda: MMC(prior_weight=0.0, random_state=0),
}
COLUMNS = ("as they are", "metric-learn RCA", "metric-learn MMC, diagonal", *OURS)


def main(quick: bool) -> None:
    """Print accuracies for each set, and gains with standard errors over the sets."""
    warnings.simplefilter("ignore")
    for title, names in (("looked at", classic.TEN), ("not looked at", OTHERS)):
        means = {}
        for name in names:
            found = [_one_split(name, seed) for seed in range(1 if quick else N_SPLITS)]
            # Where the peer fails on a split, its mean is of the others.
            means[name] = np.nanmean(found, axis=0)
            print(name, *(f"{value:.1f}" for value in means[name]), flush=True)
        rows = [[name, *(f"{x:.1f}" for x in row)] for name, row in means.items()]
        print(f"\nAccuracy of 3-NN, %, {N_SPLITS} splits; sets {title}\n")
        print(table(["", *COLUMNS], rows), "\n")
        _print_gains(np.array(list(means.values())))


def _one_split(name: str, seed: int) -> list[float]:
    X, X_test, y, y_test = classic.split(
        name, seed, classic.MOST_ROWS, classic.MOST_FEATURES
    )
    calls = {peer: classic.THEIRS[peer] for peer in PEERS}
    with tempfile.TemporaryDirectory() as folder:
        theirs = classic.run_peer(X, y, calls, folder, classic.LIMIT)
    maps = [np.eye(X.shape[1])]
    maps += [
        np.full((1, X.shape[1]), np.nan) if isinstance(found, str) else np.array(found)
        for _, found in theirs.values()
    ]
    maps += [make().fit(X, y).components_ for make in OURS.values()]
    return [
        classic.accuracy(A, X, y, X_test, y_test) if np.isfinite(A).all() else np.nan
        for A in maps
    ]


def _print_gains(means: Any) -> None:
    rows = []
    for ours, other in (
        ("RCA", "metric-learn RCA"),
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
