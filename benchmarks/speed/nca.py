"""Exact NCA against scikit-learn's, in one run: evaluations, whole fits, memory."""

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from benchmarks.speed.timing import peak_megabytes, seconds, table
from vicinal import NCA
from vicinal._typing import FloatArray, IntArray
from vicinal.datasets import load
from vicinal.objectives import NCAObjective


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    X: FloatArray
    y: IntArray
    n_components: int

    @property
    def label(self) -> str:
        """What the row is, in the table."""
        n, D = self.X.shape
        return f"{n:,} × {D} → {self.n_components} ({self.name}), {self.X.dtype}"


def synthetic(n: int) -> tuple[FloatArray, IntArray]:
    """Return ten overlapping classes in 50 features."""
    X, y = make_classification(
        n,
        n_features=50,
        n_informative=20,
        n_classes=10,
        n_clusters_per_class=2,
        random_state=0,
    )
    return X, y


def cases(dtype: Any) -> list[Case]:
    """Return the shapes that the README tells of."""
    mnist = load("mnist")
    pixels = mnist.X[:3500].astype(dtype) / dtype(255)
    labels = np.unique(mnist.y[:3500], return_inverse=True)[1]
    X, y = synthetic(10_000)
    return [
        Case("MNIST", pixels, labels, 2),
        Case("MNIST", pixels, labels, 30),
        Case("synthetic", X.astype(dtype), y, 10),
    ]


def evaluation(case: Case) -> list[str]:
    """Time one value and gradient, at the start of a fit, with the memory it takes."""
    ours = NCAObjective(case.X, case.y)
    codes = np.unique(case.y, return_inverse=True)[1]
    A = NCA(random_state=0)._start(ours, codes, case.n_components)
    peer = NeighborhoodComponentsAnalysis()
    peer.n_iter_ = 1
    flat = A.ravel().astype(np.float64)
    mask = case.y[:, None] == case.y

    def evaluate_peer() -> object:
        return peer._loss_grad_lbfgs(flat, case.X, mask)

    our_time = seconds(lambda: ours.value_and_gradient(A), repeats=7)
    peer_time = seconds(evaluate_peer, repeats=7)
    pairs = len(case.X) ** 2
    return [
        case.label,
        f"{peer_time / pairs * 1e9:.1f}",
        f"{our_time / pairs * 1e9:.2f}",
        f"{peer_time / our_time:.1f}×",
        f"{peak_megabytes(evaluate_peer):,.0f}",
        f"{peak_megabytes(lambda: ours.value_and_gradient(A)):,.0f}",
    ]


def whole_fit(case: Case) -> list[str]:
    """Time both fits with their defaults, and compare the heights they reach."""
    shared: dict[str, Any] = {"n_components": case.n_components, "random_state": 0}
    referee = NCAObjective(case.X.astype(np.float64), case.y)
    times, heights = [], []
    for estimator in (NeighborhoodComponentsAnalysis(**shared), NCA(**shared)):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            estimator.fit(case.X, case.y)
        times.append(time.perf_counter() - start)
        heights.append(referee.value_and_gradient(estimator.components_)[0])
    return [
        case.label,
        f"{times[0]:.1f}",
        f"{times[1]:.2f}",
        f"{times[0] / times[1]:.1f}×",
        f"{heights[0]:.3f}",
        f"{heights[1]:.3f}",
    ]


def main(quick: bool) -> None:
    """Print the tables."""
    dtypes = [np.float32, np.float64]
    print("One value and gradient; ns are per pair of points, MB the peak of a call\n")
    rows = [evaluation(case) for dtype in dtypes for case in cases(dtype)]
    header = ["n × D → d", "peer ns", "ours ns", "ratio", "peer MB", "ours MB"]
    print(table(header, rows), "\n", flush=True)

    print("Peak memory of ours beyond the input, n = 20,000\n")
    X, y = synthetic(20_000)
    rows = []
    for dtype in dtypes:
        evaluate = NCAObjective(X.astype(dtype), y).value_and_gradient
        peak = peak_megabytes(partial(evaluate, np.eye(10, 50)))
        rows.append([f"20,000 × 50 → 10, {np.dtype(dtype)}", f"{peak:.0f}"])
    print(table(["n × D → d", "MB"], rows), "\n", flush=True)
    if quick:
        return

    print("Whole fits with the default 50 iterations; heights are f in float64\n")
    rows = [whole_fit(case) for dtype in dtypes for case in cases(dtype)]
    header = ["n × D → d", "peer s", "ours s", "ratio", "peer f", "ours f"]
    print(table(header, rows))
