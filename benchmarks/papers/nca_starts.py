"""Which start serves NCA best: 1-NN after 50 iterations, on small data sets."""

import numpy as np

from benchmarks.papers.splits import accuracy, cell, classes_of, splits
from benchmarks.speed.timing import table
from vicinal import NCA

NAMES = [
    "balance_scale", "ionosphere", "iris", "wine", "pima", "german_numeric",
    "dermatology", "breast_cancer", "yeast",
]  # fmt: skip
STARTS = ["auto", "pca", "lda", "rca", "whiten"]


def main(n_splits: int | None) -> None:
    """Print the table, and how far each start is from "auto" on average."""
    n_splits = n_splits or 10
    rows, means = [], []
    for name in NAMES:
        X, y = classes_of(name)
        parts = list(splits(X, y, n_splits))
        for d in (2, min(5, X.shape[1] - 1)):
            scores = [
                [accuracy(NCA(d, init=start, random_state=0), part) for part in parts]
                for start in STARTS
            ]
            means.append([100 * np.mean(score) for score in scores])
            rows.append([f"{name} → {d}", f"{y.max() + 1}", *map(cell, scores)])
    print(f"1-NN accuracy (%), {n_splits} splits of 70/30; ± one standard error\n")
    print(table(["data → d", "classes", *STARTS], rows))
    gains = np.array(means) - np.array(means)[:, :1]
    errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    print("\nMean gain over auto, in points, ± its standard error over the rows:")
    for start, gain, error in zip(STARTS, gains.mean(axis=0), errors, strict=True):
        print(f"  {start}: {gain:+.1f} ± {error:.1f}")
