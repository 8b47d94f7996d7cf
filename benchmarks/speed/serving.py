"""Serving: the time of a one-row `predict_proba`, and rows a second from 8 threads."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.timing import table
from vicinal import LDG, LocalQDA, NCAClassifier

THREADS = 8


def main(quick: bool) -> None:
    """Print p50 and p99 of one row, and the throughput of one and of 8 threads."""
    rows = []
    for n in (1_000,) if quick else (1_000, 10_000):
        X, y = make_classification(n, 50, n_informative=10, n_classes=5, random_state=0)
        for name, model in _models().items():
            model.fit(X, y)
            times = _latencies(model.predict_proba, X, 200 if quick else 2_000)
            p50, p99 = np.percentile(times, [50, 99]) * 1e3
            rates = [
                _rows_per_second(model.predict_proba, X, threads, 1 if quick else 5)
                for threads in (1, THREADS)
            ]
            figures = f"{p50:.2f}", f"{p99:.2f}", *(f"{rate:,.0f}" for rate in rates)
            rows.append([f"{name}, {n:,} rows", *figures])
    one, many = "rows/s, 1 thread", f"rows/s, {THREADS} threads"
    print(table(["fitted on", "p50 (ms)", "p99 (ms)", one, many], rows))


def _models() -> dict[str, Any]:
    scaler, knn = StandardScaler(), KNeighborsClassifier(15)
    return {
        "k-NN, scikit-learn": make_pipeline(scaler, knn),
        "LDG(10) and k-NN": make_pipeline(scaler, LDG(10, random_state=0), knn),
        "NCAClassifier(10)": make_pipeline(
            scaler, NCAClassifier(10, max_iter=20, tol=1e-2, random_state=0)
        ),
        "LocalQDA": make_pipeline(scaler, LocalQDA()),
    }


def _latencies(
    predict: Callable[[Any], object], X: NDArray[np.float64], calls: int
) -> NDArray[np.float64]:
    times = []
    for i in range(-20, calls):  # the first ones do not count
        row = X[i % len(X)][None]
        start = time.perf_counter()
        predict(row)
        times.append(time.perf_counter() - start)
    return np.array(times[20:])


def _rows_per_second(
    predict: Callable[[Any], object],
    X: NDArray[np.float64],
    threads: int,
    seconds: float,
) -> float:
    """Count one-row predictions of some threads in a given time."""

    def work(seed: int) -> int:
        order = np.random.default_rng(seed).permutation(len(X))
        done = 0
        while time.perf_counter() < end:
            predict(X[order[done % len(X)]][None])
            done += 1
        return done

    end = time.perf_counter() + seconds
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(work, range(threads))) / seconds
