"""LCA and LCAGauss with their defaults beside KernelDensity and one Gaussian.

Prints the mean log-likelihood of held-out rows, and where learning hurts: where ours is
more than 0.1 nats below the better of the two.

Rows are split 70/30. The peers are given rows that are standardised by the training
part, ours the table as it is, and log-densities are brought to the same units.
A column that does not vary in the training part is left out for the peers, since they
have no scale for it; `LCA` counts such a column as a factor of 1 at its value.

Tables whose names begin with "copies" hold rows more than once by accident: all copies
of a row are in the same part, since new rows will not be copies of old ones.

With --times, the time of each default fit is compared with that of the same fit without
ridges, which was the default before: processor seconds, the least of several.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.special import logsumexp
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.timing import table as markdown
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray
from vicinal.datasets import available, load

BANDWIDTHS = 10.0 ** np.arange(-1.5, 0.76, 0.15)
RIDGE = 1e-6
"""Of the peer's Gaussian, in units of the columns' variances."""
WORSE = -0.1
MOST_RATIO = 2.0
MOST_ROWS, MOST_COLUMNS = 10_000, 64
OURS: dict[str, Callable[[], Any]] = {"LCA": LCA, "LCAGauss": LCAGauss}
WITHOUT_RIDGES: dict[str, dict[str, float]] = {
    "LCA": {"alpha": 0.0},
    "LCAGauss": {"alpha_local": 0.0, "alpha_global": 0.0},
}
COPIES = "copies"
"""How the names of tables begin whose copies of a row stay together."""


class Row(NamedTuple):
    """One estimator on one table: held-out log-likelihoods, one for each split."""

    table: str
    shape: tuple[int, int]
    estimator: str
    scores: FloatArray
    kernel_density: FloatArray
    gaussian: FloatArray
    seconds: float

    @property
    def differences(self) -> FloatArray:
        """Ours less the better of the peers on average, one for each split."""
        peers = max((self.kernel_density, self.gaussian), key=np.mean)
        return self.scores - peers

    @property
    def hurts(self) -> bool:
        """Whether ours is lower than the better peer by more than is allowed."""
        return not self.differences.mean() >= WORSE


def measure(
    tables: Mapping[str, FloatArray], n_splits: int = 3, seed: int = 0
) -> list[Row]:
    """Return a row for each table and estimator.

    Parameters
    ----------
    tables : mapping of str to ndarray
        Rows by the table's name.
    n_splits : int, default=3
        Random splits into 70 % to learn from and 30 % to judge by.
    seed : int, default=0
        Of the first split; the others follow.
    """
    rows = []
    for name, X in tables.items():
        parts = [split(X, seed + k, name.startswith(COPIES)) for k in range(n_splits)]
        peers = np.array([peer_scores(*part) for part in parts])
        for estimator, make in OURS.items():
            began = time.perf_counter()
            scores = np.array([our_score(make(), *part) for part in parts])
            seconds = (time.perf_counter() - began) / n_splits
            shape = (len(X), X.shape[1])
            rows.append(
                Row(name, shape, estimator, scores, peers[:, 0], peers[:, 1], seconds)
            )
    return rows


def split(
    X: FloatArray, seed: int, by_distinct_row: bool
) -> tuple[FloatArray, FloatArray]:
    """Return rows to learn from and rows to judge by, 70 and 30 %."""
    if not by_distinct_row:
        train, test = train_test_split(X, test_size=0.3, random_state=seed)
        return train, test
    group = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    known, _ = train_test_split(
        np.arange(group.max() + 1), test_size=0.3, random_state=seed
    )
    learns = np.isin(group, known)
    return X[learns], X[~learns]


def our_score(model: Any, train: FloatArray, test: FloatArray) -> float:
    """Return the mean log-density of held-out rows, in units of the training rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        score = float(model.fit(train).score(test))
    varies = (train != train[0]).any(axis=0)
    scales = np.std(train, axis=0, dtype=np.float64)
    scales[~varies] = np.sqrt(np.mean(np.square(scales[varies])))
    return score + float(np.log(scales).sum())


def peer_scores(train: FloatArray, test: FloatArray) -> tuple[float, float]:
    """Return what KernelDensity, at its best bandwidth, and one Gaussian give."""
    varies = (train != train[0]).any(axis=0)
    train, test = (part[:, varies].astype(np.float64) for part in (train, test))
    scaler = StandardScaler().fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    return kernel_density(train, test), gaussian(train, test)


def kernel_density(train: FloatArray, test: FloatArray) -> float:
    """Return KernelDensity's mean log-density, its bandwidth chosen by five folds."""
    folds = KFold(5, shuffle=True, random_state=0)
    held_out = np.zeros(len(BANDWIDTHS))
    for learn, judge in folds.split(train):
        held_out += [parzen(train[learn], train[judge], width) for width in BANDWIDTHS]
    return parzen(train, test, BANDWIDTHS[np.argmax(held_out)])


def parzen(train: FloatArray, test: FloatArray, width: float) -> float:
    """Return what KernelDensity(bandwidth=width).fit(train).score(test) is, per row."""
    total = 0.0
    norms = np.einsum("ij,ij->i", train, train)
    for part in np.array_split(test, -(-len(test) * len(train) // 2**21)):
        squares = np.einsum("ij,ij->i", part, part)[:, None] - 2 * part @ train.T
        squares += norms
        total += logsumexp(-0.5 / width**2 * np.maximum(squares, 0), axis=1).sum()
    n, d = train.shape
    return total / len(test) - np.log(n) - d * np.log(width * np.sqrt(2 * np.pi))


def gaussian(train: FloatArray, test: FloatArray) -> float:
    """Return the mean log-density of a Gaussian with the training rows' moments."""
    d = train.shape[1]
    covariance = np.cov(train.T, bias=True).reshape(d, d) + RIDGE * np.eye(d)
    variances, axes = np.linalg.eigh(covariance)
    squares = np.square((test - train.mean(axis=0)) @ axes) / variances
    constant = np.log(variances).sum() + d * np.log(2 * np.pi)
    return float(-0.5 * (squares.sum(axis=1).mean() + constant))


def real() -> Iterator[tuple[str, FloatArray]]:
    """Yield the tables of scikit-learn and of VICINAL_DATA that are small enough."""
    for name in available():
        try:
            X = load(name).X
        except ValueError:  # texts and relevance judgements, no table
            continue
        X = X[:, ~np.isnan(X).any(axis=0)]
        if len(X) <= MOST_ROWS and X.shape[1] <= MOST_COLUMNS:
            yield name, X
    yield "diabetes", load_diabetes().data


def made(seed: int = 0) -> Iterator[tuple[str, FloatArray]]:
    """Yield tables that are awkward in one way each, in float64 and some in float32."""
    rng = np.random.default_rng(seed)

    def blobs(n: int, d: int, k: int = 3) -> FloatArray:
        centers = rng.normal(size=(k, d)) * 3
        mixed = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)
        found: FloatArray = centers[rng.integers(k, size=n)] + mixed
        return found

    def nearly_gaussian(n: int, d: int) -> FloatArray:
        return rng.normal(size=(n, d)) @ rng.normal(size=(d, d))

    base = blobs(500, 5)
    two = (rng.random(500) < 0.2).astype(float)
    constant = np.column_stack([base, np.full(500, 7.0), two])
    yield "constant and two-valued", constant
    yield "constant and two-valued, float32", constant.astype(np.float32)
    rare = np.zeros((400, 6))
    rare[np.arange(400), rng.choice(6, 400, p=[0.5, 0.3, 0.15, 0.04, 0.005, 0.005])] = 1
    yield "one-hot with rare levels", np.column_stack([blobs(400, 3), rare])
    yield "one-hot alone", np.eye(4)[rng.integers(4, size=300)]
    yield "integers", np.round(blobs(600, 6) * 2)
    collinear = np.column_stack(
        [base, base[:, 0] - base[:, 1], base @ rng.normal(size=5)]
    )
    yield "collinear", collinear
    yield "collinear, float32", collinear.astype(np.float32)
    yield "duplicated rows", np.repeat(blobs(250, 4), 2, axis=0)
    yield "heavy-tailed", rng.standard_t(1.5, size=(600, 4))
    yield "log-normal", np.exp(1.5 * rng.normal(size=(600, 5)))
    scales = 10.0 ** np.array([-20, -3, 0, 6, 15])
    yield "tiny and huge scales", blobs(400, 5) * scales
    yield "far from the origin, float32", (base + 1000).astype(np.float32)
    yield "fewer rows than columns", nearly_gaussian(40, 50)
    yield "few rows", blobs(30, 8)
    yield "noise, 300 × 10", rng.normal(size=(300, 10))
    yield "nearly Gaussian, 1,000 × 20", nearly_gaussian(1000, 20)
    wide = nearly_gaussian(5000, 40)
    wide[:, 0] += 0.3 * np.square(wide[:, 1]) / wide[:, 1].std()
    yield "nearly Gaussian, 5,000 × 40", wide
    yield "nearly Gaussian, 5,000 × 40, float32", wide.astype(np.float32)
    angle = rng.uniform(0, 2 * np.pi, size=600)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    ring = ring * rng.integers(1, 3, (600, 1))
    ring = ring + 0.1 * rng.normal(size=(600, 2))
    yield "circles and noise", np.column_stack([ring, rng.normal(size=(600, 6))])
    yield "uniform", rng.uniform(size=(500, 3))
    yield "one column", rng.gamma(2.0, size=(300, 1))
    yield from _repeated(np.random.default_rng((seed, 1)))


def _repeated(rng: Generator) -> Iterator[tuple[str, FloatArray]]:
    """Yield tables with equal rows, by accident and by nature."""
    for d in (4, 10):
        centers = rng.normal(size=(3, d)) * 3
        mixed = rng.normal(size=(350, d)) @ rng.normal(size=(d, d)) / np.sqrt(d)
        rows = centers[rng.integers(3, size=350)] + mixed
        yield f"{COPIES}: every row twice, d = {d}", np.repeat(rows, 2, axis=0)
        yield f"{COPIES}: drawn with replacement, d = {d}", rng.choice(rows, 600)
    yield "a grid of 5 × 5 × 5", rng.integers(5, size=(1000, 3)).astype(float)
    rows = rng.normal(size=(600, 3))
    rows[::2] = 0
    yield "every other row is 0", rows
    yield "whole numbers, one column", np.round(rng.normal(40, 12, size=(400, 1)))


def times(X: FloatArray, repeats: int) -> list[list[str]]:
    """Return how long default fits take, and the same fits without ridges."""
    train = split(X, 0, False)[0]
    rows = []
    for estimator, make in OURS.items():
        models = make(), make().set_params(**WITHOUT_RIDGES[estimator])
        taken: list[list[float]] = [[], []]
        for _ in range(repeats):
            for model, seconds in zip(models, taken, strict=True):
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model.fit(train)
                seconds.append(time.process_time() - began)
        default, before = min(taken[0]), min(taken[1])
        iterations = " / ".join(str(model.n_iter_) for model in models)
        cells = [f"{1000 * default:.0f}", f"{1000 * before:.0f}"]
        rows.append([estimator, iterations, *cells, f"{default / before:.1f}"])
    return rows


def lines(rows: list[Row]) -> list[list[str]]:
    """Return the rows as cells of a table."""
    return [
        [
            row.table,
            f"{row.shape[0]:,} × {row.shape[1]}",
            row.estimator,
            f"{row.scores.mean():.2f}",
            f"{row.kernel_density.mean():.2f}",
            f"{row.gaussian.mean():.2f}",
            f"{row.differences.mean():+.2f} ± {_error(row.differences):.2f}",
            f"{row.seconds:.2f}",
            "hurts" if row.hurts else "",
        ]
        for row in rows
    ]


def _error(values: FloatArray) -> float:
    return (
        float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0
    )


HEADER = ["table", "n × d", "estimator", "ours", "KernelDensity", "Gaussian"]
HEADER += ["ours less the better", "seconds", ""]
TIMES = ["table", "n × d", "estimator", "iterations", "default, ms"]
TIMES += ["without ridges, ms", "ratio"]


def main(argv: list[str] | None = None) -> None:
    """Print the tables, and where learning hurts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tables", choices=["made", "real", "all"], default="all")
    parser.add_argument("--only", nargs="+", help="tables with such a word alone")
    parser.add_argument("--times", action="store_true", help="how long fits take")
    parser.add_argument("--repeats", type=int, default=5, help="fits that are timed")
    options = parser.parse_args(argv)
    tables: list[tuple[str, FloatArray]] = []
    if options.tables != "real":
        tables += made(options.seed)
    if options.tables != "made":
        tables += real()
    if options.only is not None:
        tables = [
            (name, X)
            for name, X in tables
            if any(word in name for word in options.only)
        ]
    if options.times:
        print_times(tables, options.repeats)
        return
    rows: list[Row] = []
    for name, X in tables:
        found = measure({name: X}, options.splits, options.seed)
        rows += found
        for line in lines(found):
            print(" | ".join(line), flush=True)
    print(f"\n{markdown(HEADER, lines(rows))}\n")
    worse = [row for row in rows if row.hurts]
    print(
        f"Below the better peer by more than {-WORSE} nats: {len(worse)} of {len(rows)}"
    )


def print_times(tables: list[tuple[str, FloatArray]], repeats: int) -> None:
    """Print how long fits take, and the worst ratio."""
    print(markdown(TIMES, []))
    ratios = []
    for name, X in tables:
        for line in times(X, repeats):
            ratios.append(float(line[-1]))
            shape = f"{len(X):,} × {X.shape[1]}"
            print("| " + " | ".join([name, shape, *line]) + " |", flush=True)
    over = sum(ratio > MOST_RATIO for ratio in ratios)
    print(
        f"\nMedian ratio {np.median(ratios):.1f}, most {max(ratios):.1f}; above "
        f"{MOST_RATIO}: {over} of {len(ratios)}"
    )


if __name__ == "__main__":
    main()
