"""Data with a planted answer, and what tests of NCA share."""

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.nca._problems import ClassProblem


def planted(n: int, seed: int = 0, D: int = 10) -> tuple[FloatArray, IntArray]:
    """Two directions tell five classes; the others are loud and tell nothing."""
    rng = np.random.default_rng(seed)
    fixed = np.random.default_rng(42)
    y = rng.integers(5, size=n)
    angles = 2 * np.pi * y / 5
    X = 4 * rng.normal(size=(n, D))
    X[:, 0] = np.cos(angles) + 0.25 * rng.normal(size=n)
    X[:, 1] = np.sin(angles) + 0.25 * rng.normal(size=n)
    return X @ np.linalg.qr(fixed.normal(size=(D, D)))[0], y


QUICK: dict[str, Any] = {
    "solver": "stochastic",
    "max_iter": 6,
    "random_state": 0,
    "batch_size": 100,
    "n_references": 200,
}
X, y = planted(600)
X_TEST, Y_TEST = planted(400, seed=1)


def class_problem(
    points: FloatArray, labels: Any, weights: Any = None, loss: str = "log"
) -> ClassProblem:
    """Return rows as a fit has them after validation."""
    classes, codes = np.unique(labels, return_inverse=True)
    n = len(points)
    return ClassProblem(
        points,
        np.ones(n) if weights is None else weights,
        np.ones(n, dtype=bool),
        (points, labels),
        loss,
        None,
        codes=codes,
        prior=np.full(len(classes), 1 / len(classes)),
        classes=classes,
    )


def accuracy(nca: NCA, unit: float = 1.0) -> float:
    """Return the accuracy of 5-NN under the map, on rows that it did not see."""
    knn = KNeighborsClassifier(5).fit(nca.transform(unit * X), y)
    return float(knn.score(nca.transform(unit * X_TEST), Y_TEST))
