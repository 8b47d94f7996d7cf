"""One method on one split: fitted on some rows, scored on others."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from vicinal.app.comparison.data import UnfitError
from vicinal.app.comparison.fitting import (
    cluster_agreement,
    fit_catching_warnings,
    split_warnings,
)
from vicinal.app.comparison.scores import SCORES
from vicinal.app.comparison.subsets import random_part

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison.data import ComparisonData
    from vicinal.app.methods.registry import Method

__all__ = ["MANY_ROWS", "Effort", "Run", "judge", "run_method"]

# With more rows, a penalty costs more than it saves from: none is looked for. (Looked
# for on a thousand rows, as it is, it would keep maps that ten thousand improve on.)
MANY_ROWS = 2000


@dataclass(frozen=True)
class Effort:
    """How much may be spent on a fit.

    Attributes
    ----------
    rows : int or None
        Training rows to learn from, at most; k-NN looks at all of them. None is all.
    max_iter : int or None
        Iterations, for methods that have them.
    until : float
        When a method that has iterations keeps the map it has, on the clock of
        `time.perf_counter`.
    solver : str or None
        For methods that have a choice of them.
    agreement : bool
        Without a target, whether the clusters of two halves are compared.
    many : bool
        Whether the fit is, or stands for, one from more than `MANY_ROWS` rows.
    """

    rows: int | None = None
    max_iter: int | None = None
    until: float = np.inf
    solver: str | None = None
    agreement: bool = True
    many: bool = False


@dataclass(frozen=True, eq=False)
class Run:
    """One method on one split; the fields are those of `MethodResult`."""

    n_components: int
    score: float
    fit_seconds: float
    query_seconds: float
    stopped: bool
    warnings: tuple[str, ...]
    outcome: NDArray[Any]
    n_learned: int
    broken_off: bool = False
    pace: float = float("nan")
    max_iter: int | None = None
    confusion: IntArray | None = None
    agreement: float | None = None


class _Clock:
    """A callback that ends a fit when its time is over, after an iteration."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.over = False
        self.calls: list[float] = []

    @property
    def pace(self) -> float:
        """Seconds from one iteration to the next; NaN where there are not two."""
        apart = np.diff(self.calls)
        return float(apart.mean()) if apart.size else float("nan")

    def __call__(self, *_: object) -> None:
        self.calls.append(time.perf_counter())
        if self.calls[-1] > self.until:
            self.over = True
            raise StopIteration


def run_method(
    data: ComparisonData,
    method: Method,
    train: IntArray,
    test: IntArray,
    effort: Effort | None = None,
) -> Run:
    """Fit a method on some rows, and score it on others.

    Parameters
    ----------
    data : ComparisonData
        All rows.
    method : Method
        What to fit.
    train, test : ndarray of int
        Which rows.
    effort : Effort, optional
        How much may be spent; by default, all that it takes.

    Raises
    ------
    UnfitError
        When it can do nothing with these rows; others may.
    """
    try:
        return _run(data, method, train, test, effort or Effort())
    # IndexError: scikit-learn's LDA, where no class has any spread.
    except (ValueError, IndexError, ArithmeticError) as error:
        raise UnfitError(" ".join(str(error).partition("\n")[0].split())) from error


def _run(
    data: ComparisonData,
    method: Method,
    train: IntArray,
    test: IntArray,
    effort: Effort,
) -> Run:
    s = data.setting
    X, X_test = s.X[train], s.X[test]
    y = None if data.target is None else data.target[train]
    learn: Any = slice(None)
    if effort.rows is not None and effort.rows < len(X):
        codes = y if s.task == "classification" else None
        learn = random_part(len(X), effort.rows, codes)
    own, labels = X[learn], None if y is None else y[learn]
    start = time.perf_counter()
    metric = method.pipeline(own, labels, s.n_components, s.random_state, s.n_jobs)
    clock = _Clock(effort.until)
    _limit(metric, clock, effort, len(own))
    issued = fit_catching_warnings(metric, own, labels)
    seconds = time.perf_counter() - start
    _unlimit(metric, clock)
    if y is None:
        start = time.perf_counter()
        outcome = np.asarray(metric.score_samples(X_test), dtype=np.float64)
        query = time.perf_counter() - start
        score = SCORES[s.scored].of(None, outcome)
        n_components = metric.transform(X_test[:1]).shape[1]
        agreed = cluster_agreement(metric, own, X_test) if effort.agreement else np.nan
        found: dict[str, Any] = {"agreement": agreed}
    else:
        Z = metric.transform(X)
        n_components = Z.shape[1]
        start = time.perf_counter()
        predict = _neighbors(data, metric, Z, y)
        outcome, score, found = judge(data, test, predict)
        query = time.perf_counter() - start
    if np.isnan(score):
        raise UnfitError("its score on the test rows is not a number.")
    stopped, texts = split_warnings(issued, s.classes)
    return Run(
        n_components=n_components,
        score=score,
        fit_seconds=seconds,
        query_seconds=1000 * query / len(test),
        # Where time was short, that is what is said, and not that it did not converge.
        stopped=stopped and not clock.over and effort.max_iter is None,
        warnings=texts,
        outcome=outcome,
        n_learned=len(own),
        broken_off=clock.over,
        pace=clock.pace,
        max_iter=effort.max_iter,
        **found,
    )


def _limit(metric: Pipeline, clock: _Clock, effort: Effort, n_rows: int) -> None:
    """Let a method that learns by iterations end in time."""
    options = metric.get_params()
    wanted: dict[str, Any] = {}
    many = effort.many or n_rows > MANY_ROWS
    if many and options.get("metric__alpha") == "auto":
        wanted["metric__alpha"] = 0.0
    if options.get("metric__callback", 0) is None:
        wanted["metric__callback"] = clock
    if effort.max_iter is not None:
        wanted["metric__max_iter"] = effort.max_iter
    if effort.solver is not None:
        wanted["metric__solver"] = effort.solver
    metric.set_params(**wanted)


def _unlimit(metric: Pipeline, clock: _Clock) -> None:
    """Take back what was set: the metric is fitted again, on other rows."""
    if metric.get_params().get("metric__callback") is clock:
        metric.set_params(metric__callback=None)


def _neighbors(
    data: ComparisonData, metric: Pipeline, Z: FloatArray, y: Any
) -> Callable[[FloatArray], Any]:
    """Return k-NN as a function of rows: classes and probabilities, or numbers."""
    s = data.setting
    if s.task != "classification":
        knn = KNeighborsRegressor(s.n_neighbors, n_jobs=s.n_jobs).fit(Z, y)
        return lambda X: knn.predict(metric.transform(X))
    knn = KNeighborsClassifier(s.n_neighbors, n_jobs=s.n_jobs).fit(Z, y)
    if s.scored == "average-precision":
        return lambda X: knn.predict_proba(metric.transform(X))
    return lambda X: knn.predict(metric.transform(X))


def judge(
    data: ComparisonData, test: IntArray, predict: Callable[[FloatArray], Any]
) -> tuple[NDArray[Any], float, dict[str, Any]]:
    """Return what is predicted of the test rows, its score, and the confusions.

    Parameters
    ----------
    data : ComparisonData
        All rows.
    test : ndarray of int
        Which of them.
    predict : callable
        From rows to classes or numbers; to the classes' probabilities where these are
        what is scored.
    """
    s = data.setting
    truth: Any = data.target[test] if data.target is not None else None
    predicted = np.asarray(predict(s.X[test]))
    outcome, named = predicted, predicted
    if s.scored == "average-precision":
        named = predicted.argmax(axis=1)
        outcome = predicted[:, np.argmin(np.bincount(truth))]
    score = SCORES[s.scored].of(truth, outcome)
    if s.task != "classification":
        return outcome, score, {}
    labels = range(len(s.classes))
    return outcome, score, {"confusion": confusion_matrix(truth, named, labels=labels)}
