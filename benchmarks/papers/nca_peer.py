"""1-NN after NCA against scikit-learn's NCA, on every data set with n ≤ 3,000."""

import numpy as np
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.papers.splits import accuracy, cell, classes_of, splits
from benchmarks.speed.timing import table
from vicinal import NCA

NAMES = [
    "iris", "wine", "breast_cancer", "digits", "balance_scale", "pima", "segment",
    "german_numeric", "dermatology", "ionosphere", "yeast", "olivetti", "umist",
    "allaml", "arcene", "dexter", "office_caltech10_surf",
]  # fmt: skip


def main(n_splits: int | None) -> None:
    """Print the table; both with their defaults, from the same start."""
    n_splits = n_splits or 3
    rows, differences = [], []
    for name in NAMES:
        X, y = classes_of(name)
        d = min(10, X.shape[1])
        parts = list(splits(X, y, n_splits))
        peer, ours = (
            np.array([accuracy(kind(d, random_state=0), part) for part in parts])
            for kind in (NeighborhoodComponentsAnalysis, NCA)
        )
        differences.append(ours.mean() - peer.mean())
        shape = f"{X.shape[0]} × {X.shape[1]} → {d}"
        rows.append(
            [name, shape, cell(peer), cell(ours), f"{100 * differences[-1]:+.1f}"]
        )
        print(rows[-1], flush=True)
    print(f"\n1-NN accuracy (%), {n_splits} splits of 70/30; ± one standard error\n")
    print(table(["data", "n × D → d", "scikit-learn", "vicinal", "difference"], rows))
    print(f"\nMean difference: {100 * np.mean(differences):+.2f} points")
