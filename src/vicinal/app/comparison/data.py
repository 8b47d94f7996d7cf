"""The data of a comparison: read, checked, and split.

A path or a data frame is read as a table; anything else is an array. The target is
classes, numbers, or missing.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
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

from vicinal.app.methods.registry import METHODS, TASKS
from vicinal.app.methods.scores import default_score
from vicinal.app.tables.inputs import (
    Overrides,
    check_features,
    check_numbers,
    is_frame,
    names_classes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.methods.registry import Method
    from vicinal.app.tables.prepared import Prepared


@dataclass(frozen=True, eq=False)
class Setting:
    """The data of a comparison and the user's choices.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The compared rows; NaN marks missing values.
    y : ndarray of shape (n_samples,) or None
        Their target, as given.
    target : ndarray of shape (n_samples,) or None
        The target as the methods take it: classes as integers from 0, or float64.
    classes : tuple of str
        Names of the classes, in the order of these integers; else empty.
    task : {"classification", "regression", "none"}
        The kind of target.
    rows : ndarray of int of shape (n_samples,)
        Positions of the rows in the data as given.
    n_given : int
        Number of rows given.
    feature_names : list of str
        One for each column.
    name : str
        Name of the data.
    n_splits, test_size, n_neighbors, n_components, random_state, n_jobs
        As given to `compare`; `n_splits` is the number of splits that were run.
    notes : tuple of str
        Remarks on the score and on the time budget.
    left_out : tuple of (str, str)
        Methods that were not compared, and the reasons.
    table : Prepared or None
        The table that was read, with the decisions on its columns.
    user_methods : tuple of Method
        The user's estimators among the methods.
    scored : str
        The score, a name in `vicinal.app.methods.scores.SCORES`; by default the
        usual score of the task.
    tests : tuple of ndarray of int
        The test rows of each split, as indices into `X`.

    See Also
    --------
    vicinal.app.comparison.Comparison : Its `setting` is one.

    Examples
    --------
    >>> from vicinal import compare
    >>> from vicinal.datasets import load
    >>> iris = load("iris")
    >>> setting = compare(iris.X, iris.y, methods="lda", n_splits=2).setting
    >>> setting.task, setting.n_splits, setting.n_neighbors
    ('classification', 2, 'auto')
    """

    X: FloatArray
    y: NDArray[Any] | None
    task: str
    rows: IntArray
    n_given: int
    feature_names: list[str]
    name: str = "the data"
    n_splits: int = 10
    test_size: float = 0.3
    n_neighbors: int | str = "auto"
    n_components: int | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    notes: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    target: IntArray | FloatArray | None = None
    classes: tuple[str, ...] = ()
    scored: str = ""
    tests: tuple[IntArray, ...] = ()
    table: Prepared | None = None
    user_methods: tuple[Method, ...] = ()

    def __post_init__(self) -> None:
        if not self.scored:
            object.__setattr__(self, "scored", default_score(self.task))

    def method(self, name: str) -> Method:
        """Return the method of this name, a user's estimator included."""
        return {one.name: one for one in self.user_methods}.get(name) or METHODS[name]

    @property
    def ratio(self) -> float:
        """Number of test rows per training row, rounded as scikit-learn splits."""
        n_test = ceil(self.test_size * len(self.X))
        return n_test / floor((1 - self.test_size) * len(self.X))

    def splits(self, n_splits: int) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the training rows and the test rows of each split."""
        kind = ShuffleSplit if self.task != "classification" else StratifiedShuffleSplit
        splitter = kind(
            n_splits, test_size=self.test_size, random_state=self.random_state
        )
        yield from splitter.split(self.X, self.target)

    def check_splits(self, n_splits: int) -> None:
        """Raise ValueError if rows cannot be split, before the first fit."""
        n_test = ceil(self.test_size * len(self.X))
        n_train = floor((1 - self.test_size) * len(self.X))
        if min(n_test, n_train) < len(self.classes):
            raise ValueError(
                f"A split has {n_train} training and {n_test} test rows, fewer than "
                f"the {len(self.classes)} classes; leave out the rarest classes, or "
                "give more rows."
            )
        # Later splits are checked when they are run: there may be millions.
        for train, _ in self.splits(min(n_splits, 10)):
            self.check_training_rows(train)

    def check_training_rows(self, train: IntArray) -> None:
        """Raise ValueError if no method can learn from these rows."""
        X, k = self.X[train], self.n_neighbors
        if self.task != "none" and isinstance(k, int) and k > len(X):
            raise ValueError(
                f"n_neighbors={k} exceeds the {len(X)} training rows of a split; ask "
                "for fewer, or give more rows."
            )
        if self.task == "classification":
            n_classes, codes = len(self.classes), np.asarray(self.target)[train]
            if np.unique(codes).size < n_classes or len(train) == n_classes:
                raise ValueError(
                    f"{len(train)} training rows are too few for {n_classes} classes; "
                    "lower test_size, or leave out the rarest classes."
                )
        # NaN is ignored: missing values are filled with observed ones.
        if np.array_equal(np.fmin.reduce(X), np.fmax.reduce(X), equal_nan=True):
            raise ValueError(
                "All training rows are equal: no metric can tell them apart."
            )


def read_setting(
    X: Any,
    y: Any,
    *,
    task: str = "auto",
    overrides: Overrides | Mapping[str, Any] | None = None,
    feature_names: Sequence[str] | None = None,
    name: str = "the data",
    n_components: int | None = None,
    **choices: Any,
) -> Setting:
    """Read and check the rows and the target.

    Parameters
    ----------
    X, y, task, overrides, feature_names, name, n_components
        As for `vicinal.compare`.
    **choices
        Other fields of `Setting`.

    Raises
    ------
    ValueError
        If the data cannot be compared.
    """
    if task not in ("auto", *TASKS):
        raise ValueError(f"task must be auto, {', '.join(TASKS)}; got {task!r}.")
    table = _read_table(X, y, task, overrides)
    if table is not None:
        X, y, task = table.X, table.y, table.task
        feature_names = table.feature_names
        name = table.name if name == "the data" else name
    if feature_names is None:
        feature_names = getattr(X, "columns", ())
    rows = _read_numbers(X)
    n, d = rows.shape
    names = [str(one) for one in feature_names] or [f"x{i}" for i in range(d)]
    if len(names) != d:
        raise ValueError(f"There are {len(names)} feature_names for {d} features.")
    check_features(rows, names)
    if n_components is not None:
        check_scalar(n_components, "n_components", Integral, min_val=1)
        if n_components > d:
            raise ValueError(
                f"n_components={n_components} exceeds the {d} features; ask for "
                f"{d} or fewer."
            )
    if y is None and task not in ("auto", "none"):
        raise ValueError(f"task={task!r} needs a target, y.")
    labels = None if y is None or task == "none" else column_or_1d(y, warn=True)
    check_consistent_length(rows, labels)
    if labels is not None and task == "auto" and not (labels != labels[0]).any():
        warnings.warn(
            f"y is {labels[0]} in every row and cannot be predicted; densities "
            "are compared instead. Name another target, or give task='none'.",
            UserWarning,
            stacklevel=3,
        )
        labels = None
    task, target, classes = encode_target(labels, task)
    return Setting(
        X=rows,
        y=labels,
        target=target,
        classes=classes,
        task=task,
        rows=np.arange(n) if table is None else table.rows,
        n_given=n,
        feature_names=names,
        name=name,
        n_components=n_components,
        table=table,
        **choices,
    )


def _read_table(
    X: Any, y: Any, task: str, overrides: Overrides | Mapping[str, Any] | None
) -> Prepared | None:
    """Read a path or a frame as the command does; return None for an array.

    A numeric frame is an array if y is an array or no target is wanted.
    """
    named, frame = isinstance(y, str), is_frame(X)
    if not frame and not isinstance(X, str | os.PathLike):
        if named or overrides is not None:
            raise ValueError(
                "X has no column names: give a frame of pandas or polars or the path "
                "of a file, or y as an array and no overrides."
            )
        return None
    if frame and overrides is None and not named and (y is not None or task == "none"):
        if type(X).__module__.startswith("pandas"):
            numeric = all(getattr(kind, "kind", "O") in "fiub" for kind in X.dtypes)
        else:
            numeric = all(kind.is_numeric() for kind in X.collect_schema().dtypes())
        if numeric:
            return None
    from vicinal.app.tables.prepared import prepare

    if overrides is not None and not isinstance(overrides, Overrides):
        try:
            overrides = Overrides.of(**overrides)
        except TypeError as error:
            known = "drop, categorical, number, date and decimal"
            raise ValueError(f"overrides may have {known}; got {overrides}.") from error
    given: dict[str, Any] = {"target": y}
    if y is not None and not named:
        given = {"labels": np.asarray(y)}
    elif task == "none":
        given = {"no_target": True}
    wanted = None if task in ("auto", "none") else task
    return prepare(X, task=wanted, overrides=overrides, **given)


def _read_numbers(X: Any) -> FloatArray:
    try:
        rows: FloatArray = check_array(
            X, dtype=[np.float64, np.float32], ensure_all_finite=False
        )
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"X is not a table of numbers: {error}\nTo use text and dates, give a "
            "frame of pandas or polars or the path of a file."
        ) from error
    if np.isinf(rows).any():
        raise ValueError("X contains infinity; write NaN for missing values.")
    return rows


def encode_target(
    labels: NDArray[Any] | None, task: str
) -> tuple[str, IntArray | FloatArray | None, tuple[str, ...]]:
    """Encode labels for the methods.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,) or None
        Classes or numbers.
    task : {"auto", "classification", "regression"}
        The kind of labels, if it is known.

    Returns
    -------
    task : {"classification", "regression", "none"}
        The kind of labels.
    target : ndarray of shape (n_samples,) or None
        Classes as integers from 0, numbers as float64.
    classes : tuple of str
        Names of the classes, in the order of these integers.

    Raises
    ------
    ValueError
        If nothing can be learned from the labels.
    """
    if labels is None:
        return "none", None, ()
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes labels of several types; use one type.") from error
    if labels.dtype.kind == "O":
        labels = np.asarray(labels.tolist())
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y contains NaN or infinity.")
    if task == "regression" or (task == "auto" and not names_classes(labels)):
        try:
            numbers = labels.astype(np.float64)
        except ValueError as error:
            raise ValueError(
                f"task='regression' needs numbers in y: {error}; leave such rows out, "
                "or ask for task='classification'."
            ) from error
        if classes.size < 2:
            raise ValueError(f"y has one value only, {classes[0]}; nothing to predict.")
        check_numbers(numbers, "The target y")
        return "regression", numbers, ()
    if classes.size < 2:
        raise ValueError(f"y has one class only, {classes[0]}; two or more are needed.")
    if rare := [str(classes[c]) for c in np.flatnonzero(np.bincount(codes) < 2)]:
        raise ValueError(
            f"Each class needs 2 rows or more; there is one of: {', '.join(rare)}."
        )
    return "classification", codes, tuple(map(str, classes.tolist()))


def stratified_rows(
    n_rows: int, size: int, codes: NDArray[Any] | None, n_first: int = 3
) -> IntArray:
    """Return a random sample of rows that keeps every class.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    size : int
        Size of the sample, at most.
    codes : ndarray of int of shape (n_rows,) or None
        Classes of the rows, if there are any.
    n_first : int, default=3
        Rows of each class that are drawn before all others, so that a small sample
        can still be split.

    Returns
    -------
    ndarray of int
        Ascending row numbers; the same for the same arguments. Smaller samples are
        subsets of larger ones.
    """
    order = np.random.RandomState(0).permutation(n_rows)
    if codes is not None:
        drawn = codes[order]
        rank = np.empty(n_rows)
        for code in np.unique(drawn):
            rows = np.flatnonzero(drawn == code)
            rank[rows] = np.maximum(np.arange(rows.size) - n_first, 0) / rows.size
        order = order[np.argsort(rank, kind="stable")]
    sample: IntArray = np.sort(order[:size])
    return sample
