"""k-NN accuracy under several metrics, on the same random splits of one data set.

The learning of a metric lives elsewhere: here is only what is fitted on which rows,
and what came of it.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import check_scalar, check_X_y
from sklearn.utils.multiclass import check_classification_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import ArrayLike, NDArray

    from vicinal._typing import FloatArray, IntArray

__all__ = ["METHODS", "Comparison", "MethodResult", "compare"]

METHODS = ("euclidean", "standardised", "whitened", "pca", "lda", "nca")
HEADER = ("method", "dimensions", "accuracy (%)", "fit (s)")


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What one method did, split by split.

    Attributes
    ----------
    name : str
        One of `METHODS`.
    n_components : ndarray of int of shape (n_splits,)
        Dimensions in which the neighbours were sought.
    accuracies : ndarray of shape (n_splits,)
        Share of the test rows that k-NN classified correctly.
    fit_seconds : ndarray of shape (n_splits,)
        Time to learn the metric; the k-NN search is not part of it.
    not_converged : int
        Fits that stopped at their iteration limit.
    """

    name: str
    n_components: IntArray
    accuracies: NDArray[np.float64]
    fit_seconds: NDArray[np.float64]
    not_converged: int

    @property
    def mean(self) -> float:
        """Mean accuracy over the splits."""
        return float(self.accuracies.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of `mean` over the splits; NaN for a single split."""
        return standard_error(self.accuracies)

    @property
    def score(self) -> str:
        """Mean accuracy ± its standard error, in percent."""
        error = self.standard_error
        margin = "" if np.isnan(error) else f" ± {100 * error:.1f}"
        return f"{100 * self.mean:.1f}{margin}"

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The cells under `HEADER`."""
        low, high = self.n_components.min(), self.n_components.max()
        dimensions = f"{low}" if low == high else f"{low}-{high}"
        # The median, because the first fit may include compiling.
        seconds = f"{np.median(self.fit_seconds):.3f}"
        return self.name, dimensions, self.score, seconds


@dataclass(frozen=True, eq=False)
class Comparison:
    """Outcome of `compare`; ``comparison["nca"]`` is that method's result.

    Attributes
    ----------
    results : tuple of MethodResult
        In the order of `METHODS`.
    """

    results: tuple[MethodResult, ...]

    def __getitem__(self, name: str) -> MethodResult:
        return {result.name: result for result in self.results}[name]

    def __str__(self) -> str:
        return self.table()

    @property
    def best(self) -> MethodResult:
        """The method with the highest mean accuracy; the first of equals."""
        return max(self.results, key=lambda result: result.mean)

    @property
    def notes(self) -> list[str]:
        """What a reader of the table has to know besides."""
        return [
            f"{result.name}: {result.not_converged} of {result.accuracies.size} fits "
            "stopped at the iteration limit before they converged."
            for result in self.results
            if result.not_converged
        ]

    def table(self) -> str:
        """Return the results as an aligned plain-text table, with notes below it."""
        rows = [HEADER, *(result.row for result in self.results)]
        first, *rest = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [
            "  ".join([row[0].ljust(first), *map(str.rjust, row[1:], rest)])
            for row in rows
        ]
        return "\n".join(lines + self.notes)


def compare(
    X: ArrayLike,
    y: ArrayLike,
    *,
    methods: Iterable[str] | None = None,
    n_splits: int = 10,
    test_size: float = 0.3,
    n_neighbors: int = 3,
    n_components: int | None = None,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int, str], object] | None = None,
) -> Comparison:
    """Measure how well k-NN classifies under several metrics.

    Every method sees the same stratified random splits. All that it learns, the
    scaling of the features included, it learns from the training rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite numbers.
    y : array-like of shape (n_samples,)
        Classes, each with at least two rows.
    methods : iterable of str, optional
        Some of ``"euclidean"`` (the features as they are), ``"standardised"``,
        ``"whitened"`` (the Mahalanobis metric of the training rows), ``"pca"``,
        ``"lda"`` and ``"nca"``; the last four start from standardised features.
        All of them by default.
    n_splits : int, default=10
        How many random splits.
    test_size : float, default=0.3
        Share of the rows to classify.
    n_neighbors : int, default=3
        The k of k-NN.
    n_components : int, optional
        Dimensions of PCA and NCA, and of LDA as far as the classes allow. By
        default PCA explains 95 % of the variance and NCA keeps full rank.
    random_state : int, RandomState or None, default=0
        Seed of the splits and of the methods that draw numbers.
    n_jobs : int, optional
        Threads for NCA and for the neighbour search.
    on_progress : callable, optional
        Called after each fit as ``on_progress(done, total, method)``.

    Returns
    -------
    Comparison
        Prints as a table. Fits that stopped at their iteration limit are counted
        there instead of warned about.

    Notes
    -----
    The splits overlap: the standard error over them tells how far the choice of a
    split moves the mean, not how far another sample of rows would.

    Examples
    --------
    >>> from vicinal.comparison import compare
    >>> from vicinal.datasets import load
    >>> wine = load("wine")
    >>> result = compare(wine.X, wine.y, methods=["euclidean", "lda"], n_splits=5)
    >>> result.best.name
    'lda'
    >>> [round(method.mean, 2) for method in result.results]
    [0.7, 0.98]
    """
    chosen = _check_methods(METHODS if methods is None else methods)
    rows, labels = _check_data(X, y, n_components)
    check_scalar(n_splits, "n_splits", Integral, min_val=1)
    splitter = StratifiedShuffleSplit(
        n_splits, test_size=test_size, random_state=random_state
    )
    splits = list(splitter.split(rows, labels))
    for train, _ in splits:
        _check_training_part(rows[train], labels[train], labels.max() + 1, n_neighbors)

    runs: dict[str, list[tuple[int, float, float, bool]]] = {m: [] for m in chosen}
    # Splits outside, methods inside: the time taken then tells the time left.
    for done, ((train, test), name) in enumerate(product(splits, chosen), start=1):
        X_train, y_train = rows[train], labels[train]
        metric = _metric(name, X_train, y_train, n_components, random_state, n_jobs)
        start = time.perf_counter()
        converged = _fit(metric, X_train, y_train)
        seconds = time.perf_counter() - start
        Z = metric.transform(X_train)
        knn = KNeighborsClassifier(n_neighbors, n_jobs=n_jobs).fit(Z, y_train)
        accuracy = knn.score(metric.transform(rows[test]), labels[test])
        runs[name].append((Z.shape[1], accuracy, seconds, not converged))
        if on_progress is not None:
            on_progress(done, n_splits * len(chosen), name)
    return Comparison(tuple(_result(name, runs[name]) for name in chosen))


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean; NaN for a single value."""
    if values.size < 2:
        return float("nan")
    return float(values.std(ddof=1) / np.sqrt(values.size))


def _result(name: str, runs: list[tuple[int, float, float, bool]]) -> MethodResult:
    dimensions, accuracies, seconds, stopped = map(np.array, zip(*runs, strict=True))
    return MethodResult(name, dimensions, accuracies, seconds, int(stopped.sum()))


def _check_methods(methods: Iterable[str]) -> list[str]:
    # A string is an iterable too, of its letters.
    names = {methods} if isinstance(methods, str) else set(methods)
    unknown = names.difference(METHODS)
    if unknown or not names:
        got = ", ".join(map(repr, sorted(unknown))) or "none"
        raise ValueError(f"methods must be some of {', '.join(METHODS)}; got {got}.")
    return [name for name in METHODS if name in names]


def _check_data(
    X: ArrayLike, y: ArrayLike, n_components: int | None
) -> tuple[FloatArray, IntArray]:
    """Return the rows as floats, and the classes as integers from 0."""
    rows, labels = check_X_y(X, y, dtype=[np.float64, np.float32])
    try:
        classes, codes = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise ValueError("y mixes labels of several types; use one type.") from error
    check_classification_targets(labels)
    if classes.size < 2:
        raise ValueError(f"y has one class only, {classes[0]}; two or more are needed.")
    if rare := [str(classes[c]) for c in np.flatnonzero(np.bincount(codes) < 2)]:
        raise ValueError(
            f"Each class needs 2 rows or more; there is one of: {', '.join(rare)}."
        )
    if n_components is not None:
        check_scalar(n_components, "n_components", Integral, min_val=1)
        if n_components > (d := rows.shape[1]):
            raise ValueError(f"n_components={n_components} exceeds the {d} features.")
    return rows, codes


def _check_training_part(
    X: FloatArray, y: IntArray, n_classes: int, n_neighbors: int
) -> None:
    check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1)
    if n_neighbors > len(X):
        raise ValueError(
            f"n_neighbors={n_neighbors} exceeds the {len(X)} training rows."
        )
    if np.unique(y).size < n_classes or len(X) == n_classes:
        raise ValueError(
            f"{len(X)} training rows are too few for {n_classes} classes; "
            "lower test_size, or leave out the rarest classes."
        )
    if np.array_equal(X.min(axis=0), X.max(axis=0)):
        raise ValueError("All training rows are equal: no metric can tell them apart.")


def _metric(
    name: str,
    X: FloatArray,
    y: IntArray,
    d: int | None,
    random_state: int | np.random.RandomState | None,
    n_jobs: int | None,
) -> Any:
    """Return a transformer, not yet fitted, after which near is what `name` says."""
    step: Any = "passthrough"
    if name == "euclidean":
        return FunctionTransformer()
    if name == "whitened":
        # Whitening a direction without variance would blow up its rounding errors.
        rank = np.linalg.matrix_rank(StandardScaler().fit_transform(X))
        step = PCA(int(rank), whiten=True, svd_solver="full")
    elif name == "pca":
        kept = 0.95 if d is None else min(d, len(X))
        step = PCA(kept, random_state=random_state)
    elif name == "lda":
        step = LinearDiscriminantAnalysis(n_components=d and min(d, int(y.max())))
    elif name == "nca":
        from vicinal.nca import NCA

        step = NCA(d, random_state=random_state, n_jobs=n_jobs)
    return make_pipeline(StandardScaler(), step)


def _fit(metric: Any, X: FloatArray, y: IntArray) -> bool:
    """Fit, and return whether it converged; other warnings pass through."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        metric.fit(X, y)
    stopped = [w for w in caught if issubclass(w.category, ConvergenceWarning)]
    for w in caught:
        if w not in stopped:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return not stopped
