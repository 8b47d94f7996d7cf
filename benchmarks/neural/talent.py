"""Three tables with a benchmark's own splits, with defaults, five seeds.

Its training part is learned from. Its validation part, on which published results were
tuned, is learned from, too, in a second line: we tune nothing, and hold out rows of our
own.
"""

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.speed.timing import table as markdown
from vicinal.neural import NeuralNCAClassifier, NeuralNCARegressor

# Published after tuning: for ModernNCA, and the best of the others.
_PUBLISHED = {
    "talent_mfeat_factors": (97.22, 97.75),
    "talent_bank": (90.74, 90.95),
    "talent_cpu_act": (2.375, 2.298),
}


def run(n_seeds: int, only: list[str] | None, n_estimators: int) -> None:
    """Print accuracy, or the root mean squared error, of each table."""
    rows = []
    for name, published in _PUBLISHED.items():
        if only is not None and name not in only:
            continue
        X, y, part = _read(name)
        for learned in ("training", "training and validation"):
            inside = part == 0 if learned == "training" else part < 2
            found, began = [], time.perf_counter()
            for seed in range(n_seeds):
                found.append(_score(X, y, inside, part == 2, seed, n_estimators))
                print(name, learned, seed, f"{found[-1]:.3f}", flush=True)
            seconds = (time.perf_counter() - began) / n_seeds
            error = np.std(found, ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.nan
            cells = [f"{np.mean(found):.3f} ± {error:.3f}"]
            cells += [f"{one:.3f}" for one in published]
            rows.append([name, learned, *cells, f"{seconds:.0f}"])
    heads = ["table", "learned from", "ours", "ModernNCA", "the best", "seconds"]
    print(markdown(heads, rows))


def _score(
    X: Any, y: Any, inside: Any, test: Any, seed: int, n_estimators: int
) -> float:
    """Return the accuracy in percent, or the root mean squared error."""
    how: dict[str, Any] = {"random_state": seed, "n_estimators": n_estimators}
    if y.dtype.kind == "f":
        model: Any = NeuralNCARegressor(**how).fit(X[inside], y[inside])
        return float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))
    model = NeuralNCAClassifier(**how).fit(X[inside], y[inside])
    return 100 * float(model.score(X[test], y[test]))


def _read(name: str) -> tuple[Any, Any, Any]:
    """Return a data frame, its target, and the part that each row belongs to."""
    folder = os.environ.get("VICINAL_DATA")
    if folder is None:
        raise SystemExit(f"VICINAL_DATA must name a folder that holds {name}.npz.")
    with np.load(Path(folder) / f"{name}.npz", allow_pickle=False) as data:
        X = pd.DataFrame(data["X"])
        if "categories" in data:
            for c, column in enumerate(data["categories"].T):
                X[f"category {c}"] = pd.Categorical(column)
        X.columns = [str(column) for column in X.columns]
        return X, data["y"], data["part"]
