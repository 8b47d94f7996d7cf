"""Every ratio in one file, and what got slower between two such files.

``all --json FILE`` measures each task beside its peer, in turn, several times over, and
stores the seconds with date, versions and machine. ``compare OLD NEW`` sets two files
side by side: a task is slower when its ratio to the peer has fallen by more than the
ratios of one file differ among themselves.
"""

import datetime as dt
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from benchmarks.speed.timing import table
from vicinal import LCA, LDG, NCA, NCAClassifier
from vicinal._typing import FloatArray
from vicinal.classic import ITML, LFDA
from vicinal.nca._initialization import initial_components
from vicinal.neighborhood import effective_n_threads, kernels
from vicinal.neighborhood.threads import single_threaded_blas
from vicinal.objectives import MinibatchSampler, NCAObjective
from vicinal.objectives.nca import sample_indices

PACKAGES = ("vicinal", "numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")
# A task is repeated until it has taken so long, and its least time counts.
_SECONDS, _MOST_REPEATS = 0.5, 20
# Differences below this are not worth a word, however small the noise.
_LEAST_CHANGE = 0.05

Call = Callable[[], object]


class Task(NamedTuple):
    """Something of ours, and a peer's, that do the same or cost about the same."""

    name: str
    ours: Call
    peer: Call


def tasks() -> Iterator[Task]:
    """Yield what is measured; data are made when they are needed."""
    yield from _evaluations()
    yield from _fits()
    yield from _starts()
    yield _step()
    yield from _others()
    yield from _processes()


def measure_all(path: Path, rounds: int) -> None:
    """Measure all tasks, and write a file; print the medians."""
    warnings.simplefilter("ignore")
    results = {}
    for task in tasks():
        ours, peer = [], []
        task.ours(), task.peer()  # what is compiled or read once does not count
        for _ in range(rounds):
            ours.append(_least(task.ours))
            peer.append(_least(task.peer))
        results[task.name] = {"ours": ours, "peer": peer}
        print(f"{task.name}: {ratio(results[task.name])[0]:.2f}×", flush=True)
    path.write_text(json.dumps({**_circumstances(), "results": results}, indent=1))


def compare(old: Path, new: Path) -> bool:
    """Print both files' ratios, and return whether nothing got slower."""
    before, after = (json.loads(path.read_text()) for path in (old, new))
    rows, slower = [], []
    for name in sorted(before["results"].keys() & after["results"].keys()):
        (was, noise), (now, later_noise) = (
            ratio(file["results"][name]) for file in (before, after)
        )
        change = now / was - 1
        bound = max(_LEAST_CHANGE, 2 * float(np.hypot(noise, later_noise)))
        word = "slower" if change < -bound else "faster" if change > bound else ""
        if word == "slower":
            slower.append(name)
        rows.append([name, f"{was:.2f}", f"{now:.2f}", f"{change:+.0%}",
                     f"{bound:.0%}", word])  # fmt: skip
    for label, file in (("old", before), ("new", after)):
        print(f"{label}: {file['date']}, {file['machine']}, {file['versions']}")
    header = ["task", "old ratio", "new ratio", "change", "noise", ""]
    print("\n" + table(header, rows) + "\n")
    print(f"Slower: {', '.join(slower)}" if slower else "Nothing got slower.")
    return not slower


def ratio(times: dict[str, list[float]]) -> tuple[float, float]:
    """Return how many times as fast as the peer, and the relative error of that."""
    ratios = np.array(times["peer"]) / np.array(times["ours"])
    middle = float(np.median(ratios))
    # Of the median; from the mean deviation, which one odd round cannot blow up.
    spread = 1.25 * float(np.mean(np.abs(ratios - middle)))
    return middle, 1.25 * spread / middle / np.sqrt(len(ratios))


def _least(call: Call) -> float:
    times: list[float] = []
    while not times or (sum(times) < _SECONDS and len(times) < _MOST_REPEATS):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def _circumstances() -> dict[str, Any]:
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {_processor()}",
        "load": os.getloadavg(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
    }


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    if known.exists():
        for line in known.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _blobs(n: int, n_features: int, dtype: Any = np.float32) -> tuple[Any, Any]:
    X, y = make_classification(
        n, n_features, n_informative=min(20, n_features - 2), n_classes=10,
        n_clusters_per_class=2, random_state=0,
    )  # fmt: skip
    return X.astype(dtype), y


def _evaluations() -> Iterator[Task]:
    shapes = ((6000, 50, 10, np.float32), (6000, 50, 10, np.float64),
              (3000, 784, 2, np.float32), (3000, 784, 30, np.float32))  # fmt: skip
    for n, n_features, d, dtype in shapes:
        X, y = _blobs(n, n_features, dtype)
        A = np.random.default_rng(0).normal(size=(d, n_features)) / n_features
        yield Task(
            f"evaluation {n:,} × {n_features} → {d}, {np.dtype(dtype)}",
            partial(_evaluation, X, y, A),
            partial(_peer_evaluation, X, y, A),
        )


def _evaluation(X: FloatArray, y: Any, A: FloatArray) -> None:
    NCAObjective(X, y).value_and_gradient(A)


def _peer_evaluation(X: FloatArray, y: Any, A: FloatArray) -> None:
    peer = NeighborhoodComponentsAnalysis()
    peer.n_iter_ = 1
    peer._loss_grad_lbfgs(A.ravel(), X, y[:, None] == y)


def _fits() -> Iterator[Task]:
    wine, kinds = load_wine(return_X_y=True)
    wine = StandardScaler().fit_transform(wine)
    digits, labels = load_digits(return_X_y=True)
    pixels = (digits / 16).astype(np.float32)
    peer = NeighborhoodComponentsAnalysis(random_state=0)
    yield Task("fit wine", lambda: NCA(random_state=0).fit(wine, kinds),
               lambda: peer.fit(wine, kinds))  # fmt: skip
    yield Task("fit wine, NCAClassifier",
               lambda: NCAClassifier(random_state=0).fit(wine, kinds),
               lambda: peer.fit(wine, kinds))  # fmt: skip
    two = NeighborhoodComponentsAnalysis(2, random_state=0)
    yield Task("fit digits → 2, float32",
               lambda: NCA(2, random_state=0).fit(pixels, labels),
               lambda: two.fit(pixels, labels))  # fmt: skip


def _starts() -> Iterator[Task]:
    X, y = _blobs(2500, 784)
    rng = np.random.RandomState(0)
    threads = effective_n_threads(None)
    yield Task("start pca, 2,500 × 784 → 2",
               lambda: initial_components("pca", X, y, 2, rng, threads),
               lambda: PCA(2, svd_solver="full").fit(X))  # fmt: skip
    yield Task("start lda, 2,500 × 784 → 2",
               lambda: initial_components("lda", X, y, 2, rng, threads),
               lambda: LinearDiscriminantAnalysis().fit(X, y))  # fmt: skip


def _step() -> Task:
    """Return a stochastic step of 512 × 512, beside its arithmetic alone.

    That is the rows drawn, the compiled kernel and the products on arrays that exist,
    in the engine's blocks: what is beyond it, is the overhead of a step.
    """
    X, y = _blobs(20_000, 50)
    m, d = 512, 10
    batches = MinibatchSampler(NCAObjective(X, y, "log", n_jobs=1), m, m)
    A = np.random.default_rng(0).normal(size=(d, 50)) / 20
    map32 = A.astype(np.float32)
    rng = np.random.default_rng(0)
    part = batches.objective.subset(np.arange(m))
    rule = part._rule(np.dtype(np.float32))
    everyone, values = np.arange(m), np.empty(m, np.float32)
    V = np.empty((m // 2, m), np.float32)
    padded = np.ones((m, d + 1), np.float32)
    by_row, by_column, term = (np.empty_like(padded) for _ in range(3))

    def arithmetic() -> None:
        with single_threaded_blas():  # as in a fit
            for _ in range(20):
                points = X[sample_indices(rng, len(X), m)]
                Z = points @ map32.T
                Z -= Z.mean(axis=0)
                padded[:, :d] = Z
                norms = np.einsum("ij,ij->i", Z, Z)
                for k in (0, 1):
                    rows = slice(k * m // 2, (k + 1) * m // 2)
                    np.matmul(Z[rows], Z.T, out=V)
                    kernels.matches(
                        V, everyone[rows], norms[rows],
                        *(known[rows] for known in rule.query_args), norms,
                        *rule.reference_args, values[rows],
                    )  # fmt: skip
                    np.matmul(V, padded, out=by_row[rows])
                    np.matmul(V.T, padded[rows], out=term if k else by_column)
                both = by_row + by_column + term
                (both[:, d:] * Z - both[:, :d]).T @ points

    def steps() -> None:
        with single_threaded_blas():
            for _ in range(20):
                batches.draw(rng).value_and_gradient(A)

    return Task("step 512 × 512, of its arithmetic", steps, arithmetic)


def _others() -> Iterator[Task]:
    digits, labels = load_digits(return_X_y=True)
    X, y = _blobs(4000, 20, np.float64)
    peer = LinearDiscriminantAnalysis()
    yield Task("LDG digits, of LDA", lambda: LDG(2, random_state=0).fit(digits, labels),
               lambda: peer.fit(digits, labels))  # fmt: skip
    yield Task("LFDA 4,000 × 20, of LDA", lambda: LFDA().fit(X, y),
               lambda: peer.fit(X, y))  # fmt: skip
    yield Task("ITML 1,000 × 20, of NCA",
               lambda: ITML(random_state=0).fit(X[:1000], y[:1000]),
               lambda: NeighborhoodComponentsAnalysis(max_iter=5).fit(
                   X[:1000], y[:1000]))  # fmt: skip
    yield Task("LCA 2,000 × 20, 5 steps, of bare products",
               lambda: LCA(alpha=0.0, max_iter=5, tol=0).fit(X[:2000]),
               lambda: [(X[:2000] @ X[:2000].T) @ X[:2000] for _ in range(5)]
               )  # fmt: skip


def _processes() -> Iterator[Task]:
    """Yield imports and first fits, of `import sklearn.neighbors`."""
    fit = ("import numpy as np; from vicinal import NCA; r = np.random.default_rng(0); "
           "NCA(2, max_iter=5).fit(r.normal(size=(300, 5)), r.integers(3, size=300))"
           )  # fmt: skip
    neighbors = "import sklearn.neighbors"
    yield Task("from vicinal import NCA", _process("from vicinal import NCA"),
               _process(neighbors))  # fmt: skip
    yield Task("first fit of a process", _process(fit), _process(neighbors))
    yield Task("first fit after installation", _process(fit, compiled=False),
               _process(neighbors))  # fmt: skip


def _process(code: str, compiled: bool = True) -> Call:
    """Return a call that runs code in a fresh process, Numba's cache full or empty."""

    def run() -> None:
        with tempfile.TemporaryDirectory() as cache:
            own = {} if compiled else {"NUMBA_CACHE_DIR": cache}
            subprocess.run(  # noqa: S603
                [sys.executable, "-W", "ignore", "-c", code],
                env={**os.environ, **own},
                check=True,
            )

    return run
