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

from vicinal.app.comparison.data import stratified_rows
from vicinal.app.methods.scores import SCORES
from vicinal.app.methods.votes import NEIGHBORS, OWN_RULE, Vote, Voters, choose_vote
from vicinal.app.tables.names import listed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.comparison.data import Setting
    from vicinal.app.methods.registry import Method

MANY_ROWS = 2000
"""With more rows, a time budget limits the rows that methods learn from."""

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
    vote: Vote | None = None


def run_method(
    setting: Setting,
    method: Method,
    train: IntArray,
    test: IntArray,
    until: float = np.inf,
    max_rows: int | None = None,
    max_queries: int = 2000,
    scaled: dict[Any, Any] | None = None,
) -> Run:
    """Fit a method on the training rows and score it on the test rows.

    The vote of the neighbors is chosen by leave-one-out on the training rows.

    Parameters
    ----------
    setting : Setting
        All rows.
    method : Method
        The method.
    train, test : ndarray of int
        The training and test rows. All training rows vote.
    until : float
        The time, on the clock of `time.perf_counter`, at which a fit that iterates
        ends with its current map.
    max_rows : int, optional
        Number of rows to learn from, unless `Method.many_rows`.
    max_queries : int, default=2000
        Number of training rows that the vote is chosen on.
    scaled : dict, optional
        Imputed and scaled rows of this split, shared by the methods.

    Raises
    ------
    UnfitError
        If the method cannot learn from these rows.
    """
    X_test = setting.X[test]
    vote: Vote | None = None
    found: dict[str, Any] = {}
    rows = train
    if max_rows is not None and not method.many_rows:
        rows = subset(setting, train, max_rows)
    try:
        shared = {} if scaled is None else scaled
        fitted, seconds, issued, over = _fit(setting, method, rows, until, shared)
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
            n_classes = len(setting.classes)
            voters = Voters(
                *(Z, setting.target[train], n_classes, setting.n_jobs),
                # A given number of neighbors votes as in scikit-learn.
                smooth=setting.n_neighbors == "auto" or setting.scored == "log-loss",
            )
            if method.own_rule:
                vote = OWN_RULE
            elif isinstance(setting.n_neighbors, int):
                vote = Vote(setting.n_neighbors)
            else:
                vote = choose_vote(voters, setting.scored, max_queries)
            start = time.perf_counter()
            if method.own_rule:
                predicted = _own_prediction(fitted, X_test, n_classes)
            else:
                predicted = voters.predict(fitted.transform(X_test), vote)
            query = time.perf_counter() - start
            outcome, score, found = judge(setting, test, predicted)
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
        vote=vote,
        **found,
    )


def _own_prediction(fitted: Pipeline, X: FloatArray, n_classes: int) -> FloatArray:
    """Return the probabilities of the classes, or numbers, by the estimator's rule."""
    if not n_classes:
        return np.asarray(fitted.predict(X), dtype=np.float64)
    predicted = np.zeros((len(X), n_classes))
    predicted[:, fitted.classes_] = fitted.predict_proba(X)
    return predicted


def subset(setting: Setting, rows: IntArray, size: int) -> IntArray:
    """Return some of the rows, with every class among them."""
    codes = setting.target[rows] if setting.classes else None  # type: ignore[index]
    return rows[stratified_rows(len(rows), size, codes)]


def _fit(
    setting: Setting,
    method: Method,
    rows: IntArray,
    until: float,
    scaled: dict[Any, Any],
) -> tuple[Pipeline, float, tuple[warnings.WarningMessage, ...], bool]:
    """Fit a method on some rows.

    Returns the fitted pipeline, the seconds without imputing and scaling, the warnings
    for users (others are issued again), and whether the fit was ended by `until`.
    """
    X = setting.X[rows]
    y = None if setting.target is None else setting.target[rows]
    is_over = False

    def stop(*_: object) -> None:
        nonlocal is_over
        if time.perf_counter() > until:
            is_over = True
            raise StopIteration

    pipeline = method.pipeline(
        X, y, setting.n_components, setting.random_state, setting.n_jobs
    )
    metric: Any = pipeline[-1]
    params = {} if isinstance(metric, str) else metric.get_params(deep=False)
    can_stop = params.get("callback", stop) is None
    if can_stop:
        metric.set_params(callback=stop)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        key = method.scale, len(rows)
        if key not in scaled:
            steps = pipeline[:-1]
            scaled[key] = steps, steps.fit_transform(X, y)
        steps, Z = scaled[key]
        pipeline.steps[:-1] = steps.steps
        start = time.perf_counter()
        if not isinstance(metric, str):
            metric.fit(Z, y)
        seconds = time.perf_counter() - start
    if can_stop:
        metric.set_params(callback=None)
    issued = [w for w in caught if issubclass(w.category, UserWarning | RuntimeWarning)]
    for w in caught:
        if w not in issued:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    if is_over:
        # That it did not converge follows from the deadline.
        issued = [w for w in issued if not issubclass(w.category, ConvergenceWarning)]
    return pipeline, seconds, tuple(issued), is_over


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
    predicted : ndarray of shape (n_test, n_classes) or (n_test,)
        Probabilities of the classes, or numbers.
    """
    truth = np.asarray(setting.target)[test]
    score = SCORES[setting.scored]
    if setting.task != "classification":
        return predicted, score.of(truth, predicted), {}
    outcome = score.outcome(truth, predicted)
    n = len(setting.classes)
    pairs = np.bincount(n * truth + predicted.argmax(axis=1), minlength=n * n)
    return outcome, score.of(truth, outcome), {"confusion": pairs.reshape(n, n)}


def affordable_queries(setting: Setting, seconds: float, n_probes: int = 100) -> int:
    """Return the number of rows whose neighbors can be searched within a time.

    Parameters
    ----------
    setting : Setting
        All rows.
    seconds : float
        The time.
    n_probes : int, default=100
        The number of rows whose search is timed.
    """
    X = np.nan_to_num(setting.X)
    voters = Voters(X, np.zeros(len(X), dtype=np.intp), 0, setting.n_jobs)
    start = time.perf_counter()
    voters.nearest(X[:n_probes], min(NEIGHBORS[-1], len(X)))
    return int(n_probes * seconds / max(time.perf_counter() - start, 1e-6))


def merge_warnings(
    issued: Iterable[warnings.WarningMessage],
    classes: Sequence[str] = (),
    features: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the texts of warnings, each once.

    Warnings of a category of their own are merged, and texts that differ only in
    numbers.

    Parameters
    ----------
    issued : iterable of WarningMessage
        The warnings of all fits of a method.
    classes : sequence of str
        Names of the classes. A warning with `sizes`, a mapping of the integers
        that stand for classes to their sizes, is shown with the names of the smallest.
    features : sequence of str
        Names of the features. A warning with `columns`, the positions of some, names
        the columns of the table that they come from.
    """
    first: dict[Any, str] = {}
    for one in issued:
        text = " ".join(str(one.message).split())
        sizes = getattr(one.message, "sizes", None)
        if sizes is not None and len(classes):
            order = sorted(sizes, key=lambda code: sizes[code])
            shown = [f"{classes[int(code)]} ({sizes[code]})" for code in order[:5]]
            more = f" and {len(order) - 5} more" if len(order) > 5 else ""
            text = f"These classes have few rows: {', '.join(shown)}{more}."
        few = getattr(one.message, "columns", ())
        if few and len(features):
            # The features of a category are called like colour=red.
            names = listed(dict.fromkeys(features[j].partition("=")[0] for j in few))
            text = f"The density is high at the few values of {names}, and compares "
            text += "only with other densities of this table. Leave such columns out."
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
        Training and test rows. At most 2,000 rows make a half.
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
    from sklearn.metrics import adjusted_rand_score

    last = metric[-1]
    # Choices made by cross-validation are kept.
    chosen = {
        name: getattr(last, f"{name}_")
        for name, value in last.get_params(deep=False).items()
        if isinstance(value, str) and value == "auto" and hasattr(last, f"{name}_")
    }
    labels = []
    for half in (X[::2][:2000], X[1::2][:2000]):
        learned = clone(metric)
        learned[-1].set_params(**chosen)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Z = learned.fit(half).transform(half)
        if not Z.shape[1]:
            return float("nan")
        means = KMeans(min(n_clusters, len(half)), n_init=3, random_state=0)
        with warnings.catch_warnings():
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
    with warnings.catch_warnings():
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
        X_test = setting.X[test]
        predicted = (
            mean + unit * model.predict(X_test)
            if numeric
            else model.predict_proba(X_test)
        )
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
