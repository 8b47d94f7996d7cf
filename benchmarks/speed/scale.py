"""NCA at scale: accuracy, time and memory where the exact sums are out of reach."""

import os
import subprocess
import sys
import tempfile
import time
import tracemalloc
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis

from benchmarks.speed.timing import table
from vicinal import NCA, NCAClassifier
from vicinal._typing import FloatArray, IntArray
from vicinal.datasets import load

SEEDS = (0, 1, 2)


def timed_fit(estimator: Any, X: FloatArray, y: IntArray) -> float:
    """Fit, and return the seconds it took."""
    start = time.perf_counter()
    estimator.fit(X, y)
    return time.perf_counter() - start


def official_split(name: str, unit: float) -> tuple[Any, ...]:
    """Return training and test points of a data set that comes with both, float32."""
    data = load(name)
    X = data.X.astype(np.float32) / np.float32(unit)
    y = np.unique(data.y, return_inverse=True)[1]
    test = data.is_test
    if test is None:
        raise ValueError(f"{name} has no official test part.")
    return X[~test], y[~test], X[test], y[test]


def knn_accuracy(nca: Any, k: int, split: tuple[Any, ...]) -> float:
    """Return the test accuracy of k-NN under the learned metric, in percent."""
    X, y, Q, z = split
    knn = KNeighborsClassifier(k).fit(nca.transform(X), y)
    return 100 * float(knn.score(nca.transform(Q), z))


def mean(numbers: list[float]) -> str:
    """Return the mean and its standard error."""
    error = np.std(numbers, ddof=1) / np.sqrt(len(numbers))
    return f"{np.mean(numbers):.2f} ± {error:.2f}"


def first_fits() -> tuple[float, float]:
    """Return how much longer the first fit of a process takes than its second.

    In a process that finds nothing compiled, and in the next, which finds it on the
    disk and has only to load it. The fit itself is a small one.
    """
    code = (
        "import numpy as np, time; from vicinal import NCA\n"
        "r = np.random.default_rng(0); X = r.normal(size=(300, 5)).astype('f')\n"
        "y = r.integers(3, size=300)\n"
        "def fit():\n"
        "    t = time.perf_counter()\n"
        "    NCA(2, solver='stochastic', max_iter=5, random_state=0).fit(X, y)\n"
        "    return time.perf_counter() - t\n"
        "first = fit(); print(first - fit())"
    )
    with tempfile.TemporaryDirectory() as cache:
        run = [
            subprocess.run(  # noqa: S603
                [sys.executable, "-c", code],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            for _ in range(2)
        ]
    return float(run[0].stdout), float(run[1].stdout)


def many_rows(n: int) -> tuple[FloatArray, IntArray]:
    """Return 20 classes of two clusters each, in 50 features of which 20 tell."""
    X, y = make_classification(
        n,
        n_features=50,
        n_informative=20,
        n_redundant=10,
        n_classes=20,
        n_clusters_per_class=2,
        class_sep=1.5,
        random_state=0,
    )
    return X.astype(np.float32), y


def by_the_rule(
    name: str, peer: float, asked: str, solver: str, splits: list[tuple[Any, ...]]
) -> list[str]:
    """Measure NCA's own rule on splits of a data set, one for each seed."""
    accuracies, times = [], []
    for seed, (X, y, Q, z) in zip(SEEDS, splits, strict=True):
        model = NCAClassifier(n_components=5, objective="log", random_state=seed)
        model.set_params(solver=solver)
        times.append(timed_fit(model, X, y))
        accuracies.append(100 * float(model.score(Q, z)))
    seconds = float(np.median(times))
    return [name, asked, mean(accuracies), f"{seconds:.1f}", f"{seconds / peer:.2f}"]


def images(peer: float) -> list[list[str]]:
    """Measure the data sets of digits against the peer's seconds."""
    rows = []
    for d, k, asked in ((5, 15, 91.5), (30, 3, 97.6)):
        split = official_split("mnist", 255)
        accuracies, times = [], []
        for seed in SEEDS:
            nca = NCA(n_components=d, random_state=seed)
            times.append(timed_fit(nca, *split[:2]))
            accuracies.append(knn_accuracy(nca, k, split))
        rows.append([
            f"MNIST 60,000 × 784 → {d}, {k}-NN",
            f"{asked}",
            mean(accuracies),
            f"{np.median(times):.1f}",
            f"{np.median(times) / peer:.2f}",
        ])  # fmt: skip
    X, y, Q, z = official_split("usps", 1)
    rows.append(
        by_the_rule(
            "USPS 7,291 × 256 → 5, NCA rule of g",
            peer,
            "92.6",
            "auto",
            [(X, y, Q, z)] * 3,
        )
    )
    # The official test set is unlike the training set; how much does that take? (With
    # fewer rows, "auto" would not be stochastic.)
    shuffled = [np.random.default_rng(seed).permutation(len(X)) for seed in SEEDS]
    splits = [(X[r[1500:]], y[r[1500:]], X[r[:1500]], y[r[:1500]]) for r in shuffled]
    rows.append(
        by_the_rule(
            "the same, 1,500 training rows held out", peer, "", "stochastic", splits
        )
    )
    return rows


def growth() -> list[list[str]]:
    """Measure ten times the rows: time, memory, and accuracy against an exact fit."""
    X, y = many_rows(1_060_000)
    held, truth = X[-10_000:], y[-10_000:]
    judges, labels = X[-60_000:-10_000], y[-60_000:-10_000]
    split = judges, labels, held, truth
    exact = NCA(n_components=10, random_state=0, solver="lbfgs", max_iter=100)
    exact_time = timed_fit(exact, X[:5000], y[:5000])
    rows = [["exact", "5,000", f"{exact_time:.1f}", "",
             f"{knn_accuracy(exact, 5, split):.2f}"]]  # fmt: skip
    for n in (100_000, 1_000_000):
        seconds = timed_fit(NCA(n_components=10, random_state=0), X[:n], y[:n])
        tracemalloc.start()
        nca = NCA(n_components=10, random_state=0).fit(X[:n], y[:n])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        rows.append([
            "default",
            f"{n:,}",
            f"{seconds:.1f}",
            f"{peak / 1e6:.0f}",
            f"{knn_accuracy(nca, 5, split):.2f}",
        ])  # fmt: skip
    return rows


def main(quick: bool) -> None:
    """Print the tables."""
    first, later = first_fits()
    print(f"Compiling takes {first - later:.1f} s, once; loading {later:.1f} s\n")
    X, y = official_split("mnist", 255)[:2]
    NCA(2, max_iter=2, random_state=0, solver="stochastic").fit(X[:500], y[:500])
    peer = timed_fit(
        NeighborhoodComponentsAnalysis(2, random_state=0), X[:3500], y[:3500]
    )
    print(f"scikit-learn's NCA, 3,500 rows of MNIST, d = 2: {peer:.1f} s\n", flush=True)
    header = ["task", "asked %", "accuracy %", "s", "of the peer's"]
    print(table(header, images(peer)), "\n", flush=True)
    if quick:
        return
    print("20 classes in 50 features → 10; 5-NN among 50,000 other rows\n")
    header = ["fit", "rows", "s", "peak MB beyond the input", "accuracy %"]
    print(table(header, growth()))
