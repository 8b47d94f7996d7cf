import base64
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.app.report import comparisons
from vicinal.app.report.fitted import (
    FittedMetric,
    _cells,
    before_and_after,
    color_stops,
    fit_metrics,
    in_view,
    map_data,
    view_of,
)
from vicinal.app.report.rows import select_rows


def data_of(comparison: Any) -> dict[str, Any]:
    rows = select_rows(comparison.setting, 1000, None, None)
    metrics, _ = fit_metrics(comparison, rows)
    pair = before_and_after(comparison, [metric.name for metric in metrics])
    return map_data(rows, metrics, *pair)


def unpacked(text: str, kind: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype=f"<{kind}")


def test_all_points_are_in_view() -> None:
    points = np.random.RandomState(0).randn(500, 2) * [5, 1] + [7, -3]
    seen = in_view(points)
    np.testing.assert_allclose([seen[:, 0].min(), seen[:, 0].max()], [0, 1], atol=1e-12)
    # One unit for both axes: the picture is flat, and in the middle.
    ratio = np.ptp(seen, axis=0) / np.ptp(points, axis=0)
    np.testing.assert_allclose(ratio, ratio[0])
    np.testing.assert_allclose(seen[:, 1].min() + seen[:, 1].max(), 1)


def test_far_outliers_are_not() -> None:
    points = np.random.RandomState(0).randn(500, 2)
    points[0] = 1e6
    seen = in_view(points)
    assert (seen[0] > 1000).all()
    assert ((seen[1:] > -0.5) & (seen[1:] < 1.5)).all()
    assert np.ptp(seen[1:, 0]) > 0.8


def test_a_point_that_halves_the_picture_is_out_of_view() -> None:
    points = np.column_stack([np.linspace(0, 1, 1000), np.linspace(0, 1, 1000)])
    points[-1] = 1.9
    assert in_view(points).max() <= 1
    points[-1] = 2.5
    seen = in_view(points)
    assert (seen[-1] > 1).all()
    assert np.ptp(seen[:-1, 0]) > 0.8


def test_equal_points_are_in_the_middle() -> None:
    assert (in_view(np.ones((4, 2))) == 0.5).all()


def test_classes_rows_and_neighbours_are_packed() -> None:
    comparison = comparisons.wine()
    setting = replace(comparison.setting, rows=comparison.setting.rows + 70_000)
    data = data_of(replace(comparison, setting=setting))
    shown = np.sort(setting.tests[0])
    np.testing.assert_array_equal(unpacked(data["rows"], "u4"), setting.rows[shown])
    names = [data["classes"][code] for code in unpacked(data["codes"], "u2")]
    assert setting.y is not None
    assert names == setting.y[shown].tolist()
    near = unpacked(data["methods"][0]["near"], "u4").reshape(54, 8)
    assert (near != np.arange(54)[:, None]).all()
    assert unpacked(data["methods"][0]["xy"], "f4").size == 2 * 54


def test_panels_are_as_high_as_the_points_need() -> None:
    flat = np.random.RandomState(0).rand(200, 2) * [4, 2]
    assert view_of(flat)[2] == pytest.approx(0.5, abs=0.02)
    assert view_of(flat * [1, 0])[2] == 0.3
    assert view_of(flat[:, ::-1])[2] == 1


@pytest.mark.parametrize("kind", ["class", "number", "none"])
def test_the_density_counts_all_held_out_rows(kind: str) -> None:
    picture = np.array([[0.0, 0.0], [1.0, 1.0]])
    crowd = np.array([[0.0, 0.0], [0.001, 0.0], [0.002, 0.0], [0.9, 0.9], [9.0, 9.0]])
    target = {"class": np.array([0, 1, 1, 0, 0]), "number": np.arange(5.0)}.get(kind)
    rows = select_rows(comparisons.wine().setting, 2, None, None)
    rows = replace(
        rows, classes=["a", "b"] * (kind == "class"), crowd=crowd, crowd_target=target
    )
    none = np.zeros((2, 1))
    metric = FittedMetric("lda", none, crowd, picture, "", none.astype(int), none, None)
    cells = _cells(metric, rows, n_bins=10)
    assert cells is not None
    assert unpacked(cells["at"], "u2").tolist() == [0, 99]
    assert unpacked(cells["shade"], "u1").tolist() == [255, 127]
    if kind == "class":
        assert unpacked(cells["codes"], "u2").tolist() == [1, 0]
    elif kind == "number":
        assert unpacked(cells["values"], "f4").tolist() == [1, 3]


def test_clusters_where_there_is_no_target() -> None:
    data = data_of(comparisons.irises())
    assert sum(data["counts"]) == 45
    assert len(data["classes"]) == 8
    assert data["methods"][data["before"]]["name"] == "standardised"


def test_colours_go_by_rank_where_a_few_numbers_are_far_larger() -> None:
    even, by_rank = color_stops(np.arange(101.0))
    assert (even, by_rank) == ([0, 25, 50, 75, 100], False)
    skewed = np.exp(np.linspace(0, 10, 101))
    stops, by_rank = color_stops(skewed)
    assert by_rank
    np.testing.assert_allclose(stops, np.exp([0, 2.5, 5, 7.5, 10]))
    comparison = comparisons.diabetes()
    shown = comparisons.labels(comparison)[comparison.setting.tests[0]]
    assert data_of(comparison)["stops"][0] == shown.min()


def test_targets_are_shown_as_they_are_in_the_file() -> None:
    comparison = comparisons.diabetes()
    y = comparisons.labels(comparison) + 1_234_567.1
    setting = replace(comparison.setting, y=y, target=y)
    shown = data_of(replace(comparison, setting=setting))["values"]
    expected = y[np.sort(setting.tests[0])]
    assert shown == [round(value, 1) for value in expected.tolist()]
