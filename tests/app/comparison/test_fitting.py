from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from vicinal import LDG
from vicinal.app.comparison.fitting import (
    cluster_agreement,
    fit_catching_warnings,
    merged_warnings,
    split_warnings,
)

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


def caught(*warned: Warning) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for one in warned:
            warnings.warn(one, stacklevel=1)
    return found


def test_small_classes_are_named_and_not_all_of_them() -> None:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        codes = np.repeat(np.arange(9), 3)
        LDG(1, n_neighbors=5).fit(X[:27] + codes[:, None], codes)
    classes = [f"kind {i}" for i in range(9)]
    stopped, (text,) = split_warnings(found, classes)
    assert not stopped
    shown = ", ".join(f"kind {i} (3)" for i in range(5))
    assert f": {shown} and 4 more. They give" in text
    # From split to split sizes differ, and nobody wants to read it ten times.
    again = text.replace("(3)", "(2)").replace("kind 0", "kind 7")
    assert merged_warnings([text, again, "other"]) == (text, "other")


def test_a_collapse_is_not_a_lack_of_iterations() -> None:
    issued = caught(
        ConvergenceWarning("in 3 directions the kernel would collapse"),
        ConvergenceWarning("did not converge in 50 iterations"),
    )
    stopped, texts = split_warnings(issued, ())
    assert stopped
    assert texts == ("in 3 directions the kernel would collapse",)
    assert not split_warnings(issued[:1], ())[0]
