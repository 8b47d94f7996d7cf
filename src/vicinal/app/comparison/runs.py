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
from vicinal.neighborhood import single_threaded_blas

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
    "Run",
    "UnfitError",
    "cluster_agreement",
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
    until: float = np.inf,
    first_rows: int | None = None,
    scaled: dict[Any, Any] | None = None,
) -> Run:
    """Fit a method on the training rows and score it on the test rows.

    Parameters
    ----------
    setting : Setting
        All rows.
    method : Method
        The method.
    train, test : ndarray of int
        The training and test rows. k-NN always uses all training rows.
    until : float
        The time, on the clock of `time.perf_counter`, at which a fit that iterates
        ends with its current map.
    first_rows : int, optional
        Number of rows to learn from at first; by default all. Fits from more rows
        follow as long as they end in time even if the time of a fit grows with the
        square of the rows. A method that chooses its solver gets all rows, because its
        stochastic solver does not need more time for them.
    scaled : dict, optional
        Imputed and scaled rows of this split, shared by the methods.

    Raises
    ------
    UnfitError
        If the method cannot learn from these rows.
    """
    X_test = setting.X[test]
    found: dict[str, Any] = {}
    n_rows = len(train) if first_rows is None else min(first_rows, len(train))
    try:
        while True:
            rows = subset(setting, train, n_rows)
            start = time.perf_counter()
            fitted, seconds, issued, over = _fit(setting, method, rows, until, scaled)
            now = time.perf_counter()
            if over or len(rows) == len(train):
                break
            n_rows = len(train)
            if fitted.get_params().get("metric__solver") != "auto":
                # Without a target, two halves are learned from as well.
                left = max(until - now, 0) / (2 if setting.target is None else 1)
                affordable = int(len(rows) * np.sqrt(left / max(now - start, 1e-4)))
                n_rows = min(affordable, len(train))
                if n_rows < min(2 * len(rows), len(train)):
                    break
        start = time.perf_counter()
        if setting.target is None:
            outcome = np.asarray(fitted.score_samples(X_test), dtype=np.float64)
            query = time.perf_counter() - start
            score = SCORES[setting.scored].of(None, outcome)
            n_components = fitted.transform(X_test[:1]).shape[1]
            found["agreement"] = cluster_agreement(fitted, setting.X[rows], X_test)
        else:
            Z = fitted.transform(setting.X[train])
            n_components = Z.shape[1]
            classes = setting.task == "classification"
            kind = KNeighborsClassifier if classes else KNeighborsRegressor
            start = time.perf_counter()
            knn = kind(setting.n_neighbors, n_jobs=setting.n_jobs)
            knn.fit(Z, setting.target[train])
            predicted = predict(setting, knn, fitted.transform(X_test))
            outcome, score, found = judge(setting, test, predicted)
            query = time.perf_counter() - start
    # IndexError: scikit-learn's LDA, if no class has any spread.
    except (ValueError, IndexError, ArithmeticError) as error:
        first_line = " ".join(str(error).partition("\n")[0].split())
        raise UnfitError(first_line) from error
    if np.isnan(score):
        raise UnfitError("its score on the test rows is not a number.")
    return Run(
        n_components,
        score,
        fit_seconds=seconds,
        query_seconds=1000 * query / len(test),
        outcome=outcome,
        n_learned=len(rows),
        issued=issued,
        broken_off=over,
        **found,
    )


def subset(setting: Setting, rows: IntArray, size: int) -> IntArray:
    """Return some of the rows, with every class among them."""
    codes = setting.target[rows] if setting.classes else None  # type: ignore[index]
    return rows[stratified_rows(len(rows), size, codes)]


def _fit(
    setting: Setting,
    method: Method,
    rows: IntArray,
    until: float,
    scaled: dict[Any, Any] | None,
) -> tuple[Pipeline, float, tuple[warnings.WarningMessage, ...], bool]:
    """Fit a method on some rows.

    Returns the fitted pipeline, the seconds without imputing and scaling, the warnings
    for users (others are issued again), and whether the fit was ended by `until`.
    """
    X = setting.X[rows]
    y = None if setting.target is None else setting.target[rows]
    deadline = _Deadline(until)
    pipeline = method.pipeline(
        X, y, setting.n_components, setting.random_state, setting.n_jobs
    )
    params = pipeline.get_params()
    can_stop = params.get("metric__callback", deadline) is None
    if can_stop:
        pipeline.set_params(metric__callback=deadline)
    if params.get("metric__alpha") == "auto" and len(X) > MANY_ROWS:
        pipeline.set_params(metric__alpha=0.0)
    shared = {} if scaled is None else scaled
    # Threads of BLAS slow down small work on busy cores a hundred times.
    with (
        warnings.catch_warnings(record=True) as caught,
        single_threaded_blas(),
    ):
        warnings.simplefilter("always")
        key = method.scale, len(rows)
        if key not in shared:
            steps = pipeline[:-1]
            shared[key] = steps, steps.fit_transform(X, y)
        steps, Z = shared[key]
        pipeline.steps[:-1] = steps.steps
        start = time.perf_counter()
        if not isinstance(pipeline[-1], str):
            pipeline[-1].fit(Z, y)
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
        if isinstance(value, str) and value == "auto" and hasattr(last, f"{name}_")
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
    mean: Any = 0
    unit: Any = 1
    if numeric := setting.task == "regression":
        # The gradients of boosting are in single precision, too little for some units.
        mean, unit = y.mean(), y.std() or 1.0
        y = (y - mean) / unit
    start = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model = _reference(name, numeric)
        if name == "gradient boosting":
            # With a deadline, ten trees at a time.
            for n_trees in (100,) if np.isinf(until) else range(10, 101, 10):
                model.set_params(max_iter=n_trees).fit(X, y)
                if time.perf_counter() > until:
                    break
        else:
            model.fit(X, y)
        seconds = time.perf_counter() - start
        start = time.perf_counter()
        predicted = mean + unit * predict(setting, model, setting.X[test])
        outcome, score, found = judge(setting, test, predicted)
    query = 1000 * (time.perf_counter() - start) / len(test)
    return Run(0, score, seconds, query, outcome, len(rows), **found)


def _reference(name: str, numeric: bool) -> Any:
    """Return an unfitted reference model; scikit-learn's parts are slow to import."""
    if name in ("mean", "majority class"):
        from sklearn.dummy import DummyClassifier, DummyRegressor

        return DummyRegressor() if numeric else DummyClassifier()
    if name == "gradient boosting":
        from sklearn import ensemble

        kind = "Regressor" if numeric else "Classifier"
        boosting = getattr(ensemble, f"HistGradientBoosting{kind}")
        return boosting(random_state=0, early_stopping=False, warm_start=True)
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    fill = SimpleImputer(strategy="median", keep_empty_features=True)
    last = Ridge() if numeric else LogisticRegression()
    return make_pipeline(fill, StandardScaler(), last)
