"""Data, random splits and accuracies, the same way in every comparison."""

import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.preprocessing import StandardScaler

from vicinal._typing import FloatArray, IntArray
from vicinal.datasets import load

Split = tuple[FloatArray, FloatArray, IntArray, IntArray]
"""Training rows, test rows, and the labels of each."""
QUICK = ("iris", "wine")
"""Data sets that come with scikit-learn, and take no time."""


@lru_cache(maxsize=2)
def classes_of(name: str) -> tuple[FloatArray, IntArray]:
    """Return a data set's rows, without columns that miss values, and class codes."""
    data = load(name)
    complete = ~np.isnan(data.X).any(axis=0)
    return data.X[:, complete], np.unique(data.y, return_inverse=True)[1]


def split_of(
    X: FloatArray, y: IntArray, seed: int, most_rows: int | None = None
) -> Split:
    """Return a random 70/30 split, standardised by its training part.

    Parameters
    ----------
    X, y : ndarray
        The rows and their labels.
    seed : int
        Which split.
    most_rows : int, optional
        Of the training part, no more than the first so many rows are kept.
    """
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.3, random_state=seed
    )
    X_train, y_train = X_train[:most_rows], y_train[:most_rows]
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def splits(
    X: FloatArray, y: IntArray, n_splits: int, most_rows: int | None = None
) -> Iterator[Split]:
    """Yield the splits by seeds 0, 1, …; see `split_of`."""
    for seed in range(n_splits):
        yield split_of(X, y, seed, most_rows)


def accuracy(metric: Any, split: Split, n_neighbors: int = 1) -> float:
    """Fit the metric on the training part; return k-NN accuracy on the test part."""
    X_train, X_test, y_train, y_test = split
    Z = fitted(metric, X_train, y_train).transform(X_train)
    knn = KNeighborsClassifier(n_neighbors).fit(Z, y_train)
    return float(knn.score(metric.transform(X_test), y_test))


def votes(model: Any, split: Split, ks: tuple[int, ...] = (1,)) -> dict[str, float]:
    """Fit an `NCAClassifier`; return accuracies of k-NN under its map and of its rule.

    Parameters
    ----------
    model : NCAClassifier
        The classifier.
    split : Split
        Training and test rows.
    ks : tuple of int, default=(1,)
        The k of k-NN.
    """
    X_train, X_test, y_train, y_test = split
    Z = fitted(model, X_train, y_train).transform(X_train)
    mapped = model.transform(X_test)
    found = {
        f"{k}-NN": float(KNeighborsClassifier(k).fit(Z, y_train).score(mapped, y_test))
        for k in ks
    }
    return found | {"rule": float(model.score(X_test, y_test))}


def fitted(model: Any, X: FloatArray, y: IntArray) -> Any:
    """Return the model, fitted; that iterations were too few is not told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def leave_one_out(Z: FloatArray, y: IntArray) -> float:
    """Return the share of rows whose nearest other row is of their class."""
    nearest = NearestNeighbors(n_neighbors=1).fit(Z).kneighbors(return_distance=False)
    return float(np.mean(y[nearest[:, 0]] == y))


def vote_of_others(Z: FloatArray, y: IntArray, n_neighbors: int = 3) -> float:
    """Return the accuracy of k-NN, each row left out."""
    search = NearestNeighbors(n_neighbors=n_neighbors).fit(Z)
    votes = y[search.kneighbors(return_distance=False)]
    counts = np.stack([(votes == label).sum(axis=1) for label in range(y.max() + 1)])
    return float(np.mean(counts.argmax(axis=0) == y))


def grown_dimensions(Z: FloatArray, y: IntArray, n_neighbors: int = 3) -> int:
    """Return how many leading dimensions to keep, by LDG's rule for its table 1.

    Dimensions are added until the accuracy of k-NN, each row left out, decreases.

    Parameters
    ----------
    Z : ndarray of shape (n, d)
        Rows of which the first dimensions come first.
    y : ndarray of int of shape (n,)
        Their classes.
    n_neighbors : int, default=3
        The k of k-NN.
    """
    best = -1.0
    for d in range(1, Z.shape[1] + 1):
        right = vote_of_others(Z[:, :d], y, n_neighbors)
        if right < best:
            return d - 1
        best = right
    return Z.shape[1]
