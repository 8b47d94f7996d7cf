"""The thesis' small data sets: 1-NN after NCA, by start, at d = 2 and full rank.

70/30 splits, features standardised by the training part. The last two tables ask how
the probabilities of the NCA rule compare with those of k-NN.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.papers.splits import Split, accuracy, cell, classes_of, splits
from benchmarks.speed.timing import table
from vicinal import NCA, NCAClassifier

# The thesis' figures for NCA and 1-NN, in percent.
PUBLISHED = {
    2: {"balance_scale": 90.8, "ionosphere": 79.9, "iris": 94.9, "wine": 92.4},
    None: {"balance_scale": 93.4, "ionosphere": 86.2, "iris": 95.1, "wine": 95.4},
}
STARTS = {
    2: ["auto", "pca", "lda", "rca", "whiten", "random"],
    None: ["auto", "pca", "rca", "whiten", "random"],
}


def main(n_splits: int | None) -> None:
    """Print the tables."""
    n_splits = n_splits or 40
    data = {name: classes_of(name) for name in PUBLISHED[2]}
    for d, published in PUBLISHED.items():
        rank = "full rank" if d is None else f"d = {d}"
        print(f"\n1-NN accuracy (%), {rank}, {n_splits} splits; ± one standard error\n")
        rows = []
        for name, figure in published.items():
            parts = list(splits(*data[name], n_splits))
            cells = [
                cell([accuracy(metric(d, start), part) for part in parts])
                for start in STARTS[d]
            ]
            rows.append([name, f"{figure}", *cells])
        print(table(["data", "thesis", *STARTS[d]], rows), flush=True)

    print(f"\nLog-loss on the test part, {n_splits} splits; lower is better\n")
    rows = []
    for name, (X, y) in data.items():
        losses = np.array([_losses(part) for part in splits(X, y, n_splits)])
        errors = losses.std(axis=0, ddof=1) / np.sqrt(n_splits)
        pairs = zip(losses.mean(axis=0), errors, strict=True)
        rows.append([name, *(f"{mean:.2f} ± {error:.2f}" for mean, error in pairs)])
    print(table(["data", *(name for name, _ in MODELS)], rows))


MODELS = [
    ("3-NN", KNeighborsClassifier(3)),
    ("15-NN", KNeighborsClassifier(15)),
    ("NCA rule, f", NCAClassifier(objective="expected", alpha=0.0)),
    ("NCA rule, g", NCAClassifier(objective="log", alpha=0.0)),
    ("NCA rule, g, alpha=0.01", NCAClassifier(objective="log", alpha=0.01)),
    ("NCA rule, defaults", NCAClassifier()),
]


def metric(d: int | None, start: str) -> NCA:
    """Return the estimator of a cell."""
    return NCA(d, init=start, max_iter=200, random_state=0)


def _losses(part: Split) -> list[float]:
    X_train, X_test, y_train, y_test = part
    losses = []
    for _, model in MODELS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            proba = model.fit(X_train, y_train).predict_proba(X_test)
        classes = np.arange(proba.shape[1])
        proba = np.clip(proba.astype(np.float64), 1e-6, 1)
        proba /= proba.sum(axis=1, keepdims=True)
        losses.append(float(log_loss(y_test, proba, labels=classes)))
    return losses
