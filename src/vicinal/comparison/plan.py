"""How many rows, splits and methods there is time for.

Each method is tried on a small part of the rows and on one twice as large; its time is
taken to grow as a power of the number of rows.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from vicinal.comparison.problem import UnfitError

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal.comparison.methods import Method
    from vicinal.comparison.problem import Problem

__all__ = ["Plan", "planned"]

# The part that methods are tried on; up to twice as many rows, nothing is planned:
# trying would cost as much as it could save.
_TRIAL = 500
# Of the time left, how much a plan may fill: what it expects is not what comes.
_FILLED = 0.7
_FEWEST_SPLITS = 3


@dataclass(frozen=True, eq=False)
class Plan:
    """What will be run.

    Attributes
    ----------
    problem : Problem
        The rows.
    methods : list of Method
        In their order.
    n_splits : int
        How many splits.
    notes : tuple of str
        What was left out.
    """

    problem: Problem
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


def planned(
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
        Told which method is being tried, as ``show(0, total, name)``.
    """
    n = len(plan.problem.setting.X)
    # Where there are many classes, a part cannot be small.
    trial = max(_TRIAL, plan.problem.fewest)
    if n <= 2 * trial:
        return plan
    small, large = plan.problem.part(trial), plan.problem.part(2 * trial)
    total = plan.n_splits * len(plan.methods)
    costs: dict[str, tuple[float, float]] = {}
    late: list[str] = []
    failures: dict[str, UnfitError] = {}
    for method in plan.methods:
        show(0, total, f"{method.name}, on a trial")
        # Once for what is compiled or loaded only once. So few rows may be too few.
        with suppress(UnfitError):
            _seconds(plan.problem.part(max(200, plan.problem.fewest)), method)
        try:
            costs[method.name] = _seconds(small, method), 0.0
        except UnfitError as error:
            failures[method.name] = error
    plan = plan.without(failures)
    for method in plan.methods:
        first = costs[method.name][0]
        # A method whose next trial would take a good part of the time is too slow.
        if 8 * first > (deadline - time.perf_counter()) / 2 and len(plan.methods) > 1:
            late.append(method.name)
            continue
        show(0, total, f"{method.name}, on a larger trial")
        costs[method.name] = first, _seconds(large, method)

    left = _FILLED * (deadline - time.perf_counter())
    methods = [method for method in plan.methods if method.name not in late]
    notes = [f"{name} was left out: too slow for the time budget." for name in late]

    def expected(rows: float) -> float:
        growths = (_power(*costs[method.name]) for method in methods)
        return sum(
            costs[method.name][1] * (rows / (2 * trial)) ** power
            for method, power in zip(methods, growths, strict=True)
        )

    sizes = np.geomspace(2 * trial, n, 200)
    fitting = [rows for rows in sizes if plan.n_splits * expected(rows) <= left]
    rows = n if len(fitting) == len(sizes) else int(max(fitting, default=trial))
    n_splits = plan.n_splits
    if not fitting:
        affordable = int(left / max(expected(trial), 1e-9))
        n_splits = min(plan.n_splits, max(affordable, _FEWEST_SPLITS))
        if n_splits < plan.n_splits:
            notes.append(f"{n_splits} splits instead of {plan.n_splits}: time budget.")
    problem = plan.problem
    if rows < n:
        problem = problem.part(rows)
        notes.append(
            f"A random {len(problem.setting.X):,} of the {n:,} rows took part, to stay "
            "within the time budget."
        )
    return Plan(problem, methods, n_splits, (*plan.notes, *notes))


def _seconds(problem: Problem, method: Method) -> float:
    start = time.perf_counter()
    train, test = next(iter(problem.splits(1)))
    problem.run(method, train, test)
    return time.perf_counter() - start


def _power(small: float, large: float) -> float:
    """Return how the time grows with the rows, from that of the two trials."""
    return float(np.clip(np.log2(large / small), 0.5, 3.0))
