"""The rows of a comparison, checked; its splits; one method on one split."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from math import ceil, floor
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, confusion_matrix, r2_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_scalar,
    column_or_1d,
)

from vicinal.comparison.records import Setting
from vicinal.comparison.targets import check_classes, encode_target
from vicinal.methods.registry import TASKS
from vicinal.tables.sizes import check_features

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike
    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray
    from vicinal.methods.registry import Method

__all__ = ["ComparisonData", "Run", "UnfitError"]

# Splits that are checked before the first fit.
_CHECKED_SPLITS = 10
# scikit-learn's own default for the number of clusters, where nobody says it.
_N_CLUSTERS = 8


class UnfitError(ValueError):
    """A method cannot learn from these rows, or cannot tell anything of others."""


@dataclass(frozen=True, eq=False)
class Run:
    """One method on one split; the fields are those of `MethodResult`."""

    n_components: int
    score: float
    fit_seconds: float
    query_seconds: float
    stopped: bool
    warnings: tuple[str, ...]
    confusion: IntArray | None = None
    agreement: float | None = None


@dataclass(frozen=True, eq=False)
class ComparisonData:
    """The rows, and the target as the methods want it.

    Attributes
    ----------
    setting : Setting
        The rows as they were given, and the user's choices.
    target : ndarray of shape (n_samples,) or None
        Classes as integers from 0, numbers as float64.
    """

    setting: Setting
    target: IntArray | FloatArray | None

    @classmethod
    def of(
        cls,
        X: ArrayLike,
        y: ArrayLike | None,
        *,
        task: str,
        feature_names: Sequence[str] | None,
        n_components: int | None,
        **choices: Any,
    ) -> ComparisonData:
        """Check the rows and the target; raise ValueError where they are of no use."""
        names = _names(X, feature_names)
        rows = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False)
        if np.isinf(rows).any():
            raise ValueError("X contains infinity; write NaN where a value is missing.")
        if n_components is not None:
            check_scalar(n_components, "n_components", Integral, min_val=1)
            if n_components > (d := rows.shape[1]):
                raise ValueError(
                    f"n_components={n_components} exceeds the {d} features; ask for "
                    f"{d} or fewer."
                )
        if task not in ("auto", *TASKS):
            raise ValueError(f"task must be auto, {', '.join(TASKS)}; got {task!r}.")
        labels = None if y is None or task == "none" else column_or_1d(y, warn=True)
        target = None
        classes: tuple[str, ...] = ()
        if labels is not None:
            check_consistent_length(rows, labels)
            task, target, classes = encode_target(labels, task)
        elif task not in ("auto", "none"):
            raise ValueError(f"task={task!r} needs a target, y.")
        else:
            task = "none"
        setting = Setting(
            X=rows,
            y=labels,
            classes=classes,
            task=task,
            rows=np.arange(len(rows)),
            n_given=len(rows),
            feature_names=names or [f"x{i}" for i in range(rows.shape[1])],
            n_components=n_components,
            **choices,
        )
        if len(setting.feature_names) != rows.shape[1]:
            raise ValueError(
                f"There are {len(setting.feature_names)} feature_names for "
                f"{rows.shape[1]} features."
            )
        check_features(rows, setting.feature_names)
        return cls(setting, target)

    @property
    def fewest(self) -> int:
        """How many rows a part must have to be split again."""
        if self.setting.task != "classification":
            return 2
        counts = np.bincount(np.asarray(self.target))
        share = min(self.setting.test_size, 1 - self.setting.test_size)
        # A split wants a row of each class on both of its sides.
        return max(int(counts.size / share) + 1, int(np.minimum(counts, 4).sum()))

    def part(self, n: int) -> ComparisonData:
        """Return a random part of n rows, the first few of each class before others."""
        rng = np.random.RandomState(0)
        order = rng.permutation(len(self.setting.X))
        if self.setting.task == "classification" and self.target is not None:
            codes = self.target[order]
            turn = np.empty(len(order))
            for code in np.unique(codes):
                own = np.flatnonzero(codes == code)
                turn[own] = np.maximum(np.arange(own.size) - 3, 0) / own.size
            order = order[np.argsort(turn, kind="stable")]
        rows = np.sort(order[:n])
        setting, y = self.setting, self.setting.y
        smaller = replace(
            setting,
            X=setting.X[rows],
            y=None if y is None else y[rows],
            rows=setting.rows[rows],
        )
        return ComparisonData(
            smaller, None if self.target is None else self.target[rows]
        )

    def splits(self, n_splits: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows to learn from and the rows to test on."""
        s = self.setting
        stratified = s.task == "classification"
        kind = StratifiedShuffleSplit if stratified else ShuffleSplit
        splitter = kind(n_splits, test_size=s.test_size, random_state=s.random_state)
        yield from splitter.split(s.X, self.target)

    def check(self, n_splits: int) -> None:
        """Raise ValueError where rows cannot be split, before any work is done."""
        s = self.setting
        n_test = ceil(s.test_size * len(s.X))
        n_train = floor((1 - s.test_size) * len(s.X))
        if min(n_test, n_train) < len(s.classes):
            raise ValueError(
                f"A split has {n_train} training and {n_test} test rows, fewer than "
                f"the {len(s.classes)} classes; leave out the rarest classes, or give "
                "more rows."
            )
        # Later splits are checked when their turn comes: there may be millions.
        for train, _ in self.splits(min(n_splits, _CHECKED_SPLITS)):
            self.check_split(train)

    def check_split(self, train: IntArray) -> None:
        """Raise ValueError where nothing can be learned from some rows."""
        X, k = self.setting.X[train], self.setting.n_neighbors
        if self.setting.task != "none" and k > len(X):
            raise ValueError(f"n_neighbors={k} exceeds the {len(X)} training rows.")
        if self.setting.task == "classification":
            check_classes(self.target, train)
        # Without regard to NaN: what is missing becomes a value that is there.
        if np.array_equal(np.fmin.reduce(X), np.fmax.reduce(X), equal_nan=True):
            raise ValueError(
                "All training rows are equal: no metric can tell them apart."
            )

    def run(self, method: Method, train: IntArray, test: IntArray) -> Run:
        """Fit a method on some rows, and score it on others.

        Raises
        ------
        UnfitError
            When it can do nothing with these rows; others may.
        """
        try:
            return self._run(method, train, test)
        # IndexError: scikit-learn's LDA, where no class has any spread.
        except (ValueError, IndexError, ArithmeticError) as error:
            raise UnfitError(" ".join(str(error).partition("\n")[0].split())) from error

    def _run(self, method: Method, train: IntArray, test: IntArray) -> Run:
        s = self.setting
        X, X_test = s.X[train], s.X[test]
        y = None if self.target is None else self.target[train]
        choices = s.n_components, s.random_state, s.n_jobs
        metric = method.pipeline(X, y, *choices)
        start = time.perf_counter()
        told = _fit(metric, X, y)
        seconds = time.perf_counter() - start
        Z = metric.transform(X)
        start = time.perf_counter()
        if y is None:
            score = float(metric.score(X_test))
            query = time.perf_counter() - start
            found: dict[str, Any] = {"agreement": _agreement(metric, X, X_test)}
        else:
            score, found = self._predict(metric, Z, y, test)
            query = time.perf_counter() - start
        if np.isnan(score):
            raise UnfitError("its score on the test rows is not a number.")
        stopped = [issubclass(w.category, ConvergenceWarning) for w in told]
        return Run(
            n_components=Z.shape[1],
            score=score,
            fit_seconds=seconds,
            query_seconds=1000 * query / len(test),
            stopped=any(stopped),
            warnings=tuple(
                " ".join(str(w.message).split())
                for w, counted in zip(told, stopped, strict=True)
                if not counted
            ),
            **found,
        )

    def _predict(
        self, metric: Pipeline, Z: FloatArray, y: Any, test: IntArray
    ) -> tuple[float, dict[str, Any]]:
        """Return k-NN's score on the test rows, and its confusions."""
        s = self.setting
        truth: Any = self.target[test] if self.target is not None else None
        classes = s.task == "classification"
        kind = KNeighborsClassifier if classes else KNeighborsRegressor
        knn = kind(s.n_neighbors, n_jobs=s.n_jobs).fit(Z, y)
        predicted = knn.predict(metric.transform(s.X[test]))
        if not classes:
            return float(r2_score(truth, predicted)), {}
        labels = range(len(s.classes))
        counts = confusion_matrix(truth, predicted, labels=labels)
        return float(np.mean(predicted == truth)), {"confusion": counts}


def _agreement(metric: Pipeline, X: FloatArray, X_test: FloatArray) -> float:
    """Return whether two halves of the rows find the same clusters in others."""
    found = []
    for i in range(2):
        half = X[i::2]
        learned = _as_chosen(metric)
        _fit(learned, half, None)
        Z = learned.transform(half)
        if not Z.shape[1]:
            return float("nan")
        means = KMeans(min(_N_CLUSTERS, len(half)), n_init=3, random_state=0)
        with warnings.catch_warnings():
            # Fewer distinct rows than clusters leave some of the clusters empty.
            warnings.simplefilter("ignore", ConvergenceWarning)
            means.fit(Z)
        found.append(means.predict(learned.transform(X_test)))
    return float(adjusted_rand_score(*found))


def _as_chosen(metric: Pipeline) -> Pipeline:
    """Return a pipeline to fit again, with what was cross-validated held fast."""
    last = metric.named_steps["metric"]
    options = {
        f"metric__{name}": getattr(last, f"{name}_")
        for name, value in last.get_params(deep=False).items()
        if isinstance(value, str) and value == "cv"
    }
    return clone(metric).set_params(**options)


def _names(X: Any, given: Sequence[str] | None) -> list[str]:
    """Return what the columns are called; nothing where nobody has said it."""
    columns = given if given is not None else getattr(X, "columns", ())
    return [str(name) for name in columns]


def _fit(metric: Pipeline, X: FloatArray, y: Any) -> list[warnings.WarningMessage]:
    """Fit, and return what was warned about; what is not for users passes through."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        metric.fit(X, y)
    told = [w for w in caught if issubclass(w.category, UserWarning | RuntimeWarning)]
    for w in caught:
        if w not in told:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return told
