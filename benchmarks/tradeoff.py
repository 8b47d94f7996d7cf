"""Accuracy against seconds for exact, truncated and stochastic NCA, as a picture.

python -m benchmarks.tradeoff docs/images/tradeoff.svg
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import matplotlib as mpl
from sklearn.exceptions import ConvergenceWarning

from benchmarks.speed.scale import knn_accuracy, official_split
from benchmarks.speed.timing import table
from vicinal import NCA

N_ROWS, D = 10_000, 5
ITERATIONS = (3, 6, 12, 25, 50, 100)
WAYS: dict[str, dict[str, Any]] = {
    "exact": {"solver": "lbfgs"},
    "truncated, 100 neighbours": {"solver": "lbfgs", "neighbors": 100},
    "truncated, auto": {"solver": "lbfgs", "neighbors": "auto"},
    "stochastic": {"solver": "stochastic"},
}


def measure() -> dict[str, list[tuple[float, float]]]:
    """Return seconds and test accuracy of each way, for more and more iterations."""
    X, y, test, truth = official_split("mnist", 255)
    learn, labels = X[:N_ROWS], y[:N_ROWS]
    found: dict[str, list[tuple[float, float]]] = {}
    for name, how in WAYS.items():
        NCA(D, max_iter=1, random_state=0, **how).fit(learn[:500], labels[:500])
        for max_iter in ITERATIONS:
            start = time.perf_counter()
            nca = NCA(D, max_iter=max_iter, random_state=0, **how).fit(learn, labels)
            seconds = time.perf_counter() - start
            accuracy = knn_accuracy(nca, 15, (learn, labels, test, truth))
            found.setdefault(name, []).append((seconds, accuracy))
    return found


def draw(found: dict[str, list[tuple[float, float]]], path: Path) -> None:
    """Write the picture."""
    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "vicinal"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
    markers = ["o", "s", "^", "D"]
    colors = ["#0072B2", "#E69F00", "#009E73", "#CC79A7"]
    for (name, points), marker, color in zip(
        found.items(), markers, colors, strict=True
    ):
        axes.plot(*zip(*points, strict=True), marker=marker, color=color, label=name)
    axes.set(
        xscale="log",
        xlabel="seconds",
        ylabel="15-NN accuracy on the test set, %",
        title=f"MNIST, {N_ROWS:,} rows, 784 → {D}; {ITERATIONS[0]} to "
        f"{ITERATIONS[-1]} iterations",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", type=Path, help="where to write the picture (.svg)")
    path = parser.parse_args().path
    warnings.simplefilter("ignore", ConvergenceWarning)
    found = measure()
    rows = [
        [name, *(f"{accuracy:.1f} in {s:.1f} s" for s, accuracy in points)]
        for name, points in found.items()
    ]
    print(table(["", *(f"{n} iterations" for n in ITERATIONS)], rows))
    draw(found, path)
