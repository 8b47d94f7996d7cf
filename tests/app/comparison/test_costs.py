from __future__ import annotations

import time

import pytest

from vicinal.app.comparison.costs import ITERATIONS, Cost


def test_time_grows_as_a_power() -> None:
    cost = Cost(1000, 2.0, 1.5)
    assert cost.of_fit(4000) == pytest.approx(16)
    assert cost.of_queries(1_000_000, 10) == 0
    assert Cost(1000, 2.0, query=0.5).of_queries(2_000_000, 10) == 10


def test_a_stochastic_solver_costs_its_iterations() -> None:
    cost = Cost(1000, 2.0, 2.0, setup=3.0, pace=0.1)
    assert cost.of_fit(1000) == 2
    assert cost.of_fit(10**6) == pytest.approx(3 + ITERATIONS * 0.1)


def test_as_many_rows_as_there_is_time_for() -> None:
    cost = Cost(1000, 2.0, 2.0)
    assert cost.effort(3000, 20).rows is None
    assert cost.effort(10_000, 8).rows == 2000
    # Some, however little time there is.
    assert cost.effort(10_000, 0).rows == 250


def test_as_many_iterations_as_there_is_time_for() -> None:
    cost = Cost(1000, 2.0, 2.0, setup=3.0, pace=0.5)
    few = cost.effort(10**6, 13)
    assert (few.rows, few.max_iter, few.solver) == (None, 20, "stochastic")
    assert cost.effort(10**6, 10**4).max_iter == ITERATIONS
    assert cost.effort(10**6, 1).max_iter == 6
    assert few.until == pytest.approx(time.perf_counter() + 1.3 * 13, abs=1)
    exact = cost.effort(1000, 13)
    assert (exact.rows, exact.max_iter, exact.solver) == (None, None, None)
