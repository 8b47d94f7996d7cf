from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import trustworthiness
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import FunctionTransformer

from tests.app.report import comparisons
from vicinal.app.comparison import METHODS, Comparison
from vicinal.app.report.fitted import FittedMetric, _picture, fit_metrics
from vicinal.app.report.rows import select_rows


def all_of(comparison: Comparison, n: int = 1000) -> dict[str, FittedMetric]:
    metrics, left_out = fit_metrics(
        comparison, select_rows(comparison.setting, n, None, None)
    )
    assert not left_out
    return {metric.name: metric for metric in metrics}


def test_neighbours_are_those_in_all_dimensions() -> None:
    comparison = comparisons.wine()
    setting = comparison.setting
    test = np.sort(setting.tests[0])
    y = np.unique(comparisons.labels(comparison), return_inverse=True)[1]
    X, y = np.delete(setting.X, test, axis=0), np.delete(y, test)
    for name, metric in all_of(comparison).items():
        pipeline = METHODS[name].pipeline(X, y).fit(X, y)
        points = pipeline.transform(setting.X[test])
        search = NearestNeighbors(n_neighbors=8).fit(points)
        expected = search.kneighbors(return_distance=False)
        np.testing.assert_array_equal(metric.neighbors, expected)
        assert metric.picture.shape == (54, 2)


def test_a_metric_of_two_dimensions_is_its_own_picture() -> None:
    metrics = all_of(comparisons.wine())
    assert metrics["lda"].caption.startswith("Learned in two dimensions.")
    np.testing.assert_allclose(
        pdist(metrics["lda"].picture), pdist(metrics["lda"].points)
    )


def test_one_dimension_is_spread_out() -> None:
    setting = comparisons.wine().setting
    target = (np.asarray(setting.y) != "class_0").astype(int)
    two = replace(setting, target=target, classes=("a", "b"))
    metric = all_of(replace(comparisons.wine(), setting=two))["lda"]
    assert metric.points.shape == (54, 1)
    assert "one dimension" in metric.caption
    assert np.unique(metric.picture[:, 1]).size == 54


def test_components_are_in_standard_units() -> None:
    setting = comparisons.wine().setting
    metrics = all_of(comparisons.wine())
    train = np.delete(setting.X, setting.tests[0], axis=0)
    spread = np.diag(train.std(axis=0))
    np.testing.assert_allclose(metrics["euclidean"].components, spread)
    np.testing.assert_allclose(
        metrics["standardised"].components, np.eye(13), atol=1e-12
    )


def test_effective_neighbours_are_known_for_nca_only() -> None:
    metrics = all_of(comparisons.wine())
    known = [name for name, m in metrics.items() if m.effective_neighbors is not None]
    assert known == ["nca"]


def test_without_a_plain_metric_standardised_rows_are_the_before() -> None:
    assert next(iter(all_of(comparisons.irises()))) == "standardised"


def test_missing_values_and_few_rows() -> None:
    comparison = comparisons.wine()
    setting = comparison.setting
    X = setting.X.copy()
    X[::7, 3] = np.nan
    metrics = all_of(replace(comparison, setting=replace(setting, X=X)), n=6)
    assert all(metric.neighbors.shape == (6, 5) for metric in metrics.values())
    assert all(np.isfinite(metric.components).all() for metric in metrics.values())


def replaced(monkeypatch: pytest.MonkeyPatch, fit: Any) -> Comparison:
    """Put another metric in the place of LDA."""

    class Other(FunctionTransformer):
        def fit(self, X: Any, y: Any = None) -> Any:
            fit()
            self.components_ = np.eye(X.shape[1])
            return super().fit(X, y)

    stub = replace(METHODS["lda"], factory=lambda _: Other())
    comparison = comparisons.wine()  # made once for all tests: not with the stub
    monkeypatch.setitem(METHODS, "lda", stub)
    return comparison


def test_a_metric_that_cannot_be_learned_is_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fit() -> None:
        raise ValueError("there is nothing to learn")

    comparison = replaced(monkeypatch, fit)
    messages: list[Any] = []
    metrics, left_out = fit_metrics(
        comparison,
        select_rows(comparison.setting, 50, None, None),
        lambda *progress: messages.append(progress),
    )
    assert [metric.name for metric in metrics] == ["euclidean", "standardised", "nca"]
    assert left_out == ["lda is not shown: there is nothing to learn"]
    assert messages[-1] == (4, 4, "nca")


def test_warnings_are_told_in_the_caption(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit() -> None:
        warnings.warn("did not converge", ConvergenceWarning, stacklevel=1)
        warnings.warn("odd\n data", UserWarning, stacklevel=1)

    caption = all_of(replaced(monkeypatch, fit), n=50)["lda"].caption
    assert caption.endswith("It stopped at its iteration limit. odd data")


def test_maps_without_any_dimension_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = FunctionTransformer(lambda X: X[:, :0])
    stub = replace(METHODS["lda"], factory=lambda _: nothing)
    comparison = comparisons.wine()
    monkeypatch.setitem(METHODS, "lda", stub)
    _, left_out = fit_metrics(
        comparison, select_rows(comparison.setting, 50, None, None)
    )
    reason = "it found no direction that tells these rows apart."
    assert left_out == [f"lda is not shown: {reason}"]


def test_a_single_feature() -> None:
    comparison = comparisons.wine()
    setting = replace(comparison.setting, X=comparison.setting.X[:, :1])
    metrics = all_of(replace(comparison, setting=setting), n=60)
    assert list(metrics) == comparisons.METHODS
    assert all(metric.picture.shape == (54, 2) for metric in metrics.values())


def test_pictures_of_many_dimensions_show_the_neighbors_of_held_out_rows() -> None:
    comparison = comparisons.wine()
    metric = all_of(comparison)["nca"]
    assert metric.caption.startswith("Neighbours in 13 dimensions")
    classes = np.asarray(comparison.setting.target)[
        np.sort(comparison.setting.tests[0])
    ]
    near = NearestNeighbors(n_neighbors=5).fit(metric.picture).kneighbors()[1]
    assert (classes[near] == classes[:, None]).mean() > 0.9
    assert trustworthiness(metric.points, metric.picture) > 0.85


def test_places_of_held_out_rows_do_not_depend_on_each_other() -> None:
    rng = np.random.RandomState(0)
    learned, points = rng.normal(size=(60, 5)), rng.normal(size=(20, 5))
    np.testing.assert_allclose(
        _picture(points[:4], learned)[0], _picture(points, learned)[0][:4]
    )
