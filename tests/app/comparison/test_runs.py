from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from threadpoolctl import threadpool_info, threadpool_limits

from vicinal.app.comparison import compare
from vicinal.app.comparison.data import read_setting
from vicinal.app.comparison.runs import (
    cluster_agreement,
    merge_warnings,
    run_method,
    run_reference,
)
from vicinal.app.methods.registry import METHODS
from vicinal.ldg import SmallClassesWarning

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 2))
Y = (X[:, 0] > 0).astype(int)
TRAIN, TEST = np.arange(400), np.arange(400, 600)


def test_two_halves_agree_on_clusters_that_are_there() -> None:
    plain = Pipeline([("metric", FunctionTransformer())]).fit(X)
    blobs = np.repeat(np.arange(8.0), 20)[:, None] * 100
    rows = np.random.default_rng(1).permutation(blobs + np.tile([0, 1], 80)[:, None])
    assert cluster_agreement(plain, rows, rows) == pytest.approx(1)
    assert cluster_agreement(plain, X[:60], X[:60]) < 0.9


def test_a_metric_without_dimensions_has_no_clusters() -> None:
    nothing = Pipeline([("metric", FunctionTransformer(lambda rows: rows[:, :0]))])
    assert np.isnan(cluster_agreement(nothing.fit(X), X, X))


def test_warnings_are_merged_over_splits() -> None:
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        for n in (3, 2):
            warnings.warn(f"{n} rows are odd", stacklevel=1)
            sizes = dict.fromkeys(range(n + 4), n)
            warnings.warn(SmallClassesWarning(sizes, 9), stacklevel=1)
    small = ", ".join(f"kind {i} (3)" for i in range(5))
    assert merge_warnings(issued, [f"kind {i}" for i in range(9)]) == (
        "3 rows are odd",
        f"These classes have few rows: {small} and 2 more.",
    )


def test_a_fit_beyond_its_time_keeps_its_map() -> None:
    run = run_method(read_setting(X, Y), METHODS["nca"], TRAIN, TEST, until=0.0)
    assert run.broken_off
    assert run.issued == ()
    assert run.score > 0.6


@pytest.mark.parametrize(("name", "n_learned"), [("lfda", 50), ("lda", 400)])
def test_methods_of_pairs_learn_from_fewer_rows(name: str, n_learned: int) -> None:
    run = run_method(read_setting(X, Y), METHODS[name], TRAIN, TEST, max_rows=50)
    assert run.n_learned == n_learned
    assert run.outcome.size == 200


def test_methods_of_a_split_share_scaled_rows() -> None:
    setting = read_setting(X, Y)
    scaled: dict[Any, Any] = {}
    for name in ("pca", "lda", "whitened"):
        run_method(setting, METHODS[name], TRAIN, TEST, scaled=scaled)
    assert set(scaled) == {("auto", 400), ("standard", 400)}


def test_references_use_one_thread_of_every_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    threads: list[int] = []

    class Spy(LogisticRegression):
        def fit(self, X: Any, y: Any) -> Any:
            threads.extend(pool["num_threads"] for pool in threadpool_info())
            return super().fit(X, y)

    monkeypatch.setattr("sklearn.linear_model.LogisticRegression", Spy)
    result = compare(X, Y, methods="euclidean", n_splits=1)
    assert set(threads) == {1}
    assert result["logistic regression"].mean > 0.95


@pytest.mark.parametrize("unit", [1e-60, 1.0, 1e60])
@pytest.mark.parametrize("name", ["mean", "ridge regression", "gradient boosting"])
def test_references_of_numbers_in_any_unit(name: str, unit: float) -> None:
    run = run_reference(read_setting(X, X[:, 0] * unit), name, TRAIN, TEST)
    assert run.outcome.mean() == pytest.approx(X[TEST, 0].mean() * unit, abs=0.2 * unit)
    assert (run.score > 0.9) is (name != "mean")


def test_boosting_ends_in_time() -> None:
    setting = read_setting(X, Y)
    with threadpool_limits(1):
        whole = run_reference(setting, "gradient boosting", TRAIN, TEST)
        start = time.perf_counter()
        cut = run_reference(setting, "gradient boosting", TRAIN, TEST, until=start)
    assert cut.fit_seconds < whole.fit_seconds
    assert cut.score > 0.9
