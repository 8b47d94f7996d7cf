import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import mutual_info_score
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.classic.oracles import mrmr_order
from vicinal.classic import MRMR
from vicinal.classic.mrmr import (
    discretized,
    first_of_the_best,
    mutual_information,
)

X, y = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for mrmr in (
            MRMR(),
            MRMR("all", criterion="quotient", discretize="quantiles"),
        )
        for pair in estimator_checks_generator(mrmr)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: MRMR, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@given(
    n=st.integers(2, 40),
    n_bins=st.integers(1, 5),
    n_classes=st.integers(1, 4),
    seed=st.integers(0, 2**16),
)
@settings(max_examples=40, deadline=None)
def test_information_is_scikit_learns(
    n: int, n_bins: int, n_classes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    bins = rng.integers(0, n_bins, size=(n, 6)).astype(np.int8)
    codes = rng.integers(0, n_classes, size=n)
    expected = [mutual_info_score(column, codes) for column in bins.T]
    found = mutual_information(bins, codes)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert (found >= 0).all()


def test_information_does_not_depend_on_the_blocks() -> None:
    bins = discretized(X, 3)
    whole = mutual_information(bins, y)
    with sklearn.config_context(working_memory=0.05):  # one or two columns in a block
        parts = mutual_information(bins, y)
    np.testing.assert_allclose(parts, whole, atol=1e-14)


@pytest.mark.parametrize("criterion", ["difference", "quotient"])
@pytest.mark.parametrize("discretize", ["mean", "quantiles"])
def test_the_order_is_the_greedy_one(criterion: str, discretize: str) -> None:
    points = X[:, ::2]
    mrmr = MRMR(6, criterion=criterion, discretize=discretize, n_bins=3).fit(points, y)
    bins = np.greater(points, points.mean(axis=0))
    if discretize == "quantiles":
        edges = np.quantile(points, [1 / 3, 2 / 3], axis=0)
        bins = (points > edges[0]).astype(int) + (points > edges[1])
    assert mrmr.order_.tolist() == mrmr_order(bins, y, 6, criterion)


def test_what_is_known_of_each_feature() -> None:
    mrmr = MRMR(5).fit(X, y)
    bins = discretized(X, None)
    second, third = mrmr.order_[1:3]
    shared = [mutual_info_score(bins[:, third], bins[:, s]) for s in mrmr.order_[:2]]
    assert mrmr.redundancy_[third] == pytest.approx(np.mean(shared))
    np.testing.assert_allclose(mrmr.scores_, mrmr.relevance_ - mrmr.redundancy_)
    assert mrmr.ranking_[second] == 2
    assert (mrmr.ranking_ == 6).sum() == 25
    # What was not picked when the last was picked scored no better than it.
    last = mrmr.order_[-1]
    assert mrmr.scores_[last] >= mrmr.scores_[mrmr.ranking_ == 6].max()


def test_a_copy_of_a_picked_feature_is_picked_late() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 4, size=400)
    high, low = labels // 2 + 0.1 * rng.normal(size=400), labels % 2.0
    points = np.column_stack([high, high, high, low, rng.normal(size=400)])
    assert set(MRMR(2).fit(points, labels).order_) in ({0, 3}, {3, 0})
    assert 3 in MRMR(2, criterion="quotient").fit(points, labels).order_[:2]


def test_fewer_features_are_the_first_of_more() -> None:
    order = MRMR("all").fit(X, y).order_
    assert sorted(order) == list(range(30))
    np.testing.assert_array_equal(MRMR(4).fit(X, y).order_, order[:4])
    np.testing.assert_array_equal(MRMR(0.25).fit(X, y).order_, order[:7])


def test_monotone_changes_of_a_feature_do_not_matter_to_quantiles() -> None:
    plain = MRMR(6, discretize="quantiles", n_bins=5).fit(X, y)
    warped = MRMR(6, discretize="quantiles", n_bins=5).fit(np.arctan(X), y)
    kept = [mutual_info_score(*pair) for pair in zip(
        discretized(X, 5).T, discretized(np.arctan(X), 5).T, strict=True
    )]  # fmt: skip
    assert min(kept) > 1.5  # of log 5 = 1.61: the bins are the same but at the edges
    assert len(set(plain.order_) & set(warped.order_)) >= 5


def test_many_features() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    points = rng.normal(size=(60, 20_000)).astype(np.float32)
    points[:, 777] += 5 * (labels == 1)
    points[:, 9_999] += 5 * (labels == 2)
    assert set(MRMR(30).fit(points, labels).order_[:2]) == {777, 9_999}


def test_in_a_search_and_with_names() -> None:
    frame = pd.DataFrame(load_iris().data, columns=list("abcd"))
    labels = load_iris().target
    search = GridSearchCV(
        make_pipeline(MRMR(), KNeighborsClassifier(3)),
        {"mrmr__n_features_to_select": [1, 2], "mrmr__criterion": ["quotient"]},
    ).fit(frame, labels)
    assert search.best_score_ > 0.9
    mrmr = MRMR(2).set_output(transform="pandas").fit(frame, labels)
    picked = mrmr.transform(frame)
    assert list(picked.columns) == list(mrmr.get_feature_names_out())
    pd.testing.assert_frame_equal(picked, frame[picked.columns])
    copy = pickle.loads(pickle.dumps(mrmr))
    np.testing.assert_array_equal(copy.order_, mrmr.order_)
    assert not hasattr(clone(mrmr), "order_")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_features_to_select": 31}, "more than the 30 features"),
        ({"n_features_to_select": 0}, "'n_features_to_select' parameter"),
        ({"n_features_to_select": 1.5}, "'n_features_to_select' parameter"),
        ({"n_features_to_select": "some"}, "'n_features_to_select' parameter"),
        ({"criterion": "sum"}, "'criterion' parameter"),
        ({"discretize": "no"}, "'discretize' parameter"),
        ({"n_bins": 1}, "'n_bins' parameter"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MRMR(**parameters).fit(X, y)


@pytest.mark.parametrize("discretize", ["mean", "quantiles"])
@pytest.mark.parametrize("criterion", ["difference", "quotient"])
def test_constant_features_come_last(discretize: str, criterion: str) -> None:
    points = np.column_stack([np.full(569, 0.1), X[:, :3]])
    labels = y.copy()
    labels[0] = 7  # and a class of one is no harm
    mrmr = MRMR("all", discretize=discretize, criterion="quotient")
    mrmr.set_params(criterion=criterion).fit(points, labels)
    assert mrmr.relevance_[0] == 0
    assert np.isfinite(mrmr.scores_).all()
    if criterion == "quotient":
        assert mrmr.order_[-1] == 0


@pytest.mark.parametrize("unit", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_scale_and_type(unit: float, dtype: Any) -> None:
    order = MRMR(5).fit(X.astype(np.float32), y).order_
    scaled = (X.astype(np.float32) * dtype(unit)).astype(dtype)
    np.testing.assert_array_equal(MRMR(5).fit(scaled, y).order_, order)


@pytest.mark.parametrize(
    ("scores", "first"),
    [
        ([0.3, 0.1 + 0.2], 0),  # one rounding apart: the first
        ([0.1 + 0.2, 0.3], 0),
        ([0.3, 0.3 + 1e-9], 1),
        ([1 - 1e-12, 1.0], 0),  # as far apart as is rounding
        ([0.0, 0.0, -1.0], 0),
        ([1e14, np.nextafter(1e14, np.inf)], 0),  # the quotient of no redundancy
        ([1e14, 1.001e14], 1),
        ([-np.inf, 0.2, 0.2], 1),
    ],
)
def test_of_features_that_differ_by_rounding_the_first_is_picked(
    scores: list[float], first: int
) -> None:
    assert first_of_the_best(np.array(scores)) == first


def test_a_feature_and_its_opposite_tie() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        bits = rng.integers(0, 2, size=(50, 3))
        labels = rng.integers(0, 3, size=50)
        both = np.column_stack([bits, 1 - bits])
        turned = np.column_stack([1 - bits, bits])
        first, second = (MRMR(3).fit(points, labels) for points in (both, turned))
        np.testing.assert_array_equal(first.order_, second.order_)
        assert first.order_[0] < 3
