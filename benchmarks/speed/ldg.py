"""LDG on all of MNIST with its memory, LFDA on threads, ITML with many classes."""

import resource
import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.speed.timing import seconds, table
from vicinal import LDG
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import ITML, LFDA
from vicinal.datasets import load

LFDA_SHAPES = ((4000, 20, 2), (20_000, 20, 10))
# Rows of a block of the bare products, which nothing is made of.
BLOCK = 512


def main(quick: bool) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    many_classes()
    lfda()
    if not quick:
        mnist()


def many_classes() -> None:
    """Time a default fit of ITML, the choice of gamma included."""
    X, y = make_classification(
        1000, 20, n_informative=10, n_redundant=5, n_classes=30,
        n_clusters_per_class=1, class_sep=2, random_state=0,
    )  # fmt: skip
    X = StandardScaler().fit_transform(X)
    taken = seconds(lambda: ITML(random_state=0).fit(X, y), 3)
    print(f"ITML, 1,000 × 20, 30 classes, all defaults: {taken:.2f} s\n", flush=True)


def lfda() -> None:
    """Time LFDA on one thread, and on as many as BLAS would use."""
    rows = []
    for n, d, n_classes in LFDA_SHAPES:
        rng = np.random.default_rng(0)
        y = rng.integers(n_classes, size=n)
        X = rng.normal(size=(n, d)) + 2 * rng.normal(size=(n_classes, d))[y]
        model = LFDA(embedding="weighted")
        fit = partial(model.fit, X, y)
        every = seconds(fit, 5)
        with threadpool_limits(1, "blas"):
            one = seconds(fit, 5)
        name = f"{n:,} × {d}, {n_classes} classes"
        rows.append([name, f"{one:.3f}", f"{every:.3f}", f"{one / every:.2f}"])
    print("LFDA\n")
    print(table(["data", "one thread, s", "all, s", "ratio"], rows), "\n", flush=True)


def mnist() -> None:
    """Time LDG on 60,000 rows beside the bare products that it cannot do without.

    In a process of its own, whose peak of memory is that of the data and of the fit.
    """
    subprocess.run([sys.executable, "-m", __name__], check=True)  # noqa: S603


def _mnist() -> None:
    X, y = _standardised()
    before = _peak()
    start, worked = time.perf_counter(), time.process_time()
    ldg = LDG("grow", random_state=0).fit(X, y)
    taken, worked = time.perf_counter() - start, time.process_time() - worked
    peak = _peak()
    start = time.process_time()
    with threadpool_limits(1, "blas"):
        _bare_products(X[:10_000])
    bare = (time.process_time() - start) * (len(X) / 10_000) ** 2
    choices = f"{ldg.n_neighbors_}, {ldg.gamma_:g}, {ldg.n_components_}"
    print(f'LDG("grow"), MNIST {X.shape[0]:,} × {X.shape[1]}, float32\n')
    header = ["s", "s of all cores", "products of all pairs, s of one core"]
    header += ["MB before", "peak MB", "k, γ, d"]
    numbers = [taken, worked, bare, before, peak]
    print(table(header, [[*(f"{number:.0f}" for number in numbers), choices]]))


def _standardised() -> tuple[FloatArray, IntArray]:
    """Return MNIST's training rows, with as little memory as that takes."""
    data = load("mnist")
    if data.is_test is None:
        raise ValueError("This copy of MNIST does not say which rows are the test's.")
    X, y = data.X[~data.is_test], data.y[~data.is_test]
    deviations = X.std(axis=0)
    X -= X.mean(axis=0)
    X /= np.where(deviations > 0, deviations, 1)
    return X, y


def _bare_products(X: FloatArray) -> None:
    out = np.empty((BLOCK, len(X)), dtype=X.dtype)
    for start in range(0, len(X), BLOCK):
        rows = X[start : start + BLOCK]
        np.matmul(rows, X.T, out=out[: len(rows)])


def _peak() -> float:
    """Return the most memory that the process has held, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


if __name__ == "__main__":
    _mnist()
