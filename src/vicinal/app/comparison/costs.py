"""What a method would cost on so many rows: measured on small parts of them.

The time of most methods is taken to grow as a power of the number of rows, found from
two parts. Those with a stochastic solver cost as much as their iterations, whatever the
rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sklearn.neighbors import NearestNeighbors

from vicinal.app.comparison.data import UnfitError
from vicinal.app.comparison.runs import Effort, run_method

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal.app.comparison.data import ComparisonData
    from vicinal.app.methods.registry import Method

__all__ = ["ITERATIONS", "Cost", "measure_costs"]

# The first part, on which something may be compiled, and those that are measured.
_WARM_UP = 250
_TRIALS = (1000, 4000)
# How a method's time is taken to grow with the rows as long as there is one part.
_POWER = 1.3
# A trial may take this part of the time left; after this part of all time, there is
# only the first for each method.
_FOR_A_TRIAL, _FOR_ALL_TRIALS = 0.05, 0.2
ITERATIONS = 50
"""Of a stochastic solver: all that it makes by default."""
_FEWEST_ITERATIONS = 6
# Rows, and queries, whose neighbours are sought to see how long it takes.
_SEARCHED, _SEARCHING = 20_000, 500
# Iterations that tell their pace: the first of them are quicker than the rest.
_TRIED = 3


@dataclass(frozen=True)
class Cost:
    """Seconds of a method, as a function of the rows.

    Attributes
    ----------
    rows, fit : int, float
        Seconds of a fit from so many rows.
    power : float
        Twice the rows take 2**power times as long.
    query : float
        Seconds for a test row and a million training rows.
    setup, pace : float
        Of a stochastic solver, before its first iteration and for each; NaN where
        there is none.
    """

    rows: int
    fit: float
    power: float = _POWER
    query: float = 0.0
    setup: float = float("nan")
    pace: float = float("nan")

    @property
    def is_stochastic(self) -> bool:
        """Whether there is a stochastic solver for many rows."""
        return bool(np.isfinite(self.pace))

    def exact(self, rows: int) -> float:
        """Return the seconds of a fit that sees all pairs."""
        return float(self.fit * (rows / self.rows) ** self.power)

    def of_fit(self, rows: int) -> float:
        """Return the seconds of a whole fit."""
        exact = self.exact(rows)
        if self.is_stochastic:
            return min(exact, self.setup + ITERATIONS * self.pace)
        return exact

    def of_queries(self, rows: int, tests: int) -> float:
        """Return the seconds to find the neighbours of test rows."""
        return self.query * tests * rows / 1e6

    def effort(self, rows: int, seconds: float) -> Effort:
        """Return how much of a fit there is time for.

        Parameters
        ----------
        rows : int
            Training rows.
        seconds : float
            For the fit.
        """
        until = time.perf_counter() + 1.3 * seconds
        if self.exact(rows) <= seconds:
            return Effort(until=until, many=True)
        if self.is_stochastic:
            n_iter = int((seconds - self.setup) / self.pace)
            n_iter = min(max(n_iter, _FEWEST_ITERATIONS), ITERATIONS)
            return Effort(max_iter=n_iter, solver="stochastic", until=until, many=True)
        fitting = int(self.rows * max(seconds / self.fit, 1e-9) ** (1 / self.power))
        return Effort(rows=max(fitting, min(_WARM_UP, rows)), until=until, many=True)


def measure_costs(
    data: ComparisonData,
    methods: list[Method],
    deadline: float,
    step: Callable[[str], None],
) -> tuple[dict[str, Cost], dict[str, UnfitError]]:
    """Try the methods on small parts of the rows.

    Parameters
    ----------
    data : ComparisonData
        All rows.
    methods : list of Method
        What to try.
    deadline : float
        When all must be done, on the clock of `time.perf_counter`.
    step : callable
        Called with the name of what is tried.

    Returns
    -------
    costs : dict
        By the methods' names.
    failures : dict
        Those that cannot be used, and why.
    """
    costs: dict[str, Cost] = {}
    failures: dict[str, UnfitError] = {}
    begun = time.perf_counter()
    n = len(data.setting.X)
    query = _seconds_of_a_query(data)
    sizes = [max(size, data.fewest) for size in (_WARM_UP, *_TRIALS)]
    parts = [data.part(size) for size in sizes if size <= n / 2] or [data]
    for method in methods:
        try:
            for number, part in enumerate(parts):
                # The first part has no say: something may be compiled on it.
                before = costs.get(method.name) if number > 1 else None
                step(f"{method.name}, on a trial of {len(part.setting.X):,} rows")
                cost = replace(_try(method, part, before), query=query)
                costs[method.name] = cost
                now = time.perf_counter()
                spent = (now - begun) / (deadline - begun)
                expected = cost.of_fit(3 * cost.rows) / (deadline - now)
                if spent > _FOR_ALL_TRIALS or (number and expected > _FOR_A_TRIAL):
                    break
            if n > sizes[-1] and _can_be_stochastic(method, parts[0]):
                step(f"{method.name}, some iterations")
                setup, pace = _try_iterations(method, parts)
                costs[method.name] = replace(costs[method.name], setup=setup, pace=pace)
        except UnfitError as error:
            failures[method.name] = error
    return costs, failures


def _try(method: Method, part: ComparisonData, before: Cost | None) -> Cost:
    """Return the cost of a method, from a part of the rows and from a smaller one."""
    train, test = next(iter(part.splits(1)))
    effort = Effort(agreement=False, many=True)
    seconds = run_method(part, method, train, test, effort).fit_seconds
    if part.setting.task == "none":
        # Two halves will be learned from besides.
        seconds *= 2
    seconds = max(seconds, 1e-4)
    if before is None:
        return Cost(len(train), seconds)
    growth = np.log(seconds / before.fit) / np.log(len(train) / before.rows)
    return Cost(len(train), seconds, float(np.clip(growth, 0.8, 2.5)))


def _try_iterations(method: Method, parts: list[ComparisonData]) -> tuple[float, float]:
    """Return the seconds before a stochastic solver's first iteration and for each."""
    effort = Effort(max_iter=_TRIED, solver="stochastic", many=True)
    # The first part has no say, as above.
    for part in (parts[0], parts[-1]):
        train, test = next(iter(part.splits(1)))
        run = run_method(part, method, train, test, effort)
    return max(run.fit_seconds - _TRIED * run.pace, 0.0), run.pace


def _seconds_of_a_query(data: ComparisonData) -> float:
    """Return the seconds of a query among a million rows, with all features."""
    s = data.setting
    if s.task == "none":
        return 0.0
    rows = np.nan_to_num(s.X[:_SEARCHED])
    search = NearestNeighbors(
        n_neighbors=min(s.n_neighbors, len(rows)), algorithm="brute", n_jobs=s.n_jobs
    ).fit(rows)
    search.kneighbors(rows[:1])
    start = time.perf_counter()
    search.kneighbors(rows[:_SEARCHING])
    seconds = time.perf_counter() - start
    return seconds / len(rows[:_SEARCHING]) / (len(rows) / 1e6)


def _can_be_stochastic(method: Method, part: ComparisonData) -> bool:
    s = part.setting
    options = method.pipeline(s.X, s.target, s.n_components).get_params()
    return "metric__n_references" in options
