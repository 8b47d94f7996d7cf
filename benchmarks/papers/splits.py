"""Data, random splits and accuracies, the same way in every comparison."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from vicinal._typing import FloatArray, IntArray
from vicinal.datasets import load

Split = tuple[FloatArray, FloatArray, IntArray, IntArray]


def classes_of(name: str) -> tuple[FloatArray, IntArray]:
    """Return a data set's rows, without columns that miss values, and class codes."""
    data = load(name)
    complete = ~np.isnan(data.X).any(axis=0)
    return data.X[:, complete], np.unique(data.y, return_inverse=True)[1]


def splits(
    X: FloatArray, y: IntArray, n_splits: int, most_rows: int | None = None
) -> Iterator[Split]:
    """Yield 70/30 splits by seeds 0, 1, …, standardised by their training part.

    Of that, no more than the first so many rows are kept.
    """
    for seed in range(n_splits):
        X_train, X_test, y_train, y_test = train_test_split(
            X, y, test_size=0.3, random_state=seed
        )
        X_train, y_train = X_train[:most_rows], y_train[:most_rows]
        scaler = StandardScaler().fit(X_train)
        yield scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def accuracy(metric: Any, split: Split, n_neighbors: int = 1) -> float:
    """Fit the metric on the training part; return k-NN accuracy on the test part."""
    X_train, X_test, y_train, y_test = split
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        Z = metric.fit(X_train, y_train).transform(X_train)
    knn = KNeighborsClassifier(n_neighbors).fit(Z, y_train)
    return float(knn.score(metric.transform(X_test), y_test))


def cell(values: list[float] | NDArray[np.float64]) -> str:
    """Return a mean in percent with its standard error over the splits."""
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{100 * np.mean(values):.1f} ± {100 * error:.1f}"
