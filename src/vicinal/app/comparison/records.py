"""What is kept of a comparison: the setting, and each method's scores and times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from math import ceil, floor
from typing import TYPE_CHECKING, Any

from vicinal.app.comparison.scores import default_score
from vicinal.app.methods.registry import METHODS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray, IntArray
    from vicinal.app.methods.registry import Method
    from vicinal.app.tables.prepared import Prepared

__all__ = ["Difference", "MethodResult", "Setting"]


@dataclass(frozen=True, eq=False)
class MethodResult:
    """What one method did, split by split.

    Attributes
    ----------
    name : str
        One of `METHODS`, or of what they are held against.
    n_components : ndarray of int of shape (n_splits,)
        Dimensions in which the neighbours were sought.
    scores : ndarray of shape (n_splits,)
        Share of the test rows that k-NN classified correctly, or what else was asked
        for; its R² where the target is a number; the mean log-density of the test rows
        where there is no target.
    fit_seconds : ndarray of shape (n_splits,)
        Time to learn the metric; the k-NN search is not part of it.
    query_seconds : ndarray of shape (n_splits,)
        Time to predict the test rows, for each thousand of them.
    not_converged : int
        Fits that stopped at their iteration limit.
    warnings : tuple of str
        What else the fits warned about.
    confusion : ndarray of int of shape (n_classes, n_classes) or None
        Test rows of all splits, by their class and the predicted one.
    agreement : ndarray of shape (n_splits,) or None
        Without a target: the adjusted Rand index between the clusters of the test
        rows as learned from two halves of the training rows.
    outcomes : tuple of ndarray
        For each split, what was predicted of its test rows: classes as integers,
        the probability of the rarer class for average precision, numbers, or
        log-densities. `Setting.tests` are these rows.
    n_learned : ndarray of int of shape (n_splits,) or None
        From how many of the training rows the metric was learned.
    broken_off : int
        Fits that were ended because time was over, and kept the map they had.

    See Also
    --------
    vicinal.app.comparison.Comparison : Holds one for each method.

    Examples
    --------
    >>> from vicinal import compare
    >>> from vicinal.datasets import load
    >>> iris = load("iris")
    >>> result = compare(iris.X, iris.y, methods="lda", n_splits=2)["lda"]
    >>> result.name, result.fit_seconds.shape
    ('lda', (2,))
    """

    name: str
    n_components: IntArray
    scores: NDArray[np.float64]
    fit_seconds: NDArray[np.float64]
    query_seconds: NDArray[np.float64]
    not_converged: int = 0
    warnings: tuple[str, ...] = ()
    confusion: IntArray | None = None
    agreement: NDArray[np.float64] | None = None
    outcomes: tuple[NDArray[Any], ...] = ()
    n_learned: IntArray | None = None
    broken_off: int = 0

    @property
    def mean(self) -> float:
        """Mean score over the splits."""
        return float(self.scores.mean())

    @property
    def accuracy(self) -> float:
        """Share of the test rows of all splits classified correctly; else NaN."""
        if self.confusion is None:
            return float("nan")
        return float(self.confusion.trace() / self.confusion.sum())


@dataclass(frozen=True, eq=False)
class Setting:
    """What was compared on, and how.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows that took part; NaN where a value is missing.
    y : ndarray of shape (n_samples,) or None
        Their target, as it was given.
    target : ndarray of shape (n_samples,) or None
        The same as the methods take it: classes as integers from 0, or float64.
    classes : tuple of str
        Names of the classes, in the order of these integers; else empty.
    task : {"classification", "regression", "none"}
        What kind of target it is.
    rows : ndarray of int of shape (n_samples,)
        Where these rows were among those given.
    n_given : int
        How many rows were given.
    feature_names : list of str
        One for each column.
    name : str
        What the data are called.
    n_splits, test_size, n_neighbors, n_components, random_state, n_jobs
        As `compare` was asked; `n_splits` is how many were done.
    notes : tuple of str
        What was changed to stay within the time budget.
    table : Prepared or None
        Where they came from, if it was a table: what became of its columns.
    own : tuple of Method
        The estimators among the methods.
    scored : str
        What is measured, a name in `vicinal.app.comparison.scores.SCORES`; by default the
        task's usual score.
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
    ('classification', 2, 3)
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
    n_neighbors: int = 3
    n_components: int | None = None
    random_state: Any = 0
    n_jobs: int | None = None
    notes: tuple[str, ...] = ()
    target: IntArray | FloatArray | None = None
    classes: tuple[str, ...] = ()
    scored: str = ""
    tests: tuple[IntArray, ...] = ()
    table: Prepared | None = None
    own: tuple[Method, ...] = ()

    def __post_init__(self) -> None:
        if not self.scored:
            object.__setattr__(self, "scored", default_score(self.task))

    def method(self, name: str) -> Method:
        """Return the method that is called so, one of your own included."""
        return {one.name: one for one in self.own}.get(name) or METHODS[name]

    @property
    def ratio(self) -> float:
        """Test rows for each training row."""
        # Rounded as scikit-learn's splitters do: it matters where rows are few.
        n_test = ceil(self.test_size * len(self.X))
        return n_test / floor((1 - self.test_size) * len(self.X))

    @property
    def step(self) -> float:
        """The smallest difference of two scores: a test row, where rows are counted."""
        counted = self.scored == "accuracy"
        return 1 / math.ceil(self.test_size * len(self.X)) if counted else 0.0


@dataclass(frozen=True)
class Difference:
    """The best method against another, on the same splits.

    Attributes
    ----------
    other : str
        The other's name.
    gain : float
        Mean of the differences of the scores.
    p : float
        Of a paired test, corrected for the number of all pairs of methods: which of
        them is the best was not known before. Over splits that overlap it is the
        corrected t-test; with fewer than five splits, a test over their rows.
    error : float
        Standard error of the gain, by the same means.

    See Also
    --------
    vicinal.app.comparison.Comparison : Its `differences` are these.

    Examples
    --------
    >>> from vicinal.app.comparison import Difference
    >>> Difference("pca", gain=0.03, p=0.01).real
    True
    """

    other: str
    gain: float
    p: float
    error: float = float("nan")

    @property
    def real(self) -> bool:
        """Whether chance is a poor explanation (p below 0.05)."""
        return self.p < 0.05
