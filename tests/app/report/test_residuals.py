from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.report import comparisons
from vicinal.app.comparison import Comparison
from vicinal.app.report.sections import residuals


def predicting(**predictions: Any) -> Comparison:
    """A comparison with these predictions of 0, 1, 2, ... for its first rows."""
    comparison = comparisons.diabetes()
    n = len(next(iter(predictions.values())))
    setting = replace(
        comparison.setting,
        tests=(np.arange(n),),
        target=np.arange(len(comparison.setting.X), dtype=float),
    )
    results = tuple(
        replace(comparison.results[0], name=name, outcomes=(np.asarray(one, float),))
        for name, one in predictions.items()
    )
    return replace(comparison, results=results, setting=setting)


def test_predictions_are_those_of_the_comparison() -> None:
    comparison = comparisons.diabetes()
    truth = comparisons.labels(comparison)[comparison.setting.tests[0]]
    off = truth - comparison["standardised"].outcomes[0]
    score = 1 - np.square(off).sum() / np.square(truth - truth.mean()).sum()
    assert comparison["standardised"].scores[0] == pytest.approx(score)
    (figure,) = residuals(comparison, ["standardised", "standardised"])
    assert float(figure["half"]) == pytest.approx(np.median(np.abs(off)), rel=1e-3)


def test_nothing_where_nothing_was_predicted() -> None:
    comparison = comparisons.diabetes()
    assert residuals(comparison, ["lda"]) == []
    assert residuals(comparisons.wine(), ["lda"]) == []
    bare = [replace(one, outcomes=()) for one in comparison.results]
    assert residuals(replace(comparison, results=tuple(bare)), ["nca"]) == []
    (few,) = residuals(comparison, ["nca"], max_dots=20)
    assert few["n"] == few["dots"].count("M") == 20


def test_figures_share_their_axes_and_hold_all_dots() -> None:
    truth = np.arange(100.0)
    far = truth[::-1].copy()
    far[3] = 1e6
    one, other = residuals(predicting(near=truth + 1, far=far), ["near", "far"])
    assert (one["across"], one["up"]) == (other["across"], other["up"])
    assert (one["half"], one["bias"]) == ("1", "-1")
    for figure in (one, other):
        dots = figure["dots"].split("M")[1:]
        assert len(dots) == 100
        places = np.array([dot.removesuffix("h0").split() for dot in dots], float)
        assert (places >= [62, 10]).all()
        assert (places <= [474, 236]).all()


def test_one_prediction_for_all() -> None:
    (figure,) = residuals(predicting(same=np.full(5, 2.0)), ["same"])
    assert figure["n"] == 5
