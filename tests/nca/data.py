"""Data with a planted answer, for the tests of learning by mini-batches."""

import numpy as np

from vicinal._typing import FloatArray, IntArray


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


X, y = planted(600)
X_TEST, Y_TEST = planted(400, seed=1)
