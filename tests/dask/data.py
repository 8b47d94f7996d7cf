"""Rows for the tests on Dask: in memory, and as chunks of any sizes."""

from typing import Any

import dask.array as da
import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray


def classes_in_noise(
    n: int = 1200, n_features: int = 8, dtype: Any = np.float64, seed: int = 0
) -> tuple[FloatArray, IntArray]:
    """Return three classes that differ in two features, beside louder noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.normal(scale=3.0, size=(n, n_features))
    X[:, :2] = 0.4 * rng.normal(size=(n, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[y]
    return X.astype(dtype), y


def chunked(
    X: FloatArray, y: NDArray[Any], sizes: Any = 300, unknown: bool = False
) -> tuple[Any, Any]:
    """Return both as Dask arrays; with unknown sizes, if wanted."""
    rows = da.from_array(X, chunks=(sizes, -1))
    labels = da.from_array(y, chunks=(sizes,))
    if unknown:
        rows = rows[da.from_array(np.ones(len(X), dtype=bool), chunks=(sizes,))]
        labels = labels[da.from_array(np.ones(len(X), dtype=bool), chunks=(sizes,))]
    return rows, labels
