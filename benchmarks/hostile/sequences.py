"""Sequences of fit, partial_fit, set_params, pickle, clone and failing fits."""

import pickle
import warnings
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.base import clone

from benchmarks.hostile.cases import Wrong, is_clear
from benchmarks.hostile.data import choose
from benchmarks.hostile.estimators import NUMBERS, drawn

_STEPS = ("fit", "fit", "refit", "fail", "pickle", "clone", "set_params", "partial_fit")


def case(rng: Generator) -> bool:
    """Do some things one after the other to an estimator, and look after each."""
    model = drawn(rng)
    done: list[str] = []
    some = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        for _ in range(int(rng.integers(2, 7))):
            step = str(choose(rng, *_STEPS))
            done.append(step)
            try:
                model = _STEP[step](model, rng)
            except Exception as error:
                if is_clear(error) and not isinstance(error, Wrong):
                    some = True
                    continue
                error.args = (f"{error} (after {done} of {model})",)
                raise
    return some


def _data(model: Any, rng: Generator) -> tuple[Any, Any]:
    n, d = int(rng.integers(12, 60)), int(choose(rng, 2, 3, 5))
    X = rng.normal(size=(n, d)) + 4 * rng.integers(3, size=(n, 1))
    y = rng.normal(size=n) if isinstance(model, NUMBERS) else np.arange(n) % 3
    return X, y


def _state(model: Any) -> dict[str, bytes]:
    """Return what is fitted, to the bit; each by itself, whatever they share."""
    return {k: pickle.dumps(v) for k, v in vars(model).items() if k.endswith("_")}


def _fit(model: Any, rng: Generator) -> Any:
    settings = repr(model.get_params())
    model.fit(*_data(model, rng))
    if repr(model.get_params()) != settings:
        raise Wrong("fit has changed the settings")
    return model


def _refit(model: Any, rng: Generator) -> Any:
    """Compare a refit with the fit of a new estimator of the same settings."""
    X, y = _data(model, rng)
    model.set_params(**{"warm_start": False} if hasattr(model, "warm_start") else {})
    model.fit(X, y)
    other = clone(model).fit(X, y)
    for name in ("components_", "labels_", "covariance_", "objective_curve_"):
        if hasattr(other, name) and not np.array_equal(
            getattr(model, name), getattr(other, name), equal_nan=True
        ):
            raise Wrong(f"{name} of a refit is not that of a new fit")
    return model


def _fail(model: Any, rng: Generator) -> Any:
    """Let a fit fail; whatever was learned before is still there."""
    X, y = _data(model, rng)
    X = np.column_stack([X, X])
    X[3, 1] = choose(rng, np.nan, np.inf, 1e308)
    before = _state(model)
    try:
        model.fit(X, y)
    except (ValueError, TypeError):
        if _state(model) != before:
            raise Wrong("a fit that failed has changed the estimator") from None
    return model


def _pickle(model: Any, rng: Generator) -> Any:
    other = pickle.loads(pickle.dumps(model))  # noqa: S301  our own
    if hasattr(model, "components_"):
        X = rng.normal(size=(5, model.n_features_in_))
        if not np.array_equal(model.transform(X), other.transform(X)):
            raise Wrong("a pickled estimator maps points elsewhere")
    return other


def _clone(model: Any, rng: Generator) -> Any:
    other = clone(model)
    if any(name.endswith("_") for name in vars(other)):
        raise Wrong("a clone that is fitted")
    return other if rng.random() < 0.3 else model


def _set_params(model: Any, rng: Generator) -> Any:
    before = _state(model)
    model.set_params(**drawn(rng, type(model)).get_params())
    if _state(model) != before:
        raise Wrong("set_params has changed what was fitted")
    return model


def _partial_fit(model: Any, rng: Generator) -> Any:
    if not hasattr(model, "partial_fit"):
        return model
    X, y = _data(model, rng)
    model.partial_fit(X, y) if isinstance(model, NUMBERS) else model.partial_fit(
        X, y, **({"classes": range(3)} if "NCA" in type(model).__name__ else {})
    )
    if not np.isfinite(model.components_).all():
        raise Wrong("components_ that are not finite after partial_fit")
    return model


_STEP = {
    "fit": _fit,
    "refit": _refit,
    "fail": _fail,
    "pickle": _pickle,
    "clone": _clone,
    "set_params": _set_params,
    "partial_fit": _partial_fit,
}
