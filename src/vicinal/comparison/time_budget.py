"""How many rows, splits and methods there is time for.

The methods are tried on a small part of the rows, and on parts twice as large each time
until all splits might not fit. Beyond the last one, a method's time
is taken to grow as a power of the number of rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vicinal.comparison.data import UnfitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal.comparison.data import ComparisonData
    from vicinal.methods.registry import Method

__all__ = ["Plan", "fit_to_budget"]

# Up to so many rows, nothing is planned: trying would cost as much as it could save.
_FEW = 2000
# The first part that methods are tried on, and how a method's time is taken to grow
# with the rows as long as there is no second one.
_TRIAL = 500
_POWER = 1.5
# Of the time left, how much a plan may fill: what it expects is not what comes.
_FILLED = 0.75
_FEWEST_SPLITS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be run.

    Attributes
    ----------
    problem : ComparisonData
        The rows.
    methods : list of Method
        In their order.
    n_splits : int
        How many splits.
    notes : tuple of str
        What was left out.
    """

    problem: ComparisonData
    methods: list[Method]
    n_splits: int
    notes: tuple[str, ...] = ()

    def without(self, failures: dict[str, UnfitError]) -> Plan:
        """Leave out the methods that failed, and say why.

        Raises
        ------
        ValueError
            When there is no other.
        """
        methods = [method for method in self.methods if method.name not in failures]
        if not methods:
            name, error = next(iter(failures.items()))
            raise ValueError(f"{name} cannot be used here: {error}") from error
        notes = [f"{name} was left out: {error}" for name, error in failures.items()]
        return replace(self, methods=methods, notes=(*self.notes, *notes))


def fit_to_budget(
    plan: Plan, deadline: float, show: Callable[[int, int, str], object]
) -> Plan:
    """Return what of a plan can be done by then: fewer rows first, then fewer splits.

    Parameters
    ----------
    plan : Plan
        What was asked for.
    deadline : float
        On the clock of `time.perf_counter`.
    show : callable
        Called with the method that is being tried, as ``show(0, total, name)``.
    """
    n = len(plan.problem.setting.X)
    # Where there are many classes, a part cannot be small.
    rows = max(_TRIAL, plan.problem.fewest)
    if n <= max(_FEW, 2 * rows):
        return plan
    plan, costs = _first_trial(plan, rows, show)
    plan = _quick_enough(plan, costs, _FILLED * (deadline - time.perf_counter()))
    powers = dict.fromkeys(costs, _POWER)
    while True:
        left = _FILLED * (deadline - time.perf_counter())
        all_splits = plan.n_splits * sum(costs[one.name] for one in plan.methods)
        if 2 * all_splits > left or 2 * rows >= n:
            break
        rows *= 2
        for method in plan.methods:
            show(0, 1, f"{method.name}, on a trial of {rows:,} rows")
            before = costs[method.name]
            costs[method.name] = _seconds(plan.problem.part(rows), method)
            growth = np.log2(costs[method.name] / before)
            powers[method.name] = float(np.clip(growth, 0.5, 3.0))

    def expected(size: float) -> float:
        grown = (costs[one.name] * (size / rows) ** powers[one.name] for one in methods)
        return plan.n_splits * sum(grown)

    methods = plan.methods
    left = _FILLED * (deadline - time.perf_counter())
    sizes = np.geomspace(rows, n, 400)
    fitting = [size for size in sizes if expected(size) <= left]
    if len(fitting) == len(sizes):
        return plan
    part = plan.problem.part(int(max(fitting, default=rows)))
    note = (
        f"A random {len(part.setting.X):,} of the {n:,} rows took part, to stay within "
        "the time budget."
    )
    return replace(plan, problem=part, notes=(*plan.notes, note))


def _first_trial(
    plan: Plan, rows: int, show: Callable[[int, int, str], object]
) -> tuple[Plan, dict[str, float]]:
    """Return each method's seconds on so many rows, without those that fail."""
    costs: dict[str, float] = {}
    failures: dict[str, UnfitError] = {}
    part = plan.problem.part(rows)
    for method in plan.methods:
        show(0, 1, f"{method.name}, on a trial of {rows:,} rows")
        try:
            # Twice: the first time, something may be compiled or loaded.
            _seconds(part, method)
            costs[method.name] = _seconds(part, method)
        except UnfitError as error:
            failures[method.name] = error
    return plan.without(failures), costs


def _quick_enough(plan: Plan, costs: dict[str, float], left: float) -> Plan:
    """Return what can be done of a small part: fewer splits, or not all methods."""
    methods, notes = list(plan.methods), list(plan.notes)
    total = sum(costs[method.name] for method in methods)
    while len(methods) > 1 and _FEWEST_SPLITS * total > left:
        slowest = max(methods, key=lambda method: costs[method.name])
        methods.remove(slowest)
        total -= costs[slowest.name]
        notes.append(f"{slowest.name} was left out: too slow for the time budget.")
    n_splits = plan.n_splits
    if n_splits * total > left:
        n_splits = min(n_splits, max(int(left / total), _FEWEST_SPLITS))
    if n_splits < plan.n_splits:
        notes.append(f"{n_splits} splits instead of {plan.n_splits}: time budget.")
    return replace(plan, methods=methods, n_splits=n_splits, notes=tuple(notes))


def _seconds(problem: ComparisonData, method: Method) -> float:
    start = time.perf_counter()
    train, test = next(iter(problem.splits(1)))
    problem.run(method, train, test)
    return time.perf_counter() - start
