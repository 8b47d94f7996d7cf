"""LCA beside scipy's gaussian_kde and scikit-learn's KernelDensity, with seconds.

Mean log-density of held-out rows in nats, all columns standardised by the training
rows, on tables that come with scikit-learn; ten splits of 70 % and 30 %. KernelDensity
has the bandwidth that five folds choose, gaussian_kde Scott's rule, LCA its defaults.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np
from scipy.stats import gaussian_kde
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.timing import table
from vicinal import LCA
from vicinal._typing import FloatArray
from vicinal.datasets import load

TABLES = ("iris", "wine", "breast_cancer", "digits")
N_SPLITS = 10
BANDWIDTHS = np.geomspace(0.05, 5, 20)


def scott(train: FloatArray, test: FloatArray) -> float:
    """Return the mean log-density of scipy's gaussian_kde."""
    return float(gaussian_kde(train.T).logpdf(test.T).mean())


def grid(train: FloatArray, test: FloatArray) -> float:
    """Return that of KernelDensity, the bandwidth chosen by five folds."""
    search = GridSearchCV(KernelDensity(), {"bandwidth": BANDWIDTHS}).fit(train)
    return float(search.best_estimator_.score(test) / len(test))


def learned(train: FloatArray, test: FloatArray) -> float:
    """Return that of LCA with its defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return float(LCA().fit(train).score(test))


MODELS: dict[str, Callable[[FloatArray, FloatArray], float]] = {
    "gaussian_kde": scott,
    "KernelDensity, grid": grid,
    "LCA": learned,
}


def measure(X: FloatArray, n_splits: int) -> list[str]:
    """Return the scores and seconds of each model on one table, in words."""
    cells: list[str] = []
    for model in MODELS.values():
        scores, times = [], []
        for seed in range(n_splits):
            train, test = train_test_split(X, test_size=0.3, random_state=seed)
            varies = train.std(axis=0) > 0
            scaler = StandardScaler().fit(train[:, varies])
            parts = [scaler.transform(part[:, varies]) for part in (train, test)]
            start = time.perf_counter()
            try:
                scores.append(model(*parts))
            except np.linalg.LinAlgError:
                break
            times.append(time.perf_counter() - start)
        if len(scores) < n_splits:
            cells += ["fails: singular covariance", ""]
            continue
        error = np.std(scores, ddof=1) / np.sqrt(n_splits)
        cells += [f"{np.mean(scores):.2f} ± {error:.2f}", f"{np.median(times):.2f}"]
    return cells


def main() -> None:
    """Print the table."""
    learned(load("iris").X, load("iris").X)  # what is compiled once does not count
    header = ["data", "n × d", *(cell for name in MODELS for cell in (name, "s"))]
    rows = []
    for name in TABLES:
        X = load(name).X
        shape = f"{len(X):,} × {X.shape[1]}"
        rows.append([name, shape, *measure(X, N_SPLITS)])
    print(table(header, rows))


if __name__ == "__main__":
    main()
