"""Intervals and tests of gains, by their promises over many samples."""

import numpy as np
import pytest

from vicinal._typing import FloatArray
from vicinal.adapters import Change, Evaluation


def change(before: FloatArray, after: FloatArray, seed: int = 0) -> Change:
    return Evaluation({"map": before}, {"map": after}, seed)["map"]


def test_means_and_gain() -> None:
    before, after = np.array([0.0, 1.0, np.nan]), np.array([1.0, 1.0, 1.0])
    found = change(before, after)
    assert (found.before, found.after, found.gain) == (0.5, 1.0, 0.5)
    assert found.n_queries == 2


def test_equal_scores_are_no_evidence() -> None:
    same = np.linspace(0, 1, 20)
    found = change(same, same)
    assert (found.gain, found.low, found.high, found.p_value) == (0, 0, 0, 1)


def test_a_clear_gain_is_significant() -> None:
    rng = np.random.default_rng(0)
    before = rng.random(50)
    found = change(before, before + 0.1 + 0.05 * rng.normal(size=50))
    assert found.p_value < 0.01
    assert 0.05 < found.low < found.gain < found.high < 0.15


def test_coverage_of_intervals_and_level_of_tests() -> None:
    rng = np.random.default_rng(1)
    covered, rejected = 0, 0
    n = 200
    for seed in range(n):
        difference = rng.exponential(size=60) - 1  # skewed, of mean 0
        found = change(np.zeros(60), difference, seed)
        covered += found.low <= 0 <= found.high
        rejected += found.p_value < 0.05
    # 95 % and 5 %, give or take three standard errors and the skewness.
    assert 0.87 * n < covered < 0.99 * n
    assert rejected < 0.12 * n


def test_an_evaluation_prints_as_a_table() -> None:
    evaluation = Evaluation({"mrr": np.zeros(4)}, {"mrr": np.ones(4)})
    assert evaluation["mrr"].gain == 1
    assert "+1.000" in str(evaluation)
    with pytest.raises(KeyError):
        evaluation["ndcg@3"]
