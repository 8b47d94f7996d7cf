"""The rows of a comparison, checked; its splits; one method on one split."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from math import ceil, floor
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix, r2_score
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_scalar,
    column_or_1d,
)

from vicinal.comparison.fitting import cluster_agreement, fit_catching_warnings
from vicinal.comparison.records import Setting
from vicinal.comparison.tables import read_rows
from vicinal.comparison.targets import (
    check_classes,
    encode_target,
    warn_of_one_class,
)
from vicinal.methods.registry import METHODS, TASKS
from vicinal.tables.sizes import check_features

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sklearn.pipeline import Pipeline

    from vicinal._typing import FloatArray, IntArray
    from vicinal.methods.registry import Method
    from vicinal.tables.overrides import Overrides

__all__ = ["ComparisonData", "Run", "UnfitError"]

# Splits that are checked before the first fit.
_CHECKED_SPLITS = 10


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
    """The rows of a comparison: checked, split, and given to the methods.

    Attributes
    ----------
    setting : Setting
        The rows, their target, and the user's choices.
    """

    setting: Setting

    @property
    def target(self) -> IntArray | FloatArray | None:
        """Classes as integers from 0, numbers as float64."""
        return self.setting.target

    @classmethod
    def of(
        cls,
        X: Any,
        y: Any,
        *,
        task: str,
        feature_names: Sequence[str] | None,
        n_components: int | None,
        name: str = "the data",
        overrides: Overrides | Mapping[str, Any] | None = None,
        **choices: Any,
    ) -> ComparisonData:
        """Check the rows and the target; raise ValueError where they are of no use."""
        if task not in ("auto", *TASKS):
            raise ValueError(f"task must be auto, {', '.join(TASKS)}; got {task!r}.")
        table = read_rows(X, y, task, overrides)
        if table is not None:
            X, y, task = table.X, table.y, table.task
            feature_names = table.feature_names
            name = table.name if name == "the data" else name
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
        labels = None if y is None or task == "none" else column_or_1d(y, warn=True)
        target = None
        classes: tuple[str, ...] = ()
        if labels is not None:
            check_consistent_length(rows, labels)
            labels = warn_of_one_class(labels, task)
        if labels is not None:
            task, target, classes = encode_target(labels, task)
        elif y is None and task not in ("auto", "none"):
            raise ValueError(f"task={task!r} needs a target, y.")
        else:
            task = "none"
        setting = Setting(
            X=rows,
            y=labels,
            target=target,
            classes=classes,
            task=task,
            rows=np.arange(len(rows)) if table is None else table.rows,
            n_given=len(rows),
            feature_names=names or [f"x{i}" for i in range(rows.shape[1])],
            name=name,
            n_components=n_components,
            table=table,
            **choices,
        )
        if len(setting.feature_names) != rows.shape[1]:
            raise ValueError(
                f"There are {len(setting.feature_names)} feature_names for "
                f"{rows.shape[1]} features."
            )
        check_features(rows, setting.feature_names)
        return cls(setting)

    def with_methods(self, methods: Sequence[Method]) -> ComparisonData:
        """Return the same rows, with the estimators that are not in `METHODS`."""
        own = tuple(one for one in methods if one.name not in METHODS)
        return ComparisonData(replace(self.setting, own=own))

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
        setting, y, target = self.setting, self.setting.y, self.setting.target
        return ComparisonData(
            replace(
                setting,
                X=setting.X[rows],
                y=None if y is None else y[rows],
                target=None if target is None else target[rows],
                rows=setting.rows[rows],
            )
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
        issued = fit_catching_warnings(metric, X, y)
        seconds = time.perf_counter() - start
        Z = metric.transform(X)
        start = time.perf_counter()
        if y is None:
            score = float(metric.score(X_test))
            query = time.perf_counter() - start
            found: dict[str, Any] = {"agreement": cluster_agreement(metric, X, X_test)}
        else:
            score, found = self._predict(metric, Z, y, test)
            query = time.perf_counter() - start
        if np.isnan(score):
            raise UnfitError("its score on the test rows is not a number.")
        stopped = [issubclass(w.category, ConvergenceWarning) for w in issued]
        return Run(
            n_components=Z.shape[1],
            score=score,
            fit_seconds=seconds,
            query_seconds=1000 * query / len(test),
            stopped=any(stopped),
            warnings=tuple(
                " ".join(str(w.message).split())
                for w, counted in zip(issued, stopped, strict=True)
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


def _names(X: Any, given: Sequence[str] | None) -> list[str]:
    """Return what the columns are called; nothing where nobody has said it."""
    columns = given if given is not None else getattr(X, "columns", ())
    return [str(name) for name in columns]
