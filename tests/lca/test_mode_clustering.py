import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal import LCA, LCAGauss, ModeClustering


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(ModeClustering())),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: ModeClustering, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("density", [None, LCA("local"), LCAGauss(0)], ids=str)
def test_blobs_of_any_shape(density: object) -> None:
    points, labels = make_blobs(240, centers=[[-5, 0], [5, 0], [0, 8]], random_state=0)
    points = points @ np.array([[1.0, 0.9], [0.0, 0.1]])
    model = ModeClustering(density).fit(points)
    assert adjusted_rand_score(labels, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(points), model.labels_)
    np.testing.assert_array_equal(model.predict(model.cluster_centers_), [0, 1, 2])


def test_the_largest_cluster_is_the_first() -> None:
    points, _ = make_blobs(
        [20, 60, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0
    )
    sizes = np.bincount(ModeClustering().fit_predict(points))
    assert (np.diff(sizes) <= 0).all()


def test_width_sets_how_many() -> None:
    points = make_moons(200, noise=0.05, random_state=0)[0]
    counts = [
        len(ModeClustering(width=w, max_iter=9999).fit(points).cluster_centers_)
        for w in (1.0, 3.0, 100.0)
    ]
    assert counts[0] > counts[1] > counts[2] == 1


def test_the_density_given_is_left_alone() -> None:
    density = LCA(alpha=0.01)
    model = ModeClustering(density).fit(load_iris().data)
    assert not hasattr(density, "components_")
    assert model.density_.alpha_ == 0.01


def test_a_gaussian_is_one_cluster() -> None:
    points = load_iris().data
    model = ModeClustering(LCAGauss(4)).fit(points)
    assert not model.labels_.any()
    np.testing.assert_allclose(model.cluster_centers_, [points.mean(axis=0)])
    assert not model.predict(points[:3]).any()


def test_wrong_parameters() -> None:
    for parameters in (
        {"density": KernelDensity()},
        {"width": 0.0},
        {"merge": -1.0},
        {"tol": 0.0},
    ):
        with pytest.raises(ValueError, match=f"'{next(iter(parameters))}' parameter"):
            ModeClustering(**parameters).fit(load_iris().data)


def test_a_fit_that_fails_leaves_nothing_behind() -> None:
    rng = np.random.default_rng(0)
    model = ModeClustering()
    with pytest.raises(ValueError, match="Scale the data"):
        model.fit(rng.normal(size=(9, 3)) * 1e300)
    assert not hasattr(model, "n_features_in_")
    model.fit(make_blobs(40, centers=[[-9, 0], [9, 0]], random_state=0)[0])
    before = model.labels_
    with pytest.raises(ValueError, match="Scale the data"):
        model.fit(rng.normal(size=(9, 3)) * 1e300)
    assert model.n_features_in_ == 2
    assert model.labels_ is before
