from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.objectives.differences import by_differences
from vicinal.classic import MMC, pairs_from_labels
from vicinal.classic.mmc import FarApart
from vicinal.classic.tuples import Differences

X, y = load_iris(return_X_y=True)
X = scale(X)
PAIRS, ALIKE = pairs_from_labels(y, 200, random_state=0)
NEAR, FAR = (
    X[PAIRS[sign == ALIKE, 0]] - X[PAIRS[sign == ALIKE, 1]] for sign in (1, -1)
)


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for form in ("full", "diagonal")
        for pair in estimator_checks_generator(MMC(form, n_constraints=60))
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: MMC, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1.0])
def test_the_full_optimum_meets_its_conditions(alpha: float) -> None:
    model = MMC(alpha=alpha, tol=1e-13, max_iter=3000, preprocessor=X).fit(PAIRS, ALIKE)
    M = model.get_mahalanobis_matrix()
    scatter = NEAR.T @ NEAR
    C = scatter + alpha * np.trace(scatter) / 4 * np.eye(4)
    assert np.trace(C @ M) == pytest.approx(1, rel=1e-6)
    # The gradient G of Σ √(vᵀMv) has G ⪯ λ C, with equality on M: λ = <G, M>.
    lengths = np.sqrt(np.einsum("ij,jk,ik->i", FAR, M, FAR))
    G = (FAR.T / (2 * lengths)) @ FAR
    L = np.linalg.inv(np.linalg.cholesky(C))
    most = np.linalg.eigvalsh(L @ G @ L.T)[-1]
    assert most == pytest.approx(np.trace(G @ M), rel=2e-3)
    assert model.objective_curve_[-1] == pytest.approx(np.log(lengths.sum()), rel=1e-6)
    assert (np.diff(model.objective_curve_) >= -1e-12).all()


def test_the_diagonal_optimum_meets_its_conditions() -> None:
    model = MMC("diagonal", alpha=0.0, tol=1e-14, max_iter=5000, preprocessor=X)
    w = np.diagonal(model.fit(PAIRS, ALIKE).get_mahalanobis_matrix())
    s = np.square(NEAR).sum(axis=0)
    assert s @ w == pytest.approx(1, rel=1e-6)
    slopes = np.square(FAR).T @ (0.5 / np.sqrt(np.square(FAR) @ w))
    ratio = slopes / s
    assert ratio.max() == pytest.approx(slopes @ w, rel=1e-3)
    assert not np.delete(model.components_, w.nonzero()[0], axis=1).any()


@pytest.mark.parametrize("diagonal", [False, True])
def test_gradients(diagonal: bool) -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(9, 3))
    i, j = np.triu_indices(9, 1)
    loss = FarApart(Differences(points, i, j))
    start = rng.normal(size=(3, 3))
    if diagonal:
        start = rng.normal(size=3)
        full = loss.value_and_gradient(np.diag(start))
        assert loss.value_and_gradient(start)[0] == pytest.approx(full[0])
    value, gradient = loss.value_and_gradient(start)
    for factor in (3, 1e-9):
        assert value == pytest.approx(loss.value_and_gradient(factor * start)[0])
    expected = by_differences(loss, start)
    np.testing.assert_allclose(gradient, expected, atol=1e-6)
    assert loss.value_and_gradient(np.zeros_like(start))[0] < -1e300


def test_without_alpha_a_scatter_must_be_whole() -> None:
    points = np.column_stack([X, X[:, 0]])
    for form in ("full", "diagonal"):
        flat = points.copy()
        if form == "diagonal":
            flat[:, 4] = y
        with pytest.raises(ValueError, match="Use alpha above 0"):
            MMC(form, alpha=0.0, preprocessor=flat).fit(PAIRS, ALIKE)


def test_pairs_of_one_kind_only() -> None:
    with pytest.raises(ValueError, match="no y is -1"):
        MMC(preprocessor=X).fit(PAIRS[ALIKE == 1], ALIKE[ALIKE == 1])
    with pytest.raises(ValueError, match="no metric can separate"):
        MMC(preprocessor=np.ones((150, 2))).fit(PAIRS, ALIKE)


def test_stopping_early_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    model = MMC(max_iter=1, tol=0.0, verbose=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter") as seen:
        model.fit(X, y)
    assert seen[0].filename == __file__
    assert capsys.readouterr().out.startswith("[MMC]          1")


@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_the_identity_is_mixed_in(form: str) -> None:
    X, y = load_wine(return_X_y=True)
    X = scale(X)
    exact = MMC(form, prior_weight=0.0, random_state=0).fit(X, y)
    M = exact.get_mahalanobis_matrix()
    mixed = MMC(form, prior_weight=0.25, random_state=0).fit(X, y)
    expected = 0.75 * M + 0.25 * np.trace(M) / 13 * np.eye(13)
    np.testing.assert_allclose(mixed.get_mahalanobis_matrix(), expected, atol=1e-9)
    np.testing.assert_array_equal(mixed.objective_curve_, exact.objective_curve_)
    plain = MMC(form, prior_weight=1.0, random_state=0).fit(X, y)
    identity = np.trace(M) / 13 * np.eye(13)
    np.testing.assert_allclose(plain.get_mahalanobis_matrix(), identity, atol=1e-9)


def test_the_part_of_the_identity_is_chosen_on_rows_held_out() -> None:
    # Ten classes on the corners of a simplex: no few features tell all of them apart.
    rng = np.random.default_rng(0)
    y = np.arange(200) % 10
    X = 4 * np.eye(10)[y] * np.linspace(1, 3, 10) + rng.normal(size=(200, 10))
    model = MMC("diagonal", random_state=0).fit(X, y)
    assert model.prior_weight_ > 0
    assert len(model.components_) == 10
    pairs, alike = pairs_from_labels(y, 300, random_state=0)
    assert MMC(preprocessor=X).fit(pairs, alike).prior_weight_ == 0
