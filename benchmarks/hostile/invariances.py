"""What must not matter: origin, order, names, rotation, unit, threads."""

import warnings
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.base import clone

from benchmarks.hostile.cases import Wrong, refused
from benchmarks.hostile.data import choose
from benchmarks.hostile.estimators import NUMBERS, drawn
from vicinal import LCA, LDG, NCA, LCAGauss, NCAClassifier, NCARegressor
from vicinal.classic import FDA, ITML, LFDA, MLKR
from vicinal.objectives import NCAObjective


def case(rng: Generator) -> bool:
    """Change what must not matter, and compare."""
    n, d = int(rng.integers(20, 70)), int(rng.integers(1, 6))
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(3, d))[y]
    X *= 10 ** rng.uniform(-3, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return choose(rng, _unit, _unit, _threads, _value, _names, _start)(rng, X, y)


def _fitted(model: Any, X: Any, y: Any) -> Any:
    numbers = np.sin(np.arange(len(X)))
    return clone(model).fit(X, numbers if isinstance(model, NUMBERS) else y)


def _same(one: Any, other: Any, what: str, rtol: float = 0.0) -> None:
    if one.shape != other.shape or not np.allclose(
        one, other, rtol=rtol, atol=rtol * float(np.abs(one).max(initial=0))
    ):
        raise Wrong(what)


def _unit(rng: Generator, X: Any, y: Any) -> bool:
    """Compare fits in units that differ by a power of two, bit by bit."""
    model = drawn(rng, NCA, NCAClassifier, NCARegressor, MLKR)
    model.set_params(
        solver=choose(rng, "lbfgs", "cg", "bold-driver"), n_components=None
    )
    model.set_params(init=choose(rng, "auto", "whiten"))
    if not isinstance(model.alpha, str):
        model.set_params(alpha=0.0)
    unit = 2.0 ** int(rng.integers(-200, 200))

    def work() -> None:
        one, other = _fitted(model, X, y), _fitted(model, X * unit, y)
        what = f"the unit {unit:.3g} of X changes {model} on {X.shape}"
        _same(one.components_, other.components_ * unit, what)

    return refused(work)


def _threads(rng: Generator, X: Any, y: Any) -> bool:
    """Compare the bits of fits with one thread and with three."""
    model = drawn(rng, NCA, NCAClassifier, NCARegressor, MLKR, LCA, LCAGauss, LDG, LFDA)
    if "n_jobs" not in model.get_params():
        return False

    def work() -> None:
        one = _fitted(model.set_params(n_jobs=1), X, y)
        other = _fitted(model.set_params(n_jobs=3), X, y)
        _same(one.components_, other.components_, f"threads change {model}")

    return refused(work)


def _value(rng: Generator, X: Any, y: Any) -> bool:
    """Neither origin, order nor rotation of the points change NCA's objective."""
    kind = str(choose(rng, "expected", "log", "class-density"))
    A = rng.normal(size=(2, X.shape[1])) / np.abs(X).max()
    turn = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))[0]
    order = rng.permutation(len(X))
    one = NCAObjective(X, y, kind).value_and_gradient(A)[0]
    moved = X + 100 * np.abs(X).max()
    for points, labels, B in (
        (moved, y, A),
        (X @ turn, y, A @ turn),
        (X[order], y[order], A),
    ):
        other = NCAObjective(points, labels, kind).value_and_gradient(B)[0]
        if abs(one - other) > 1e-8 * (1 + abs(one)):
            raise Wrong(f"origin, order or rotation change {kind}: {one}, {other}")
    return False


def _names(rng: Generator, X: Any, y: Any) -> bool:
    """Other names of the classes, in the same order, change no bit."""
    model = drawn(rng, NCA, NCAClassifier, LDG, FDA, LFDA, ITML)
    names = np.array(["a", "b", "ç\x1b"])

    def work() -> None:
        one, other = _fitted(model, X, y), _fitted(model, X, names[y])
        _same(one.components_, other.components_, f"names of classes change {model}")

    return refused(work)


def _start(rng: Generator, X: Any, y: Any) -> bool:
    """Neither order of memory nor a jitter of rounding decides where NCA starts."""
    init = str(choose(rng, "lda", "rca", "auto"))
    start = NCA(init=init, max_iter=1, random_state=0)
    jitter = 1 + 1e-13 * rng.standard_normal(X.shape)
    one = _fitted(start, X, y).get_mahalanobis_matrix()
    for other in (np.asfortranarray(X), X * jitter):
        found = _fitted(start, other, y).get_mahalanobis_matrix()
        _same(one, found, f"rounding changes the start {init} on {X.shape}", 1e-4)
    return False
