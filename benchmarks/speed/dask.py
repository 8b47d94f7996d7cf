"""NCA on a Dask cluster of this machine: accuracy, time, memory and bytes moved.

Needs the extra "dask", and for MNIST the folder that VICINAL_DATA names.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.scale import knn_accuracy, mean, official_split, timed_fit
from benchmarks.speed.timing import table
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray

SEEDS = (0, 1, 2)
# Of the made rows: how many features, classes, and rows in a chunk.
WIDTH, N_CLASSES, CHUNK = 32, 8, 250_000
# What a task moves beside the map and the gradient: its description and its state.
TASK_BYTES = 6000


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """Start worker processes of one thread each, and return their client."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
    ):
        yield client


def print_table(header: list[str], rows: list[list[Any]]) -> None:
    """Print a Markdown table."""
    print(table(header, [[str(cell) for cell in row] for row in rows]), flush=True)


def in_chunks(X: FloatArray, y: IntArray, n: int) -> tuple[Any, Any]:
    """Return the rows in n chunks, on the workers already."""
    import dask.array as da

    size = -(-len(X) // n)
    return (
        da.from_array(X, chunks=(size, -1)).persist(),
        da.from_array(y, chunks=size).persist(),
    )


def mnist(seeds: tuple[int, ...] = SEEDS) -> None:
    """Compare fits in memory and on two workers, one after the other."""
    from vicinal import dask as on_cluster

    split = official_split("mnist", 255.0)
    X, y = split[:2]
    found: dict[str, list[tuple[float, float]]] = {"memory": [], "two workers": []}
    with cluster(2) as client:
        rows, labels = in_chunks(X, y, 8)
        on_cluster.NCA(30, max_iter=1, random_state=0).fit(rows, labels)  # compiles
        NCA(30, max_iter=1, solver="stochastic", random_state=0).fit(X, y)
        for seed in seeds:
            ours = on_cluster.NCA(30, random_state=seed, client=client)
            theirs = NCA(30, random_state=seed)
            for name, one, given in (
                ("memory", theirs, (X, y)),
                ("two workers", ours, (rows, labels)),
            ):
                seconds = timed_fit(one, *given)
                model = one if one is theirs else ours.to_local()
                found[name].append((knn_accuracy(model, 3, split), seconds))
                print(f"seed {seed}, {name}: {found[name][-1]}", flush=True)
    ratios = [
        there[1] / here[1]
        for here, there in zip(found["memory"], found["two workers"], strict=True)
    ]
    print_table(
        ["MNIST 60,000 → 30 in 8 chunks", "3-NN accuracy %", "s"],
        [
            [name, mean([one[0] for one in runs]), mean([one[1] for one in runs])]
            for name, runs in found.items()
        ],
    )
    print(
        f"time, of that in memory, run by run: {', '.join(f'{r:.2f}' for r in ratios)}"
    )


def workers(numbers: tuple[int, ...] = (1, 2, 4)) -> None:
    """Time a fit with 4,096 queries a step, four tasks, on more and more workers."""
    from vicinal import dask as on_cluster

    X, y = official_split("mnist", 255.0)[:2]
    lines = []
    for n in numbers:
        with cluster(n):
            given = in_chunks(X, y, 8)
            fit: dict[str, Any] = {"random_state": 0, "batch_size": 4096}
            on_cluster.NCA(30, max_iter=1, **fit).fit(*given)
            times = [timed_fit(on_cluster.NCA(30, max_iter=m, **fit), *given)
                     for m in (5, 15)]  # fmt: skip
            step = (times[1] - times[0]) / 100
            lines.append([n, f"{times[1]:.1f}", f"{1000 * step:.0f}"])
    print_table(["workers", "s for 15 iterations", "ms a step"], lines)


def traffic() -> None:
    """Compare the bytes on the loopback with d·k numbers out and back."""
    from vicinal import dask as on_cluster

    def received() -> int:
        for line in Path("/proc/net/dev").read_text().splitlines():
            name, _, counts = line.partition(":")
            if name.strip() == "lo":
                return int(counts.split()[0])
        raise OSError("This machine has no loopback device to count on.")

    lines = []
    with cluster(2):
        for width, d, n_tasks in (
            (64, 8, 1),
            (64, 32, 1),
            (64, 32, 2),
            (96, 64, 1),
            (96, 64, 2),
        ):
            X, y = made_rows(0, 4000, width)
            given = in_chunks(X, y, 4)
            moved = []
            for n_iter in (1, 2, 7):  # the first one warms up
                before = received()
                on_cluster.NCA(
                    d, objective="log", batch_size=1024 * n_tasks, n_references=256,
                    max_iter=n_iter, random_state=0,
                ).fit(*given)  # fmt: skip
                moved.append(received() - before)
            step = (moved[2] - moved[1]) / 50
            said = bytes_of_step(d, width, n_tasks, itemsize=4)
            sizes = f"{width} → {d}, {n_tasks} tasks"
            lines.append([sizes, f"{step:,.0f}", f"{said:,.0f}", f"{step / said:.2f}"])
    print_table(["features → d", "bytes a step", "the page's", "ratio"], lines)


def bytes_of_step(d: int, k: int, n_tasks: int, itemsize: int) -> float:
    """Return what docs/dask.md says that a step moves.

    A map of float64 goes to each task and a gradient comes back, both by way of the
    scheduler: each of them is sent twice.
    """
    return n_tasks * (2 * d * k * (8 + itemsize) + TASK_BYTES)


def made_rows(seed: int, n: int, width: int = WIDTH) -> tuple[FloatArray, IntArray]:
    """Return classes that differ in a few features, beside noise; float32."""
    rng = np.random.default_rng(seed)
    y = rng.integers(N_CLASSES, size=n)
    X = rng.standard_normal((n, width), dtype=np.float32)
    centers = 2 * np.random.default_rng(0).standard_normal((N_CLASSES, 6))
    X[:, :6] += centers[y].astype(np.float32)
    X[:, 6:] *= 3
    return X, y


def made_in_tasks(n: int) -> tuple[Any, Any]:
    """Return n rows that exist nowhere before a task makes them."""
    import dask.array as da
    from dask import delayed

    rows, labels = [], []
    for seed, start in enumerate(range(0, n, CHUNK)):
        size = min(CHUNK, n - start)
        pair = delayed(made_rows, pure=True)(seed, size)
        rows.append(da.from_delayed(pair[0], (size, WIDTH), np.float32))
        labels.append(da.from_delayed(pair[1], (size,), np.int64))
    return da.concatenate(rows), da.concatenate(labels)


def peak() -> int:
    """Return this process's largest memory so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def made(n: int) -> None:
    """Fit to n rows made on the fly, and print seconds, memory and accuracy."""
    from sklearn.neighbors import KNeighborsClassifier

    from vicinal import dask as on_cluster

    with cluster(2) as client:
        model = on_cluster.NCA(6, random_state=0)
        seconds = timed_fit(model, *made_in_tasks(n))
        of_workers = max(client.run(peak).values())
    X, y = made_rows(10**6, 6000)
    Z = model.to_local().transform(X)
    plain, learned = (
        KNeighborsClassifier(5).fit(one[:3000], y[:3000]).score(one[3000:], y[3000:])
        for one in (X, Z)
    )
    print(n, f"{seconds:.0f}", peak(), of_workers, f"{100 * plain:.1f}",
          f"{100 * learned:.1f}")  # fmt: skip


def memory(sizes: tuple[int, ...] = (10**6, 10**7)) -> None:
    """Show that no process's memory grows with the rows."""
    lines = []
    for n in sizes:
        outcome = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "benchmarks.speed.dask", "made", str(n)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines.append(outcome.stdout.split()[-6:])
    print_table(
        [
            "rows × 32",
            "s",
            "client MB",
            "largest worker MB",
            "5-NN before %",
            "after %",
        ],
        lines,
    )


PARTS: dict[str, Callable[[], None]] = {
    "mnist": mnist, "traffic": traffic, "workers": workers, "memory": memory,
}  # fmt: skip


def main(quick: bool = False) -> None:
    """NCA on a Dask cluster of this machine."""
    run("traffic") if quick else run(*PARTS)


def run(*parts: str) -> None:
    """Run some of the parts by their names."""
    for name in parts:
        start = time.perf_counter()
        PARTS[name]()
        print(f"({name}: {time.perf_counter() - start:.0f} s)\n", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["made"]:
        made(int(sys.argv[2]))
    else:
        run(*(sys.argv[1:] or PARTS))
