from __future__ import annotations

import numpy as np
import pytest

from vicinal.comparison import METHODS, Difference, MethodResult
from vicinal.comparison.decision import recommend, simplicity


def result(name: str, score: float) -> MethodResult:
    one = np.ones(1)
    return MethodResult(name, one.astype(int), score * one, one, one)


def difference(name: str, real: bool) -> Difference:
    return Difference(name, 0.1, 0.01 if real else 0.5)


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        ((), "euclidean"),
        (("euclidean",), "standardised"),
        (("euclidean", "standardised"), "nca"),
    ],
)
def test_the_simplest_within_noise_is_recommended(
    real: tuple[str, ...], expected: str
) -> None:
    results = [
        result("euclidean", 0.7),
        result("standardised", 0.8),
        result("nca", 0.9),
    ]
    differences = [
        difference(one.name, one.name in real) for one in results if one.name != "nca"
    ]
    assert recommend(results, results[-1], differences) == expected


def test_of_equally_simple_methods_the_better_is_recommended() -> None:
    results = [result("whitened", 0.8), result("pca", 0.9)]
    assert recommend(results, results[1], [difference("whitened", False)]) == "pca"


def test_every_method_has_its_place() -> None:
    assert all(simplicity(name) < simplicity("unknown") for name in METHODS)
