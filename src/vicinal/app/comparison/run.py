"""Fit every method on the same random splits of one data set, and score it."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state, check_scalar

from vicinal.app.comparison.data import ComparisonData
from vicinal.app.comparison.ledger import Ledger, run_splits
from vicinal.app.comparison.scores import choose_score
from vicinal.app.comparison.time_budget import run_within_budget
from vicinal.app.methods.registry import resolve_methods

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from vicinal.app.comparison.result import Comparison
    from vicinal.app.tables.columns import Overrides

__all__ = ["compare"]


def compare(
    X: ArrayLike | str | os.PathLike[str],
    y: ArrayLike | str | None = None,
    *,
    target: str | None = None,
    overrides: Overrides | Mapping[str, Any] | None = None,
    task: str = "auto",
    methods: Any = None,
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
    X : array-like of shape (n_samples, n_features), path or DataFrame
        Numbers; NaN where a value is missing. Or a table: the path of a file, or a
        frame of pandas or polars with numbers, text, dates and missing values, which
        is read as the command `vicinal compare` does.
    y : array-like of shape (n_samples,) or str, optional
        A column of the table; where none is named, one called target, label, class or
        y. Or classes, each with at least two rows: the score is k-NN's accuracy. Or
        continuous numbers: its R². Without it, the score is the mean log-density of
        the held-out rows, in the units of the standardised features, and the table
        also tells whether two halves of the training rows agree on the clusters.
    target : str, optional
        The same as y, for a column of a table.
    overrides : dict or Overrides, optional
        What you know better of a table's columns: ``drop``, ``categorical``,
        ``number`` and ``date`` name columns, ``decimal`` is a comma or a point.
    task : {"auto", "classification", "regression", "none"}, default="auto"
        What y is. "auto" takes text for classes, and numbers that
        `vicinal.app.tables.targets.names_classes` takes for them. "none" learns without y.
    methods : str, estimator or iterable of these, optional
        Names from `vicinal.app.comparison.METHODS`, or ``"all"``. By default the usual
        ones for the kind of target. Estimators with `transform`, like ``NCA(2)``, or
        pairs of a name and an estimator; a pipeline gets the features as they are,
        missing ones filled. Those that learn start from standardised features
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
    score : str, default="auto"
        How predictions are judged, one of `vicinal.app.comparison.scores.SCORES`. "auto"
        is accuracy, balanced accuracy where one class has four fifths of the rows, or
        R² for numbers.
    references : bool, default=True
        Whether to tell what is reached without neighbours: by always the same
        answer, by a linear model, and by gradient boosting.
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

    See Also
    --------
    vicinal.app.comparison.Comparison : What it returns.
    vicinal.app.report.page : The result as a page of HTML.

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
        y if target is None else target,
        task=task,
        overrides=overrides,
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
    problem = problem.with_methods(able)
    problem.check(n_splits)
    ledger = Ledger.of(problem, able, references, on_progress or (lambda *_: None))
    if time_budget is None:
        run_splits(ledger, n_splits, np.inf)
    else:
        run_within_budget(ledger, n_splits, started + time_budget)
    return ledger.comparison()
