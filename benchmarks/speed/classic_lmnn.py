"""LMNN beside metric-learn's and pylmnn's, and NCA's memory on sparse rows.

The peers run in an environment with scikit-learn 1.5, which this script makes; every
fit runs in a process of its own, whose seconds and memory are those of the fit.
"""

import json
import subprocess
import sys
import tempfile
import venv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.speed.classic_mnist import knn_error, mnist_parts
from benchmarks.speed.timing import process_peak_megabytes, table

PEERS = Path(tempfile.gettempdir()) / "vicinal-lmnn-peers"
REQUIREMENTS = [
    "scikit-learn==1.5.2",
    "numpy<2",
    "metric-learn==0.7.0",
    "pylmnn==1.6.4",
    "six",
    "scipy<1.11",
]
N_ROWS, N_COMPONENTS, N_ITER = 5_000, 50, 50
# A peer that takes longer is stopped, and its time given as more than that.
LIMIT = 300
SPARSE_SHAPE, DENSITY = (5_000, 20_000), 0.005

# How each is called; all see the same rows, and are given the same bounds.
FITS = {
    "vicinal": """
from vicinal.classic import LMNN
model = LMNN(3, n_components={d}, max_iter={n_iter}, random_state=0)
A = model.fit(X, y).components_
""",
    # Its search for parameters, which is not used here, needs a package that no longer
    # installs: an empty one stands in.
    "pylmnn": """
import sys, types
sys.modules["GPyOpt"] = types.ModuleType("GPyOpt")
sys.modules["GPyOpt.methods"] = types.ModuleType("GPyOpt.methods")
sys.modules["GPyOpt.methods"].BayesianOptimization = None
from pylmnn import LargeMarginNearestNeighbor as LMNN
model = LMNN(3, n_components={d}, max_iter={n_iter}, random_state=0)
A = model.fit(X, y).components_
""",
    "metric-learn": """
from metric_learn import LMNN
model = LMNN(n_neighbors=3, n_components={d}, max_iter={n_iter}, random_state=0)
A = model.fit(X, y).components_
""",
}
AROUND = """
import json, time, warnings
import numpy as np
warnings.simplefilter("ignore")
data = np.load({data!r})
X, y = data["X"], data["y"]
start, worked = time.perf_counter(), time.process_time()
{fit}
taken, worked = time.perf_counter() - start, time.process_time() - worked
np.save({out!r}, A)
status = open("/proc/self/status").read().splitlines()
peak = float(next(line for line in status if "VmHWM" in line).split()[1]) / 1e3
print(json.dumps([taken, worked, peak]))
"""


def main(quick: bool) -> None:
    """Print the share of memory, and without `quick` the table of the peers."""
    sparse_memory()
    if not quick:
        beside_peers()


def beside_peers() -> None:
    """Fit the first rows of MNIST, one after the other, and judge by the test rows."""
    train, test = mnist_parts()
    X, y = train[0][:N_ROWS].astype(np.float64), train[1][:N_ROWS]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data, out = f"{folder}/data.npz", f"{folder}/components.npy"
        np.savez(data, X=X, y=y)
        for name, fit in FITS.items():
            program = sys.executable if name == "vicinal" else str(peers_python())
            call = fit.format(d=N_COMPONENTS, n_iter=N_ITER)
            found = _run(program, AROUND.format(data=data, fit=call, out=out))
            if found is None:
                rows.append([name, f"> {LIMIT}", "", "", ""])
                continue
            taken, worked, peak = found
            error = knn_error(np.load(out), X, y, *test)
            cells = [f"{taken:.1f}", f"{worked:.1f}", f"{peak:.0f}", f"{error:.2f}"]
            rows.append([name, *cells])
            print(rows[-1], flush=True)
    print(
        f"\nLMNN, MNIST's first {N_ROWS:,} rows → {N_COMPONENTS}, {N_ITER} iterations\n"
    )
    header = ["", "s", "s of all cores", "peak MB", "3-NN test error, %"]
    print(table(header, rows), "\n", flush=True)


def sparse_memory() -> None:
    """Fit NCA on sparse rows and on the same rows made dense."""
    peaks = {}
    for kind in ("sparse", "dense"):
        outcome = subprocess.run(  # noqa: S603
            [sys.executable, "-m", __name__, kind],
            check=True,
            capture_output=True,
            text=True,
        )
        before, peaks[kind] = json.loads(outcome.stdout.splitlines()[-1])
        print(
            f"NCA(10) on {kind} rows: {before:.0f} MB before there are rows, ", end=""
        )
        print(f"{peaks[kind]:.0f} MB more with rows and fit")
    share = peaks["sparse"] / peaks["dense"]
    print(f"sparse takes {share:.3f} of dense\n", flush=True)


def _sparse_memory(kind: str) -> None:
    from vicinal import NCA

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    small_X = sparse.random_array((200, 300), density=0.05, format="csr", rng=rng)
    NCA(10, max_iter=2).fit(small_X, np.arange(200) % 10)  # what is loaded but once
    before = process_peak_megabytes()
    X: Any = sparse.random_array(SPARSE_SHAPE, density=DENSITY, format="csr", rng=rng)
    y = rng.integers(10, size=len(X.indptr) - 1)
    if kind == "dense":
        X = X.toarray()
    # Five iterations: the memory of an iteration is that of the next.
    NCA(10, solver="lbfgs", init="pca", max_iter=5, random_state=0).fit(X, y)
    print(json.dumps([before, process_peak_megabytes() - before]))


def peers_python() -> Path:
    """Return the interpreter of the peers' environment, made where there is none."""
    python = PEERS / "bin" / "python"
    if not (PEERS / "made").exists():
        venv.create(PEERS, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "install", "-q", *REQUIREMENTS]
        subprocess.run(install, check=True)  # noqa: S603
        (PEERS / "made").touch()
    return python


def _run(python: str, program: str) -> list[float] | None:
    """Return what the program prints last; None where it takes too long."""
    try:
        outcome = subprocess.run(  # noqa: S603
            [python, "-c", program],
            check=True,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )
    except subprocess.TimeoutExpired:
        return None
    numbers: list[float] = json.loads(outcome.stdout.splitlines()[-1])
    return numbers


if __name__ == "__main__":
    _sparse_memory(sys.argv[1])
