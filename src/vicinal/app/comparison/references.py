"""What the metrics are held against: no model at all, and models without neighbours.

They take no part in the comparison of metrics. They show whether nearest neighbours are
the right tool for a table: the most frequent class or the mean, a linear model, and
gradient boosting.
"""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from threadpoolctl import threadpool_limits

from vicinal.app.comparison.runs import Run, judge
from vicinal.app.comparison.subsets import random_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison.data import ComparisonData

__all__ = ["CONSTANTS", "REFERENCE_SPLITS", "reference_names", "run_reference"]

CONSTANTS = ("majority class", "mean")
"""References that say the same of every row."""

# Of ten splits, on how many: a point of reference needs less precision.
REFERENCE_SPLITS = 3
# With more rows than this, they learn from a random part.
_MOST_ROWS = 20_000
_MOST_ROUNDS = 100
_FIRST_ROUNDS = 10
_NAMES = {
    "classification": ("majority class", "logistic regression", "gradient boosting"),
    "regression": ("mean", "ridge regression", "gradient boosting"),
    "none": (),
}


def reference_names(task: str) -> tuple[str, ...]:
    """Return the names of the points of reference of a task, none without a target."""
    return _NAMES[task]


def run_reference(
    data: ComparisonData,
    name: str,
    train: IntArray,
    test: IntArray,
    until: float = np.inf,
) -> Run:
    """Fit a model that has no neighbours on some rows, and score it on others.

    Parameters
    ----------
    data : ComparisonData
        All rows.
    name : str
        One of `reference_names`.
    train, test : ndarray of int
        Which rows.
    until : float
        When gradient boosting ends with the trees that it has, on the clock of
        `time.perf_counter`.
    """
    s = data.setting
    target: Any = data.target
    codes = target[train] if s.task == "classification" else None
    own = train[random_part(len(train), _MOST_ROWS, codes)]
    X, y = s.X[own], target[own]
    start = time.perf_counter()
    # Small work on busy cores takes a hundred times longer with OpenMP's threads.
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        # That a point of reference might be a little better is nobody's concern.
        warnings.simplefilter("ignore")
        predict = _FITTED[name](X, y, s.scored == "average-precision", until)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        outcome, score, found = judge(data, test, predict)
    return Run(
        n_components=0,
        score=score,
        fit_seconds=seconds,
        query_seconds=1000 * (time.perf_counter() - start) / len(test),
        stopped=False,
        warnings=(),
        outcome=outcome,
        n_learned=len(own),
        **found,
    )


def _constant(
    X: FloatArray,  # noqa: ARG001
    y: Any,
    shares: bool,
    until: float,  # noqa: ARG001
) -> Callable[[FloatArray], Any]:
    if y.dtype.kind == "f":
        mean = y.mean()
        return lambda X: np.full(len(X), mean)
    counts = np.bincount(y)
    if shares:
        return lambda X: np.tile(counts / counts.sum(), (len(X), 1))
    return lambda X: np.full(len(X), counts.argmax())


def _linear(
    X: FloatArray,
    y: Any,
    shares: bool,
    until: float,  # noqa: ARG001
) -> Callable[[FloatArray], Any]:
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    last = Ridge() if y.dtype.kind == "f" else LogisticRegression()
    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    model = make_pipeline(fill, StandardScaler(), last).fit(X, y)
    return model.predict_proba if shares else model.predict


def _boosting(
    X: FloatArray, y: Any, shares: bool, until: float
) -> Callable[[FloatArray], Any]:
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    numbers = y.dtype.kind == "f"
    kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
    # Targets of any unit: squares of very small ones are nothing.
    middle, unit = (y.mean(), y.std() or 1.0) if numbers else (0, 1)
    wanted = (y - middle) / unit if numbers else y
    rounds = _MOST_ROUNDS if np.isinf(until) else _FIRST_ROUNDS
    began = time.perf_counter()
    model = kind(max_iter=rounds, warm_start=True, random_state=0, early_stopping=False)
    model.fit(X, wanted)
    while rounds < _MOST_ROUNDS:
        now = time.perf_counter()
        # Half of what there seems to be time for: later rounds may be slower.
        more = int(0.5 * (until - now) / (now - began) * rounds)
        if more < 1:
            break
        rounds = min(rounds + more, _MOST_ROUNDS)
        model.set_params(max_iter=rounds).fit(X, wanted)
    if numbers:
        return lambda X: middle + unit * model.predict(X)
    return model.predict_proba if shares else model.predict


_FITTED = {
    "majority class": _constant,
    "mean": _constant,
    "logistic regression": _linear,
    "ridge regression": _linear,
    "gradient boosting": _boosting,
}
