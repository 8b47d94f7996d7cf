"""Hostile tables: shapes, scales, types, orders, containers, labels."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from numpy.random import Generator
from numpy.typing import NDArray

DTYPES = ["f8", "f8", "f8", "f4", "f2", ">f8", "i8", "i4", "i2", "u1", "?", "O"]


@dataclass(frozen=True)
class Table:
    """Points, classes and numbers, as hostile as the dice had it."""

    X: Any
    classes: Any
    numbers: NDArray[Any]
    plain: NDArray[Any]
    """The points as an ordinary array of the same values."""


def choose(rng: Generator, *options: Any) -> Any:
    """Return one of some options, whatever they are."""
    return options[rng.integers(len(options))]


def points(rng: Generator, most_rows: int = 80, most_features: int = 12) -> Any:
    """Return rows of float64: clusters, copies, constants, far rows, any scale."""
    n = int(choose(rng, 2, 3, 5, rng.integers(2, most_rows), rng.integers(20, 80)))
    d = int(choose(rng, 1, 2, rng.integers(1, most_features), 40))
    X = rng.normal(size=(n, d))
    X += 3 * rng.normal(size=(3, d))[rng.integers(3, size=n)]
    if rng.random() < 0.15:
        X[rng.integers(n, size=n // 2)] = X[0]
    if rng.random() < 0.15:
        X[:, rng.integers(d)] = rng.normal()
    if rng.random() < 0.1:
        X[rng.integers(n)] *= 10 ** rng.uniform(2, 12)
    if rng.random() < 0.1:
        X += 10 ** rng.uniform(2, 9)
    if rng.random() < 0.15:
        X *= 10 ** rng.uniform(-9, 9, size=d)
    if rng.random() < 0.1:
        X = np.round(X)
    if rng.random() < 0.03:
        X[rng.integers(n), rng.integers(d)] = choose(rng, np.nan, np.inf, -np.inf)
    with np.errstate(over="ignore", under="ignore"):
        if rng.random() < 0.3:
            X *= 10 ** rng.uniform(-300, 300)
    return X


def labels(rng: Generator, n: int) -> NDArray[Any]:
    """Return classes of any type and size, lone ones too."""
    k = int(choose(rng, 1, 2, 3, 3, 3, n, rng.integers(1, n + 1)))
    codes = rng.integers(k, size=n)
    if rng.random() < 0.5 and n >= k:
        codes[:k] = np.arange(k)
    kind = choose(rng, "i", "i", "s", "f", "b", "O", "neg")
    if kind == "s":
        return np.array([f"class {code}" for code in codes])
    if kind == "O":
        return np.array([f"<{code}>\x1b" for code in codes], dtype=object)
    if kind == "b":
        return codes % 2 == 0
    if kind == "f":
        return codes.astype(float)
    return codes - 5 if kind == "neg" else codes


def table(rng: Generator, **sizes: int) -> Table:
    """Return a hostile table."""
    X = points(rng, **sizes)
    n = len(X)
    numbers = rng.normal(size=n) + X[:, 0] / (np.abs(X[:, 0]).max() or 1)
    if rng.random() < 0.2:
        with np.errstate(over="ignore", under="ignore"):
            numbers = numbers * 10 ** rng.uniform(-300, 300)
    dtype = choose(rng, *DTYPES)
    with np.errstate(all="ignore"):
        if dtype in ("i8", "i4", "i2", "u1"):
            X = np.clip(np.nan_to_num(X), -100, 100)
        X = X.astype(dtype)
    plain = np.array(X, dtype=float)
    return Table(_contained(rng, X), labels(rng, n), numbers, plain)


def _contained(rng: Generator, X: NDArray[Any]) -> Any:
    """Return the rows in another order of memory, or in another container."""
    kind = choose(rng, *["C"] * 4, "F", "read-only", "strided", "backwards", "list",
                  "pandas", "polars")  # fmt: skip
    if kind == "F":
        return np.asfortranarray(X)
    if kind == "read-only":
        X = X.copy()
        X.flags.writeable = False
    elif kind == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    elif kind == "backwards":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    elif kind == "list":
        return X.tolist()
    elif kind == "pandas":
        return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])])
    elif kind == "polars" and X.dtype in ("f8", "f4", "i8", "i4"):
        return pl.DataFrame(X, schema=[f"c{j}" for j in range(X.shape[1])])
    return X
