from dataclasses import replace

import numpy as np
import pytest

from tests.app.report import comparisons
from vicinal.app.report.sections import held_out_predictions, residual_figures


def test_predictions_are_those_of_the_comparison() -> None:
    comparison = comparisons.diabetes()
    setting = comparison.setting
    found = held_out_predictions(comparison, "standardised")
    assert found is not None
    truth, predicted = found
    np.testing.assert_array_equal(
        truth, comparisons.labels(comparison)[setting.tests[0]]
    )
    score = (
        1 - np.square(truth - predicted).sum() / np.square(truth - truth.mean()).sum()
    )
    assert comparison["standardised"].scores[0] == pytest.approx(score)


def test_nothing_where_nothing_was_predicted() -> None:
    comparison = comparisons.diabetes()
    assert held_out_predictions(comparison, "lda") is None
    bare = [replace(one, outcomes=()) for one in comparison.results]
    bare_one = replace(comparison, results=tuple(bare))
    assert held_out_predictions(bare_one, "nca") is None
    assert residual_figures({}) == []
    few = held_out_predictions(comparison, "nca", max_dots=20)
    assert few is not None
    assert len(few[0]) == len(few[1]) == 20


def test_figures_share_their_axes_and_hold_all_dots() -> None:
    truth = np.arange(100.0)
    near, far = truth + 1, truth[::-1].copy()
    far[3] = 1e6
    one, other = residual_figures({"near": (truth, near), "far": (truth, far)})
    assert (one["across"], one["up"]) == (other["across"], other["up"])
    assert (one["half"], one["bias"]) == ("1", "-1")
    for figure in (one, other):
        dots = figure["dots"].split("M")[1:]
        assert len(dots) == 100
        places = np.array([dot.removesuffix("h0").split() for dot in dots], float)
        assert (places >= [62, 10]).all()
        assert (places <= [474, 236]).all()


def test_one_prediction_for_all() -> None:
    (figure,) = residual_figures({"same": (np.arange(5.0), np.full(5, 2.0))})
    assert figure["n"] == 5
