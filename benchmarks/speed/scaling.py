"""Time and memory of a fit against the size of the data, with the exponents.

One size changes at a time: rows, features, dimensions of the map, classes, threads. A
fit has 10 iterations, float32, and defaults otherwise: from about ten thousand rows on,
it is stochastic. Exponents are of the seconds of all cores, to which other work on the
machine adds least.
"""

import json
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.timing import peak_megabytes, table
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray

AXES: dict[str, tuple[str, tuple[int, ...], dict[str, int]]] = {
    "n": ("rows", (1000, 3000, 10_000, 100_000, 1_000_000), {}),
    "D": ("features", (10, 100, 1000, 10_000), {"n": 1000}),
    "d": ("dimensions of the map", (1, 3, 10, 30, 100), {"n": 5000, "D": 200}),
    "classes": ("classes", (2, 10, 100, 1000), {"n": 10_000}),
    "threads": ("threads", (1, 2), {"n": 10_000}),
}
USUAL = {"n": 10_000, "D": 50, "d": 10, "classes": 10, "threads": 0}
ITERATIONS = 10
# Fits up to so many seconds are repeated, and the least counts.
_QUICK, _REPEATS = 2.0, 3

Points = list[tuple[int, float, float, float]]


def main(axes: list[str], store: Path | None, figure: Path | None) -> None:
    """Measure some of the axes, print a table of each, and draw all that is known."""
    warnings.simplefilter("ignore")
    known: dict[str, Points] = {}
    if store is not None and store.exists():
        known = json.loads(store.read_text())
    _fit({**USUAL, "n": 300})  # compile
    for axis in axes:
        name, sizes, others = AXES[axis]
        known[axis] = [(size, *_measured({**USUAL, **others, axis: size}))
                       for size in sizes]  # fmt: skip
        if store is not None:
            store.write_text(json.dumps(known))
        print(f"{_title(axis)}\n\n{_table(name, known[axis])}\n", flush=True)
    if figure is not None:
        draw(known, figure)


def made(n: int, D: int, classes: int) -> tuple[FloatArray, IntArray]:
    """Return overlapping classes, the same for any size but for its length."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, D), dtype=np.float32)
    X += 0.5 * rng.standard_normal((classes, D), dtype=np.float32)[y]
    return X, y


def _measured(sizes: dict[str, int]) -> tuple[float, float, float]:
    """Return seconds, seconds of all cores, and megabytes of a fit."""
    times = [_fit(sizes)]
    while times[-1][0] < _QUICK and len(times) < _REPEATS:
        times.append(_fit(sizes))
    X, y = made(sizes["n"], sizes["D"], sizes["classes"])
    # Tracing is slow, and each iteration takes the same memory.
    memory = peak_megabytes(partial(_model(sizes, 1).fit, X, y), warm=False)
    seconds, of_all_cores = np.min(times, axis=0)
    return float(seconds), float(of_all_cores), memory


def _fit(sizes: dict[str, int]) -> tuple[float, float]:
    X, y = made(sizes["n"], sizes["D"], sizes["classes"])
    start, worked = time.perf_counter(), time.process_time()
    _model(sizes, ITERATIONS).fit(X, y)
    return time.perf_counter() - start, time.process_time() - worked


def _model(sizes: dict[str, int], max_iter: int) -> Any:
    return NCA(
        min(sizes["d"], sizes["D"]),
        max_iter=max_iter,
        random_state=0,
        n_jobs=sizes["threads"] or None,
    )


def exponents(points: Points) -> list[float]:
    """Return by which power of the size the work grows, from point to point."""
    sizes, _, seconds, _ = np.array(points).T
    return [float(x) for x in np.diff(np.log(seconds)) / np.diff(np.log(sizes))]


def _title(axis: str) -> str:
    name, _, others = AXES[axis]
    fixed = {**USUAL, **others}
    rest = ", ".join(
        f"{key} = {fixed[key]:,}" for key in ("n", "D", "d", "classes") if key != axis
    )
    return f"Against {name}; {rest}"


def _table(name: str, points: Points) -> str:
    powers = ["", *(f"{x:.2f}" for x in exponents(points))]
    rows = [
        [f"{size:,}", f"{seconds:.3g}", f"{worked:.3g}", power, f"{megabytes:,.1f}"]
        for (size, seconds, worked, megabytes), power in zip(
            points, powers, strict=True
        )
    ]
    header = [name, "s", "s of all cores", "exponent", "peak MB beyond the input"]
    return table(header, rows)


def draw(known: dict[str, Points], path: Path) -> None:
    """Draw seconds and megabytes against each size."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "vicinal"
    from matplotlib import pyplot as plt

    figure, panels = plt.subplots(
        2, len(known), figsize=(2.6 * len(known), 5), sharey="row",
        layout="constrained",
    )  # fmt: skip
    for column, (axis, points) in zip(panels.T, known.items(), strict=True):
        sizes, _, seconds, megabytes = zip(*points, strict=True)
        for panel, numbers, color in zip(
            column, (seconds, megabytes), ("#0072B2", "#E69F00"), strict=True
        ):
            panel.plot(sizes, numbers, marker="o", color=color)
            panel.set(xscale="log", yscale="log")
            panel.grid(alpha=0.3)
        column[1].set_xlabel(AXES[axis][0])
    panels[0, 0].set_ylabel("seconds of all cores")
    panels[1, 0].set_ylabel("peak MB beyond the input")
    figure.suptitle(f"A fit of NCA, {ITERATIONS} iterations, float32")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
