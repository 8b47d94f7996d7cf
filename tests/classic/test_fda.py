from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from sklearn.covariance import ledoit_wolf, shrunk_covariance
from sklearn.datasets import load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.classic.oracles import fisher_scatters
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import FDA
from vicinal.classic.fda import shrunk_in_span

X, y = load_iris(return_X_y=True)
X = scale(X)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for fda in (FDA(), FDA(1, shrinkage=0.1))
        for pair in estimator_checks_generator(fda)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: FDA, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def test_without_shrinkage_it_is_fishers_ratio() -> None:
    fda = FDA(None, shrinkage=0.0).fit(X, y)
    between, within = fisher_scatters(X, y)
    A = fda.components_
    np.testing.assert_allclose(A @ within @ A.T, np.eye(2), atol=1e-9)
    np.testing.assert_allclose(A @ between @ A.T, np.diag(fda.eigenvalues_), atol=1e-8)
    best = linalg.eigh(between, within, eigvals_only=True)[::-1]
    np.testing.assert_allclose(fda.eigenvalues_, best[:2])


def test_without_shrinkage_it_spans_what_scikit_learns_lda_does() -> None:
    rows = FDA(None, shrinkage=0.0).fit(X, y).components_
    peer = LinearDiscriminantAnalysis().fit(X, y).scalings_
    assert linalg.subspace_angles(rows.T, peer).max() < 1e-6


@pytest.mark.parametrize("shrinkage", ["auto", 0.3])
def test_the_scatter_within_is_scikit_learns(shrinkage: Any) -> None:
    fda = FDA(None, shrinkage=shrinkage).fit(X, y)
    peer = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, y)
    A = fda.components_
    np.testing.assert_allclose(A @ peer.covariance_ @ A.T, np.eye(2), atol=1e-9)
    # Of all directions, the first sees the means farthest apart.
    between, _ = fisher_scatters(X, y)
    best = linalg.eigh(between, peer.covariance_, eigvals_only=True)[-1]
    assert fda.eigenvalues_[0] == pytest.approx(best)


def wide(seed: int = 0) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(30) % 3
    points = rng.normal(size=(30, 50)) * rng.uniform(0.5, 2, size=50)
    points[:, :2] += 4 * np.eye(3, 2)[labels]
    return points, labels


@given(seed=st.integers(0, 2**16), shrinkage=st.floats(0.05, 1))
@settings(max_examples=15, deadline=None)
def test_the_span_of_the_rows_loses_nothing(seed: int, shrinkage: float) -> None:
    points, labels = wide(seed)
    fda = FDA(None, shrinkage=shrinkage).fit(points, labels)
    peer = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage)
    within = peer.fit(points, labels).covariance_
    values, vectors = linalg.eigh(fisher_scatters(points, labels)[0], within)
    np.testing.assert_allclose(fda.eigenvalues_, values[::-1][:2], rtol=1e-8)
    columns = vectors[:, ::-1][:, :2]
    np.testing.assert_allclose(
        fda.get_mahalanobis_matrix(), columns @ columns.T, atol=1e-8
    )


@pytest.mark.parametrize("shrinkage", ["auto", 0.2])
def test_shrinking_in_the_span_is_shrinking_in_the_whole(shrinkage: Any) -> None:
    points, _ = wide()
    points -= points.mean(axis=0)
    basis, triangle = np.linalg.qr(points.T)
    ours = shrunk_in_span(triangle.T, shrinkage, 50, standardize=False)
    whole = (
        ledoit_wolf(points)[0]
        if shrinkage == "auto"
        else shrunk_covariance(points.T @ points / 30, shrinkage)
    )
    np.testing.assert_allclose(ours, basis.T @ whole @ basis, atol=1e-12)


def test_auto_bears_features_of_any_unit_when_there_are_few_rows() -> None:
    points, labels = wide()
    units = np.logspace(-8, 8, 50)
    plain = FDA().fit(points, labels).get_mahalanobis_matrix()
    other = FDA().fit(points * units, labels).get_mahalanobis_matrix()
    np.testing.assert_allclose(
        other * np.outer(units, units), plain, atol=1e-6 * np.abs(plain).max()
    )


def test_few_rows_of_many_features_are_told_apart() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(240) % 3
    points = rng.normal(size=(240, 200))
    points[:, :2] += 6 * np.eye(3, 2)[labels]
    fda = FDA().fit(points[:120], labels[:120])
    knn = KNeighborsClassifier(3).fit(fda.transform(points[:120]), labels[:120])
    assert knn.score(fda.transform(points[120:]), labels[120:]) > 0.9


def test_in_a_search() -> None:
    points, labels = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(FDA(), KNeighborsClassifier(3)),
        {"fda__n_components": [1, 2], "fda__shrinkage": ["auto", 0.9]},
    ).fit(points, labels)
    assert search.best_score_ > 0.95
    assert search.best_params_ == {"fda__n_components": 2, "fda__shrinkage": "auto"}


@pytest.mark.parametrize("points", [X, np.hstack([X[::15]] * 4)])
def test_float32_stays_float32(points: FloatArray) -> None:
    labels = np.arange(len(points)) % 3
    single = FDA(2, shrinkage=0.2).fit(points.astype(np.float32), labels)
    double = FDA(2, shrinkage=0.2).fit(points, labels).get_mahalanobis_matrix()
    assert single.components_.dtype == np.float32
    np.testing.assert_allclose(
        single.get_mahalanobis_matrix(), double, atol=1e-3 * np.abs(double).max()
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 3}, "more than 3 classes .* allow; choose at most 2"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"shrinkage": 1.5}, "'shrinkage' parameter"),
        ({"shrinkage": "none"}, "'shrinkage' parameter"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    fda = FDA(**parameters)
    before = dict(vars(fda))
    with pytest.raises(ValueError, match=message):
        fda.fit(X, y)
    assert vars(fda) == before


@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (X[::10], np.arange(15), "Every class has a single row"),
        (np.ones((150, 4)), y, "All rows of X are equal"),
        (np.eye(3, 4)[y], y, "larger shrinkage"),
    ],
)
def test_input_that_cannot_serve(points: Any, labels: Any, message: str) -> None:
    fda = FDA()
    before = dict(vars(fda))
    with pytest.raises(ValueError, match=message):
        fda.fit(points, labels)
    assert vars(fda) == before


def test_without_shrinkage_a_singular_scatter_says_what_to_do() -> None:
    with pytest.raises(ValueError, match="larger shrinkage"):
        FDA(shrinkage=0.0).fit(*wide())


@pytest.mark.parametrize("shape", ["tall", "wide"])
@pytest.mark.parametrize(
    "case", ["class of one", "constant column", "duplicate column", "duplicate rows"]
)
def test_what_can_be_handled_is(case: str, shape: str) -> None:
    points, labels = (X.copy(), y.copy()) if shape == "tall" else wide()
    if case == "class of one":
        labels[0] = 9
    elif case == "constant column":
        points[:, 2] = 3.0
    elif case == "duplicate column":
        points[:, 2] = points[:, 3]
    else:
        points[len(points) // 2 :] = points[: len(points) // 2]
    fda = FDA(2).fit(points, labels)
    assert np.isfinite(fda.components_).all()
    assert np.linalg.matrix_rank(fda.components_) == 2
    if case == "constant column":
        np.testing.assert_array_equal(fda.components_[:, 2], 0)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", ["tall", "wide"])
def test_any_scale(unit: float, dtype: Any, shape: str) -> None:
    points, labels = (X, y) if shape == "tall" else wide()
    scaled = FDA(None).fit((points * unit).astype(dtype), labels).components_
    usual = FDA(None).fit(points, labels).components_
    np.testing.assert_allclose(
        np.abs(scaled.astype(float) * unit),
        np.abs(usual),
        atol=1e-3 * np.abs(usual).max(),
    )


def rings(seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Return three classes around each other: their means say nothing."""
    rng = np.random.default_rng(seed)
    labels = np.arange(300) % 3
    angles = 2 * np.pi * rng.random(300)
    points = (1 + labels)[:, None] * np.c_[np.cos(angles), np.sin(angles)]
    noise = 0.1 * rng.normal(size=(300, 3))
    return np.c_[points + noise[:, :2], 3 * noise], labels


def test_auto_keeps_all_directions_where_the_means_do_not_tell() -> None:
    points, labels = rings()
    fda = FDA().fit(points, labels)
    assert fda.components_.shape == (5, 5)
    assert FDA(None).fit(points, labels).components_.shape == (2, 5)
    np.testing.assert_array_equal(fda.eigenvalues_[2:], 0)
    knn, train, test = KNeighborsClassifier(3), slice(0, 200), slice(200, None)

    def score(A: FloatArray) -> float:
        knn.fit(points[train] @ A.T, labels[train])
        return float(knn.score(points[test] @ A.T, labels[test]))

    A, two = (
        FDA(n).fit(points[train], labels[train]).components_ for n in ("auto", None)
    )
    assert score(A) > score(np.eye(5)) - 0.02
    assert score(A) > score(two) + 0.2


def test_classes_of_one_mean_have_no_discriminant() -> None:
    fda = FDA(None).fit([[-1], [1], [0]], [0, 0, 1])
    np.testing.assert_array_equal(fda.eigenvalues_, [0])
    assert np.isfinite(fda.components_).all()


def test_auto_is_the_discriminants_where_they_are_as_good() -> None:
    points, labels = load_wine(return_X_y=True)
    points = scale(points)
    np.testing.assert_array_equal(
        FDA().fit(points, labels).components_,
        FDA(None).fit(points, labels).components_,
    )
