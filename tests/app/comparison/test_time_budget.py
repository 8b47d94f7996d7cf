from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from vicinal.app.comparison import Comparison, compare, runner
from vicinal.app.comparison.data import read_setting
from vicinal.app.comparison.runs import Run, UnfitError, fit_method, run_method

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], [12_000, 7_990, 10])
X = RNG.normal(size=(20_000, 3)) + Y[:, None]


class Pretended:
    """A clock that only fits move on, by ``seconds * (rows / 1000) ** power``."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        query: float = 1e-6,
        **costs: tuple[float, float],
    ) -> None:
        self.now = 0.0
        self.costs = costs
        self.order: list[str] = []
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(runner, "run_method", self.run)
        monkeypatch.setattr(runner, "fit_method", self.fit)
        monkeypatch.setattr(runner, "NearestNeighbors", lambda **_: Search(self, query))

    def fit(self, _: Any, method: Any, rows: Any, *args: Any, **more: Any) -> Any:
        seconds, power = self.costs[method.name]
        taken = seconds * (len(rows) / 1000) ** power
        self.now += taken
        return method.pipeline(X[:9], Y[:9]), taken

    def run(self, setting: Any, method: Any, train: Any, test: Any, budget: Any) -> Run:
        rows = train if budget.rows is None else train[: budget.rows]
        taken = self.fit(setting, method, rows)[1]
        self.order.append(method.name)
        outcome = np.where(test % 10, setting.target[test], 0)
        score = float(np.mean(outcome == setting.target[test]))
        return Run(1, score, taken, 0.001, outcome, len(rows))


class Search:
    """A neighbor search that takes some seconds for each query."""

    def __init__(self, clock: Pretended, seconds: float) -> None:
        self.clock = clock
        self.seconds = seconds

    def fit(self, _: Any) -> Any:
        return self

    def kneighbors(self, queries: Any) -> None:
        self.clock.now += self.seconds * len(queries)


def compared(budget: float, names: str = "euclidean lda ldg") -> Comparison:
    return compare(X, Y, methods=names, time_budget=budget, references=False)


def test_enough_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Pretended(monkeypatch, euclidean=(0, 1), lda=(0.01, 1), ldg=(0.01, 1))
    result = compared(60)
    assert result.setting.n_splits == 10
    assert result.notes == []


def test_fewer_splits_before_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Pretended(monkeypatch, euclidean=(0, 1), lda=(0.01, 1), ldg=(0.1, 1))
    result = compared(10)
    assert 5 <= result.setting.n_splits < 7
    assert result.notes == [
        f"The time budget was enough for {result.setting.n_splits} of 10 splits of "
        "14,000 training and 6,000 test rows."
    ]
    assert set(result["ldg"].n_learned.tolist()) == {14_000}  # type: ignore[union-attr]
    assert clock.now <= 10


def test_fewer_rows_for_slow_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Pretended(monkeypatch, euclidean=(0, 1), lda=(0.01, 1), ldg=(1, 1.5))
    result = compared(40)
    assert clock.order == ["euclidean", "lda", "ldg"]
    assert result.setting.n_splits == 1
    assert result["lda"].n_learned.tolist() == [14_000]  # type: ignore[union-attr]
    # Two thirds of 40 s, less the pilot fits.
    (learned,) = result["ldg"].n_learned.tolist()  # type: ignore[union-attr]
    left = 2 / 3 * 40 - (0.25**1.5 + 1 + 4**1.5)
    assert learned == pytest.approx(1000 * left ** (1 / 1.5), rel=0.01)
    assert clock.now <= 40
    assert [note[:45] for note in result.notes] == [
        "The time budget was enough for 1 of 10 splits",
        f"ldg learned from {learned:,} of the 14,000 training",
    ]
    assert result.evidence.by_rows


def test_the_growth_with_rows_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    Pretended(monkeypatch, ldg=(0.5, 1.2))
    (learned,) = compared(20, "ldg")["ldg"].n_learned.tolist()  # type: ignore[union-attr]
    # Two thirds of 20 s, less the pilot fits.
    left = 2 / 3 * 20 - 0.5 * (0.25**1.2 + 1 + 4**1.2)
    assert learned == pytest.approx(1000 * (left / 0.5) ** (1 / 1.2), rel=0.01)


def test_a_method_with_a_stochastic_solver_keeps_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Pretended(monkeypatch, nca=(1, 2))
    assert compared(30, "nca")["nca"].n_learned.tolist() == [14_000]  # type: ignore[union-attr]


def test_slow_queries_reduce_the_test_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = read_setting(X, Y)
    planned = runner.ComparisonRunner(setting, [None] * 8, True, print)  # type: ignore[list-item]
    Pretended(monkeypatch, 1e-3)
    planned._limit_test_rows(100)
    # A third of 100 s, for 8 methods and 1 ms for each query.
    expected = 100 / 3 / 8 / 1e-3
    assert planned.setting.test_size * 20_000 == pytest.approx(expected, rel=0.01)


def test_a_method_that_fails_on_a_pilot_fit_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(setting: Any, method: Any, *rest: Any, **more: Any) -> Any:
        if method.name == "ldg":
            raise UnfitError("it does not like them.")
        return fit_method(setting, method, *rest, **more)

    monkeypatch.setattr(runner, "fit_method", fail)
    result = compare(X, Y, methods="euclidean ldg", n_splits=1, time_budget=60)
    assert [one.name for one in result.results] == ["euclidean"]
    assert result.notes[-1] == "ldg was left out: it does not like them."


def test_a_part_keeps_every_class() -> None:
    part = read_setting(X, Y).part(500)
    assert len(part.X) == 500
    counts = np.bincount(part.target)  # type: ignore[arg-type]
    assert counts[2] >= 4
    assert counts[0] / counts[1] == pytest.approx(1.5, rel=0.1)
    assert np.unique(part.rows).size == 500
    np.testing.assert_array_equal(part.X, X[part.rows])
    np.testing.assert_array_equal(part.y, Y[part.rows])


def test_no_more_splits_than_time() -> None:
    result = compare(X[:900], Y[:900] + (X[:900, 0] > 0), n_splits=500, time_budget=2)
    assert 1 <= result.setting.n_splits < 500
    assert all(one.scores.size == result.setting.n_splits for one in result.results)
    assert result.notes[0].startswith("The time budget was enough for")
    assert "--" not in " ".join(result.notes)


def test_many_rows_within_the_budget() -> None:
    started = time.perf_counter()
    result = compare(X, Y, methods="euclidean lda", n_splits=2, time_budget=10)
    assert time.perf_counter() - started < 30
    assert result.setting.n_given == 20_000


def test_densities_of_many_rows() -> None:
    result = compare(X[:5000], methods="gaussian lca", n_splits=1, time_budget=6)
    assert [one.name for one in result.results] == ["gaussian", "lca"]


def test_a_part_of_many_classes_can_be_split() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 150
    X = rng.normal(size=(3000, 2))
    options: Any = {"methods": "euclidean", "references": False}
    result = compare(X, y, n_splits=1, time_budget=10, **options)
    assert result.setting.n_given == 3000


def test_methods_whose_turn_comes_too_late_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(*split: Any) -> Run:
        time.sleep(0.2)
        return run_method(*split)

    monkeypatch.setattr(runner, "run_method", slow)
    y = (X[:100, 0] > 0).astype(int)
    names = "euclidean standardised pca lda"
    result = compare(X[:100], y, methods=names, n_splits=5, time_budget=0.1)
    assert [one.name for one in result.results] == ["euclidean"]
    assert result.setting.n_splits == 1
    late = "the time budget was over before its turn."
    assert dict(result.setting.left_out)["lda"] == late


def test_up_to_2000_rows_nothing_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "fit_method", pytest.fail)
    options: Any = {"methods": "standardised", "references": False}
    result = compare(X[:2000], np.arange(2000) % 2, time_budget=60, **options)
    assert result.notes == []
