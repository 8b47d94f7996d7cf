"""Three tables with a benchmark's own splits, with defaults, several seeds.

As published results were made, networks learn from the training part, and the
validation part judges their epochs. A second line learns from both parts, and holds out
rows of its own.
"""

import json
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
_PROTOCOL = "training; judged by validation"
_BOTH = "training and validation"


def run(
    n_seeds: int,
    only: list[str] | None,
    n_estimators: int | None,
    both: bool,
    store: Path | None,
) -> None:
    """Print accuracy, or the root mean squared error, of each table.

    What is stored is not computed again.
    """
    done: dict[str, list[tuple[float, float]]] = {}
    if store is not None and store.exists():
        done = json.loads(store.read_text("utf-8"))
    rows = []
    for name, published in _PUBLISHED.items():
        if only is not None and name not in only:
            continue
        X, y, part = _read(name)
        for how in (_PROTOCOL, _BOTH) if both else (_PROTOCOL,):
            found = done.setdefault(f"{name}: {how}, {n_estimators or 'default'}", [])
            for seed in range(len(found), n_seeds):
                used = time.process_time()
                score = _score(X, y, part, seed, n_estimators, how == _BOTH)
                found.append((score, time.process_time() - used))
                print(name, how, seed, f"{score:.3f}", flush=True)
                if store is not None:
                    store.write_text(json.dumps(done), "utf-8")
            scores, seconds = np.array(found[:n_seeds]).T
            error = scores.std(ddof=1) / np.sqrt(n_seeds) if n_seeds > 1 else np.nan
            cells = [f"{scores.mean():.3f} ± {error:.3f}"]
            cells += [f"{one:.3f}" for one in published]
            rows.append([name, how, *cells, f"{seconds.mean():.0f}"])
    heads = ["table", "learned from", "ours", "ModernNCA", "the best"]
    print(markdown([*heads, "processor seconds"], rows))


def _score(
    X: Any, y: Any, part: Any, seed: int, n_estimators: int | None, both: bool
) -> float:
    """Return the accuracy in percent, or the root mean squared error."""
    numbers = y.dtype.kind == "f"
    kind = NeuralNCARegressor if numbers else NeuralNCAClassifier
    model: Any = kind(random_state=seed)
    if n_estimators is not None:
        model.set_params(n_estimators=n_estimators, linear_vote=False)
    if both:
        model.fit(X[part < 2], y[part < 2])
    else:
        model.fit(X[part == 0], y[part == 0], X_val=X[part == 1], y_val=y[part == 1])
    test = part == 2
    if numbers:
        return float(np.sqrt(np.mean((model.predict(X[test]) - y[test]) ** 2)))
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
