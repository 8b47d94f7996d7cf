"""The sums over part of the points, written naively: float64, a loop over pairs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.nca.oracles import softmax
from vicinal._typing import FloatArray, IntArray


def class_masses(y: NDArray[Any], counts: FloatArray) -> FloatArray:
    """What one point weighs under "class-density" with a uniform prior: p(c) / N_c."""
    labels = np.unique(y)
    sizes = {c: counts[y == c].sum() for c in labels}
    return np.array([1 / len(labels) / sizes[c] for c in y])


def nca_terms_and_gradient(
    X: FloatArray,
    y: NDArray[Any],
    A: FloatArray,
    kind: str,
    counts: FloatArray,
    listed: Sequence[IntArray],
    queries: IntArray,
    mass_of_one: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the queries' terms and their weighted sum's gradient.

    Point i looks at the points listed[i], and at its own counts[i] − 1 other copies.
    """
    one = np.ones(len(X)) if mass_of_one is None else mass_of_one
    terms = np.zeros(len(queries))
    inner = np.zeros((X.shape[1], X.shape[1]))
    for place, i in enumerate(queries):
        seen = np.setdiff1d(listed[i], [i])
        mass = counts[seen] * one[seen]
        if counts[i] > 1:
            seen = np.append(seen, i)
            mass = np.append(mass, (counts[i] - 1) * one[i])
        same = y[seen] == y[i]
        x = X[i] - X[seen]
        exponent = -((x @ A.T) ** 2).sum(axis=1) + np.log(mass)
        p = softmax(exponent)
        everyone = (p[:, None] * x).T @ x
        if kind != "log":
            terms[place] = p[same].sum()
            matches = (p[same, None] * x[same]).T @ x[same]
            inner += counts[i] * (terms[place] * everyone - matches)
        elif same.any():
            terms[place] = np.logaddexp.reduce(exponent[same])
            terms[place] -= np.logaddexp.reduce(exponent)
            q = softmax(exponent[same])
            inner += counts[i] * (everyone - (q[:, None] * x[same]).T @ x[same])
    return terms, 2 * A @ inner


def target_terms(
    X: FloatArray,
    t: FloatArray,
    A: FloatArray,
    kind: str,
    counts: FloatArray,
    queries: IntArray,
    width: float = 1.0,
) -> FloatArray:
    """Return the queries' Σ_j p_ij κ_ij, or −(t_i − Σ_j p_ij t_j)²."""
    terms = np.zeros(len(queries))
    for place, i in enumerate(queries):
        mass = counts.astype(float).copy()
        mass[i] -= 1
        distances = (((X[i] - X) @ A.T) ** 2).sum(axis=1)
        weights = mass * np.exp(-(distances - distances[mass > 0].min()))
        p = weights / weights.sum()
        if kind == "soft-match":
            terms[place] = p @ np.exp(-((t[i] - t) ** 2) / (2 * width**2))
        else:
            terms[place] = -((t[i] - p @ t) ** 2)
    return terms


def probabilities(
    Z: FloatArray, counts: FloatArray, mass_of_one: FloatArray | None = None
) -> FloatArray:
    """Return all p_ij, n×n; p_ii is that of a point's own other copies."""
    one = np.ones(len(Z)) if mass_of_one is None else mass_of_one
    mass = np.tile(counts * one, (len(Z), 1))
    np.fill_diagonal(mass, (counts - 1) * one)
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    distances = np.where(mass > 0, distances, np.inf)
    weights = mass * np.exp(distances.min(axis=1, keepdims=True) - distances)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))
