"""Run methods and reference models on the same random splits, within a time budget."""

from __future__ import annotations

import time
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state, check_scalar
from threadpoolctl import threadpool_limits

from vicinal.app.comparison.data import read_setting
from vicinal.app.comparison.result import Comparison, MethodResult
from vicinal.app.comparison.runs import (
    MANY_ROWS,
    REFERENCES,
    Run,
    UnfitError,
    affordable_queries,
    merge_warnings,
    run_method,
    run_reference,
)
from vicinal.app.methods.registry import METHODS, resolve_methods
from vicinal.app.methods.scores import SCORES, choose_score
from vicinal.neighborhood import effective_n_threads

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike

    from vicinal._typing import IntArray
    from vicinal.app.comparison.data import Setting
    from vicinal.app.methods.registry import Method
    from vicinal.app.methods.scores import Score
    from vicinal.app.tables.inputs import Overrides


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
    n_neighbors: int | str = "auto",
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
    n_neighbors : int or "auto", default="auto"
        The k of k-NN. "auto" chooses the vote of each metric by leave-one-out on the
        training rows: 1 to 101 neighbors with equal weights, weights 1 / d, or soft
        weights exp(-d² / scale); see `vicinal.app.methods.votes`. A method with a rule
        of its own, like ``NCAClassifier()``, is judged by that (not with
        objective="class-density", whose metric gets a chosen vote).
    n_components : int, optional
        Dimensions of the methods that reduce them, as far as the classes allow. By
        default PCA explains 95 % of the variance, LDG chooses, and NCA and LFDA keep
        full rank.
    time_budget : float, optional
        Seconds. Simple methods run first. At the end of this time, fits that iterate
        are interrupted, and splits and methods that have not run are left out. With
        more than 2,000 rows, at most 10,000 are test rows, and methods whose cost grows
        with the pairs of rows learn from at most 10,000; see `notes`.
    feature_names : sequence of str, optional
        One for each column; by default the columns of a data frame, or x0, x1, ...
    name : str
        Name of the data.
    score : str, default="auto"
        One of `vicinal.app.methods.scores.SCORES`. "auto" is accuracy, or balanced
        accuracy if one class has most of the rows and four times as many as the
        others have on average; R² for numbers.
    references : bool, default=True
        Whether to run models without neighbors for reference: a constant, a linear
        model and gradient boosting.
    random_state : int, RandomState or None, default=0
        Seed of the splits and of the methods that draw random numbers. None or a
        generator draws a seed, which is in the result's `setting`.
    n_jobs : int, optional
        Threads for the methods and for the neighbour search; by default one.
    on_progress : callable, optional
        Called before each fit as ``on_progress(done, total, text)``, with the method
        and, from the second split on, the best one so far.

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
    [0.69, 0.99]
    """
    started = time.perf_counter()
    check_scalar(n_splits, "n_splits", Integral, min_val=1)
    if n_neighbors != "auto":
        check_scalar(n_neighbors, "n_neighbors", Integral, min_val=1)
        n_neighbors = int(n_neighbors)
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
    for name in REFERENCES[setting.task]:
        if any(method.name == name for method in resolved):
            raise ValueError(f"{name!r} is a reference model; give another name.")
    setting = replace(
        setting,
        scored=scored,
        notes=(note,) if note else (),
        user_methods=tuple(one for one in resolved if one.name not in METHODS),
    )
    setting.check_splits(n_splits)
    progress = on_progress or (lambda *_: None)
    deadline = np.inf if time_budget is None else started + time_budget
    names = REFERENCES[setting.task] if references else ()
    additive = METHODS["table-nca"] if names and methods is None else None
    # On busy cores, threads of BLAS and OpenMP slow down small work twenty times.
    with threadpool_limits(1 if n_jobs is None else effective_n_threads(n_jobs)):
        return _run_splits(
            setting, resolved, names, n_splits, deadline, progress, additive
        )


def _run_splits(  # noqa: C901
    setting: Setting,
    methods: list[Method],
    references: Sequence[str],
    n_splits: int,
    deadline: float,
    on_progress: Callable[[int, int, str], object],
    additive: Method | None,
) -> Comparison:
    """Run every method on each split until the deadline.

    Simple methods run first. With a deadline and many rows, each method of the first
    split may learn for an equal share of the time left. Further splits follow only if
    no method was cut. References run on the first three splits, because they need less
    precision, and the constant on all. If no metric keeps up with them there, or with
    many rows on the first split, the additive metric runs on these splits and takes
    part from then on.
    """
    setting, limits = _within(deadline, setting, len(methods))
    queue = sorted(methods, key=lambda method: method.complexity)
    total = n_splits * len(queue) + min(n_splits, 3) * len(references)
    total += max(n_splits - 3, 0) * len(references[:1])
    runs: dict[str, list[Run]] = {}
    reference_runs: dict[str, list[Run]] = {}
    failures: dict[str, UnfitError] = {}
    seen: list[tuple[IntArray, IntArray]] = []
    so_far, cut = "", False
    late = UnfitError("the time budget was over before its turn.")
    # The longest time of a method beside its fit.
    done, started, beside = 0, time.perf_counter(), 0.0

    def gathered(notes: Sequence[str] = ()) -> Comparison:
        ran = replace(
            setting,
            n_splits=len(seen),
            tests=tuple(test for _, test in seen),
            notes=(*setting.notes, *notes),
            left_out=tuple((name, str(why)) for name, why in failures.items()),
        )
        known = [one for one in [*methods, additive] if one in queue]
        return Comparison(
            tuple(_result(one.name, runs[one.name], ran) for one in known),
            ran,
            tuple(_result(name, own, ran) for name, own in reference_runs.items()),
        )

    def add_additive() -> str:
        """Run the additive metric if no other keeps up; return a note on it."""
        nonlocal done, total
        if additive is None or additive.name in failures:
            return ""
        found = gathered()
        ahead = found.evidence.ahead_of_all()
        if ahead is None and found.recommended is not None:
            return ""
        own: list[Run] = []
        total += n_splits
        for left, (train, test) in zip(range(len(seen), 0, -1), seen, strict=True):
            on_progress(done, total, additive.name + so_far)
            done += 1
            now = time.perf_counter()
            share = {"until": now + (deadline - now) / (1 + left)}
            if now + beside > deadline:
                failures[additive.name] = late
                return ""
            try:
                run = run_method(setting, additive, train, test, **limits | share)
            except UnfitError as error:
                failures[additive.name] = error
                return ""
            own.append(run)
        runs[additive.name] = own
        queue.append(additive)
        why = f"{ahead.name} is ahead of" if ahead else "a constant is as good as"
        return f"{additive.name} takes part because {why} the other metrics."

    added = ""
    # Splits outside, methods inside: all methods see the same splits.
    for number, (train, test) in enumerate(setting.splits(n_splits)):
        if number == (1 if "max_rows" in limits else 3):
            added = add_additive()
        now = time.perf_counter()
        if number and (cut or now + (now - started) / number > deadline):
            break
        setting.check_training_rows(train)
        scaled: dict[Any, Any] = {}
        for position, method in enumerate(turns := tuple(queue)):
            on_progress(done, total, method.name + so_far)
            done += 1
            now = time.perf_counter()
            if now + beside > deadline and runs and not seen:
                failures[method.name] = late
                queue.remove(method)
                continue
            if "max_rows" in limits and not number:
                # The references get the share of one method, and the search of
                # neighbors half of each share.
                share = (deadline - now) / (len(turns) - position + bool(references))
                limits["until"] = now + share / 2
            try:
                run = run_method(setting, method, train, test, scaled=scaled, **limits)
                runs.setdefault(method.name, []).append(run)
                beside = max(beside, time.perf_counter() - now - run.fit_seconds)
            except UnfitError as error:
                # A method that fails once is not run again.
                failures[method.name] = error
                runs.pop(method.name, None)
                queue.remove(method)
        if not queue:
            name, failure = next(iter(failures.items()))
            raise ValueError(f"{name} cannot be used here: {failure}") from failure
        cut = any(own[-1].broken_off for own in runs.values())
        if number and cut:  # fits that were ended count only if there are no others
            runs = {name: own[:number] for name, own in runs.items()}
            break
        limits["until"] = deadline
        for name in references if number < 3 else references[:1]:
            on_progress(done, total, name)
            done += 1
            now = time.perf_counter()
            until = now + 0.1 * (deadline - now)
            run = run_reference(setting, name, train, test, until)
            reference_runs.setdefault(name, []).append(run)
        seen.append((train, test))
        so_far = _best_so_far(runs, SCORES[setting.scored])
    added = added or add_additive()
    on_progress(total, total, "done")
    notes = _cut_notes(runs, n_splits, len(train), len(test))
    return gathered([*notes, added] if added else notes)


def _within(
    deadline: float, setting: Setting, n_methods: int
) -> tuple[Setting, dict[str, Any]]:
    """Return the setting with fewer test rows if there are many, and limits of runs."""
    n = len(setting.X)
    if n <= MANY_ROWS or np.isinf(deadline):
        return setting, {"until": deadline}
    # A sample needs all classes; 10,000 test rows distinguish half a point.
    least = 4 * len(setting.classes)
    n_test = max_rows = max(10_000, least)
    limits: dict[str, Any] = {"until": deadline, "max_rows": max_rows}
    if setting.target is not None:
        # Searching neighbors gets half of the time, and needs 1,000 test rows.
        half = (deadline - time.perf_counter()) / 2
        queries = affordable_queries(setting, half / n_methods)
        limits["max_queries"] = int(np.clip(queries / 6, 500, 2000))
        n_test = max(1000, least, min(n_test, queries - limits["max_queries"]))
        # A fit over pairs of rows visits each about four times.
        rows = int(np.sqrt(queries * n / 4))
        limits["max_rows"] = max(MANY_ROWS, least, min(max_rows, rows))
    return replace(setting, test_size=min(setting.test_size, n_test / n)), limits


def _best_so_far(runs: dict[str, list[Run]], score: Score) -> str:
    means = {
        name: float(np.mean([run.score for run in own])) for name, own in runs.items()
    }
    first = max(means, key=lambda name: means[name])
    return f" (best so far: {first}, {score.written(means[first])}{score.unit})"


def _cut_notes(
    runs: dict[str, list[Run]], n_splits: int, n_train: int, n_test: int
) -> list[str]:
    """Return notes on the splits and the methods that the time budget has limited."""
    notes = []
    done = len(next(iter(runs.values())))
    if done < n_splits:
        notes.append(
            f"The time budget was enough for {done} of {n_splits} splits of "
            f"{n_train:,} training and {n_test:,} test rows."
        )
    for name, own in runs.items():
        rows = min(run.n_learned for run in own)
        if rows < n_train:
            notes.append(
                f"{name} learned from {rows:,} of the {n_train:,} training rows, to "
                "stay within the time budget."
            )
        elif broken := sum(run.broken_off for run in own):
            notes.append(
                f"{name}: the time budget ended {broken} of {len(own)} fits "
                "before they converged."
            )
    return notes


def _result(name: str, runs: list[Run], setting: Setting) -> MethodResult:
    """Gather the runs of a method over the splits."""

    def gathered(field: str) -> Any:
        values = [getattr(run, field) for run in runs]
        return None if values[0] is None else np.array(values)

    issued = [(w, run) for run in runs for w in run.issued]
    stopped = [
        one
        for one in issued
        if issubclass(one[0].category, ConvergenceWarning)
        and not getattr(one[0].message, "columns", ())
    ]
    others = [w for w, run in issued if (w, run) not in stopped]
    confusions = gathered("confusion")
    return MethodResult(
        name=name,
        n_components=gathered("n_components"),
        scores=gathered("score"),
        fit_seconds=gathered("fit_seconds"),
        query_seconds=gathered("query_seconds"),
        not_converged=len({id(run) for _, run in stopped}),
        convergence_warning="".join(merge_warnings(w for w, _ in stopped[:1])),
        warnings=merge_warnings(others, setting.classes, setting.feature_names),
        confusion=None if confusions is None else confusions.sum(axis=0),
        agreement=gathered("agreement"),
        outcomes=tuple(run.outcome for run in runs),
        n_learned=gathered("n_learned"),
        broken_off=sum(run.broken_off for run in runs),
        votes=tuple(run.vote for run in runs if run.vote is not None),
        few_values=any(getattr(w.message, "columns", ()) for w in others),
    )
