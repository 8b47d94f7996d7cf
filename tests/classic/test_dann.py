import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from tests.classic.oracles import dann_metric
from vicinal.classic import DANNClassifier
from vicinal.classic.dann import local_roots, nearest_under

rng = np.random.default_rng(0)
X, y = load_wine(return_X_y=True)
X = scale(X)


@pytest.mark.parametrize("shrinkage", [0.0, 0.3])
@pytest.mark.parametrize("thin", [1.0, 1e-3])  # of the spread along one axis
def test_metrics_are_those_of_the_equation(shrinkage: float, thin: float) -> None:
    points, codes = rng.normal(size=(60, 3)), rng.integers(3, size=60)
    points[:, 2] *= thin
    neighbors = np.array([rng.permutation(60)[:20] for _ in range(4)])
    distances = rng.random((4, 20))
    roots = local_roots(points, np.eye(3)[codes], neighbors, distances, 0.7, shrinkage)
    for q in range(4):
        relative = distances[q] / distances[q].max()
        weights = (1 - 0.999 * relative**3) ** 3
        near = neighbors[q]
        expected = dann_metric(points[near], codes[near], weights, 0.7, shrinkage)
        np.testing.assert_allclose(roots[q] @ roots[q].T, expected, atol=1e-10)


def test_nearest_under_a_metric() -> None:
    points, queries = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    roots = rng.normal(size=(9, 3, 3))
    numbers, distances = nearest_under(queries, points, roots, 5, 2)
    for q in range(9):
        all_of_them = np.linalg.norm((points - queries[q]) @ roots[q], axis=1)
        np.testing.assert_array_equal(numbers[q], np.argsort(all_of_them)[:5])
        np.testing.assert_allclose(distances[q], np.sort(all_of_them)[:5])


def test_without_updates_it_is_k_nn() -> None:
    model = DANNClassifier(5, n_updates=0).fit(X[::2], y[::2])
    knn = KNeighborsClassifier(5).fit(X[::2], y[::2])
    np.testing.assert_array_equal(model.predict(X), knn.predict(X))


def test_noise_is_left_out() -> None:
    # Classes differ along one of ten features; the others are noise.
    draw = np.random.default_rng(1)
    points = draw.normal(size=(400, 10))
    labels = points[:, 0] > 0
    dann = cross_val_score(DANNClassifier(), points, labels).mean()
    knn = cross_val_score(KNeighborsClassifier(5), points, labels).mean()
    assert dann > knn + 0.03


def test_blocks_threads_and_float32() -> None:
    model = DANNClassifier(n_jobs=1).fit(X[::2], y[::2])
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.set_params(n_jobs=3).predict_proba(X), proba)
    one_by_one = np.vstack([model.predict_proba(row[None]) for row in X[:20]])
    np.testing.assert_array_equal(one_by_one, proba[:20])
    narrow = DANNClassifier().fit(X[::2].astype(np.float32), y[::2])
    assert (narrow.predict(X) == model.predict(X)).mean() > 0.97
    assert narrow.predict_proba(X.astype(np.float32)).dtype == np.float32


def test_many_features_are_reduced() -> None:
    wide = rng.normal(size=(40, 300)) + 3 * np.eye(300)[np.arange(40) % 2]
    model = DANNClassifier().fit(wide, np.arange(40) % 2)
    assert model.n_components_ == 40
    assert model.n_neighborhood_ == 40
    assert np.isfinite(model.predict_proba(wide)).all()
    with pytest.raises(ValueError, match="more than the 13 features"):
        DANNClassifier(n_components=14).fit(X, y)


def test_shrinkage_by_the_number_of_neighbours() -> None:
    by_itself = DANNClassifier(n_neighborhood=26).fit(X[::2], y[::2])
    given = DANNClassifier(n_neighborhood=26, shrinkage=13 / 39).fit(X[::2], y[::2])
    none = DANNClassifier(n_neighborhood=26, shrinkage=0.0).fit(X[::2], y[::2])
    np.testing.assert_array_equal(by_itself.predict_proba(X), given.predict_proba(X))
    assert not np.array_equal(by_itself.predict_proba(X), none.predict_proba(X))


def test_no_shrinkage_of_neighbours_in_a_plane() -> None:
    flat = np.column_stack([X[:, :3], np.zeros(len(X))])
    model = DANNClassifier(shrinkage=0.0).fit(flat, y)
    assert np.isfinite(model.predict_proba(flat)).all()
    assert model.score(flat, y) > 0.8
