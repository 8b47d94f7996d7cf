"""Fit every method on the same random splits of one data set, and score it."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils import check_random_state, check_scalar

from vicinal.comparison.data import ComparisonData
from vicinal.comparison.ledger import Ledger, run_splits
from vicinal.comparison.scores import choose_score
from vicinal.comparison.time_budget import run_within_budget
from vicinal.methods.registry import resolve_methods

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import ArrayLike

    from vicinal.comparison.result import Comparison

__all__ = ["compare"]


def compare(
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    task: str = "auto",
    methods: str | Iterable[str] | None = None,
    n_splits: int = 10,
    test_size: float = 0.3,
    n_neighbors: int = 3,
    n_components: int | None = None,
    time_budget: float | None = None,
    feature_names: Sequence[str] | None = None,
    name: str = "the data",
    score: str = "auto",
    references: bool = True,
    random_state: int | np.random.RandomState | None = 0,
    n_jobs: int | None = None,
    on_progress: Callable[[int, int, str], object] | None = None,
) -> Comparison:
    """Measure how good several metrics are for one data set.

    Every method sees the same random splits. All that it learns, the scaling of the
    features and what stands for missing values included, it learns from the training
    rows.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Numbers; NaN where a value is missing.
    y : array-like of shape (n_samples,), optional
        Classes, each with at least two rows: the score is k-NN's accuracy. Or
        continuous numbers: its R². Without it, the score is the mean log-density of
        the held-out rows, in the units of the standardised features, and the table
        also tells whether two halves of the training rows agree on the clusters.
    task : {"auto", "classification", "regression", "none"}, default="auto"
        What y is. "auto" takes floating-point numbers for a continuous target where
        there are more than two and they have fractions, or where there are more than
        20; all else for classes.
    methods : str or iterable of str, optional
        Names from `vicinal.comparison.METHODS`, or ``"all"``. By default the usual
        ones for the kind of target. Those that learn start from standardised features
        or from features in one unit, whichever makes better neighbours of the
        training rows.
    n_splits : int, default=10
        How many random splits.
    test_size : float, default=0.3
        Share of the rows to test on.
    n_neighbors : int, default=3
        The k of k-NN.
    n_components : int, optional
        Dimensions of the methods that reduce them, as far as the classes allow. By
        default PCA explains 95 % of the variance, LDG chooses, and NCA and LFDA keep
        full rank.
    time_budget : float, optional
        Seconds. Where all of it would take longer, fewer rows take part, or fewer
        splits are made, or the slowest methods are left out; `notes` says which.
    feature_names : sequence of str, optional
        One for each column; by default the columns of a data frame, or x0, x1, ...
    name : str
        What to call the data.
    random_state : int, RandomState or None, default=0
        Seed of the splits and of the methods that draw numbers. What is not a number
        draws one, which the result's `setting` tells.
    n_jobs : int, optional
        Threads for the methods and for the neighbour search.
    on_progress : callable, optional
        Called after each fit as ``on_progress(done, total, method)``.

    Returns
    -------
    Comparison
        Prints as a table; a notebook shows it as one. Its notes name fits that
        stopped at their iteration limit, other warnings, and methods that cannot
        learn from such rows.

    Notes
    -----
    The splits overlap. Intervals and tests are corrected for it as Nadeau and Bengio
    do, and the tests for the number of pairs of methods as Holm does.

    Examples
    --------
    >>> from vicinal import compare
    >>> from vicinal.datasets import load
    >>> wine = load("wine")
    >>> result = compare(wine.X, wine.y, methods=["euclidean", "lda"], n_splits=5)
    >>> result.best.name
    'lda'
    >>> [round(method.mean, 2) for method in result.results]
    [0.7, 0.98]
    """
    started = time.perf_counter()
    check_scalar(n_splits, "n_splits", Integral, min_val=1)
    check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1)
    check_scalar(
        test_size, "test_size", Real, min_val=0, max_val=1, include_boundaries="neither"
    )
    if not isinstance(random_state, Integral):
        # One number, so that what is checked, tried and run are the same splits.
        random_state = int(check_random_state(random_state).randint(2**31 - 1))
    if time_budget is not None:
        check_scalar(
            time_budget, "time_budget", Real, min_val=0, include_boundaries="neither"
        )
    problem = ComparisonData.of(
        X,
        y,
        task=task,
        test_size=test_size,
        n_neighbors=n_neighbors,
        n_components=n_components,
        feature_names=feature_names,
        name=name,
        random_state=random_state,
        n_jobs=n_jobs,
    )
    chosen, note = choose_score(
        score, problem.setting.task, problem.target, problem.setting.classes
    )
    notes = (note,) if note else ()
    problem = ComparisonData(replace(problem.setting, scored=chosen, notes=notes))
    able = resolve_methods(methods, problem.setting.task)
    problem.check(n_splits)
    ledger = Ledger.of(problem, able, references, on_progress or (lambda *_: None))
    if time_budget is None:
        run_splits(ledger, n_splits, np.inf)
    else:
        run_within_budget(ledger, n_splits, started + time_budget)
    return ledger.comparison()
