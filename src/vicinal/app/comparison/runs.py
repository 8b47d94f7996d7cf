"""One method or reference model on one split: fitted on some rows, scored on others.

Reference models have no neighbors: a constant, a linear model and gradient boosting.
They show whether nearest neighbors suit the data, and are not compared as methods.
"""

from __future__ import annotations

import re
import time
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, confusion_matrix
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from threadpoolctl import threadpool_limits

from vicinal.app.comparison.data import stratified_rows
from vicinal.app.comparison.scores import SCORES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison.data import Setting
    from vicinal.app.methods.registry import Method

__all__ = [
    "MANY_ROWS",
    "REFERENCES",
    "FitBudget",
    "Run",
    "UnfitError",
    "fit_method",
    "merge_warnings",
    "run_method",
    "run_reference",
]

MANY_ROWS = 2000
"""With more rows, no penalty is searched: its search on 1,000 rows would prefer maps
that all rows improve on (`python -m benchmarks.decisions`)."""

REFERENCES = {
    "classification": ("majority class", "logistic regression", "gradient boosting"),
    "regression": ("mean", "ridge regression", "gradient boosting"),
    "none": (),
}
"""Names of the reference models of each task."""


class UnfitError(ValueError):
    """A method cannot learn from these rows, or has no score."""


@dataclass(frozen=True)
class FitBudget:
    """Limits of a fit.

    Attributes
    ----------
    rows : int or None
        The largest number of training rows to learn from; None is all. k-NN always
        uses all training rows.
    until : float
        The time, on the clock of `time.perf_counter`, at which a fit that iterates
        ends with its current map.
    """

    rows: int | None = None
    until: float = np.inf


@dataclass(frozen=True, eq=False)
class Run:
    """One method on one split; the fields are those of `MethodResult`."""

    n_components: int
    score: float
    fit_seconds: float
    query_seconds: float
    outcome: NDArray[Any]
    n_learned: int
    issued: tuple[warnings.WarningMessage, ...] = ()
    broken_off: bool = False
    confusion: IntArray | None = None
    agreement: float | None = None


class _Deadline:
    """A callback that ends a fit after the first iteration beyond a time."""

    def __init__(self, until: float) -> None:
        self.until = until
        self.over = False

    def __call__(self, *_: object) -> None:
        if time.perf_counter() > self.until:
            self.over = True
            raise StopIteration


def run_method(
    setting: Setting,
    method: Method,
    train: IntArray,
    test: IntArray,
    budget: FitBudget | None = None,
) -> Run:
    """Fit a method on the training rows and score it on the test rows.

    Parameters
    ----------
    setting : Setting
        All rows.
    method : Method
        The method.
    train, test : ndarray of int
        The training and test rows.
    budget : FitBudget, optional
        Limits of the fit.

    Raises
    ------
    UnfitError
        If the method cannot learn from these rows.
    """
    budget = budget or FitBudget()
    learned = train
    if budget.rows is not None and budget.rows < len(train):
        learned = subset(setting, train, budget.rows)
    fitted, seconds, issued, over = fit_method(setting, method, learned, budget.until)
    X_test = setting.X[test]
    found: dict[str, Any] = {}
    try:
        start = time.perf_counter()
        if setting.target is None:
            outcome = np.asarray(fitted.score_samples(X_test), dtype=np.float64)
            query = time.perf_counter() - start
            score = SCORES[setting.scored].of(None, outcome)
            n_components = fitted.transform(X_test[:1]).shape[1]
            found["agreement"] = cluster_agreement(fitted, setting.X[learned], X_test)
        else:
            Z = fitted.transform(setting.X[train])
            n_components = Z.shape[1]
            kind = (
                KNeighborsClassifier
                if setting.task == "classification"
                else KNeighborsRegressor
            )
            start = time.perf_counter()
            knn = kind(setting.n_neighbors, n_jobs=setting.n_jobs)
            knn.fit(Z, setting.target[train])
            predicted = predict(setting, knn, fitted.transform(X_test))
            outcome, score, found = judge(setting, test, predicted)
            query = time.perf_counter() - start
    except (ValueError, IndexError, ArithmeticError) as error:
        raise UnfitError(_first_line(error)) from error
    if np.isnan(score):
        raise UnfitError("its score on the test rows is not a number.")
    return Run(
        n_components,
        score,
        fit_seconds=seconds,
        query_seconds=1000 * query / len(test),
        outcome=outcome,
        n_learned=len(learned),
        issued=issued,
        broken_off=over,
        **found,
    )


def subset(setting: Setting, rows: IntArray, size: int) -> IntArray:
    """Return some of the rows, with every class among them."""
    codes = setting.target[rows] if setting.classes else None  # type: ignore[index]
    return rows[stratified_rows(len(rows), size, codes)]


def fit_method(
    setting: Setting,
    method: Method,
    rows: IntArray,
    until: float = np.inf,
    pilot: bool = False,
) -> tuple[Pipeline, float, tuple[warnings.WarningMessage, ...], bool]:
    """Fit a method on some rows.

    Parameters
    ----------
    setting : Setting
        All rows.
    method : Method
        The method.
    rows : ndarray of int
        The rows to learn from.
    until : float
        As for `FitBudget`.
    pilot : bool, default=False
        Whether the fit estimates the time of one from more than `MANY_ROWS` rows.

    Returns
    -------
    pipeline : Pipeline
        The fitted pipeline.
    seconds : float
        The time of the fit.
    issued : tuple of WarningMessage
        Warnings for users; others are issued again.
    over : bool
        Whether the fit was ended by `until`.
    """
    X = setting.X[rows]
    y = None if setting.target is None else setting.target[rows]
    start = time.perf_counter()
    deadline = _Deadline(until)
    try:
        pipeline = method.pipeline(
            X, y, setting.n_components, setting.random_state, setting.n_jobs
        )
        params = pipeline.get_params()
        can_stop = params.get("metric__callback", deadline) is None
        if can_stop:
            pipeline.set_params(metric__callback=deadline)
        if params.get("metric__alpha") == "auto" and (pilot or len(X) > MANY_ROWS):
            pipeline.set_params(metric__alpha=0.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            pipeline.fit(X, y)
    # IndexError: scikit-learn's LDA, if no class has any spread.
    except (ValueError, IndexError, ArithmeticError) as error:
        raise UnfitError(_first_line(error)) from error
    seconds = time.perf_counter() - start
    if can_stop:
        pipeline.set_params(metric__callback=None)
    issued = [w for w in caught if issubclass(w.category, UserWarning | RuntimeWarning)]
    for w in caught:
        if w not in issued:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if deadline.over:
        # That it did not converge follows from the deadline.
        issued = [w for w in issued if not issubclass(w.category, ConvergenceWarning)]
    return pipeline, seconds, tuple(issued), deadline.over


def _first_line(error: Exception) -> str:
    return " ".join(str(error).partition("\n")[0].split())


def predict(setting: Setting, model: Any, X: FloatArray) -> NDArray[Any]:
    """Return the predictions of a model; probabilities if they are scored."""
    if setting.scored == "average-precision":
        return np.asarray(model.predict_proba(X))
    return np.asarray(model.predict(X))


def judge(
    setting: Setting, test: IntArray, predicted: NDArray[Any]
) -> tuple[NDArray[Any], float, dict[str, Any]]:
    """Return the scored values of the test rows, their score, and the confusions.

    Parameters
    ----------
    setting : Setting
        All rows.
    test : ndarray of int
        The test rows.
    predicted : ndarray
        Their predictions, as from `predict`.
    """
    truth = np.asarray(setting.target)[test]
    outcome = predicted
    if setting.scored == "average-precision":
        outcome = predicted[:, np.argmin(np.bincount(truth))]
        predicted = predicted.argmax(axis=1)
    score = SCORES[setting.scored].of(truth, outcome)
    if setting.task != "classification":
        return outcome, score, {}
    confusion = confusion_matrix(truth, predicted, labels=range(len(setting.classes)))
    return outcome, score, {"confusion": confusion}


def merge_warnings(
    issued: Iterable[warnings.WarningMessage], classes: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return the texts of warnings, each once.

    Warnings of a category of their own are merged, and texts that differ only in
    numbers.

    Parameters
    ----------
    issued : iterable of WarningMessage
        The warnings of all fits of a method.
    classes : sequence of str
        Names of the classes. A warning with `class_sizes`, a mapping of the integers
        that stand for classes to their sizes, is shown with the names of the smallest.
    """
    first: dict[Any, str] = {}
    for one in issued:
        text = " ".join(str(one.message).split())
        sizes = getattr(one.message, "class_sizes", None)
        if sizes is not None and len(classes):
            order = sorted(sizes, key=lambda code: sizes[code])
            shown = [f"{classes[int(code)]} ({sizes[code]})" for code in order[:5]]
            more = f" and {len(order) - 5} more" if len(order) > 5 else ""
            text = f"These classes have few rows: {', '.join(shown)}{more}."
        general = one.category in (UserWarning, RuntimeWarning)
        key = re.sub(r"\d+(\.\d+)?", "0", text) if general else one.category
        first.setdefault(key, text)
    return tuple(first.values())


def cluster_agreement(
    metric: Pipeline, X: FloatArray, X_test: FloatArray, n_clusters: int = 8
) -> float:
    """Return the agreement of two halves of the training rows on clusters.

    Parameters
    ----------
    metric : Pipeline
        Fitted on all of `X`; copies are fitted on each half.
    X, X_test : ndarray
        Training and test rows.
    n_clusters : int, default=8
        Number of clusters, by default that of scikit-learn's `KMeans`.

    Returns
    -------
    float
        The adjusted Rand index of the two clusterings of the test rows by k-means; NaN
        if the metric has no dimensions.
    """
    # Imported here: only data without a target need it, and it is slow to load.
    from sklearn.cluster import KMeans

    last = metric.named_steps["metric"]
    # Choices made by cross-validation are kept.
    chosen = {
        f"metric__{name}": getattr(last, f"{name}_")
        for name, value in last.get_params(deep=False).items()
        if isinstance(value, str)
        and value in ("cv", "auto")
        and hasattr(last, f"{name}_")
    }
    labels = []
    for half in (X[::2], X[1::2]):
        learned = clone(metric).set_params(**chosen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Z = learned.fit(half).transform(half)
        if not Z.shape[1]:
            return float("nan")
        means = KMeans(min(n_clusters, len(half)), n_init=3, random_state=0)
        # Threads slow down small work on busy cores.
        with warnings.catch_warnings(), threadpool_limits(1):
            # Some clusters are empty if there are fewer distinct rows.
            warnings.simplefilter("ignore", ConvergenceWarning)
            means.fit(Z)
        labels.append(means.predict(learned.transform(X_test)))
    return float(adjusted_rand_score(*labels))


def run_reference(
    setting: Setting,
    name: str,
    train: IntArray,
    test: IntArray,
    until: float = np.inf,
    max_rows: int = 20_000,
) -> Run:
    """Fit a reference model on the training rows and score it on the test rows.

    Parameters
    ----------
    setting : Setting
        All rows.
    name : str
        One of `REFERENCES`.
    train, test : ndarray of int
        The training and test rows.
    until : float
        The time, on the clock of `time.perf_counter`, at which gradient boosting ends.
    max_rows : int, default=20_000
        With more training rows, a sample is used: a reference needs less precision.
    """
    rows = subset(setting, train, max_rows)
    X, y = setting.X[rows], np.asarray(setting.target)[rows]
    mean: float = 0
    unit: float = 1
    if setting.task == "regression":
        # The squares of targets in small units would vanish.
        mean, unit = y.mean(), y.std() or 1.0
        y = (y - mean) / unit
    start = time.perf_counter()
    # Threads slow down small work on busy cores a hundred times.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = _fit_reference(name, X, y, until)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        predicted = mean + unit * predict(setting, model, setting.X[test])
        outcome, score, found = judge(setting, test, predicted)
    query = 1000 * (time.perf_counter() - start) / len(test)
    return Run(0, score, seconds, query, outcome, len(rows), **found)


def _fit_reference(name: str, X: FloatArray, y: NDArray[Any], until: float) -> Any:
    from sklearn.dummy import DummyClassifier, DummyRegressor

    if name == "mean":
        return DummyRegressor().fit(X, y)
    if name == "majority class":
        return DummyClassifier().fit(X, y)
    if name == "gradient boosting":
        from sklearn.ensemble import (
            HistGradientBoostingClassifier,
            HistGradientBoostingRegressor,
        )

        numeric = y.dtype.kind == "f"
        kind = (
            HistGradientBoostingRegressor if numeric else HistGradientBoostingClassifier
        )
        model = kind(random_state=0, early_stopping=False, warm_start=True)
        # With a deadline, ten trees at a time.
        for n_trees in (100,) if np.isinf(until) else range(10, 101, 10):
            model.set_params(max_iter=n_trees).fit(X, y)
            if time.perf_counter() > until:
                break
        return model
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    last = Ridge() if name == "ridge regression" else LogisticRegression()
    return make_pipeline(fill, StandardScaler(), last).fit(X, y)
