"""Warnings name the line that called the library, whatever lies between."""

import warnings

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from vicinal import NCA
from vicinal.base import metric

rng = np.random.default_rng(0)
X, y = rng.normal(size=(60, 4)), rng.integers(3, size=60)


def test_through_pipelines_and_cross_validation() -> None:
    model = make_pipeline(NCA(max_iter=2), KNeighborsClassifier(3))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        cross_val_score(model, X, y, cv=2)
    assert len(seen) == 2
    assert {one.filename for one in seen} == {__file__}


def test_a_package_whose_name_begins_alike_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here = __file__.removesuffix("metric.py")
    monkeypatch.setattr(metric, "_OURS", (f"{here}/",))
    with pytest.warns(UserWarning, match="once") as seen:
        metric.warn_caller("once")
    assert seen[0].filename == __file__
