"""Small tables for the tests of neural estimators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def waves(n: int = 400, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows whose class changes quickly along one column; two say nothing."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    return X, (np.sin(5 * X[:, 0]) > 0).astype(int)


def mixed(n: int = 300, seed: int = 0) -> tuple[Any, NDArray[Any]]:
    """Return a data frame of a number with gaps, a category and noise; and classes."""
    import pandas as pd

    rng = np.random.default_rng(seed)
    kind = rng.choice(["a", "b", "c"], n)
    number = rng.normal(size=n)
    y = np.where((kind == "a") | (number > 0.5), "yes", "no")
    number[rng.random(n) < 0.1] = np.nan
    noise = rng.normal(size=n)
    return pd.DataFrame({"kind": kind, "number": number, "noise": noise}), y
