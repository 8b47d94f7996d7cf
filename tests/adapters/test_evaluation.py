"""Intervals and tests of gains, by what they promise over many made samples."""

import numpy as np
import pytest

from vicinal.adapters import Evaluation
from vicinal.adapters._evaluation import change


def test_means_and_gain() -> None:
    before, after = np.array([0.0, 1.0, np.nan]), np.array([1.0, 1.0, 1.0])
    found = change(before, after, seed=0)
    assert (found.before, found.after, found.gain) == (0.5, 1.0, 0.5)
    assert found.n_queries == 2


def test_no_difference_is_no_evidence() -> None:
    same = np.linspace(0, 1, 20)
    found = change(same, same, seed=0)
    assert (found.gain, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_a_clear_gain_is_clear() -> None:
    rng = np.random.default_rng(0)
    before = rng.random(50)
    found = change(before, before + 0.1 + 0.05 * rng.normal(size=50), seed=0)
    assert found.p_value < 0.01
    assert 0.05 < found.low < found.gain < found.high < 0.15


def test_intervals_hold_the_truth_and_tests_err_seldom() -> None:
    rng = np.random.default_rng(1)
    held, false = 0, 0
    n = 200
    for seed in range(n):
        difference = rng.exponential(size=60) - 1  # skewed, of mean 0
        found = change(np.zeros(60), difference, seed)
        held += found.low <= 0 <= found.high
        false += found.p_value < 0.05
    # 95 % and 5 %, give or take three standard errors and the skewness.
    assert 0.87 * n < held < 0.99 * n
    assert false < 0.12 * n


def test_an_evaluation_reads_as_a_table() -> None:
    evaluation = Evaluation({"mrr": np.zeros(4)}, {"mrr": np.ones(4)})
    assert evaluation["mrr"].gain == 1
    assert "+1.000" in str(evaluation)
    with pytest.raises(KeyError):
        evaluation["ndcg@3"]


def test_samples_are_drawn_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    before = rng.random(50)
    after = before + 0.1 + 0.05 * rng.normal(size=50)
    whole = change(before, after, seed=0)
    monkeypatch.setattr("vicinal.adapters._evaluation._BLOCK", 50 * 300)
    parts = change(before, after, seed=0)
    error = np.std(after - before) / np.sqrt(50)
    assert abs(parts.low - whole.low) < error / 4
    assert abs(parts.high - whole.high) < error / 4
    assert parts.p_value == whole.p_value
