"""The rows of a comparison, checked, and its splits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_scalar,
    column_or_1d,
)

from vicinal.app.comparison.records import Setting
from vicinal.app.comparison.subsets import random_part
from vicinal.app.comparison.data import read_rows
from vicinal.app.comparison.data import (
    check_classes,
    encode_target,
    warn_of_one_class,
)
from vicinal.app.methods.registry import METHODS, TASKS
from vicinal.app.tables.targets import check_features

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.methods.registry import Method
    from vicinal.app.tables.columns import Overrides

__all__ = ["ComparisonData", "UnfitError"]

# Splits that are checked before the first fit.
_CHECKED_SPLITS = 10


class UnfitError(ValueError):
    """A method cannot learn from these rows, or cannot tell anything of others."""


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
        rows = _numbers(X)
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
        codes = self.target if self.setting.task == "classification" else None
        rows = random_part(len(self.setting.X), n, codes)
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
            raise ValueError(
                f"n_neighbors={k} exceeds the {len(X)} training rows of a split; ask "
                "for fewer, or give more rows."
            )
        if self.setting.task == "classification":
            check_classes(self.target, train)
        # Without regard to NaN: what is missing becomes a value that is there.
        if np.array_equal(np.fmin.reduce(X), np.fmax.reduce(X), equal_nan=True):
            raise ValueError(
                "All training rows are equal: no metric can tell them apart."
            )


def _numbers(X: Any) -> FloatArray:
    try:
        rows: FloatArray = check_array(
            X, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except (TypeError, ValueError) as error:
        if "convert" not in str(error) and "float()" not in str(error):
            raise
        cells = np.asarray(X, dtype=object).ravel()
        odd = next((one for one in cells if not _is_number(one)), cells[0])
        raise ValueError(
            f"X must hold numbers, but has {odd!r}; give a frame of pandas or polars "
            "or the path of a file, whose text and dates become numbers, or encode it."
        ) from error
    return rows


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _names(X: Any, given: Sequence[str] | None) -> list[str]:
    """Return what the columns are called; nothing where nobody has said it."""
    columns = given if given is not None else getattr(X, "columns", ())
    return [str(name) for name in columns]
