import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import DBSCAN, OPTICS
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.metrics import pairwise_distances, roc_auc_score, silhouette_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from vicinal import NCA
from vicinal._typing import FloatArray

X, y = load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def fitted() -> NCA:
    return NCA(2, max_iter=200, init="pca").fit(X, y)


def test_transform_is_the_map(fitted: NCA) -> None:
    np.testing.assert_array_equal(fitted.transform(X), X @ fitted.components_.T)


def test_all_forms_of_the_metric_agree(fitted: NCA) -> None:
    u, v = X[3], X[77]
    M = fitted.get_mahalanobis_matrix()
    distance = np.sqrt((u - v) @ M @ (u - v))
    metric = fitted.get_metric()
    pairs = np.array([[u, v], [v, v]])
    assert metric(u, v) == pytest.approx(distance)
    assert metric(u, v, squared=True) == pytest.approx(distance**2)
    assert fitted.pair_distance(pairs) == pytest.approx([distance, 0])
    assert fitted.pair_score(pairs) == pytest.approx([-distance, 0])


def test_the_metric_serves_scikit_learn_and_pickles(fitted: NCA) -> None:
    metric = pickle.loads(pickle.dumps(fitted.get_metric()))
    by_metric = KNeighborsClassifier(3, metric=metric).fit(X, y).predict(X)
    Z = fitted.transform(X)
    by_map = KNeighborsClassifier(3).fit(Z, y).predict(Z)
    np.testing.assert_array_equal(by_metric, by_map)


@pytest.mark.parametrize("dtype", [np.uint8, bool, int, np.float32])
def test_the_metric_takes_numbers_of_any_type(fitted: NCA, dtype: Any) -> None:
    u, v = np.array([[1, 0, 1, 0], [0, 1, 1, 1]], dtype=dtype)
    metric = fitted.get_metric()
    assert metric(u, v) == pytest.approx(metric(u.astype(float), v.astype(float)))


@pytest.mark.parametrize(
    "use",
    [
        lambda metric, Z: pairwise_distances(Z, metric=metric),
        lambda metric, Z: NearestNeighbors(metric=metric, algorithm="brute").fit(Z),
        lambda metric, Z: silhouette_score(Z, y[::5], metric=metric),
        lambda metric, Z: DBSCAN(metric=metric, algorithm="brute").fit(Z),
        lambda metric, Z: OPTICS(metric=metric).fit(Z),
    ],
)
def test_the_metric_serves_wherever_pairs_are_measured(
    fitted: NCA, use: Callable[[Any, FloatArray], Any]
) -> None:
    use(fitted.get_metric(), X[::5])
    distances = pairwise_distances(X[::5], metric=fitted.get_metric())
    np.testing.assert_allclose(
        distances, pairwise_distances(fitted.transform(X[::5])), atol=1e-6
    )


def test_the_metric_is_not_changed_by_a_later_fit(fitted: NCA) -> None:
    metric = fitted.get_metric()
    before = metric(X[0], X[1])
    fitted.components_ *= 2
    assert metric(X[0], X[1]) == before
    fitted.components_ /= 2


def test_pair_scores_rank_pairs_of_one_class_first(fitted: NCA) -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(150, size=(2, 500))
    scores = fitted.pair_score(np.stack([X[first], X[second]], axis=1))
    assert roc_auc_score(y[first] == y[second], scores) > 0.95


def test_wrong_shapes_are_named(fitted: NCA) -> None:
    with pytest.raises(ValueError, match=r"\(n_pairs, 2, 4\), got \(150, 4\)"):
        fitted.pair_distance(X)
    with pytest.raises(ValueError, match=r"\(n_pairs, 2, 4\), got \(5, 2, 3\)"):
        fitted.pair_distance(np.zeros((5, 2, 3)))
    with pytest.raises(ValueError, match="contains NaN"):
        fitted.pair_distance(np.full((5, 2, 4), np.nan))
    for u, v in (
        (np.zeros(3), np.zeros(3)),
        (np.zeros(4), np.zeros(1)),
        (np.zeros((4, 1)), np.zeros(4)),
        (np.zeros((2, 4)), np.zeros(4)),
    ):
        with pytest.raises(ValueError, match="two vectors of 4 features"):
            fitted.get_metric()(u, v)


def test_rows_of_a_table_are_vectors(fitted: NCA) -> None:
    metric = fitted.get_metric()
    for u, v in ((X[:1], X[1:2]), (X[:1], X[1]), (X[0], X[1:2])):
        assert metric(u, v) == metric(X[0], X[1])


@pytest.mark.parametrize(
    "call",
    [
        lambda nca: nca.transform(X),
        lambda nca: nca.get_mahalanobis_matrix(),
        lambda nca: nca.get_metric(),
        lambda nca: nca.pair_distance(X[:2][None]),
        lambda nca: nca.pair_score(X[:2][None]),
    ],
)
def test_an_unfitted_metric_says_so(call: object) -> None:
    with pytest.raises(NotFittedError):
        call(NCA())  # type: ignore[operator]


def test_names_of_features_go_in_and_come_out() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    nca = NCA(2, init="pca", max_iter=200).set_output(transform="pandas").fit(frame, y)
    assert list(nca.feature_names_in_) == list("abcd")
    out = nca.transform(frame)
    assert list(out.columns) == list(nca.get_feature_names_out()) == ["nca0", "nca1"]
    np.testing.assert_array_equal(out, X @ nca.components_.T)


def test_polars_in_and_out() -> None:
    frame = pl.DataFrame(X, schema=list("abcd"))
    nca = NCA(2, init="pca", max_iter=200).set_output(transform="polars").fit(frame, y)
    out = nca.transform(frame)
    assert isinstance(out, pl.DataFrame)
    assert out.columns == ["nca0", "nca1"]
