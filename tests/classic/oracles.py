"""The classic methods' sums, written naively: float64, n×n, no shortcut."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mutual_info_score

from vicinal._typing import FloatArray


def lfda_scatters(
    X: FloatArray, y: NDArray[Any], n_neighbors: int
) -> tuple[FloatArray, FloatArray]:
    """½ Σ_ij W_ij (x_i − x_j)(x_i − x_j)ᵀ between and within classes."""
    n, n_features = X.shape
    distance = np.array([[np.linalg.norm(u - v) for v in X] for u in X])
    sigma = np.zeros(n)
    for i in range(n):
        others = [distance[i, j] for j in range(n) if j != i and y[j] == y[i]]
        if others:
            sigma[i] = sorted(others)[min(n_neighbors, len(others)) - 1]
    between, within = np.zeros((2, n_features, n_features))
    for i in range(n):
        for j in range(n):
            square = np.outer(X[i] - X[j], X[i] - X[j]) / 2
            if y[i] != y[j]:
                between += square / n
                continue
            n_c = (y == y[i]).sum()
            scale = sigma[i] * sigma[j]
            affinity = np.exp(-(distance[i, j] ** 2) / scale) if scale > 0 else 0.0
            within += affinity / n_c * square
            between += affinity * (1 / n - 1 / n_c) * square
    return between, within


def fisher_scatters(X: FloatArray, y: NDArray[Any]) -> tuple[FloatArray, FloatArray]:
    """Fisher's mean scatters, between and within classes."""
    n, n_features = X.shape
    between, within = np.zeros((2, n_features, n_features))
    for c in np.unique(y):
        mean = X[y == c].mean(axis=0)
        away = mean - X.mean(axis=0)
        between += (y == c).sum() / n * np.outer(away, away)
        for x in X[y == c]:
            within += np.outer(x - mean, x - mean) / n
    return between, within


def mrmr_order(
    bins: NDArray[Any], y: NDArray[Any], n_features: int, criterion: str
) -> list[int]:
    """Greedy picking with scikit-learn's mutual information of two variables."""
    D = bins.shape[1]
    relevance = [mutual_info_score(bins[:, j], y) for j in range(D)]
    order: list[int] = []
    while len(order) < n_features:
        scores = {}
        for j in set(range(D)) - set(order):
            shared = [mutual_info_score(bins[:, j], bins[:, s]) for s in order]
            redundancy = float(np.mean(shared)) if order else 0.0
            if not order:
                scores[j] = relevance[j]
            elif criterion == "difference":
                scores[j] = relevance[j] - redundancy
            else:
                scores[j] = relevance[j] / max(redundancy, np.finfo(float).eps)
        best = max(scores.values())
        order.append(min(j for j, s in scores.items() if s > best - 1e-12))
    return order


def itml_by_the_dual(
    differences: FloatArray, sign: FloatArray, bounds: FloatArray, gamma: float
) -> tuple[FloatArray, float]:
    """M of ITML with slack, from its dual by a general optimiser, and the optimum.

    Stationarity: M⁻¹ = I + Σ δ λ v vᵀ, and γ/ξ = γ/b − δλ, for multipliers λ ≥ 0.
    """

    def inverse(multipliers: FloatArray) -> FloatArray:
        weights = sign * multipliers
        return np.eye(differences.shape[1]) + sum(
            w * np.outer(v, v) for w, v in zip(weights, differences, strict=True)
        )

    def loss(multipliers: FloatArray) -> float:
        eigenvalues = np.linalg.eigvalsh(inverse(multipliers))
        inside = 1 - sign * multipliers * bounds / gamma
        if eigenvalues[0] <= 0 or (inside <= 0).any():
            return float("inf")
        return float(-np.log(eigenvalues).sum() - gamma * np.log(inside).sum())

    def slope(multipliers: FloatArray) -> FloatArray:
        M = np.linalg.inv(inverse(multipliers))
        lengths = np.array([v @ M @ v for v in differences])
        return -sign * (lengths - bounds / (1 - sign * multipliers * bounds / gamma))

    # Plain projected gradient descent with halving: slow, and hard to get wrong.
    multipliers, step = np.zeros(len(sign)), 1.0
    value = loss(multipliers)
    for _ in range(3_000):
        gradient = slope(multipliers)
        step *= 2
        while True:
            trial = np.maximum(multipliers - step * gradient, 0)
            reached = loss(trial)
            if reached <= value - 1e-4 * gradient @ (multipliers - trial):
                break
            step /= 2
        moved = np.abs(trial - multipliers).max()
        multipliers, value = trial, reached
        if moved < 1e-9:
            break
    return np.linalg.inv(inverse(multipliers)), -value


def ngca_beta(
    X: FloatArray, h: Callable[[float], float], omega: FloatArray
) -> tuple[FloatArray, float]:
    """Mean of x h(⟨ω, x⟩) − ∇h(⟨ω, x⟩), and mean squared distance from it.

    The gradient is by finite differences.
    """
    terms = []
    for x in X:
        gradient = np.array(
            [
                (h(omega @ (x + e)) - h(omega @ (x - e))) / 2e-5
                for e in 1e-5 * np.eye(len(x))
            ]
        )
        terms.append(x * h(omega @ x) - gradient)
    beta = np.mean(terms, axis=0)
    return beta, float(np.mean([(t - beta) @ (t - beta) for t in terms]))


def lmnn_loss(
    X: FloatArray, y: NDArray[Any], A: FloatArray, n_neighbors: int, r: float
) -> float:
    """LMNN's pull and push, summed over all triples."""

    def squared(u: FloatArray, v: FloatArray) -> float:
        return float(((A @ (u - v)) ** 2).sum())

    pull = push = 0.0
    for i in range(len(X)):
        same = [j for j in range(len(X)) if j != i and y[j] == y[i]]
        same.sort(key=lambda j: float(((X[i] - X[j]) ** 2).sum()))
        for j in same[:n_neighbors]:
            pull += squared(X[i], X[j])
            for k in range(len(X)):
                if y[k] != y[i]:
                    margin = 1 + squared(X[i], X[j]) - squared(X[i], X[k])
                    push += max(margin, 0.0)
    return r * pull + (1 - r) * push


def lmnn_energies(
    X: FloatArray, y: NDArray[Any], A: FloatArray, n_neighbors: int, r: float, x: Any
) -> list[float]:
    """The loss that a point x would add in each class: as a centre, as an impostor."""

    def squared(u: FloatArray, v: FloatArray) -> float:
        return float(((A @ (u - v)) ** 2).sum())

    found = []
    for c in np.unique(y):
        members = sorted(np.flatnonzero(y == c), key=lambda j: squared(x, X[j]))
        others = np.flatnonzero(y != c)
        energy = 0.0
        for j in members[:n_neighbors]:
            energy += r * squared(x, X[j])
            for other in others:
                margin = 1 + squared(x, X[j]) - squared(x, X[other])
                energy += (1 - r) * max(margin, 0.0)
        for i in others:
            same = [j for j in range(len(X)) if j != i and y[j] == y[i]]
            same.sort(key=lambda j: float(((X[i] - X[j]) ** 2).sum()))
            for target in same[:n_neighbors]:
                margin = 1 + squared(X[i], X[target]) - squared(X[i], x)
                energy += (1 - r) * max(margin, 0.0)
        found.append(energy)
    return found


def dann_metric(
    points: FloatArray,
    y: NDArray[Any],
    weights: FloatArray,
    epsilon: float,
    shrinkage: float,
) -> FloatArray:
    """Σ of one query from its weighted neighbours, W shrunk, with a trace of D."""
    d = points.shape[1]
    weights = weights / weights.sum()
    middle = sum(w * x for w, x in zip(weights, points, strict=True))
    within, between = np.zeros((2, d, d))
    for c in np.unique(y):
        share = weights[y == c].sum()
        mean = (
            sum(w * x for w, x in zip(weights[y == c], points[y == c], strict=True))
            / share
        )
        between += share * np.outer(mean - middle, mean - middle)
        for w, x in zip(weights[y == c], points[y == c], strict=True):
            within += w * np.outer(x - mean, x - mean)
    within = (1 - shrinkage) * within + shrinkage * np.trace(within) / d * np.eye(d)
    values, axes = np.linalg.eigh(within)
    root = axes @ np.diag(values**-0.5) @ axes.T
    metric = root @ (root @ between @ root + epsilon * np.eye(d)) @ root
    return metric * d / np.trace(metric)


def mcml_value(X: FloatArray, y: NDArray[Any], A: FloatArray) -> float:
    """Mean of log p_ij over each point's class, summed over the points."""
    value = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        exponent = -(((X[i] - X) @ A.T) ** 2).sum(axis=1)
        log_p = exponent - np.logaddexp.reduce(exponent[others])
        same = others & (y == y[i])
        if same.any():
            value += float(log_p[same].mean())
    return value
