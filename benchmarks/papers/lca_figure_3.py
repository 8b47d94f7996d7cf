"""LCA's figure 3: spectral clustering under learned metrics, as noise is added.

Section 6.1: three problems in two dimensions, whitened, and then dimensions of white
Gaussian noise. The paper gives neither the number of points nor, for the five
Gaussians, their means: here 500 points, and means at distance 5 from the middle.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import SpectralClustering
from sklearn.decomposition import PCA, FastICA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix

from benchmarks.speed.timing import table
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import NGCA

N_POINTS = 500
N_NOISE = (0, 2, 5, 10, 20, 30)
CONTRASTS = ("logcosh", "exp", "cube")
Problem = tuple[FloatArray, IntArray]


def main(n_splits: int | None) -> None:
    """Print a table for each problem."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)  # graphs in pieces; Gaussian data
    n_runs = n_splits or 100
    print(f"Accuracy of spectral clustering in %, {n_runs} runs; ± a standard error")
    for name, make in PROBLEMS.items():
        found = [accuracies(make, n_noise, n_runs) for n_noise in N_NOISE]
        rows = [[method, *(column[method] for column in found)] for method in found[0]]
        print(f"\n{name}\n")
        header = ["dimensions of noise", *map(str, N_NOISE)]
        print(table(header, rows), flush=True)


def accuracies(
    make: Callable[[np.random.Generator], Problem], n_noise: int, n_runs: int
) -> dict[str, str]:
    """Return the mean accuracy of each method with so much noise."""
    runs = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        X, labels = make(rng)
        signal = PCA(whiten=True).fit_transform(X)
        noisy = np.hstack([signal, rng.normal(size=(len(X), n_noise))])
        runs.append(
            {
                name: accuracy(labels, clusters(map_to(noisy, seed), labels.max() + 1))
                for name, map_to in METHODS.items()
            }
        )
    by_method = {name: np.array([run[name] for run in runs]) for name in METHODS}
    contrasts = [by_method.pop(f"FastICA, {contrast}") for contrast in CONTRASTS]
    best = max(contrasts, key=lambda values: float(values.mean()))
    by_method = {"whitened": by_method.pop("whitened"), "FastICA": best, **by_method}
    return {name: _cell(values) for name, values in by_method.items()}


def clusters(Z: FloatArray, n_clusters: int) -> IntArray:
    """Return what spectral clustering finds; where no dimension is left, one cluster.

    The graph of nearest neighbours has no bandwidth, which would favour a method.
    """
    if not Z.shape[1]:
        return np.zeros(len(Z), dtype=np.intp)
    spectral = SpectralClustering(
        n_clusters, affinity="nearest_neighbors", random_state=0
    )
    found: IntArray = spectral.fit_predict(Z)
    return found


def accuracy(labels: IntArray, found: IntArray) -> float:
    """Return the share of points on the diagonal, at the best order of the clusters."""
    confusion = confusion_matrix(labels, found)
    best = linear_sum_assignment(confusion, maximize=True)
    return 100 * float(confusion[best].sum()) / len(labels)


def two_gaussians(rng: np.random.Generator) -> Problem:
    """Draw points of unit variance around −3 and 3 on an axis."""
    labels = rng.integers(2, size=N_POINTS)
    X = rng.normal(size=(N_POINTS, 2))
    X[:, 0] += np.where(labels, 3, -3)
    return X, labels


def two_circles(rng: np.random.Generator) -> Problem:
    """Draw points on radii 1 and 2, with noise of standard deviation 0.1."""
    labels = rng.integers(2, size=N_POINTS)
    angle = rng.uniform(0, 2 * np.pi, size=N_POINTS)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + labels)[:, None]
    return ring + 0.1 * rng.normal(size=ring.shape), labels


def five_gaussians(rng: np.random.Generator) -> Problem:
    """Draw a cluster, and four around it of a quarter as many points each."""
    means = 5.0 * np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]])
    labels = rng.choice(5, size=N_POINTS, p=[1 / 2, *[1 / 8] * 4])
    return means[labels] + rng.normal(size=(N_POINTS, 2)), labels


PROBLEMS = {
    "Two Gaussians": two_gaussians,
    "Two circles": two_circles,
    "Five Gaussians": five_gaussians,
}


def _ica(contrast: str) -> Callable[[FloatArray, int], FloatArray]:
    def first_two(X: FloatArray, seed: int) -> FloatArray:
        # By deflation, so that the first are those found first.
        ica = FastICA(
            algorithm="deflation",
            fun=contrast,
            whiten="unit-variance",
            random_state=seed,
        )
        found: FloatArray = ica.fit_transform(X)[:, :2]
        return found

    return first_two


def _learned(model: Any) -> Callable[[FloatArray, int], FloatArray]:
    def transformed(X: FloatArray, _: int) -> FloatArray:
        found: FloatArray = model.fit(X).transform(X)
        return found

    return transformed


def _ngca(X: FloatArray, seed: int) -> FloatArray:
    return NGCA(n_components=2, random_state=seed).fit(X).transform(X)


METHODS: dict[str, Callable[[FloatArray, int], FloatArray]] = {
    "whitened": lambda X, _: PCA(whiten=True).fit_transform(X),
    **{f"FastICA, {contrast}": _ica(contrast) for contrast in CONTRASTS},
    "NGCA": _ngca,
    "LCA": _learned(LCA(reg=0.0)),
    "LCA-Gauss": _learned(LCAGauss(reg_local=0.0, reg_global=0.0)),
    "LCA-Gauss-Red": _learned(LCAGauss("search", reg_local=0.0, reg_global=0.0)),
}


def _cell(values: FloatArray) -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):.1f} ± {error:.1f}"
