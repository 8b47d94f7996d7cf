from dataclasses import replace

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsRegressor

from tests.report import comparisons
from vicinal.report.displayed import select_rows
from vicinal.report.residuals import held_out_predictions, residual_figures


def test_predictions_are_of_rows_that_were_not_learned_from() -> None:
    setting = comparisons.diabetes().setting
    # Each row's number is its own: a row that was seen would be predicted exactly.
    setting = replace(setting, n_neighbors=1)
    rows = select_rows(setting, 1000, None, None)
    found = held_out_predictions("standardised", rows, setting)
    assert found is not None
    truth, predicted = found
    assert len(truth) == np.ceil(0.3 * 442)
    assert (truth != predicted).mean() > 0.9
    knn = KNeighborsRegressor(1).fit(setting.X, setting.target)
    assert (knn.predict(setting.X) == setting.target).all()


def test_nothing_where_the_metric_cannot_be_learned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting = comparisons.diabetes().setting
    rows = select_rows(setting, 1000, None, None)

    def broken(*_: object) -> None:
        raise ValueError("no luck")

    monkeypatch.setattr("vicinal.report.residuals.fit_pipeline", broken)
    assert held_out_predictions("nca", rows, setting) is None
    assert residual_figures({}) == []


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
