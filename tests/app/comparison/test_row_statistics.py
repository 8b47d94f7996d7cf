from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.metrics import average_precision_score, balanced_accuracy_score, r2_score

from vicinal.app.comparison import Comparison, MethodResult, Setting
from vicinal.app.comparison.statistics import bootstrap, mcnemar, z_test
from vicinal.app.methods.scores import SCORES


def compared(
    target: Any, tests: list[Any], outcomes: list[list[Any]], **more: Any
) -> Comparison:
    """Return a comparison with these predictions, a list of them for each method."""
    n = len(target)
    task = "classification" if target.dtype.kind == "i" else "regression"
    setting = Setting(
        np.zeros((n, 1)),
        None,
        task,
        np.arange(n),
        n,
        ["x"],
        n_splits=len(tests),
        target=target,
        tests=tuple(tests),
        **more,
    )
    score = SCORES[setting.scored]
    one = np.ones(len(tests))
    results = [
        MethodResult(
            str(number),
            one.astype(int),
            np.array(
                [score.of(target[t], o) for t, o in zip(tests, each, strict=True)]
            ),
            one,
            one,
            outcomes=tuple(each),
        )
        for number, each in enumerate(outcomes)
    ]
    return Comparison(tuple(results), setting)


def test_mcnemar_is_the_binomial_test_of_discordant_rows() -> None:
    rng = np.random.default_rng(0)
    right, other = rng.random((2, 300)) < [[0.8], [0.7]]
    alone, apart = np.sum(right & ~other), np.sum(right != other)
    expected = binomtest(int(alone), int(apart)).pvalue
    assert mcnemar(right, other) == pytest.approx(expected)
    assert mcnemar(right, right) == 1


def test_z_test() -> None:
    assert z_test(1.96, 1.0) == pytest.approx(0.05, abs=1e-4)
    assert z_test(0.0, 0.0) == 1
    assert z_test(0.1, 0.0) == 0


def test_spread_of_a_bootstrapped_mean() -> None:
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(2, size=(2, 400))
    (draws,) = bootstrap(SCORES["accuracy"], [np.arange(400)], truth, [[guess]])
    p = np.mean(truth == guess)
    assert draws.mean() == pytest.approx(p, abs=0.005)
    assert draws.std() == pytest.approx(np.sqrt(p * (1 - p) / 400), rel=0.1)


def test_a_row_in_two_hold_outs_counts_once() -> None:
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(2, size=(2, 400))
    rows = np.arange(400)
    once = bootstrap(SCORES["accuracy"], [rows], truth, [[guess]])
    twice = bootstrap(SCORES["accuracy"], [rows, rows], truth, [[guess, guess]])
    np.testing.assert_allclose(once, twice)


@pytest.mark.parametrize("score", ["accuracy", "balanced-accuracy", "r2"])
@pytest.mark.parametrize("n_splits", [1, 3])
def test_intervals_hold_the_truth(score: str, n_splits: int) -> None:
    # A model of known quality, on test rows drawn anew: 95 % of 200, less 2.5 errors.
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(200):
        if score == "r2":
            target = rng.normal(size=400)
            guess = target + rng.normal(size=400)
            truth = 0.0
        else:
            target = (rng.random(400) < 0.2).astype(int)
            guess = np.where(rng.random(400) < [0.9, 0.6][0], target, 1 - target)
            guess = np.where(target == 1, np.where(rng.random(400) < 0.6, 1, 0), guess)
            truth = 0.8 * 0.9 + 0.2 * 0.6 if score == "accuracy" else 0.75
        tests = [rng.permutation(400)[:300] for _ in range(n_splits)]
        one = compared(target, tests, [[guess[t] for t in tests]], scored=score)
        low, high = one.interval("0")
        held += low <= truth <= high
    assert held / 200 > 0.95 - 2.5 * np.sqrt(0.05 * 0.95 / 200)


@pytest.mark.parametrize("score", ["accuracy", "balanced-accuracy"])
@pytest.mark.parametrize("n_splits", [1, 2])
def test_of_equal_methods_one_is_seldom_called_better(
    score: str, n_splits: int
) -> None:
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(150):
        target = (rng.random(500) < 0.3).astype(int)
        # Half of the errors are common to all, as they are in practice.
        hard = rng.random(500) < 0.15
        wrong = hard | (rng.random((5, 500)) < 0.1)
        guesses = np.where(wrong, 1 - target, target)
        tests = [rng.permutation(500)[:300] for _ in range(n_splits)]
        outcomes = [[guess[t] for t in tests] for guess in guesses]
        one = compared(target, tests, outcomes, scored=score)
        found += any(each.significant for each in one.differences())
    assert found <= 0.05 * 150 + 2 * np.sqrt(150 * 0.05 * 0.95)


def test_a_real_difference_is_found_on_one_hold_out() -> None:
    rng = np.random.default_rng(0)
    target = rng.integers(2, size=4000)
    guesses = [np.where(rng.random(4000) < p, target, 1 - target) for p in (0.8, 0.9)]
    one = compared(target, [np.arange(4000)], [[guess] for guess in guesses])
    (difference,) = one.differences()
    assert one.best.name == "1"
    assert difference.significant
    assert difference.gain == pytest.approx(0.1, abs=0.02)
    assert difference.error == pytest.approx(0.008, abs=0.001)
    assert "McNemar's test on 4,000 test rows" in one.reading()[0]


def test_scores_are_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(200) < 0.3).astype(int)
    guess = np.where(rng.random(200) < 0.7, truth, 1 - truth)
    levels = np.round(3 * (0.4 * truth + 0.6 * rng.random(200))) / 3
    numbers, others = rng.normal(size=(2, 200))
    for name, expected in {
        "accuracy": np.mean(truth == guess),
        "balanced-accuracy": balanced_accuracy_score(truth, guess),
    }.items():
        assert SCORES[name].of(truth, guess) == pytest.approx(expected)
    found = SCORES["average-precision"].of(truth, levels)
    assert found == pytest.approx(average_precision_score(truth, levels))
    found = SCORES["r2"].of(numbers, others)
    assert found == pytest.approx(r2_score(numbers, others))
