"""The papers' sums, written naively: float64, n×n, no shortcut. Only for small n."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray


def softmax(exponents: FloatArray) -> FloatArray:
    """exp(e) / Σ exp(e), shifted so that it cannot overflow."""
    e = np.exp(exponents - exponents.max())
    return e / e.sum()


def nca_value_and_gradient(
    X: FloatArray,
    y: NDArray[Any],
    A: FloatArray,
    kind: str,
    prior: FloatArray | None = None,
) -> tuple[float, FloatArray]:
    """f with eq. 5, g with eq. 7 of the NCA paper; 3.12 to 3.14 of the thesis."""
    mass = np.ones(len(X))
    if kind == "class-density":
        _, codes, sizes = np.unique(y, return_inverse=True, return_counts=True)
        p_c = np.full(len(sizes), 1 / len(sizes)) if prior is None else prior
        mass = (p_c / sizes)[codes]
    X, A = X.astype(np.float64), A.astype(np.float64)
    value, inner = 0.0, np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        same = others & (y == y[i])
        x_ij = X[i] - X
        exponent = -((x_ij @ A.T) ** 2).sum(axis=1) + np.log(mass)
        p_ij = np.zeros(len(X))
        p_ij[others] = softmax(exponent[others])  # eq. 1
        everyone = (p_ij[:, None] * x_ij).T @ x_ij
        if kind != "log":
            p_i = p_ij[same].sum()  # eq. 2
            value += p_i
            inner += p_i * everyone
            inner -= (p_ij[same, None] * x_ij[same]).T @ x_ij[same]
        elif same.any():
            value += np.logaddexp.reduce(exponent[same])
            value -= np.logaddexp.reduce(exponent[others])
            matches = softmax(exponent[same])  # p_ij / p_i
            inner += everyone - (matches[:, None] * x_ij[same]).T @ x_ij[same]
    return value, 2 * A @ inner


def target_value(
    X: FloatArray, t: FloatArray, A: FloatArray, kind: str, width: float = 1.0
) -> float:
    """Σ_ij p_ij κ_ij (NCA, section 5), or −Σ_i (t_i − Σ_j p_ij t_j)² (MLKR)."""
    value = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        exponent = -(((X[i] - X[others]) @ A.T) ** 2).sum(axis=1)
        p = softmax(exponent)
        if kind == "soft-match":
            value += p @ np.exp(-((t[i] - t[others]) ** 2) / (2 * width**2))
        else:
            value -= (t[i] - p @ t[others]) ** 2
    return float(value)


def vote_value(X: FloatArray, y: NDArray[Any], A: FloatArray) -> float:
    """−Σ_i Σ_c ([c_i = c] − Σ_{j ∈ c} p_ij)²: Lowe's error of the vote."""
    value = 0.0
    for i in range(len(X)):
        others = np.arange(len(X)) != i
        p = np.zeros(len(X))
        p[others] = softmax(-(((X[i] - X[others]) @ A.T) ** 2).sum(axis=1))
        for c in np.unique(y):
            value -= ((y[i] == c) - p[y == c].sum()) ** 2
    return float(value)
