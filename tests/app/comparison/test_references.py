from __future__ import annotations

from itertools import count
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from vicinal.app.comparison import references
from vicinal.app.comparison.data import ComparisonData
from vicinal.app.comparison.references import run_reference

if TYPE_CHECKING:
    from collections.abc import Iterable

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
Y = (X[:, 0] > 0).astype(int)


def set_clock(monkeypatch: pytest.MonkeyPatch, times: Iterable[float]) -> None:
    """Let the references see these times, one after the other."""
    ticks = iter(times)
    clock = SimpleNamespace(perf_counter=lambda: next(ticks))
    monkeypatch.setattr(references, "time", clock)


def test_times_are_of_the_fit_and_of_a_thousand_queries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    choices: dict[str, Any] = {"feature_names": None, "n_components": None}
    data = ComparisonData.of(X, Y, task="auto", **choices)
    # From one look at the clock to the next, two seconds.
    set_clock(monkeypatch, count(100, 2))
    run = run_reference(data, "majority class", np.arange(40), np.arange(40, 60))
    assert run.fit_seconds == 2
    assert run.query_seconds == 1000 * 2 / 20


@pytest.mark.parametrize(
    ("times", "rounds"),
    [
        # Ten rounds a second, four seconds left, of which half are filled.
        ([100, 101, 105], 30),
        ([100, 105], 10),
        # Never more than without a deadline.
        ([100, 100.1], 100),
    ],
)
def test_boosting_fills_half_of_the_time_left(
    times: list[float], rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_clock(monkeypatch, times)
    with threadpool_limits(1, user_api="openmp"):
        predict: Any = references._boosting(X, Y, False, 105)
    assert predict.__self__.n_iter_ == rounds
