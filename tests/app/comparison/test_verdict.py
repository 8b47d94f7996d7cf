from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vicinal import compare
from vicinal.app.comparison import Comparison, MethodResult, Setting

RNG = np.random.default_rng(0)


def result(
    name: str, mean: float, noise: float = 0.001, d: int = 5, query: float = 1.0
) -> MethodResult:
    ups = np.tile([1.0, -1.0], 5) * noise
    times = np.full(10, query)
    return MethodResult(name, np.full(10, d), mean + ups, times, times)


def comparison(
    *results: MethodResult, task: str = "classification", n: int = 5000
) -> Comparison:
    setting = Setting(np.zeros((n, 5)), None, task, np.arange(n), n, list("abcde"))
    return Comparison(results, setting)


@pytest.mark.parametrize(
    ("results", "sentence"),
    [
        (
            [
                result("euclidean", 0.7),
                result("standardised", 0.82),
                result("nca", 0.82),
            ],
            "Standardise: +12.0 ± 0.0 points over raw features; more complex methods "
            "do not improve on it",
        ),
        (
            [
                result("euclidean", 0.7, query=20.0, d=30),
                result("standardised", 0.8),
                result("nca", 0.896, 0.003),
            ],
            "Use nca in 5 dimensions: +9.6 ± 0.3 points over standardised features, "
            "20 × faster queries than raw",
        ),
        (
            [result("euclidean", 0.9), result("nca", 0.9)],
            "Use the features as they are: 90.0 ± 0.2 %; more complex methods do not "
            "improve on it",
        ),
        (
            [result("standardised", 0.8), result("nca", 0.808, 0.02)],
            "Standardise: 80.0 ± 0.2 %; nca is 0.8 ± 3.3 points ahead, within chance, "
            "and more complex; more rows would tell",
        ),
        (
            # More than a point is not given up.
            [result("standardised", 0.8), result("nca", 0.83, 0.2)],
            "Use nca in 5 dimensions as the better bet: 3.0 ± 34.5 points ahead of "
            "standardised features, within chance; more rows would tell",
        ),
        (
            [result("euclidean", 0.7, 0.1), result("whitened", 0.8)],
            "Whiten as the better bet: 10.0 ± 17.2 points ahead of raw features, "
            "within chance; more rows would tell",
        ),
        (
            # Each method that could add something has the same doubt.
            [result("euclidean", 0.7, 0.1), result("lda", 0.8), result("nca", 0.8)],
            "Use lda in 5 dimensions as the better bet: 10.0 ± 17.2 points ahead of "
            "raw features, within chance; more rows would tell",
        ),
        (
            [result("standardised", 0.8), result("lda", 0.9), result("nca", 0.9)],
            "Use lda in 5 dimensions: +10.0 ± 0.0 points over standardised features; "
            "more complex methods do not improve on it",
        ),
        ([result("nca", 0.8)], "nca: 80.0 ± 0.2 %"),
    ],
)
def test_one_sentence_to_act_on(results: list[MethodResult], sentence: str) -> None:
    assert comparison(*results).verdict() == sentence


def test_methods_whose_fits_were_ended_are_not_judged() -> None:
    ended = replace(result("nca", 0.75), broken_off=1)
    text = comparison(result("standardised", 0.8), ended).verdict()
    assert text.endswith("; the time budget was too short to judge nca")


@pytest.mark.parametrize(("learned", "short"), [(250, True), (2500, False)])
def test_methods_without_enough_rows_are_named(learned: int, short: bool) -> None:
    results = [result("standardised", 0.8), result("lda", 0.7), result("nca", 0.75)]
    rows = [20_000, learned, 20_000]
    tests = tuple(np.arange(1000) for _ in range(10))
    results = [
        replace(one, n_learned=np.full(10, n))
        for one, n in zip(results, rows, strict=True)
    ]
    one = comparison(*results, n=21_000)
    one = replace(one, setting=replace(one.setting, tests=tests))
    assert ("; the time budget was too short to judge lda" in one.verdict()) is short
    assert ("do not improve on it" in one.verdict()) is not short


def test_methods_that_did_not_run_are_not_judged() -> None:
    one = comparison(result("standardised", 0.8), result("lda", 0.8))
    one = replace(one, setting=replace(one.setting, left_out=(("nca", "too late."),)))
    assert one.verdict() == (
        "Standardise: 80.0 ± 0.2 %; the more complex methods that ran do not improve "
        "on it"
    )
    assert one.notes == ["nca was left out: too late."]


def test_numbers_that_nothing_predicts() -> None:
    bad = [result("euclidean", -0.3), result("nca", -0.02)]
    one = comparison(*bad, task="regression")
    assert one.verdict() == (
        "No metric beats the mean: nca has -0.020 ± 0.002, so do without neighbours"
    )
    assert one.recommended is None


def test_classes_that_nothing_predicts() -> None:
    X, y = RNG.normal(size=(200, 3)), (np.arange(200) % 10 > 2).astype(int)
    one = compare(X, y, methods="euclidean standardised", n_splits=6)
    assert one.verdict().startswith("No metric beats the most frequent class (70.0 %)")
    assert one.recommended is one.to_dict()["recommended"] is None
    assert repr(one).endswith("recommended: none>")


def test_a_gain_over_a_constant_that_may_be_chance_is_called_so() -> None:
    rng = np.random.default_rng(0)
    y = (np.arange(60) % 10 > 2).astype(int)
    X = rng.normal(size=(60, 2)) + 0.9 * y[:, None]
    one = compare(X, y, methods="euclidean standardised", n_splits=10)
    assert one.best.mean > one["majority class"].mean + 0.01
    assert one.recommended is not None
    assert one.verdict().endswith("; the most frequent class (72.2 %) is within chance")


def test_the_sentence_speaks_of_methods_that_ran() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 30))
    y = (X.sum(axis=1) > 0).astype(int)
    one = compare(X, y, methods="euclidean", n_splits=2)
    left_out = (("lda", "the time budget was over before its turn."),)
    short = replace(one, setting=replace(one.setting, left_out=left_out))
    assert short.verdict().startswith("Only euclidean: ")
    assert "ahead of every metric that ran: " in short.verdict()
    noise = compare(X, rng.integers(2, size=600), methods="euclidean", n_splits=2)
    short = replace(noise, setting=replace(noise.setting, left_out=left_out))
    assert short.verdict().startswith("No metric that ran ")


def test_a_model_without_neighbours_that_is_better_is_named() -> None:
    X = RNG.normal(size=(600, 30))
    y = (X.sum(axis=1) > 0).astype(int)
    one = compare(X, y, methods="euclidean standardised", n_splits=3)
    said = one.verdict()
    assert "; but logistic regression, which has no neighbours, is " in said
    assert said.endswith(
        "points ahead of every metric: take it if only predictions count"
    )
    names = [each.name for each in one.references]
    assert names == ["majority class", "logistic regression", "gradient boosting"]
    # Where a linear model says nothing, neighbours are the better tool.
    X, y = X[:, :2], (np.linalg.norm(X[:, :2], axis=1) > 1).astype(int)
    assert "; but" not in compare(X, y, methods="euclidean", n_splits=3).verdict()


def test_the_sentence_and_the_table_use_the_same_test() -> None:
    # Over 15 pairs, the test of each must be surer: alone, these ups are no chance.
    ups = np.array([3.0, 1.0, 2.0, 2.0, 2.5, 1.0, 3.0, 1.0, 2.5, 2.0]) / 100
    two = [result("standardised", 0.8, 0.0), result("lda", 0.82, 0.0)]
    two[1] = replace(two[1], scores=0.8 + ups)
    others = [result(name, 0.7, 0.1) for name in ("pca", "ldg", "lfda", "nca")]
    alone, among = comparison(*two), comparison(*two, *others)
    for one, sure in ((alone, True), (among, False)):
        (row,) = [row for row in one.rows() if row[0] == "standardised"]
        assert row[3].endswith("*") is sure
        assert ("within chance" not in one.verdict()) is sure
        # What would be no chance of two methods may be one of six.
        assert ("within chance among 6 methods" in one.verdict()) is not sure
        assert one.verdict().startswith("Use lda in 5 dimensions")


def test_a_weak_bet_beside_a_proven_method_says_so() -> None:
    base, bet, best = (result(name, 0.8) for name in ("standardised", "lda", "nca"))
    # On average 3.4 points, but not on every split.
    ups = np.array([0, 0, 7, 16, 0, 0, 4, 7, 0, 0]) / 100
    bet = replace(bet, scores=base.scores + ups)
    best = replace(best, scores=base.scores + 0.04)
    one = comparison(base, bet, best)
    said = one.verdict()
    assert said.startswith("Use lda in 5 dimensions as the better bet")
    assert (
        "nca, which is significantly better than standardised features, is 0.6" in said
    )


@pytest.mark.parametrize("task", ["none", "regression"])
def test_densities_have_no_reference(task: str) -> None:
    X: Any = RNG.normal(size=(60, 2))
    y = None if task == "none" else X[:, 0] + X[:, 1]
    method = "gaussian" if task == "none" else "euclidean"
    one = compare(X, y, methods=method, n_splits=2)
    names = [each.name for each in one.references]
    expected = ["mean", "ridge regression", "gradient boosting"]
    assert names == ([] if task == "none" else expected)
