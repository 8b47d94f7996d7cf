"""Run methods and reference models on the same random splits, within a time budget."""

from __future__ import annotations

import time
from dataclasses import replace
from math import ceil
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state, check_scalar

from vicinal.app.comparison.data import read_setting
from vicinal.app.comparison.result import Comparison, MethodResult
from vicinal.app.comparison.runs import (
    MANY_ROWS,
    REFERENCES,
    FitBudget,
    Run,
    UnfitError,
    fit_method,
    merge_warnings,
    run_method,
    run_reference,
    subset,
)
from vicinal.app.comparison.scores import choose_score
from vicinal.app.methods.registry import METHODS, resolve_methods

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from vicinal._typing import IntArray
    from vicinal.app.comparison.data import Setting
    from vicinal.app.methods.registry import Method
    from vicinal.app.tables.inputs import Overrides

__all__ = ["ComparisonRunner", "compare"]


class ComparisonRunner:
    """Runs methods on splits and collects the results.

    Simple methods run first. With a deadline and many rows, each method of the first
    split gets an equal share of the time left, and learns from as many rows as fit in
    it; further splits follow only if no method was cut.

    Parameters
    ----------
    setting : Setting
        The data.
    methods : list of Method
        The methods to compare.
    references : bool
        Whether to run the reference models.
    on_progress : callable
        Called as ``on_progress(done, total, name)`` before each fit.
    reference_splits : int, default=3
        Number of splits for references, which need less precision.
    reference_share : float, default=0.1
        The part of the time left that gradient boosting may take.
    max_test_rows : int, default=10_000
        Limit of the test rows with a deadline. 10,000 rows distinguish half a point
        from chance.
    """

    def __init__(
        self,
        setting: Setting,
        methods: list[Method],
        references: bool,
        on_progress: Callable[[int, int, str], object],
        reference_splits: int = 3,
        reference_share: float = 0.1,
        max_test_rows: int = 10_000,
    ) -> None:
        self.setting = setting
        self.methods = methods
        self.references = REFERENCES[setting.task] if references else ()
        self.on_progress = on_progress
        self.reference_splits = reference_splits
        self.reference_share = reference_share
        self.max_test_rows = max_test_rows
        self.runs: dict[str, list[Run]] = {}
        self.reference_runs: dict[str, list[Run]] = {}
        self.failures: dict[str, UnfitError] = {}
        self.tests: list[IntArray] = []
        self.notes: list[str] = []

    def run(self, n_splits: int, deadline: float = np.inf) -> None:
        """Run every method on each split until the deadline.

        Parameters
        ----------
        n_splits : int
            Number of splits.
        deadline : float
            On the clock of `time.perf_counter`.
        """
        many = len(self.setting.X) > max(MANY_ROWS, 2 * self.setting.min_rows)
        limited = many and bool(np.isfinite(deadline))
        if limited:
            self._limit_test_rows(deadline)
        queue = sorted(self.methods, key=lambda method: method.complexity)
        total = n_splits * len(queue)
        total += min(n_splits, self.reference_splits) * len(self.references)
        done, started = 0, time.perf_counter()
        # Splits outside, methods inside: all methods see the same splits.
        for number, (train, test) in enumerate(self.setting.splits(n_splits)):
            now = time.perf_counter()
            over = now + (now - started) / max(number, 1) > deadline
            if number and (over or any(self._cuts(len(train)))):
                self.notes.append(
                    f"The time budget was enough for {number} of {n_splits} splits of "
                    f"{len(train):,} training and {len(test):,} test rows."
                )
                break
            self.setting.check_training_rows(train)
            for position, method in enumerate(queue):
                self.on_progress(done, total, method.name)
                done += 1
                share = None
                if limited and not number:
                    # The reference models get the share of one method.
                    n_left = len(queue) - position + bool(self.references)
                    share = max(deadline - time.perf_counter(), 0) / n_left
                self._run(method, train, test, deadline, share)
            if not self.able:
                break
            for name in self.references if number < self.reference_splits else ():
                self.on_progress(done, total, name)
                done += 1
                now = time.perf_counter()
                until = now + self.reference_share * (deadline - now)
                run = run_reference(self.setting, name, train, test, until)
                self.reference_runs.setdefault(name, []).append(run)
            self.tests.append(test)
        if self.tests:
            self.notes += self._cuts(len(self.setting.X) - len(self.tests[0]))
        self.on_progress(total, total, "done")

    @property
    def able(self) -> list[Method]:
        """The methods that have not failed."""
        return [one for one in self.methods if one.name not in self.failures]

    def _run(
        self,
        method: Method,
        train: IntArray,
        test: IntArray,
        deadline: float,
        share: float | None,
    ) -> None:
        """Run a method on a split; a method that fails once is not run again."""
        if method.name in self.failures:
            return
        if time.perf_counter() > deadline and self.runs and not self.tests:
            late = UnfitError("the time budget was over before its turn.")
            self.failures[method.name] = late
            return
        try:
            budget = FitBudget(until=deadline)
            if share is not None:
                # A third of the time is for the k-NN search.
                budget = self._fit_budget(method, train, 2 / 3 * share)
            run = run_method(self.setting, method, train, test, budget)
        except UnfitError as error:
            self.failures[method.name] = error
        else:
            self.runs.setdefault(method.name, []).append(run)

    def _limit_test_rows(self, deadline: float) -> None:
        """Reduce the test rows so that k-NN takes at most a third of the time."""
        s, n = self.setting, len(self.setting.X)
        n_test = min(ceil(s.test_size * n), self.max_test_rows)
        if s.task != "none":
            rows = np.nan_to_num(s.X)
            search = NearestNeighbors(algorithm="brute", n_jobs=s.n_jobs).fit(rows)
            queries = rows[: max(MANY_ROWS // 10, 1)]
            start = time.perf_counter()
            search.kneighbors(queries)
            now = time.perf_counter()
            seconds = (now - start) / len(queries) * len(self.methods)
            fewest = max(MANY_ROWS, s.min_rows)
            n_test = min(n_test, max(int((deadline - now) / 3 / seconds), fewest))
        if n_test < ceil(s.test_size * n):
            self.setting = replace(s, test_size=n_test / n)

    def _fit_budget(
        self,
        method: Method,
        train: IntArray,
        seconds: float,
        pilot_sizes: Sequence[int] = (250, 250, 1000, 4000),
    ) -> FitBudget:
        """Return the number of rows from which a method learns in some seconds.

        Pilot fits show the time as a power of the rows; the first of them may include
        compilation. A method that chooses its solver gets all rows, because its
        stochastic solver does not need more time for them and ends when it is over.
        """
        s, until = self.setting, time.perf_counter() + seconds
        rows, taken, power = 0, 1.0, 0.0
        for size in pilot_sizes:
            too_slow = power and (size / rows) ** 2 * taken > seconds
            if size > len(train) / 2 or too_slow:
                break
            pilot = subset(s, train, max(size, s.min_rows))
            fitted, now, *_ = fit_method(s, method, pilot, until, pilot=True)
            if fitted.get_params().get("metric__solver") == "auto":
                return FitBudget(until=until)
            now = max(now, 1e-4)
            if 0 < rows < len(pilot):
                growth = np.log(now / taken) / np.log(len(pilot) / rows)
                power = float(np.clip(growth, 1, 2))
            rows, taken = len(pilot), now
        if not rows:
            return FitBudget(until=until)
        # Without a target, two halves are learned from as well.
        left = (until - time.perf_counter()) / (2 if s.task == "none" else 1)
        affordable = int(rows * (max(left, 0) / taken) ** (1 / (power or 2)))
        return FitBudget(max(affordable, pilot_sizes[0], s.min_rows), until)

    def _cuts(self, n_train: int) -> list[str]:
        """Return a note for each method that the time budget has limited."""
        notes = []
        for method in self.able:
            runs = self.runs[method.name]
            rows = min(run.n_learned for run in runs)
            if rows < n_train:
                notes.append(
                    f"{method.name} learned from {rows:,} of the {n_train:,} training "
                    "rows, to stay within the time budget."
                )
            elif broken := sum(run.broken_off for run in runs):
                notes.append(
                    f"{method.name}: the time budget ended {broken} of {len(runs)} "
                    "fits before they converged."
                )
        return notes

    def result(self) -> Comparison:
        """Return the comparison.

        Raises
        ------
        ValueError
            If no method could be used.
        """
        if not self.able:
            name, error = next(iter(self.failures.items()))
            raise ValueError(f"{name} cannot be used here: {error}") from error
        references = self.reference_runs
        setting = replace(
            self.setting,
            n_splits=len(self.tests),
            tests=tuple(self.tests),
            notes=(*self.setting.notes, *self.notes),
            left_out=tuple((name, str(why)) for name, why in self.failures.items()),
        )
        return Comparison(
            tuple(self._result(one.name, self.runs[one.name]) for one in self.able),
            setting,
            tuple(self._result(name, runs) for name, runs in references.items()),
        )

    def _result(self, name: str, runs: list[Run]) -> MethodResult:
        stopped: list[tuple[Run, Any]] = []
        others: list[tuple[Run, Any]] = []
        for run in runs:
            for w in run.issued:
                kind = stopped if issubclass(w.category, ConvergenceWarning) else others
                kind.append((run, w))
        confusions = [run.confusion for run in runs if run.confusion is not None]
        agreements = [run.agreement for run in runs if run.agreement is not None]
        return MethodResult(
            name=name,
            n_components=np.array([run.n_components for run in runs]),
            scores=np.array([run.score for run in runs]),
            fit_seconds=np.array([run.fit_seconds for run in runs]),
            query_seconds=np.array([run.query_seconds for run in runs]),
            not_converged=len({id(run) for run, _ in stopped}),
            convergence_warning="".join(merge_warnings(w for _, w in stopped[:1])),
            warnings=merge_warnings((w for _, w in others), self.setting.classes),
            confusion=sum(confusions[1:], confusions[0]) if confusions else None,
            agreement=np.array(agreements) if agreements else None,
            outcomes=tuple(run.outcome for run in runs),
            n_learned=np.array([run.n_learned for run in runs]),
            broken_off=sum(run.broken_off for run in runs),
        )


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
    """Compare metrics by the nearest neighbors they give on held-out rows.

    Every method sees the same random splits. It learns only from the training rows, the
    scaling of the features and the values for missing ones included.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), path or DataFrame
        Numbers, with NaN for missing values. Or a table: the path of a file, or a
        frame of pandas or polars with numbers, text, dates and missing values, which
        is read as by the command `vicinal compare`.
    y : array-like of shape (n_samples,) or str, optional
        A column of the table; by default one called target, label, class or y. Or
        classes, each with at least two rows: the score is the accuracy of k-NN. Or
        continuous numbers: the score is R². Without a target, the score is the mean
        log-density of the held-out rows, in units of the standardized features, and
        the table also shows whether two halves of the training rows agree on clusters.
    target : str, optional
        The same as y, for a column of a table.
    overrides : dict or Overrides, optional
        Corrections of the decisions on a table's columns: ``drop``, ``categorical``,
        ``number`` and ``date`` name columns, ``decimal`` is a comma or a point.
    task : {"auto", "classification", "regression", "none"}, default="auto"
        The kind of target. "auto" treats text as classes, and numbers by the rule of
        `vicinal.app.tables.inputs.names_classes`. "none" ignores y.
    methods : str, estimator or iterable of these, optional
        Names from `vicinal.app.comparison.METHODS`, or ``"all"``. By default the usual
        ones for the kind of target. Estimators with `transform`, like ``NCA(2)``, or
        pairs of a name and an estimator. A pipeline gets the features as they are,
        with missing values filled. Other methods that learn start from standardized
        features or from features in one unit, whichever gives better leave-one-out
        k-NN on the training rows.
    n_splits : int, default=10
        Number of random splits.
    test_size : float, default=0.3
        Share of the rows to test on.
    n_neighbors : int, default=3
        The k of k-NN.
    n_components : int, optional
        Dimensions of the methods that reduce them, as far as the classes allow. By
        default PCA explains 95 % of the variance, LDG chooses, and NCA and LFDA keep
        full rank.
    time_budget : float, optional
        Seconds. If the comparison would take longer, there are fewer splits, methods
        learn from fewer rows, or complex methods are left out; see `notes`.
    feature_names : sequence of str, optional
        One for each column; by default the columns of a data frame, or x0, x1, ...
    name : str
        Name of the data.
    score : str, default="auto"
        One of `vicinal.app.comparison.scores.SCORES`. "auto" is accuracy, balanced
        accuracy if one class has four fifths of the rows, or R² for numbers.
    references : bool, default=True
        Whether to run models without neighbors for reference: a constant, a linear
        model and gradient boosting.
    random_state : int, RandomState or None, default=0
        Seed of the splits and of the methods that draw random numbers. None or a
        generator draws a seed, which is in the result's `setting`.
    n_jobs : int, optional
        Threads for the methods and for the neighbour search.
    on_progress : callable, optional
        Called before each fit as ``on_progress(done, total, method)``.

    Returns
    -------
    Comparison
        Prints as a table, also in notebooks. Its notes list warnings of the fits, fits
        that did not converge, and methods that were left out.

    See Also
    --------
    vicinal.app.comparison.Comparison : The result.
    vicinal.app.report.page : The result as a page of HTML.

    Notes
    -----
    The splits overlap. Intervals and tests have the correction of Nadeau and Bengio,
    and p-values are adjusted for the number of pairs of methods after Holm.

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
        # One seed, so that the splits that are checked are those that are run.
        random_state = int(check_random_state(random_state).randint(2**31 - 1))
    if time_budget is not None:
        check_scalar(
            time_budget, "time_budget", Real, min_val=0, include_boundaries="neither"
        )
    setting = read_setting(
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
    scored, note = choose_score(score, setting.task, setting.target, setting.classes)
    resolved = resolve_methods(methods, setting.task)
    setting = replace(
        setting,
        scored=scored,
        notes=(note,) if note else (),
        user_methods=tuple(one for one in resolved if one.name not in METHODS),
    )
    setting.check_splits(n_splits)
    progress = on_progress or (lambda *_: None)
    runner = ComparisonRunner(setting, resolved, references, progress)
    runner.run(n_splits, np.inf if time_budget is None else started + time_budget)
    return runner.result()
