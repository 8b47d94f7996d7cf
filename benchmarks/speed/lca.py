"""LCA: a step of EM against its bare products, the fast form against the exact one."""

import time
import warnings
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from benchmarks.speed.timing import peak_megabytes, seconds, table
from vicinal import LCA
from vicinal._typing import FloatArray
from vicinal.datasets import load
from vicinal.lca._local_covariance import LocalKernels, monomials
from vicinal.lca.data import ScaledData, Scaler
from vicinal.lca.em import CovarianceMStep, Form, expectation, sampling_of
from vicinal.neighborhood import effective_n_threads

# About what the validation of figure 4 chooses.
REG_USPS = 1e-3
# The fast form's curve is noisy: it stops when a pass gains less than this.
FAST_TOL = 0.2


def main(quick: bool) -> None:
    """Print the tables."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    one_step(n=6000, d=256)
    memory(n=20_000)
    local_step(n=5000, d=10)
    if quick:
        return
    local_fit(n=5000, d=10)
    fast_form()
    many_points(n=500_000, d=20)


def one_step(n: int, d: int) -> None:
    """Time E-step and M-step together, and the two products they cannot do without."""
    X = np.random.default_rng(0).normal(size=(n, d)).astype(np.float32)
    problem = ScaledData.of(Scaler.of(X, isotropic=False), X, None, (X, None))
    model = CovarianceMStep(Form("full"), np.zeros(d))
    kernel = model.fit(problem.covariance)

    def step() -> None:
        model.fit(expectation(problem.U, kernel, effective_n_threads(None)).C)

    def products() -> None:
        (X @ X.T) @ X

    ours, bare = seconds(step, 7), seconds(products, 7)
    print(f"One exact step of EM, n = {n:,}, d = {d}, float32\n")
    row = [f"{bare:.3f}", f"{ours:.3f}", f"{ours / bare:.2f}"]
    print(table(["bare products, s", "step, s", "ratio"], [row]), "\n", flush=True)


def memory(n: int) -> None:
    """Print what a fit holds beyond its input."""
    rows = []
    for d, dtype in ((50, np.float32), (50, np.float64), (256, np.float32)):
        X = np.random.default_rng(0).normal(size=(n, d)).astype(dtype)
        lca = LCA(alpha=0.0, max_iter=1, batch_size="all", n_references="all")
        peak = peak_megabytes(partial(lca.fit, X))
        rows.append([f"{n:,} × {d}, {np.dtype(dtype)}", f"{peak:.0f}"])
    print("Peak memory of an exact fit beyond its input\n")
    print(table(["n × d", "MB"], rows), "\n", flush=True)


def local_step(n: int, d: int) -> None:
    """Time an E-step of local covariances, and the two products that it is made of."""
    V = np.random.default_rng(0).normal(size=(n, d))
    kernels = LocalKernels(V, np.broadcast_to(np.eye(d), (n, d, d)))
    known = monomials(V)

    def step() -> None:
        kernels.expectation(effective_n_threads(None))

    def products() -> None:
        (known @ kernels.coefficients.T).T @ known

    ours, bare = seconds(step, 5), seconds(products, 5)
    print(f"An E-step of local covariances, n = {n:,}, d = {d}, float64\n")
    row = [f"{bare:.3f}", f"{ours:.3f}", f"{ours / bare:.2f}"]
    print(table(["bare products, s", "step, s", "ratio"], [row]), "\n", flush=True)


def local_fit(n: int, d: int) -> None:
    """Time whole fits of one covariance for each point, and of one for all."""
    X = make_blobs(n, d, centers=5, random_state=0)[0] @ _mixing(d)
    rows = []
    for form in ("full", "local"):
        lca = LCA(form)
        lca.fit(X[:300])  # what is compiled once is not the fit's own
        before = time.process_time()
        taken = _fit_seconds(lca, X)
        worked = time.process_time() - before
        rows.append([form, str(lca.n_iter_), f"{taken:.1f}", f"{worked:.1f}"])
    print(f"Whole fits, n = {n:,}, d = {d}, float64, all defaults\n")
    header = ["covariance", "iterations", "seconds", "of all cores"]
    print(table(header, rows), "\n", flush=True)


def fast_form() -> None:
    """Compare the stochastic form on USPS with exact EM until it no longer gains."""
    X = load("usps").X
    order = np.random.default_rng(0).permutation(len(X))
    learn, test = X[order[:6000]], X[order[6000:]]
    models = {
        "exact": LCA(alpha=REG_USPS, max_iter=500),
        "fast": LCA(alpha=REG_USPS, n_references=2000, tol=FAST_TOL, random_state=0),
    }
    rows, times, scores = [], [], []
    for name, model in models.items():
        taken = _fit_seconds(model, learn)
        times.append(taken)
        scores.append(model.score(test))
        rows.append([name, str(model.n_iter_), f"{taken:.2f}", f"{scores[-1]:.2f}"])
    print("USPS, 6,000 points to learn from; test score in nats per point\n")
    print(table(["form", "iterations", "seconds", "test score"], rows))
    gap = scores[1] - scores[0]
    print(f"\n{times[0] / times[1]:.1f} times as fast, {gap:+.2f} nats\n", flush=True)


def many_points(n: int, d: int) -> None:
    """Fit the fast form to many points."""
    X = make_blobs(n, d, centers=30, random_state=0)[0] @ _mixing(d)
    judges = np.arange(2000)
    # Two runs, because tracing slows a fit down; its memory is that of one pass.
    peak = peak_megabytes(partial(LCA(alpha=0.0, random_state=0, max_iter=1).fit, X))
    rows = []
    for batch_size in (100, "auto"):
        lca = LCA(alpha=0.0, batch_size=batch_size, random_state=0)
        before = time.process_time()
        taken = _fit_seconds(lca, X)
        worked = time.process_time() - before
        score = lca._density.leave_one_out(effective_n_threads(None), judges).mean()
        size = sampling_of(LCA(batch_size=batch_size), X.shape).batch_size
        row = [f"{size}", f"{lca.n_iter_}", f"{taken:.0f}", f"{worked:.0f}"]
        rows.append([*row, f"{score:.3f}"])
    print(f"{n:,} × {d}, float64, by batches: {peak:.0f} MB beside X\n")
    header = ["locations", "passes", "seconds", "of all cores", "leave-one-out score"]
    print(table(header, rows))


def _mixing(d: int) -> FloatArray:
    return np.random.default_rng(1).normal(size=(d, d))


def _fit_seconds(model: Any, X: FloatArray) -> float:
    start = time.perf_counter()
    model.fit(X)
    return time.perf_counter() - start
