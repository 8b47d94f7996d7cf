from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vicinal.app.comparison import Comparison, compare, costs, ledger, runs, time_budget
from vicinal.app.comparison.costs import ITERATIONS, Cost
from vicinal.app.comparison.data import ComparisonData, UnfitError
from vicinal.app.comparison.runs import Effort, Run, run_method
from vicinal.app.methods.registry import resolve_methods

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], [12_000, 7_990, 10])
X = RNG.normal(size=(20_000, 3)) + Y[:, None]
NAMES = "euclidean lda nca"


def problem(n: int = 20_000) -> ComparisonData:
    choices: dict[str, Any] = {"test_size": 0.3, "n_neighbors": 3, "random_state": 0}
    of = ComparisonData.of(
        X, Y, task="auto", feature_names=None, n_components=None, n_jobs=1, **choices
    )
    return of if n == len(X) else of.part(n)


class Pretended:
    """A clock that methods move on by what they are said to take, and their efforts.

    Parameters
    ----------
    **costs : Cost
        Of each method; those with a stochastic solver as it says.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **said: Cost) -> None:
        self.now = 0.0
        self.costs = said
        self.efforts: list[tuple[str, Effort]] = []
        for module in (time_budget, costs, ledger, runs):
            monkeypatch.setattr(module.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(costs, "_seconds_of_a_query", lambda _: 0.0)
        monkeypatch.setattr(
            time_budget,
            "measure_costs",
            lambda data, methods, *_: ({m.name: said[m.name] for m in methods}, {}),
        )
        monkeypatch.setattr(ledger, "run_method", self.run)

    def run(
        self, data: ComparisonData, method: Any, train: Any, test: Any, effort: Any
    ) -> Run:
        effort = effort or Effort()
        self.efforts.append((method.name, effort))
        rows = len(train) if effort.rows is None else min(effort.rows, len(train))
        cost = self.costs[method.name]
        before = self.now
        if effort.max_iter is not None:
            self.now += cost.setup + cost.pace * effort.max_iter
        else:
            self.now += cost.of_fit(rows)
        target: Any = data.target
        outcome = np.where(test % 10, target[test], 0)
        return Run(
            1,
            float(np.mean(outcome == target[test])),
            self.now - before,
            0.001,
            False,
            (),
            outcome,
            rows,
            max_iter=effort.max_iter,
        )


def compared(budget: float, n_splits: int = 10, names: str = NAMES) -> Comparison:
    return compare(
        X, Y, methods=names, n_splits=n_splits, time_budget=budget, references=False
    )


def test_enough_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = Cost(1000, 0.01, 1.0)
    Pretended(monkeypatch, euclidean=cost, lda=cost, nca=cost)
    result = compared(60)
    assert result.setting.n_splits == 10
    assert result.notes == []


def test_fewer_splits_before_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = Cost(14_000, 1.0, 1.0)
    Pretended(monkeypatch, euclidean=cost, lda=cost, nca=cost)
    result = compared(25)
    # Three seconds a split, and 85 % of the time to fill.
    assert result.setting.n_splits == 7
    (note,) = result.notes
    assert note.startswith("7 splits instead of 10")
    assert set(result["nca"].n_learned.tolist()) == {14_000}  # type: ignore[union-attr]


def test_a_few_hold_outs_are_better_than_one(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = Cost(14_000, 1.0, 1.0)
    Pretended(monkeypatch, euclidean=cost, lda=cost, nca=cost)
    result = compared(11)
    assert result.setting.n_splits == 3
    assert result.notes[0].startswith("3 random hold-outs of 6,000 test rows instead")
    assert result.evidence.by_rows


def test_one_hold_out_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = Cost(14_000, 0.1, 1.0)
    clock = Pretended(monkeypatch, euclidean=cheap, lda=cheap, nca=Cost(1000, 1.0, 1.5))
    result = compared(20)
    assert [name for name, _ in clock.efforts][:3] == ["euclidean", "lda", "nca"]
    assert result.setting.n_splits == 1
    assert len(result.setting.X) == 20_000
    learned = {one.name: one.n_learned.tolist() for one in result.results}  # type: ignore[union-attr]
    assert learned["lda"] == [14_000]
    # What fits: 1,000 rows a second, growing with a power of 1.5, in 95 % of 19 s: of
    # 20 s, 4 % are for the tests in the end, and 0.2 s for the other two methods.
    assert learned["nca"] == pytest.approx([1000 * (0.95 * 19) ** (2 / 3)], rel=0.001)
    assert 0.9 * 20 < clock.now <= 20
    assert result.notes[0].startswith("One hold-out of 6,000 test rows instead of 10")
    assert result.notes[1].startswith("nca learned from 6,8")


def test_a_stochastic_solver_learns_from_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cheap = Cost(14_000, 0.1, 1.0)
    nca = Cost(1000, 1.0, 2.0, setup=1.0, pace=1.0)
    clock = Pretended(monkeypatch, euclidean=cheap, lda=cheap, nca=nca)
    result = compared(30)
    assert result["nca"].n_learned.tolist() == [14_000]  # type: ignore[union-attr]
    assert clock.efforts[-1][1].max_iter == 26
    assert "nca learned in 26 iterations instead of 50" in result.notes[1]
    assert 0.9 * 30 < clock.now <= 30


def test_what_was_cut_is_fitted_again_where_time_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Feared to be ten times as slow as it is.
    cheap = Cost(14_000, 0.1, 1.0)
    clock = Pretended(monkeypatch, euclidean=cheap, lda=cheap, nca=Cost(1000, 1.0, 1.5))
    clock.costs = {**clock.costs, "nca": Cost(1000, 0.1, 1.5)}
    result = compared(20)
    rows = [effort.rows for name, effort in clock.efforts if name == "nca"]
    assert rows[0] == pytest.approx(6880, abs=5)
    assert rows[1] is None
    assert set(result["nca"].n_learned.tolist()) == {14_000}  # type: ignore[union-attr]
    assert clock.now <= 20


def test_a_method_that_fails_on_a_trial_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(data: Any, method: Any, *rest: Any) -> Run:
        if method.name == "nca":
            raise UnfitError("it does not like them.")
        return run_method(data, method, *rest)

    monkeypatch.setattr(costs, "run_method", fail)
    result = compared(60, n_splits=1)
    assert [one.name for one in result.results] == ["euclidean", "lda"]
    assert result.notes[-1] == "nca was left out: it does not like them."


def test_a_fit_that_overruns_keeps_its_map() -> None:
    data = ComparisonData(replace(problem(900).setting, scored="accuracy"))
    train, test = next(iter(data.splits(1)))
    (nca,) = resolve_methods("nca", "classification")
    run = run_method(data, nca, train, test, Effort(until=0.0, many=True))
    assert run.broken_off
    assert run.score > 0.6
    assert not run.stopped


def test_a_part_keeps_every_class() -> None:
    part = problem(500)
    assert len(part.setting.X) == 500
    counts = np.bincount(part.target)  # type: ignore[arg-type]
    assert counts[2] >= 4
    assert counts[0] / counts[1] == pytest.approx(1.5, rel=0.1)
    rows = part.setting.rows
    assert np.unique(rows).size == 500
    np.testing.assert_array_equal(part.setting.X, X[rows])
    np.testing.assert_array_equal(part.setting.y, Y[rows])


def test_no_more_splits_than_time() -> None:
    result = compare(X[:900], Y[:900] + (X[:900, 0] > 0), n_splits=500, time_budget=2)
    assert 1 <= result.setting.n_splits < 500
    assert all(one.scores.size == result.setting.n_splits for one in result.results)
    assert "The time budget (--time-budget) was enough for" in result.notes[0]


def test_many_rows_within_the_budget() -> None:
    started = time.perf_counter()
    result = compare(X, Y, methods="euclidean lda", n_splits=2, time_budget=30)
    assert time.perf_counter() - started < 30
    assert result.setting.n_given == 20_000


def test_a_part_of_many_classes_can_be_split() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(3000) % 150
    X = rng.normal(size=(3000, 2))
    result = compare(X, y, methods="euclidean", n_splits=1, time_budget=30)
    assert result.setting.n_given == 3000


def test_methods_whose_turn_comes_too_late_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(*split: Any) -> Run:
        time.sleep(0.2)
        return run_method(*split)

    monkeypatch.setattr(ledger, "run_method", slow)
    y = (X[:100, 0] > 0).astype(int)
    names = "euclidean standardised pca lda"
    result = compare(X[:100], y, methods=names, n_splits=5, time_budget=0.1)
    assert [one.name for one in result.results] == ["euclidean"]
    assert result.setting.n_splits == 1
    assert (
        "lda was left out: the time budget (--time-budget) was over before its turn."
        in result.notes
    )


def test_a_fit_of_all_iterations_is_not_short() -> None:
    def is_short(max_iter: int | None) -> bool:
        run: Any = SimpleNamespace(max_iter=max_iter)
        return time_budget._is_short(run)

    assert is_short(ITERATIONS - 1)
    assert not is_short(ITERATIONS)
    assert not is_short(None)


@pytest.mark.parametrize(("n", "tries"), [(2000, 0), (2001, 1)])
def test_up_to_2000_rows_nothing_is_tried_first(
    n: int, tries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def measure(*all_of_it: Any) -> Any:
        asked.append(all_of_it)
        return costs.measure_costs(*all_of_it)

    monkeypatch.setattr(time_budget, "measure_costs", measure)
    y = np.arange(n) % 2
    options: Any = {"methods": "standardised", "references": False}
    result = compare(X[:n], y, n_splits=1, time_budget=60, **options)
    assert len(asked) == tries
    assert result.notes == []
