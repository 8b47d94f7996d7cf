"""Sums over given matches, written naively: float64, n×n. Only for small n."""

import numpy as np

from vicinal._typing import FloatArray, IntArray


def _exponentials(X: FloatArray, A: FloatArray) -> FloatArray:
    Z = X @ A.T
    E = np.exp(-((Z[:, None] - Z[None]) ** 2).sum(axis=2))
    np.fill_diagonal(E, 0)  # pairs of different points
    return E


def pairs_value(
    X: FloatArray,
    pairs: IntArray,
    weights: FloatArray,
    A: FloatArray,
    normalization: str,
) -> float:
    """Minus the cost of NCA's eq. 8, over all pairs or for each anchor."""
    E = _exponentials(X, A)
    if normalization == "all":  # c = d, too: exp(0)
        E += np.eye(len(X))
    value = 0.0
    for (a, b), weight in zip(pairs, weights, strict=True):
        total = E[a].sum() if normalization == "anchor" else E.sum()
        value += weight * np.log(E[a, b] / total)
    return value


def matches_value(
    X: FloatArray, kappa: FloatArray, A: FloatArray, kind: str, copies: FloatArray
) -> float:
    """Σ_i κ_i or Σ_i log κ_i, where row i stands for copies[i] equal points."""
    rows = np.repeat(np.arange(len(X)), copies.astype(int))
    Z = X[rows] @ A.T
    value = 0.0
    for i in range(len(rows)):
        others = np.arange(len(rows)) != i
        exponents = -((Z[i] - Z[others]) ** 2).sum(axis=1)
        matches = kappa[rows[i], rows[others]]
        if matches.any():
            inside = exponents[matches > 0] + np.log(matches[matches > 0])
            log_picked = np.logaddexp.reduce(inside) - np.logaddexp.reduce(exponents)
            value += np.exp(log_picked) if kind == "expected" else log_picked
    return float(value)
