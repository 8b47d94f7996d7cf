from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from vicinal.app.comparison import Comparison, compare, runner, runs
from vicinal.app.comparison.data import stratified_rows
from vicinal.app.methods.votes import choose_vote

RNG = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], [12_000, 7_990, 10])
X = RNG.normal(size=(20_000, 3)) + Y[:, None]


class Pretended:
    """A clock that only fits move on, by ``seconds * (rows / 1000) ** power``."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, **costs: tuple[float, float]
    ) -> None:
        self.now = 0.0
        self.costs = costs
        self.order: list[str] = []
        monkeypatch.setattr(time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(runs, "_fit", self.fit)

    def fit(
        self, setting: Any, method: Any, rows: Any, _: float, scaled: Any
    ) -> tuple[Any, float, tuple[Any, ...], bool]:
        seconds, power = self.costs[method.name]
        taken = seconds * (len(rows) / 1000) ** power
        self.now += taken
        if method.name not in self.order:
            self.order.append(method.name)
        part = rows[:: max(len(rows) // 500, 1)]
        X, y = setting.X[part], setting.target[part]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return method.pipeline(X, y).fit(X, y), taken, (), False


def compared(budget: float, names: str = "euclidean lda ldg") -> Comparison:
    return compare(X, Y, methods=names, time_budget=budget, references=False)


def test_enough_time_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    Pretended(monkeypatch, euclidean=(0, 1), lda=(0.01, 1), ldg=(0.01, 1))
    result = compared(60)
    assert result.setting.n_splits == 10
    assert result.notes == [
        "ldg learned from 10,000 of the 14,000 training rows, to stay within the time "
        "budget."
    ]


def test_fewer_splits_before_fewer_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Pretended(monkeypatch, euclidean=(0, 1), lda=(0.01, 1), ldg=(0.1, 1))
    result = compared(10)
    assert 5 <= result.setting.n_splits < 10
    assert result.notes[0] == (
        f"The time budget was enough for {result.setting.n_splits} of 10 splits of "
        "14,000 training and 6,000 test rows."
    )
    assert set(result["lda"].n_learned.tolist()) == {14_000}  # type: ignore[union-attr]
    assert clock.now <= 10


def test_a_method_with_a_stochastic_solver_keeps_all_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Pretended(monkeypatch, nca=(1, 2))
    learned = compared(3000, "nca")["nca"].n_learned
    assert learned is not None
    assert set(learned.tolist()) == {14_000}


def test_at_most_10_000_test_rows() -> None:
    rows = RNG.normal(size=(50_000, 1))
    options: Any = {"methods": "euclidean", "n_splits": 1, "references": False}
    result = compare(rows, (rows[:, 0] > 0).astype(int), time_budget=60, **options)
    assert len(result.setting.tests[0]) == 10_000


def test_less_time_to_search_has_fewer_test_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = RNG.normal(size=(30_000, 1))
    options: Any = {"methods": "euclidean lda", "n_splits": 1, "references": False}
    sizes = []
    for affordable in (100, 6000):
        monkeypatch.setattr(runner, "affordable_queries", lambda *_, n=affordable: n)
        result = compare(rows, (rows[:, 0] > 0).astype(int), time_budget=60, **options)
        assert [one.name for one in result.results] == ["euclidean", "lda"]
        sizes.append(len(result.setting.tests[0]))
    assert sizes == [1000, 5000]


def test_a_method_that_would_end_too_late_does_not_begin(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Pretended(monkeypatch, euclidean=(0, 1), lda=(0, 1))

    def slow(*arguments: Any) -> Any:
        clock.now += 8
        return choose_vote(*arguments)

    monkeypatch.setattr(runs, "choose_vote", slow)
    result = compared(10, "euclidean lda")
    assert [one.name for one in result.results] == ["euclidean"]
    assert result.setting.left_out[0][0] == "lda"
    assert clock.now <= 10


def test_a_split_with_an_ended_fit_is_not_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Pretended(monkeypatch, euclidean=(0, 1), lda=(0.01, 1))
    fits = []

    def ended(*arguments: Any) -> Any:
        fits.append(arguments)
        *fitted, _ = clock.fit(*arguments)
        return *fitted, len(fits) >= 6

    monkeypatch.setattr(runs, "_fit", ended)
    result = compared(60, "euclidean lda")
    # Two methods: the third split ends a fit.
    assert result.setting.n_splits == len(result["lda"].scores) == 2
    assert len(result["euclidean"].scores) == 2
    assert result["lda"].broken_off == 0
    assert "enough for 2 of 10 splits" in result.notes[0]


def test_a_method_that_fails_on_a_part_of_the_rows_is_left_out() -> None:
    class Unable(StandardScaler):
        def fit(self, X: Any, y: Any = None) -> None:
            raise ValueError(f"{len(X)} rows will not do.")

    methods = ["euclidean", ("unable", Unable())]
    result = compare(X, Y, methods=methods, n_splits=1, time_budget=60)
    assert [one.name for one in result.results] == ["euclidean"]
    assert result.notes[-1] == "unable was left out: 10000 rows will not do."


def test_a_part_keeps_every_class() -> None:
    rows = stratified_rows(len(X), 500, Y)
    counts = np.bincount(Y[rows])
    assert len(np.unique(rows)) == counts.sum() == 500
    assert counts[2] >= 3
    assert counts[0] / counts[1] == pytest.approx(1.5, rel=0.1)


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
    def slow(*split: Any, **limits: Any) -> runs.Run:
        time.sleep(0.2)
        return runs.run_method(*split, **limits)

    monkeypatch.setattr(runner, "run_method", slow)
    y = (X[:100, 0] > 0).astype(int)
    names = "euclidean standardised pca lda"
    result = compare(X[:100], y, methods=names, n_splits=5, time_budget=0.1)
    assert [one.name for one in result.results] == ["euclidean"]
    assert result.setting.n_splits == 1
    late = "the time budget was over before its turn."
    assert dict(result.setting.left_out)["lda"] == late


def test_up_to_2000_rows_nothing_is_planned() -> None:
    options: Any = {"methods": "standardised", "references": False}
    result = compare(X[:2000], np.arange(2000) % 2, time_budget=60, **options)
    assert result.notes == []
    assert result.setting.test_size == 0.3
