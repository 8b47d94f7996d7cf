"""NCA on a Dask cluster of this machine: accuracy, time, memory and bytes moved.

Needs the extra "dask", and for MNIST the folder that VICINAL_DATA names.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.dask_model import (
    bytes_of_round,
    large_fit,
    measured,
    seconds_of_passes,
    seconds_of_round,
    task_seconds,
    way_seconds,
)
from benchmarks.speed.scale import knn_accuracy, mean, official_split, timed_fit
from benchmarks.speed.timing import seconds as least_seconds
from benchmarks.speed.timing import table
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray

SEEDS = (0, 1, 2, 3, 4)
# Of the made rows: how many features, classes, and rows in a chunk.
WIDTH, N_CLASSES, CHUNK = 32, 8, 250_000


@contextmanager
def cluster(n_workers: int) -> Iterator[Any]:
    """Start worker processes of one thread each, and return their client."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers, threads_per_worker=1, dashboard_address=":0"
        ) as made,
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
        short: dict[str, Any] = {"max_iter": 3, "random_state": 0}  # loads kernels
        on_cluster.NCA(30, **short).fit(rows, labels)
        NCA(30, solver="stochastic", **short).fit(X, y)
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
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"time, of that in memory: {mean(ratios)}, run by run {each}")


class Watch:
    """A callback of fit that notes when iterations end, and the bytes moved so far."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.moved: list[int] = []

    def __call__(self, components: FloatArray, n_iter: int) -> None:  # noqa: ARG002
        """Note the end of an iteration."""
        self.seconds.append(time.perf_counter())
        self.moved.append(loopback_bytes())

    def of_round(self, noted: Sequence[float]) -> float:
        """Return what one iteration adds, without the first."""
        return (noted[-1] - noted[0]) / (len(noted) - 1)


def loopback_bytes() -> int:
    """Return how many bytes this machine has sent to itself."""
    for line in Path("/proc/net/dev").read_text().splitlines():
        name, _, counts = line.partition(":")
        if name.strip() == "lo":
            return int(counts.split()[0])
    raise OSError("This machine has no loopback device to count on.")


def workers(numbers: tuple[int, ...] = (1, 2, 4)) -> None:
    """Time rounds of four tasks on more and more workers."""
    from vicinal import dask as on_cluster

    k, d, n_tasks = 96, 30, 4
    X, y = made_rows(0, 60_000, k)
    lines = []
    for n in numbers:
        with cluster(n) as client:
            given = in_chunks(X, y, 8)
            fit: dict[str, Any] = {
                "objective": "log", "batch_size": 1024 * n_tasks, "n_references": 1024,
            }  # fmt: skip
            on_cluster.NCA(d, max_iter=1, **fit).fit(*given)
            watch = Watch()
            nca = on_cluster.NCA(d, max_iter=15, random_state=0, callback=watch, **fit)
            seconds = timed_fit(nca, *given)
            way, task = way_seconds(client, k, d, n_tasks), task_seconds(k, d, 1024)
        found = watch.of_round(watch.seconds)
        said = seconds_of_round(way, task, n_tasks, n)
        shown = [f"{1000 * t:.1f}" for t in (way, task, said, found)]
        lines.append([n, *shown, f"{found / said:.2f}", f"{seconds:.1f}"])
    header = [
        "workers",
        "way there and back ms",
        "a task's work ms",
        "round, modeled ms",
    ]
    print_table([*header, "round, measured ms", "ratio", "s for 15 iterations"], lines)


def traffic() -> None:
    """Compare the bytes on the loopback with what docs/dask.md says."""
    from vicinal import dask as on_cluster

    lines = []
    with cluster(2):
        # What the processes tell each other all the time is not the rounds'.
        before = loopback_bytes()
        time.sleep(5)
        idle = (loopback_bytes() - before) / 5
        for width, d, n_tasks in (
            (64, 8, 1),
            (64, 32, 1),
            (96, 64, 1),
            (64, 32, 2),
            (96, 64, 2),
            (64, 32, 3),
            (96, 64, 3),
            (96, 64, 4),
        ):
            given = in_chunks(*made_rows(0, 8000, width), 8)
            watch = Watch()
            on_cluster.NCA(
                d, objective="log", batch_size=1024 * n_tasks, n_references=256,
                max_iter=11, random_state=0, callback=watch,
            ).fit(*given)  # fmt: skip
            moved = watch.of_round(watch.moved) - idle * watch.of_round(watch.seconds)
            said = bytes_of_round(d, width, n_tasks)
            sizes = f"{width} → {d}, {n_tasks} tasks"
            shown = [f"{moved:,.0f}", f"{said:,.0f}", f"{moved / said:.2f}"]
            lines.append([sizes, *shown])
    print_table(["features → d", "bytes a round", "the page's", "ratio"], lines)


def made_rows(seed: int, n: int, width: int = WIDTH) -> tuple[FloatArray, IntArray]:
    """Return classes that differ in a few features, beside noise; float32."""
    rng = np.random.default_rng(seed)
    y = rng.integers(N_CLASSES, size=n)
    X = rng.standard_normal((n, width), dtype=np.float32)
    centers = 2 * np.random.default_rng(0).standard_normal((N_CLASSES, 6))
    X[:, :6] += centers[y].astype(np.float32)
    X[:, 6:] *= 3
    return X, y


def made_in_tasks(n: int, chunk: int) -> tuple[Any, Any]:
    """Return n rows that exist nowhere before a task makes them."""
    import dask.array as da
    from dask import delayed

    rows, labels = [], []
    for seed, start in enumerate(range(0, n, chunk)):
        size = min(chunk, n - start)
        pair = delayed(made_rows, pure=True)(seed, size)
        rows.append(da.from_delayed(pair[0], (size, WIDTH), np.float32))
        labels.append(da.from_delayed(pair[1], (size,), np.int64))
    return da.concatenate(rows), da.concatenate(labels)


def peak() -> int:
    """Return this process's largest memory so far, in MB.

    As the system counts it for what runs now: getrusage has a child begin with what
    its parent held.
    """
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1024
    raise OSError("This system does not tell how much memory a process has had.")


def made(n: int, chunk: int, max_iter: int) -> None:
    """Fit to n rows made on the fly; print what it took, and what the model says."""
    from sklearn.neighbors import KNeighborsClassifier

    from vicinal import dask as on_cluster

    d, n_workers = 6, 2
    fit: dict[str, Any] = {"objective": "log", "random_state": 0}
    with cluster(n_workers) as client:
        model = on_cluster.NCA(d, max_iter=max_iter, **fit)
        seconds = timed_fit(model, *made_in_tasks(n, chunk))
        of_client, of_workers = peak(), max(client.run(peak).values())
        costs = measured(client, made_in_tasks(1000, 1), WIDTH, d)
        once = made_in_tasks(2**16, 2**15)
        rest = timed_fit(on_cluster.NCA(d, max_iter=1, **fit), *once)
    loading = least_seconds(lambda: made_rows(0, chunk), 3)
    said = rest + seconds_of_passes(
        costs, n // chunk, chunk * WIDTH, n_workers, loading
    )
    # The first round is in the rest.
    said += (max_iter - 1) * seconds_of_round(costs.way, costs.task, 2, n_workers)
    X, y = made_rows(10**6, 6000)
    Z = model.to_local().transform(X)
    plain, learned = (
        KNeighborsClassifier(5).fit(one[:3000], y[:3000]).score(one[3000:], y[3000:])
        for one in (X, Z)
    )
    print(f"{n:,}", f"{n // chunk:,}", of_client, of_workers, f"{100 * plain:.1f}",
          f"{100 * learned:.1f}", f"{seconds:.0f}", f"{said:.0f}",
          f"{seconds / said:.2f}")  # fmt: skip


# Rows, rows of a chunk, iterations.
SIZES = (10**6, CHUNK, 50), (10**7, CHUNK, 50), (10**6, 1000, 5)


def memory(sizes: tuple[tuple[int, int, int], ...] = SIZES) -> None:
    """Show that no process's memory grows with the rows, and what chunks cost."""
    lines = []
    for size in sizes:
        outcome = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "benchmarks.speed.dask", "made", *map(str, size)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        lines.append(outcome.stdout.split()[-9:])
    header = ["rows × 32", "chunks", "client MB", "largest worker MB", "5-NN before %"]
    print_table([*header, "after %", "s", "s, modeled", "ratio"], lines)


def model() -> None:
    """Print what the model says of 10⁹ rows × 128 on 100 machines."""
    with cluster(2) as client:
        costs = measured(client, made_in_tasks(1000, 1), 128, 30)
    print_table(["10⁹ × 128 → 30", ""], large_fit(costs))


PARTS: dict[str, Callable[[], None]] = {
    "mnist": mnist, "traffic": traffic, "workers": workers, "memory": memory,
    "model": model,
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
        made(*map(int, sys.argv[2:]))
    else:
        run(*(sys.argv[1:] or PARTS))
