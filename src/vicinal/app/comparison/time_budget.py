"""A comparison that ends in time: fewer splits first, then fewer rows to learn from.

With many rows, certainty comes from the test rows, not from splits that overlap. So
rows are kept as long as possible: where ten splits take too long, there is one
hold-out, on which every method learns from as many of the training rows as there is
time for. Cheap methods go first, and what they leave is shared among the others.
"""

from __future__ import annotations

import time
from dataclasses import replace
from math import ceil, floor
from typing import TYPE_CHECKING

from vicinal.app.comparison.costs import ITERATIONS, Cost, measure_costs
from vicinal.app.comparison.data import ComparisonData, UnfitError
from vicinal.app.comparison.ledger import run_splits

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal._typing import IntArray
    from vicinal.app.comparison.ledger import Ledger
    from vicinal.app.comparison.runs import Run
    from vicinal.app.methods.registry import Method

__all__ = ["run_within_budget"]

# Up to so many rows, nothing is planned: trying would cost as much as it could save.
_FEW = 2000
# Of the time left, how much a plan may fill: what it expects is not what comes.
_FILLED = 0.85
# Fewer splits that overlap say less than one hold-out whose rows are counted.
_FEWEST_SPLITS = 5
# Test rows of a hold-out: 10,000 tell half a point from chance, and all methods have to
# find their neighbours.
_MOST_TESTS, _FEWEST_TESTS = 10_000, 2000
# Of the time left, how much the search for neighbours may take.
_FOR_QUERIES = 0.35
# Of the time left, what intervals and tests over the test rows take in the end.
_FOR_TESTS = 0.04
# A second, better fit has to see this many times the rows of the first.
_WORTH_IT = 1.5
# Of the time left, what a fit gets in any case; and the least time for one.
_LEAST_SHARE = 0.03
_A_MOMENT = 0.05


def run_within_budget(ledger: Ledger, n_splits: int, deadline: float) -> None:
    """Run a comparison by a deadline, and note what was left out for it.

    Parameters
    ----------
    ledger : Ledger
        What to run, and where to keep it.
    n_splits : int
        How many splits are asked for.
    deadline : float
        On the clock of `time.perf_counter`.
    """
    s = ledger.data.setting
    n = len(s.X)
    if n <= max(_FEW, 2 * ledger.data.fewest):
        run_splits(ledger, n_splits, deadline)
        return
    begun, show = time.perf_counter(), ledger.show

    def step(what: str) -> None:
        # Time is what there is a given amount of.
        passed = (time.perf_counter() - begun) / (deadline - begun)
        show(min(int(100 * passed), 99), 100, what)

    costs, failures = measure_costs(ledger.data, ledger.methods, deadline, step)
    ledger.failures.update(failures)
    if not costs or not ledger.able:
        return
    train, test = floor((1 - s.test_size) * n), ceil(s.test_size * n)
    left = _FILLED * (deadline - time.perf_counter())
    whole = sum(
        one.of_fit(train) + one.of_queries(train, test) for one in costs.values()
    )
    affordable = int(left / whole)
    if affordable >= min(n_splits, _FEWEST_SPLITS):
        if affordable < n_splits:
            ledger.notes.append(
                f"{affordable} splits instead of {n_splits}, to stay within the time "
                "budget (--time-budget)."
            )
        run_splits(ledger, min(affordable, n_splits), deadline)
        return
    _run_hold_outs(ledger, costs, n_splits, deadline, step)
    show(100, 100, "done")


def _run_hold_outs(
    ledger: Ledger,
    costs: dict[str, Cost],
    n_splits: int,
    deadline: float,
    step: Callable[[str], None],
) -> None:
    """Run one hold-out, as well as time allows; and others if that was no effort."""
    deadline -= _FOR_TESTS * (deadline - time.perf_counter())
    n_tests = _affordable_tests(ledger.data, costs, deadline)
    s = ledger.data.setting
    n = len(s.X)
    if n_tests < ceil(s.test_size * n):
        ledger.data = ComparisonData(replace(s, test_size=n_tests / n))
    most = min(n_splits, _FEWEST_SPLITS - 1)
    for number, (train, test) in enumerate(ledger.data.splits(most)):
        began = time.perf_counter()
        if number == 0:
            ledger.data.check_split(train)
            _hold_out(ledger, costs, train, test, deadline, step)
            ledger.tests.append(test)
            cut = _cut(ledger, len(train))
            if cut or not ledger.able:
                break
            cost = time.perf_counter() - began
        elif began + cost / _FILLED > deadline:
            break
        else:
            for method in ledger.able:
                step(f"{method.name}, split {number + 1}")
                ledger.run(method, train, test)
            ledger.tests.append(test)
    _tell(ledger, n_splits, n - n_tests)


def _affordable_tests(
    data: ComparisonData, costs: dict[str, Cost], deadline: float
) -> int:
    s = data.setting
    n = len(s.X)
    n_tests = min(ceil(s.test_size * n), _MOST_TESTS)
    queries = sum(one.of_queries(n - n_tests, n_tests) for one in costs.values())
    affordable = _FOR_QUERIES * (deadline - time.perf_counter()) / max(queries, 1e-9)
    fewest = max(_FEWEST_TESTS, data.fewest)
    return min(n_tests, max(int(affordable * n_tests), fewest))


def _hold_out(
    ledger: Ledger,
    costs: dict[str, Cost],
    train: IntArray,
    test: IntArray,
    deadline: float,
    step: Callable[[str], None],
) -> None:
    """Run each method once: what needs little first, so that others get the rest."""

    def expected(method: Method) -> tuple[bool, float]:
        # What can be shortened by iterations comes last, to fill the time.
        cost = costs[method.name]
        return cost.is_stochastic, cost.of_fit(len(train))

    queue = sorted(ledger.able, key=expected)
    ledger.run_references(train, test, deadline, step)
    for position, method in enumerate(queue):
        now = time.perf_counter()
        if now > deadline and position:
            late = UnfitError(
                "the time budget (--time-budget) was over before its turn."
            )
            ledger.failures[method.name] = late
            continue
        step(method.name)
        cost = costs[method.name]
        queries = cost.of_queries(len(train), len(test))
        left = max(deadline - now, _A_MOMENT)
        share = 0.95 * left / (len(queue) - position) - queries
        effort = cost.effort(len(train), max(share, _LEAST_SHARE * left))
        ledger.run(method, train, test, effort)
    _improve(ledger, costs, train, test, deadline, step)


def _improve(
    ledger: Ledger,
    costs: dict[str, Cost],
    train: IntArray,
    test: IntArray,
    deadline: float,
    step: Callable[[str], None],
) -> None:
    """Fit again, from more rows, what was cut most: as long as there is time."""
    tired: set[str] = set()
    while True:
        cut = [one for one in _cut(ledger, len(train)) if one not in tired]
        if not cut:
            return
        name = min(cut, key=lambda name: ledger.runs[name][-1].n_learned)
        method = next(one for one in ledger.able if one.name == name)
        before = ledger.runs[name][-1]
        seen = replace(costs[name], rows=before.n_learned, fit=before.fit_seconds)
        queries = before.query_seconds * len(test) / 1000
        left = 0.95 * (deadline - time.perf_counter()) - queries
        tired.add(name)
        if left < _A_MOMENT or before.max_iter is not None:
            continue
        effort = seen.effort(len(train), left)
        if effort.rows is not None and effort.rows < _WORTH_IT * before.n_learned:
            continue
        step(f"{name}, once more with more rows")
        again = ledger.run(method, train, test, effort)
        if again is not None:
            ledger.runs[name] = [again]
            tired.clear()
        else:
            # What was there before is not lost.
            del ledger.failures[name]


def _cut(ledger: Ledger, n_train: int) -> list[str]:
    """Return the names of the methods that could have learned more."""
    return [
        one.name
        for one in ledger.able
        for run in ledger.runs[one.name][-1:]
        if run.n_learned < n_train or run.broken_off or _is_short(run)
    ]


def _is_short(run: Run) -> bool:
    return run.max_iter is not None and run.max_iter < ITERATIONS


def _tell(ledger: Ledger, n_splits: int, n_train: int) -> None:
    """Note how the hold-outs differ from what was asked for."""
    n_tests = len(ledger.tests[0])
    done = len(ledger.tests)
    if done < n_splits:
        what = "One hold-out" if done == 1 else f"{done} random hold-outs"
        ledger.notes.append(
            f"{what} of {n_tests:,} test rows instead of {n_splits} splits, to stay "
            f"within the time budget (--time-budget): {n_train:,} rows to learn from, "
            "and intervals and tests over the test rows."
        )
    for method in ledger.able:
        run = ledger.runs[method.name][0]
        said = []
        if run.n_learned < n_train:
            said.append(f"from {run.n_learned:,} of the {n_train:,} training rows")
        if run.broken_off:
            said.append("until it was broken off")
        elif _is_short(run):
            said.append(f"in {run.max_iter} iterations instead of {ITERATIONS}")
        if said:
            ledger.notes.append(
                f"{method.name} learned {', '.join(said)}, to stay within the time "
                "budget (--time-budget)."
            )
