from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from vicinal import LCA, LDG, NCA, NCAClassifier, NCARegressor
from vicinal.base.metric import advised
from vicinal.classic import FDA, MLKR

X = np.random.default_rng(0).normal(size=(30, 2))
CLASSES = ["a", "b"] * 15
TABLES = [
    pd.DataFrame({"n": X[:, 0], "t": CLASSES}),
    pd.DataFrame({"n": X[:, 0], "t": pd.to_datetime(["2024-12-31"] * 30)}),
    pl.DataFrame({"n": X[:, 0], "t": CLASSES}),
]


@pytest.mark.parametrize("estimator", [NCA(), NCAClassifier(), LDG(), FDA()])
def test_numbers_for_classes(estimator: Any) -> None:
    with pytest.raises(ValueError, match=r"Unknown label type: c.*NCARegressor"):
        estimator.fit(X, X[:, 0])
    assert not hasattr(estimator, "n_features_in_")


@pytest.mark.parametrize("estimator", [NCARegressor(), MLKR()])
def test_classes_for_numbers(estimator: Any) -> None:
    with pytest.raises(ValueError, match=r"So must y; classes are for vicinal\.NCA"):
        estimator.fit(X, CLASSES)


@pytest.mark.parametrize("table", TABLES, ids=["text", "dates", "polars"])
@pytest.mark.parametrize("estimator", [NCA(), LDG(), LCA(), NCARegressor()])
def test_text_and_dates(estimator: Any, table: Any) -> None:
    y = X[:, 0] if isinstance(estimator, NCARegressor) else CLASSES
    message = r"encode text and dates first.*vicinal\.compare"
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(table, y)


def test_other_errors_stay() -> None:
    assert advised(NCA(), ValueError("Input X contains NaN.")) is None
    with pytest.raises(ValueError, match="contains NaN"):
        NCA().fit(X * np.nan, CLASSES)


@pytest.mark.parametrize("kind", [NCA, NCAClassifier])
def test_one_class_warns(kind: Any) -> None:
    with pytest.warns(UserWarning, match="y has one class only, a: there is nothing"):
        kind(1).fit(X, ["a"] * 30)
