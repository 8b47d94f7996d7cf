import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from tests.ldg.oracles import (
    gaussians_around,
    ldg_scatters,
)
from vicinal import LDG
from vicinal._typing import FloatArray
from vicinal.ldg import SmallClassesWarning

X_wine, y = load_wine(return_X_y=True)
X = scale(X_wine)
FIXED: dict[str, Any] = {"n_neighbors": 8, "gamma": 0.6}
ignore_warnings = pytest.mark.filterwarnings(
    "ignore:These classes have too few",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def test_classes_of_one_and_two_rows() -> None:
    labels = y.copy()
    labels[0], labels[1:3] = 7, 8
    with pytest.warns(
        UserWarning, match=r"6 neighbors: 7 \(1\), 8 \(2\)\. They give as many"
    ) as seen:
        ldg = LDG(13, n_neighbors=6, gamma=1.0).fit(X, labels)
    assert seen[0].filename == __file__
    warning = seen[0].message
    assert isinstance(warning, SmallClassesWarning)
    assert (warning.sizes, warning.n_neighbors) == ({7: 1, 8: 2}, 6)
    assert str(pickle.loads(pickle.dumps(warning))) == str(warning)
    V, A = ldg_scatters(X, labels, 6, ldg.var_floor)
    np.testing.assert_allclose(
        ldg.eigenvalues_, np.linalg.eigvalsh(V - A), rtol=1e-6, atol=1e-6
    )
    _, _, there = gaussians_around(X, labels, 6, ldg.var_floor)
    assert (~there).sum() == 1  # the only own class without a neighbour
    with pytest.warns(UserWarning, match="too few rows"):
        chosen = LDG(random_state=0).fit(X, labels)
    assert np.isfinite(chosen.components_).all()


def test_more_neighbours_than_a_class_has() -> None:
    with pytest.warns(UserWarning, match=r"60 neighbors: 0 \(59\), 2 \(48\)"):
        capped = LDG(2, n_neighbors=60, gamma=1.0).fit(X, y)
    assert capped.n_neighbors_ == 60
    V, A = ldg_scatters(X, y, 60, capped.var_floor)
    np.testing.assert_allclose(
        capped.eigenvalues_, np.linalg.eigvalsh(V - A)[:2], rtol=1e-7
    )


@pytest.mark.parametrize("refine", [False, True])
@ignore_warnings
@pytest.mark.parametrize(
    "case",
    [
        "all equal",
        "equal, wide",
        "equal in class",
        "duplicate rows",
        "constant",
        "collinear",
    ],
)
def test_what_can_be_handled_is(case: str, refine: bool) -> None:
    points = X.copy()
    if case == "all equal":
        points[:] = 3.0
    elif case == "equal, wide":
        points = np.ones((178, 200))
    elif case == "equal in class":
        points = np.eye(3, 13)[y]
    elif case == "duplicate rows":
        points[90:] = points[:88]
    elif case == "constant":
        points[:, [0, 5]] = [1e3, 0.1]
    else:
        points[:, 3] = points[:, 4] + points[:, 5]
    for parameters in ({}, {"n_components": 13, "gamma": 0.2, "n_neighbors": 4}):
        ldg = LDG(**parameters, refine=refine, random_state=0).fit(points, y)  # type: ignore[arg-type]
        A = ldg.components_
        np.testing.assert_allclose(A @ A.T, np.eye(len(A)), atol=1e-9)
        assert np.isfinite(ldg.eigenvalues_).all()


def test_directions_without_variance_come_last() -> None:
    points = np.column_stack([np.full(178, 5.0), X[:, :4], X[:, 0] - X[:, 1]])
    ldg = LDG(6, n_neighbors=8, gamma=0.05).fit(points, y)
    assert (ldg.eigenvalues_[:4] > 0).all()  # or they would come after the zeros
    spread = ldg.transform(points).std(axis=0)
    assert (spread[:4] > 1e-3).all()
    np.testing.assert_allclose(spread[4:], 0, atol=1e-9)
    np.testing.assert_allclose(ldg.components_[:4, 0], 0, atol=1e-9)


def test_wide_data_of_very_different_variances() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 80)) * np.logspace(0, -7, 80)
    A = LDG(20, n_neighbors=4, gamma=1.0).fit(points, np.arange(30) % 2).components_
    np.testing.assert_allclose(A @ A.T, np.eye(20), atol=1e-9)


def test_far_fewer_rows_than_features() -> None:
    rng = np.random.default_rng(0)
    labels = np.arange(20) % 2
    points = rng.normal(size=(20, 1000)) + labels[:, None] * 0.3
    ldg = LDG(random_state=0).fit(points, labels)
    assert ldg.components_.shape == (ldg.n_components_, 1000)
    more = LDG(25, **{**FIXED, "n_neighbors": 4}).fit(points, labels)
    A = more.components_
    np.testing.assert_allclose(A @ A.T, np.eye(25), atol=1e-9)
    np.testing.assert_allclose((points @ A[19:].T).std(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale_of_all", [1e-30, 1e30, 1e60])
@pytest.mark.parametrize("wide", [False, True])
def test_any_scale(scale_of_all: float, dtype: type, wide: bool) -> None:
    if dtype == np.float32 and scale_of_all > 1e38:
        scale_of_all = 1e34
    points = np.hstack([X, np.zeros((178, 200))]) if wide else X
    expected = LDG(3, **FIXED).fit(points.astype(dtype), y).components_
    scaled: FloatArray = (points * scale_of_all).astype(dtype)
    found = LDG(3, **FIXED).fit(scaled, y).components_
    np.testing.assert_allclose(found, expected, atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 14}, "more than the 13 features"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_components": None}, "'n_components' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"gamma": "loo"}, "'gamma' parameter"),
        ({"refine": 2}, "'refine' parameter"),
        ({"class_prior": [1, 2]}, "each of the 3 classes"),
        ({"class_prior": [1, 2, np.nan]}, "positive throughout"),
        ({"var_floor": 0}, "'var_floor' parameter"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    ldg = LDG(**parameters)
    before = dict(vars(ldg))
    with pytest.raises(ValueError, match=message):
        ldg.fit(X, y)
    assert vars(ldg) == before


@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (X[:50], y[:50], "only one class"),
        (X, np.linspace(0, 1, 178), "continuous"),
        (X, y[:-1], "inconsistent numbers of samples"),
        (np.where(X > 2, np.nan, X), y, "NaN"),
        (np.where(X > 2, np.inf, X), y, "infinity"),
        (X[:1], y[:1], "minimum of 2"),
        (X, None, "requires y"),
    ],
)
def test_wrong_data(points: FloatArray, labels: Any, message: str) -> None:
    ldg = LDG(2, **FIXED).fit(X[:, :5], y)
    before = dict(vars(ldg))
    with pytest.raises(ValueError, match=message):
        ldg.fit(points, labels)
    assert vars(ldg) == before
