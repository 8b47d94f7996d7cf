from typing import Any

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.classic.oracles import lfda_scatters
from vicinal._typing import FloatArray
from vicinal.classic import LFDA
from vicinal.classic.lfda import local_scatters

X, y = load_iris(return_X_y=True)
X = scale(X)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for lfda in (LFDA(), LFDA(1, embedding="orthonormalized"))
        for pair in estimator_checks_generator(lfda)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: LFDA, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@given(
    n=st.integers(4, 20),
    n_features=st.integers(1, 4),
    n_neighbors=st.integers(1, 9),
    seed=st.integers(0, 2**16),
    duplicates=st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_scatters_are_the_sums_over_pairs(
    n: int, n_features: int, n_neighbors: int, seed: int, duplicates: bool
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, n_features))
    if duplicates:
        points = np.round(points)
    points -= points.mean(axis=0)
    codes = rng.permuted(np.arange(n) % 3 * (np.arange(n) % 2))
    codes = np.unique(codes, return_inverse=True)[1]
    found = local_scatters(points, codes, n_neighbors)
    for ours, naive in zip(
        found, lfda_scatters(points, codes, n_neighbors), strict=True
    ):
        np.testing.assert_allclose(ours, naive, atol=1e-9)


def test_scatters_do_not_depend_on_the_blocks() -> None:
    whole = local_scatters(X, y, 7)
    rng = np.random.default_rng(0)
    many = np.repeat(rng.normal(size=(300, 3)), 4, axis=0)
    many -= many.mean(axis=0)
    codes = np.arange(1200) % 2
    first = local_scatters(many, codes, 7)
    with sklearn.config_context(working_memory=1):  # 16 rows or so in a block
        np.testing.assert_allclose(local_scatters(X, y, 7), whole, rtol=1e-10)
        np.testing.assert_allclose(local_scatters(many, codes, 7), first, rtol=1e-10)


def test_rows_solve_the_generalised_eigenproblem() -> None:
    lfda = LFDA(alpha=0, embedding="plain").fit(X, y)
    between, within = lfda_scatters(X, y, 7)
    A = lfda.components_
    np.testing.assert_allclose(A @ within @ A.T, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(A @ between @ A.T, np.diag(lfda.eigenvalues_), atol=1e-8)
    assert np.all(np.diff(lfda.eigenvalues_) <= 0)
    weighted = LFDA(alpha=0).fit(X, y).components_
    weights = np.sqrt(np.maximum(lfda.eigenvalues_, 0))
    np.testing.assert_allclose(np.abs(weighted), np.abs(weights[:, None] * A))


def test_orthonormal_rows_span_the_same() -> None:
    plain = LFDA(2, embedding="plain").fit(X, y).components_
    rows = LFDA(2, embedding="orthonormalized").fit(X, y).components_
    np.testing.assert_allclose(rows @ rows.T, np.eye(2), atol=1e-12)
    assert linalg.subspace_angles(rows.T, plain.T).max() < 1e-7


def test_fewer_components_are_the_first_of_more() -> None:
    few, many = LFDA(2).fit(X, y), LFDA().fit(X, y)
    np.testing.assert_allclose(
        np.abs(few.components_), np.abs(many.components_[:2]), rtol=1e-8
    )


@pytest.mark.parametrize("embedding", ["weighted", "plain"])
def test_the_span_of_the_rows_loses_nothing(embedding: str) -> None:
    """With n < D, the same distances as from the D×D scatters."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(24, 40))
    labels = np.arange(24) % 3
    points[:, 0] += 3 * labels
    lfda = LFDA(3, alpha=0.05, embedding=embedding).fit(points, labels)
    between, within = lfda_scatters(points, labels, 7)
    within += 0.05 * np.trace(within) / 23 * np.eye(40)
    values, vectors = linalg.eigh(between, within)
    values, vectors = values[::-1][:3], vectors[:, ::-1][:, :3]
    np.testing.assert_allclose(lfda.eigenvalues_, values, rtol=1e-8)
    if embedding == "weighted":
        vectors = vectors * np.sqrt(values)
    np.testing.assert_allclose(
        np.abs(lfda.components_), np.abs(vectors.T), atol=1e-8 * np.abs(vectors).max()
    )


def two_clusters_in_a_class() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    centers = np.array([[-6, 0], [6, 0], [0, 0]])
    points = np.repeat(centers, 60, axis=0) + rng.normal(size=(180, 2))
    points[:, 1] *= 4
    return points, np.repeat([0, 0, 1], 60)


def test_a_class_of_two_clusters_is_not_merged() -> None:
    points, labels = two_clusters_in_a_class()
    row = LFDA(1).fit(points, labels).components_[0]
    assert abs(row[0]) > 10 * abs(row[1])


@given(seed=st.integers(0, 2**16), factor=st.sampled_from([1e-3, 1.0, 50.0]))
@settings(max_examples=15, deadline=None)
def test_moved_turned_and_renamed_data_give_the_same_distances(
    seed: int, factor: float
) -> None:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    order = rng.permutation(150)
    M = LFDA(2).fit(X, y).get_mahalanobis_matrix()
    moved = factor * X[order] @ turn + rng.normal(size=4)
    other = LFDA(2).fit(moved, 7 - y[order]).get_mahalanobis_matrix()
    np.testing.assert_allclose(
        other * factor**2, turn.T @ M @ turn, atol=1e-7 * np.abs(M).max()
    )


def test_it_helps_nearest_neighbours_in_a_search() -> None:
    points, labels = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LFDA(), KNeighborsClassifier(3)),
        {"lfda__n_components": [1, 4], "lfda__alpha": [1e-3, 1e-1]},
    ).fit(points, labels)
    assert search.best_score_ > 0.95
    assert search.best_params_["lfda__n_components"] == 4


def test_float32_stays_float32() -> None:
    single, double = LFDA(2).fit(X.astype(np.float32), y), LFDA(2).fit(X, y)
    assert single.components_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(
        single.get_mahalanobis_matrix(),
        double.get_mahalanobis_matrix(),
        atol=1e-3 * np.abs(double.get_mahalanobis_matrix()).max(),
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 5}, "n_components=5 is more than"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_neighbors": 0}, "'n_neighbors' parameter"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"embedding": "round"}, "'embedding' parameter"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    lfda = LFDA(**parameters)
    before = dict(vars(lfda))
    with pytest.raises(ValueError, match=message):
        lfda.fit(X, y)
    assert vars(lfda) == before


@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (np.ones((150, 4)), y, "All rows of X are equal"),
        (X * 1e80, y, "Scale the data"),
    ],
)
def test_input_that_cannot_serve(points: Any, labels: Any, message: str) -> None:
    lfda = LFDA()
    before = dict(vars(lfda))
    with pytest.raises(ValueError, match=message):
        lfda.fit(points, labels)
    assert vars(lfda) == before


def test_without_reg_a_singular_scatter_says_what_to_do() -> None:
    for column in (X[:, 0], X[:, 1] - X[:, 3], np.ones(150)):
        with pytest.raises(ValueError, match="Use a larger alpha"):
            LFDA(alpha=0).fit(np.column_stack([X, column]), y)


@pytest.mark.parametrize(
    "case",
    ["class of one", "constant column", "duplicate column", "duplicate rows", "points"],
)
@pytest.mark.parametrize("embedding", ["weighted", "orthonormalized", "plain"])
def test_what_can_be_handled_is(case: str, embedding: str) -> None:
    points, labels = X.copy(), y.copy()
    if case == "class of one":
        labels[0] = 9
    elif case == "constant column":
        points[:, 2] = 3.0
    elif case == "duplicate column":
        points[:, 2] = points[:, 3]
    elif case == "duplicate rows":
        points[75:] = points[:75]
    else:  # every class a single point, many times
        points = np.eye(3, 4)[y]
    lfda = LFDA(2, embedding=embedding).fit(points, labels)
    assert np.isfinite(lfda.components_).all()
    assert np.abs(lfda.components_).max() > 0


@pytest.mark.parametrize("unit", [1e-30, 1e30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_scale(unit: float, dtype: Any) -> None:
    lfda = LFDA(2).fit((X * unit).astype(dtype), y)
    usual = LFDA(2).fit(X, y)
    np.testing.assert_allclose(
        np.abs(lfda.components_.astype(float) * unit),
        np.abs(usual.components_),
        atol=1e-3 * np.abs(usual.components_).max(),
    )


def test_auto_is_weighted_unless_the_features_as_they_are_do_better() -> None:
    points, labels = load_wine(return_X_y=True)
    assert LFDA().fit(scale(points), labels).embedding_ == "weighted"
    rng = np.random.default_rng(0)
    labels = np.arange(200) % 2
    chance = [LFDA().fit(rng.normal(size=(40, 20)), labels[:40]) for _ in range(8)]
    plain = [lfda for lfda in chance if lfda.embedding_ == "orthonormalized"]
    assert plain
    A = plain[0].components_
    np.testing.assert_allclose(A.T @ A, np.eye(20), atol=1e-8)
