"""A made table of 10⁶ rows: 25 numbers and 25 categories, with gaps.

The probability of the class is known, and with it the best possible accuracy. Each
model has a process of its own, whose peak memory is printed.
"""

import multiprocessing
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.speed.timing import process_peak_megabytes
from benchmarks.speed.timing import table as markdown
from benchmarks.tables import models
from benchmarks.tables.scores import warm_up

MODELS = ["TableNCA", "HistGradientBoosting"]
_N_NEW = 100_000
_GAPS = 0.05


def run(names: Sequence[str], n: int) -> None:
    """Print accuracy, seconds and memory of each model."""
    heads = ["", "accuracy, %", "best possible, %", "fit, s", "predict, s"]
    heads += [f"rows predicted of {n:,}", "data, MB", "process at most, MB"]
    rows = []
    for name in names:
        if models.MODELS[name].make("classification", 0) is None:
            print(f"{name}: not installed; left out")
            continue
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=spawn) as pool:
            rows.append(pool.submit(_row, name, n).result())
    print(markdown(heads, rows))


def _row(name: str, n: int) -> list[str]:
    """Fit and predict in this process, and return the table's row."""
    model = models.MODELS[name]
    warm_up(model, "classification")
    n_new = min(n, _N_NEW)
    X, y, p = mixed(n + n_new, 0)
    X_new, y_new, p_new = X.iloc[n:], y[n:], p[n:]
    X, y = X.iloc[:n], y[:n]
    data = process_peak_megabytes()
    estimator = model.make("classification", 0)
    marks = [time.process_time()]
    estimator.fit(X, y)
    marks.append(time.process_time())
    right = np.mean(np.ravel(estimator.predict(X_new)) == y_new)
    marks.append(time.process_time())
    fit, predict = np.diff(marks)
    best = np.maximum(p_new, 1 - p_new).mean()
    return [
        *(name, f"{100 * right:.2f}", f"{100 * best:.2f}", f"{fit:.0f}"),
        *(f"{predict:.1f}", f"{n_new:,}", f"{data:.0f}"),
        f"{process_peak_megabytes():.0f}",
    ]


def mixed(n: int, seed: int) -> tuple[Any, NDArray[np.int64], NDArray[np.float64]]:
    """Return a frame, classes 0 and 1, and the probability of 1 given the row.

    The logit is a sum of waves of ten numbers, of effects of ten categories, and of a
    product of two numbers. A gap's effect is 0.
    """
    rng = np.random.default_rng(seed)
    logit = np.zeros(n)
    columns: dict[str, Any] = {}
    for c in range(25):
        x = rng.standard_normal(n, dtype=np.float32)
        x[rng.random(n) < _GAPS] = np.nan
        if c < 10:
            logit += np.nan_to_num(np.sin((1 + c / 4) * x))
        columns[f"number {c}"] = x
    logit += np.nan_to_num(columns["number 0"] * columns["number 1"])
    for c in range(25):
        n_values = 2 + 2 * c
        codes = rng.integers(n_values, size=n)
        codes[rng.random(n) < _GAPS] = -1
        if c < 10:
            logit += np.append(rng.standard_normal(n_values), 0)[codes]
        values = [f"value {value}" for value in range(n_values)]
        columns[f"category {c}"] = pd.Categorical.from_codes(codes, values)
    p = expit(logit - logit.mean())
    return pd.DataFrame(columns), (rng.random(n) < p).astype(np.int64), p
