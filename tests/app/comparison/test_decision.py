from __future__ import annotations

import numpy as np
import pytest

from vicinal.app.comparison import METHODS, Difference, MethodResult
from vicinal.app.comparison.verdict import complexity, recommend


def result(name: str, score: float) -> MethodResult:
    one = np.ones(1)
    return MethodResult(name, one.astype(int), score * one, one, one)


def recommended(
    error: float, negligible: float = 0.0, point: float = np.inf, **scores: float
) -> str:
    results = [result(name, score) for name, score in scores.items()]
    best = max(results, key=lambda one: one.mean)
    differences = [
        Difference(one.name, best.mean - one.mean, 0.5, error)
        for one in results
        if one is not best
    ]
    return recommend(results, best, differences, negligible, point)


@pytest.mark.parametrize(
    ("error", "expected"), [(0.05, "nca"), (0.11, "standardised"), (0.3, "euclidean")]
)
def test_the_simplest_within_a_standard_error(error: float, expected: str) -> None:
    assert recommended(error, euclidean=0.7, standardised=0.8, nca=0.9) == expected


def test_what_nobody_would_care_for_is_no_difference() -> None:
    scores = {"standardised": 0.896, "nca": 0.9}
    assert recommended(0.0001, **scores) == "nca"
    assert recommended(0.0001, 0.005, **scores) == "standardised"


def test_no_more_than_a_point_is_given_up_for_complexity() -> None:
    scores = {"euclidean": 0.86, "standardised": 0.892, "nca": 0.9}
    assert recommended(0.05, **scores) == "euclidean"
    assert recommended(0.05, point=0.01, **scores) == "standardised"
    assert recommended(0.01, point=0.001, **scores) == "nca"
    assert recommended(0.001, 0.005, 0.001, lda=0.896, nca=0.9) == "lda"


def test_a_large_error_is_no_reason_to_give_up_more_than_a_point() -> None:
    assert recommended(0.5, point=0.01, euclidean=0.88, nca=0.9) == "nca"
    assert recommended(0.5, point=0.01, euclidean=0.891, nca=0.9) == "euclidean"


def test_without_an_error_only_the_test_decides() -> None:
    results = [result("euclidean", 0.7), result("nca", 0.9)]

    def one(p: float) -> str:
        return recommend(results, results[1], [Difference("euclidean", 0.2, p)])

    assert one(0.01) == "nca"
    assert one(0.5) == "euclidean"


def test_what_is_really_behind_is_not_within_noise() -> None:
    results = [result("euclidean", 0.892), result("nca", 0.9)]

    def one(p: float) -> str:
        differences = [Difference("euclidean", 0.008, p, 0.009)]
        return recommend(results, results[1], differences, 0.005, 0.01)

    assert one(0.01) == "nca"
    assert one(0.5) == "euclidean"


def test_what_a_simpler_method_outdoes_is_not_recommended() -> None:
    scores = {"standardised": 0.892, "lda": 0.891, "nca": 0.9}
    results = [result(name, score) for name, score in scores.items()]
    differences = [
        Difference("standardised", 0.008, 0.5, 0.001),
        Difference("lda", 0.009, 0.5, 0.01),
    ]
    assert recommend(results, results[2], differences, 0.005, 0.01) == "nca"


def test_of_equally_simple_methods_the_better_is_recommended() -> None:
    assert recommended(0.2, whitened=0.8, pca=0.9) == "pca"


def test_every_method_has_its_place() -> None:
    assert all(complexity(name) < complexity("unknown") for name in METHODS)
