"""Every estimator, with settings as the dice have them."""

from collections.abc import Callable
from typing import Any

from numpy.random import Generator

from benchmarks.hostile.data import choose
from vicinal import (
    LCA,
    LDG,
    NCA,
    LCAGauss,
    LocalQDA,
    ModeClustering,
    NCAClassifier,
    NCARegressor,
)
from vicinal.classic import FDA, ITML, LFDA, MLKR, MRMR, NGCA


def _gradient(rng: Generator) -> dict[str, Any]:
    """Return settings of the estimators that climb."""
    return {
        "n_components": choose(rng, None, None, 1, 2),
        "init": choose(rng, "auto", "auto", "pca", "identity", "random", "whiten"),
        "solver": choose(rng, "auto", "auto", "cg", "bold-driver", "stochastic"),
        "alpha": choose(rng, "auto", 0.0, 0.0, 0.1),
        "max_iter": int(rng.integers(1, 12)),
        "tol": choose(rng, 1e-5, 0.0, 1e-2),
        "n_jobs": choose(rng, None, 1, 3),
        "random_state": 0,
    }


def _nca(rng: Generator) -> dict[str, Any]:
    return _gradient(rng) | {
        "objective": choose(rng, "expected", "log", "class-density"),
        "neighbors": choose(rng, "all", "all", "all", 3),
        "early_stopping": choose(rng, False, False, True),
    }


def _settings(**options: list[Any]) -> Callable[[Generator], dict[str, Any]]:
    def drawn(rng: Generator) -> dict[str, Any]:
        return {name: choose(rng, *values) for name, values in options.items()}

    return drawn


SETTINGS: dict[type, Callable[[Generator], dict[str, Any]]] = {
    NCA: _nca,
    NCAClassifier: _nca,
    NCARegressor: _gradient,
    MLKR: _gradient,
    LDG: _settings(
        n_components=["auto", "auto", 1, 2],
        n_neighbors=["auto", 2, 5],
        gamma=["auto", 0.3, 1.0],
        refine=[False, False, True],
        random_state=[0],
    ),
    LocalQDA: _settings(n_neighbors=["auto", 2, 5], random_state=[0]),
    LCA: _settings(
        covariance=["full", "full", "diagonal", "spherical", "low-rank", "local"],
        alpha=["auto", "auto", 0.0, 0.1],
        n_components=[None, None, 1],
        max_iter=[5, 20],
        random_state=[0],
    ),
    LCAGauss: _settings(
        n_gaussian=["auto", 1], search=[False, True], max_iter=[5, 20], random_state=[0]
    ),
    ModeClustering: _settings(max_iter=[5, 50], width=[1.0, 0.3]),
    FDA: _settings(n_components=[None, 1]),
    LFDA: _settings(n_components=[None, 1], n_neighbors=[1, 7]),
    ITML: _settings(prior=["identity", "covariance"], random_state=[0]),
    NGCA: _settings(n_components=[1, 2], random_state=[0]),
    MRMR: _settings(n_components=[None, 1, 2]),
}
NUMBERS = (NCARegressor, MLKR)


def drawn(rng: Generator, *kinds: type) -> Any:
    """Return an estimator, one of some kinds or of all, with drawn settings."""
    kind = choose(rng, *(kinds or tuple(SETTINGS)))
    known = kind().get_params()
    settings = {k: v for k, v in SETTINGS[kind](rng).items() if k in known}
    if rng.random() < 0.2:  # the defaults, too
        settings = {k: v for k, v in settings.items() if k == "random_state"}
    return kind(**settings)
