"""Sums of the LDG paper, written naively: float64, loops. Only for small n."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray


def local_gaussian(
    x: FloatArray, others: FloatArray, k: int, floor: float
) -> tuple[FloatArray, float]:
    """Section 2: mean, and mean over neighbours and features of squared deviations."""
    distances = np.array([((x - other) ** 2).sum() for other in others])
    near = others[np.argsort(distances)[:k]]
    mean = near.mean(axis=0)
    return mean, max(float(((near - mean) ** 2).mean()), floor)


def gaussians_around(
    X: FloatArray, y: NDArray[Any], k: int, var_floor: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Δ_ij and σ²_ij of every point and class, itself left out; and which there are."""
    classes = np.unique(y)
    n, d = X.shape
    floor = var_floor * float(((X - X.mean(axis=0)) ** 2).mean())
    deltas, variances = np.zeros((n, len(classes), d)), np.ones((n, len(classes)))
    there = np.ones((n, len(classes)), dtype=bool)
    for i in range(n):
        for j, label in enumerate(classes):
            size = (y == label).sum()
            others = X[(y == label) & (np.arange(n) != i)]
            if len(others) == 0:
                there[i, j] = False
                continue
            k_of_class = max(1, min(k, size - 1))
            mean, variance = local_gaussian(X[i], others, k_of_class, floor)
            deltas[i, j], variances[i, j] = mean - X[i], variance
    return deltas, variances, there


def frequencies(y: NDArray[Any]) -> NDArray[np.float64]:
    sizes = np.unique(y, return_counts=True)[1]
    return sizes / sizes.sum()


def ldg_scatters(
    X: FloatArray, y: NDArray[Any], k: int, var_floor: float
) -> tuple[FloatArray, FloatArray]:
    """V and A, between eq. 4 and 5."""
    codes = np.unique(y, return_inverse=True)[1]
    p = frequencies(y)
    deltas, variances, there = gaussians_around(X, y, k, var_floor)
    V, A = np.zeros((2, X.shape[1], X.shape[1]))
    for i in range(len(X)):
        for j in range(len(p)):
            if there[i, j]:
                term = np.outer(deltas[i, j], deltas[i, j]) / variances[i, j]
                A += p[j] * term
                if j == codes[i]:
                    V += term
    return V, A


def equation_4(
    X: FloatArray, y: NDArray[Any], B: FloatArray, k: int, var_floor: float
) -> float:
    """The sum of eq. 4 at B, with the directions in columns."""
    codes = np.unique(y, return_inverse=True)[1]
    p = frequencies(y)
    deltas, variances, _ = gaussians_around(X, y, k, var_floor)
    value = 0.0
    for i in range(len(X)):
        for j in range(len(p)):
            size = ((deltas[i, j] @ B) ** 2).sum() / (2 * variances[i, j])
            value += (1 - p[j]) * size if j == codes[i] else -p[j] * size
    return value


def equation_2(
    X: FloatArray, y: NDArray[Any], B: FloatArray, k: int, var_floor: float
) -> float:
    """The sum of eq. 2 at an orthonormal B, with the directions in columns."""
    codes = np.unique(y, return_inverse=True)[1]
    p = frequencies(y)
    deltas, variances, there = gaussians_around(X, y, k, var_floor)
    dimension = B.shape[1]
    value = 0.0
    for i in range(len(X)):
        if not there[i, codes[i]]:
            continue
        densities = [
            p[j]
            * np.exp(-((deltas[i, j] @ B) ** 2).sum() / (2 * variances[i, j]))
            / (2 * np.pi * variances[i, j]) ** (dimension / 2)
            for j in range(len(p))
        ]
        value += np.log(sum(densities) / densities[codes[i]])
    return value


def local_qda_scores(
    X: FloatArray, y: NDArray[Any], queries: FloatArray, k: int, var_floor: float
) -> FloatArray:
    """log p(j) N(x; μ_j, σ_j² I) of each query and class."""
    floor = var_floor * float(((X - X.mean(axis=0)) ** 2).mean())
    d = X.shape[1]
    scores = np.empty((len(queries), len(np.unique(y))))
    for i, x in enumerate(queries):
        for j, label in enumerate(np.unique(y)):
            mean, v = local_gaussian(x, X[y == label], k, floor)
            log_density = -((x - mean) ** 2).sum() / (2 * v)
            log_density -= d / 2 * np.log(2 * np.pi * v)
            scores[i, j] = log_density + np.log((y == label).mean())
    return scores


def leave_one_out_3nn(Z: FloatArray, y: NDArray[Any]) -> float:
    """The accuracy of 3-NN; of three different classes, the nearest one's."""
    right = 0
    for i in range(len(Z)):
        distances = ((Z - Z[i]) ** 2).sum(axis=1)
        distances[i] = np.inf
        a, b, c = y[np.argsort(distances)[:3]]
        right += (b if b == c else a) == y[i]
    return right / len(Z)


def nearest_3nn(queries: FloatArray, Z: FloatArray, y: NDArray[Any]) -> list[Any]:
    """What 3-NN says of each query; of three different classes, the nearest one's."""
    said = []
    for query in queries:
        a, b, c = y[np.argsort(((Z - query) ** 2).sum(axis=1))[:3]]
        said.append(b if b == c else a)
    return said


def transfer_scatters(
    X: FloatArray,
    y: NDArray[Any],
    X_source: FloatArray,
    y_source: NDArray[Any],
    k: int,
    var_floor: float,
) -> tuple[FloatArray, FloatArray]:
    """V and A of the first sum of eq. 7: target points among source points."""
    p = frequencies(y_source)
    floor = var_floor * float(((X_source - X_source.mean(axis=0)) ** 2).mean())
    V, A = np.zeros((2, X.shape[1], X.shape[1]))
    for i in range(len(X)):
        for j, label in enumerate(np.unique(y_source)):
            others = X_source[y_source == label]
            mean, variance = local_gaussian(X[i], others, k, floor)
            term = np.outer(mean - X[i], mean - X[i]) / variance
            A += p[j] * term
            if label == y[i]:
                V += term
    return V, A
