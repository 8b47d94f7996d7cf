"""The objectives against the papers' sums, written naively by the tests' oracles."""

import numpy as np
from numpy.random import Generator

from benchmarks.hostile.cases import Wrong, refused
from benchmarks.hostile.data import choose
from tests.lca.oracles import leave_one_out
from tests.nca.oracles import nca_value_and_gradient, target_value
from vicinal import LCA
from vicinal._typing import FloatArray
from vicinal.objectives import NCAObjective, TargetObjective


def case(rng: Generator) -> bool:
    """Evaluate an objective at a random map of random points, and the sum itself."""
    n, d = int(choose(rng, 2, 3, rng.integers(4, 60))), int(rng.integers(1, 7))
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-2, 2)
    if rng.random() < 0.3:
        X[rng.integers(n, size=n // 3)] = X[0]
    if rng.random() < 0.2:
        X[rng.integers(n)] += 10 ** rng.uniform(2, 8)
    if rng.random() < 0.2:
        X += 10 ** rng.uniform(0, 4)
    A = rng.normal(size=(int(rng.integers(1, d + 1)), d)) * 10 ** rng.uniform(-2, 1)
    return choose(rng, _nca, _nca, _float32, _targets, _density)(rng, X, A)


def _squares(X: FloatArray) -> float:
    """Return the largest squared distance or so: sums of such round by its digits."""
    return float(np.square(X - np.median(X, axis=0)).sum(axis=1).max())


def _close(found: object, naive: object, size: float, what: str) -> None:
    gap = float(np.max(np.abs(np.asarray(found) - np.asarray(naive)), initial=0))
    if not gap <= 1e-6 * (size + float(np.max(np.abs(np.asarray(naive))))):
        raise Wrong(f"{what}: {found} where the naive sum is {naive}"[:400])


def _nca(rng: Generator, X: FloatArray, A: FloatArray) -> bool:
    y = rng.integers(choose(rng, 1, 2, 3, len(X)), size=len(X))
    kind = str(choose(rng, "expected", "log", "class-density"))
    n_jobs = choose(rng, 1, 3)

    def work() -> None:
        value, slope = NCAObjective(X, y, kind, n_jobs=n_jobs).value_and_gradient(A)
        with np.errstate(all="ignore"):
            naive, gradient = nca_value_and_gradient(X, y, A, kind)
        if not np.isfinite(naive) or not np.isfinite(gradient).all():
            return
        # The naive log p_i is a difference of such sums.
        _close(value, naive, 1 + 1e-8 * _squares(X @ A.T), f"value of {kind}")
        # What cancels in the gradient, in size: the yardstick of rounding.
        size = float(np.abs(A).max()) * _squares(X) * len(X)
        _close(slope, gradient, 1e-3 * size, f"gradient of {kind}")

    return refused(work)


def _float32(rng: Generator, _: FloatArray, A: FloatArray) -> bool:
    """Compare float32 rows, near or far from the origin, with the sum in float64."""
    X = rng.normal(size=(int(rng.integers(4, 60)), A.shape[1]))
    X = (X + choose(rng, 0.0, 10 ** rng.uniform(0, 6))).astype(np.float32)
    y = rng.integers(2, size=len(X))
    A = A / max(float(np.abs(A).max()), 1e-300)

    def work() -> None:
        value, slope = NCAObjective(X, y).value_and_gradient(A)
        naive, gradient = nca_value_and_gradient(X.astype(np.float64), y, A, "expected")
        # The digits of float32 in distances of a few units.
        _close(value, naive, 1e2 * len(X), "value in float32")
        _close(slope, gradient, 1e3 * len(X), "gradient in float32")

    return refused(work)


def _targets(rng: Generator, X: FloatArray, A: FloatArray) -> bool:
    spread, middle = choose(rng, (1.0, 0.0), (1.0, 0.0), (1e-3, 1e6))
    t = middle + spread * rng.normal(size=len(X))
    kind = str(choose(rng, "soft-match", "squared-error"))
    width = spread if kind == "soft-match" else 1.0

    def work() -> None:
        value, _ = TargetObjective(X, t, kind, width=width).value_and_gradient(A)
        naive = target_value(X, (t - t.mean()) / width, A, kind)
        if kind == "squared-error":
            value, naive = value / spread**2, naive / spread**2
        if np.isfinite(naive):
            _close(value, naive, 1.0, f"value of {kind}")

    return refused(work)


def _density(_: Generator, X: FloatArray, __: FloatArray) -> bool:
    """Compare leave-one-out log-densities of LCA without mixture with the sum."""

    def work() -> None:
        model = LCA(alpha=0.1, max_iter=3).fit(X)
        if getattr(model, "background_weight_", 0.0):
            return
        naive = leave_one_out(X, model.covariance_)
        if np.isfinite(naive).all():
            # The naive sum inverts the covariance.
            size = 1 + 1e-8 * np.linalg.cond(model.covariance_)
            _close(model.loo_score_samples_, naive, size, "LCA's log-densities")

    return refused(work)
