from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from vicinal.comparison.fitting import cluster_agreement, fit_catching_warnings

X = np.random.default_rng(0).normal(size=(60, 2))


class Talkative(FunctionTransformer):
    def fit(self, X: Any, y: Any = None) -> Any:
        warnings.warn("for users", UserWarning, stacklevel=2)
        warnings.warn("for engineers", DeprecationWarning, stacklevel=2)
        return super().fit(X)


def test_warnings_for_users_are_returned_and_others_issued() -> None:
    metric = Pipeline([("metric", Talkative())])
    with pytest.warns(DeprecationWarning, match="for engineers") as issued:
        found = fit_catching_warnings(metric, X, None)
    assert [str(one.message) for one in found] == ["for users"]
    assert [str(one.message) for one in issued] == ["for engineers"]


def test_two_halves_agree_on_clusters_that_are_there() -> None:
    plain = Pipeline([("metric", FunctionTransformer())]).fit(X)
    blobs = np.repeat(np.arange(8.0), 20)[:, None] * 100
    rows = np.random.default_rng(1).permutation(blobs + np.tile([0, 1], 80)[:, None])
    assert cluster_agreement(plain, rows, rows) == pytest.approx(1)
    assert cluster_agreement(plain, X, X) < 0.9


def test_a_metric_without_dimensions_has_no_clusters() -> None:
    nothing = Pipeline([("metric", FunctionTransformer(lambda rows: rows[:, :0]))])
    assert np.isnan(cluster_agreement(nothing.fit(X), X, X))
