"""Tables to try defaults on: real ones by name, and made ones of every awkward kind.

The made ones are drawn by a seed. Defaults were tuned on the tables of `TUNING` and on
made ones with other seeds than 0; what the benchmark prints by default is the rest.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.datasets import (
    load_diabetes,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_regression,
)

from benchmarks.papers.splits import classes_of
from vicinal._typing import FloatArray
from vicinal.datasets import available, load

# Real tables that defaults were chosen on; they are no evidence for them.
TUNING = ("iris", "digits", "pima", "segment", "dermatology", "yeast", "umist")
# A full map of more features than this takes gigabytes.
MOST_FEATURES = 1000
MOST_ROWS = 10_000
_NUMBERS = ("boston_housing", "talent_cpu_act")
# Vectors of texts, or a table whose columns are not all numbers.
_OTHER = ("cisi", "cranfield", "talent_bank")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, what is to be predicted of them, and a name."""

    name: str
    X: FloatArray
    y: NDArray[Any]
    task: str = "classification"
    standardized: bool = True
    """Whether features are standardised before anything sees them."""

    def as_float32(self) -> "Table":
        """Return the same rows in float32."""
        name, X = f"{self.name} (float32)", self.X.astype(np.float32)
        return replace(self, name=name, X=X)


def real_classes(names: list[str] | None = None) -> Iterator[Table]:
    """Yield the real tables with classes, of at most MOST_ROWS rows, in float64."""
    for name in names or available():
        if name in _NUMBERS or name in _OTHER:
            continue
        X, y = classes_of(name)
        if len(X) <= MOST_ROWS and X.shape[1] <= MOST_FEATURES:
            yield Table(name, X.astype(np.float64), y)


def real_numbers() -> Iterator[Table]:
    """Yield the real tables with numbers to predict."""
    X, y = load_diabetes(return_X_y=True)
    yield Table("diabetes", X, y, "regression")
    for name in _NUMBERS:
        if name in available():
            data = load(name)
            yield Table(name, data.X.astype(np.float64), data.y, "regression")


def _blobs(rng: Generator, n: int, D: int, n_classes: int, apart: float) -> Table:
    """Gaussian classes with a few informative directions among noise."""
    y = rng.integers(n_classes, size=n)
    informative = min(D, 10)
    centers = np.zeros((n_classes, D))
    centers[:, :informative] = apart * rng.normal(size=(n_classes, informative))
    return Table("blobs", centers[y] + rng.normal(size=(n, D)), y)


def made_classes(seed: int) -> Iterator[Table]:
    """Yield made tables with classes, one for each way in which tables are awkward."""
    rng = np.random.default_rng(seed)
    plain = _blobs(rng, 600, 8, 4, 1.2)
    X, y = plain.X, plain.y
    yield replace(plain, name="blobs")

    constant = np.column_stack([X, np.full(len(X), 3.0), (X[:, 0] > 0.5) * 1.0])
    labels = y.copy()
    labels[:2] = 4  # a class of two rows
    yield Table("constant, two-valued, class of two", constant, labels)

    many = make_classification(
        1500, 20, n_informative=10, n_redundant=5, n_classes=30,
        n_clusters_per_class=1, class_sep=2, random_state=seed,
    )  # fmt: skip
    yield Table("collinear, 30 classes", *many)
    exact = np.column_stack([X, X[:, :3] @ rng.normal(size=(3, 4))])
    yield Table("collinear", exact, y)

    repeated = rng.integers(200, size=len(X))
    yield Table("duplicated rows", X[repeated], y[repeated])
    codes = rng.integers(4, size=(700, 6))
    rule = (codes[:, 0] == codes[:, 1]) * 2 + (codes[:, 2] > 1)
    one_hot = (codes[:, :, None] == np.arange(4)).reshape(700, -1)
    yield Table("one-hot", one_hot.astype(float), rule)
    heavy = _blobs(rng, 700, 6, 3, 1.5)
    yield Table("heavy tails", np.sinh(heavy.X) * np.abs(heavy.X), heavy.y)
    yield Table("tiny unit", X * 1e-9, y, standardized=False)
    yield Table("huge unit", X * 1e9, y, standardized=False)
    units = 10.0 ** rng.integers(-6, 7, size=X.shape[1])
    yield Table("mixed units", X * units, y)

    rare = np.where(rng.random(900) < 0.93, 0, rng.integers(1, 4, size=900))
    centers = 1.5 * rng.normal(size=(4, 10))
    yield Table("imbalanced", centers[rare] + rng.normal(size=(900, 10)), rare)
    yield replace(_blobs(rng, 80, 200, 3, 1.2), name="more features than rows")
    yield replace(_blobs(rng, 2500, 15, 100, 2.0), name="100 classes")
    noise = Table("noise", rng.normal(size=(400, 10)), rng.integers(2, size=400))
    yield noise
    circle = rng.normal(size=(600, 12))
    ring = (np.square(circle[:, :2]).sum(axis=1) > 1.4).astype(int)
    yield Table("ring among noise", circle, ring)
    spread = rng.integers(2, size=1000)
    widths = np.where(spread == 0, 2.0, 1.0)[:, None]
    yield Table("a class around a class", widths * rng.normal(size=(1000, 15)), spread)


def made_numbers(seed: int) -> Iterator[Table]:
    """Yield made tables with numbers to predict."""
    rng = np.random.default_rng(seed)

    def table(name: str, X: FloatArray, y: FloatArray) -> Table:
        return Table(f"numbers: {name}", X, y, "regression", "unit" not in name)

    yield table("friedman 1", *make_friedman1(500, 10, noise=1.0, random_state=seed))
    yield table("friedman 2", *make_friedman2(500, noise=50.0, random_state=seed))
    yield table("friedman 3", *make_friedman3(500, noise=0.1, random_state=seed))
    linear = make_regression(
        500, 20, n_informative=6, noise=40.0, random_state=seed, coef=False
    )
    yield table("linear", *linear)
    X = rng.normal(size=(500, 6))
    yield table("noise", X, rng.normal(size=500))
    wide = rng.normal(size=(600, 15)) * rng.choice([1.0, 2.0], size=(600, 1))
    yield table("distance from the middle", wide, np.square(wide).sum(axis=1))
    wave = np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=500)
    yield table("wave among noise", X, wave)
    yield table("heavy tails", np.sinh(X), np.sinh(wave) + rng.standard_t(2, 500) / 4)
    coarse = np.column_stack([X, np.ones(500), X[:, 0] > 0, X[:, :2] @ [1.0, 2.0]])
    yield table("constant, two-valued, collinear", coarse, wave)
    repeated = rng.integers(150, size=500)
    yield table("duplicated rows", X[repeated], wave[repeated])
    yield table("tiny unit", 1e-9 * X, 1e-9 * wave)
    yield table("huge unit", 1e9 * X, 1e9 * wave)
    few = rng.normal(size=(60, 120))
    yield table("more features than rows", few, few[:, :3].sum(axis=1))
