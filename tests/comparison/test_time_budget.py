from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from vicinal.comparison import compare, time_budget
from vicinal.comparison.data import ComparisonData, UnfitError
from vicinal.comparison.time_budget import Plan, fit_to_budget
from vicinal.methods.registry import resolve_methods

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], [12_000, 7_990, 10])
X = RNG.normal(size=(20_000, 3)) + Y[:, None]


def problem(n: int = 20_000) -> ComparisonData:
    choices: dict[str, Any] = {"test_size": 0.3, "n_neighbors": 3, "random_state": 0}
    of = ComparisonData.of(
        X, Y, task="auto", feature_names=None, n_components=None, n_jobs=1, **choices
    )
    return of if n == len(X) else of.part(n)


def pretend(monkeypatch: pytest.MonkeyPatch, **costs: tuple[float, float]) -> None:
    """Let methods take a times n to the power b seconds."""

    def seconds(part: ComparisonData, method: Any) -> float:
        a, b = costs[method.name]
        return float(a * len(part.setting.X) ** b)

    monkeypatch.setattr(time_budget, "_seconds", seconds)


def plan_of(names: str, budget: float) -> Plan:
    asked = Plan(problem(), resolve_methods(names, "classification"), 10)
    return fit_to_budget(asked, time.perf_counter() + budget, lambda *_: None)


def test_enough_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, lda=(1e-6, 1.0), nca=(1e-9, 2.0))
    kept = plan_of("lda nca", 60)
    assert len(kept.problem.setting.X) == 20_000
    assert kept.n_splits == 10
    assert kept.notes == ()


def test_rows_that_fit_into_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, nca=(1e-8, 2.0))
    kept = plan_of("nca", 10)
    rows = len(kept.problem.setting.X)
    # Ten splits of 1e-8 n² seconds in three quarters of ten seconds.
    assert rows == pytest.approx(np.sqrt(0.75 / 1e-8), rel=0.02)
    assert kept.n_splits == 10
    assert kept.notes == (
        f"A random {rows:,} of the 20,000 rows took part, to stay within the time "
        "budget.",
    )


def test_growth_is_measured_and_not_supposed(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, nca=(1e-4, 1.0))
    rows = len(plan_of("nca", 10).problem.setting.X)
    # From the first trial alone, a faster growth would be feared, and 3,000 taken.
    assert rows == pytest.approx(0.75 / 1e-4, rel=0.02)


# A second for 500 rows, and three quarters of the budget to fill; never below three.
@pytest.mark.parametrize(("budget", "n_splits"), [(9, 6), (2, 3)])
def test_fewer_splits_where_the_smallest_part_is_too_slow(
    budget: float, n_splits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, nca=(2e-3, 1.0))
    kept = plan_of("nca", budget)
    # What six splits leave of the time is filled with a few more rows.
    assert 500 <= len(kept.problem.setting.X) < 560
    assert kept.n_splits == n_splits
    assert f"{n_splits} splits instead of 10" in kept.notes[0]


def test_a_method_that_is_far_too_slow_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend(monkeypatch, lda=(1e-6, 1.0), nca=(1.0, 1.0))
    kept = plan_of("lda nca", 60)
    assert [method.name for method in kept.methods] == ["lda"]
    assert kept.notes == ("nca was left out: too slow for the time budget.",)


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
    assert "The time budget was enough for" in result.notes[0]


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


def test_a_method_that_fails_on_a_trial_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def seconds(part: ComparisonData, method: Any) -> float:
        if method.name == "nca" or len(part.setting.X) <= 200:
            raise UnfitError("it does not like them.")
        return 1e-6 * len(part.setting.X)

    monkeypatch.setattr(time_budget, "_seconds", seconds)
    kept = plan_of("lda nca", 60)
    assert [method.name for method in kept.methods] == ["lda"]
    assert kept.notes == ("nca was left out: it does not like them.",)


def test_methods_whose_turn_comes_too_late_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = ComparisonData.run

    def slow(self: ComparisonData, *split: Any) -> Any:
        time.sleep(0.2)
        return run(self, *split)

    monkeypatch.setattr(ComparisonData, "run", slow)
    y = (X[:100, 0] > 0).astype(int)
    names = "euclidean standardised pca lda"
    result = compare(X[:100], y, methods=names, n_splits=5, time_budget=0.1)
    assert [one.name for one in result.results] == ["euclidean"]
    assert result.setting.n_splits == 1
    assert "lda was left out: the time budget was over before its turn." in result.notes
