from dataclasses import replace

import numpy as np
import pytest

from tests.app.report import comparisons
from vicinal.app.comparison import Comparison
from vicinal.app.report.fitted import before_and_after


def compared(**scores: float) -> Comparison:
    comparison = comparisons.wine()
    first = comparison.results[0]
    noise = np.array([0.0, 0.001, -0.001])
    results = tuple(
        replace(first, name=name, scores=score + noise)
        for name, score in scores.items()
    )
    return replace(comparison, results=results)


@pytest.mark.parametrize(
    ("scores", "pair"),
    [
        ({"euclidean": 0.5, "standardised": 0.7, "nca": 0.9}, ("standardised", "nca")),
        ({"euclidean": 0.5, "nca": 0.9}, ("euclidean", "nca")),
        ({"euclidean": 0.5, "standardised": 0.9}, ("euclidean", "standardised")),
        (
            {"euclidean": 0.5, "standardised": 0.9, "lda": 0.8, "nca": 0.7},
            ("euclidean", "standardised"),
        ),
        # Raw features are recommended: what would learning change?
        ({"euclidean": 0.9, "lda": 0.5, "nca": 0.6}, ("euclidean", "nca")),
        ({"euclidean": 0.9, "standardised": 0.5}, ("euclidean", "standardised")),
        ({"lda": 0.9}, ("lda", "lda")),
    ],
)
def test_what_is_put_side_by_side(
    scores: dict[str, float], pair: tuple[str, str]
) -> None:
    comparison = compared(**scores)
    assert comparison.recommended in pair
    assert before_and_after(comparison, list(scores)) == pair


def test_a_metric_that_could_not_be_drawn_is_not_shown() -> None:
    comparison = compared(euclidean=0.5, lda=0.7, nca=0.9)
    assert before_and_after(comparison, ["standardised", "lda"]) == (
        "standardised",
        "lda",
    )
    assert before_and_after(comparison, ["standardised"]) == (
        "standardised",
        "standardised",
    )
