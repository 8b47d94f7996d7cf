from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from vicinal import NCARegressor
from vicinal.classic import MLKR
from vicinal.objectives import TargetObjective

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 6))
t = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for regressor in (NCARegressor(), MLKR())
        for pair in estimator_checks_generator(regressor)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: NCARegressor, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def test_the_prediction_is_the_mean_of_soft_neighbours() -> None:
    model = NCARegressor(2, max_iter=300).fit(X[:200], t[:200])
    Z, Q = X[:200] @ model.components_.T, X[200:] @ model.components_.T
    distances = ((Q[:, None] - Z[None]) ** 2).sum(axis=2)
    weights = np.exp(distances.min(axis=1, keepdims=True) - distances)
    expected = weights @ t[:200] / weights.sum(axis=1)
    np.testing.assert_allclose(model.predict(X[200:]), expected, atol=1e-8)


@pytest.mark.parametrize("kind", ["soft-match", "squared-error"])
def test_it_listens_to_the_features_that_matter(kind: str) -> None:
    model = NCARegressor(objective=kind, max_iter=300).fit(X[:200], t[:200])
    listened = np.linalg.norm(model.components_, axis=0)
    assert listened[:2].min() > 2 * listened[2:].max()
    assert model.score(X[200:], t[200:]) > 0.85
    plain = KNeighborsRegressor(5).fit(X[:200], t[:200]).score(X[200:], t[200:])
    assert model.score(X[200:], t[200:]) > plain


def test_mlkr_is_the_regressor_with_the_squared_error() -> None:
    given: dict[str, Any] = {"n_components": 2, "max_iter": 300}
    mlkr = MLKR(**given).fit(X, t)
    same = NCARegressor(**given).fit(X, t)  # with its defaults
    np.testing.assert_array_equal(mlkr.components_, same.components_)
    mlkr = MLKR(**given, alpha=0.0).fit(X, t)
    same = NCARegressor(objective="squared-error", **given, alpha=0.0).fit(X, t)
    np.testing.assert_array_equal(mlkr.components_, same.components_)
    value = TargetObjective(X, t, "squared-error").value_and_gradient(mlkr.components_)
    assert mlkr.objective_curve_[-1] == pytest.approx(value[0], rel=1e-6)


def test_the_unit_of_the_targets_does_not_matter() -> None:
    one = NCARegressor(2, max_iter=300, alpha=1e-2).fit(X, t)
    other = NCARegressor(2, max_iter=300, alpha=1e-2).fit(X, 1e4 * t + 1e6)
    np.testing.assert_allclose(other.components_, one.components_, rtol=1e-2, atol=1e-2)
    np.testing.assert_allclose(
        other.predict(X[:9]), 1e4 * one.predict(X[:9]) + 1e6, rtol=1e-4
    )


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_nor_does_it_matter_to_mlkr(unit: float) -> None:
    one = MLKR(2, max_iter=300, alpha=0.0).fit(X, t)
    other = MLKR(2, max_iter=300, alpha=0.0).fit(X, unit * t)
    np.testing.assert_allclose(other.components_, one.components_, rtol=1e-3)
    np.testing.assert_allclose(
        other.objective_curve_, unit**2 * one.objective_curve_, rtol=1e-3
    )


def test_float32_keeps_large_targets_apart() -> None:
    model = NCARegressor(2, max_iter=300, alpha=1e-3).fit(X.astype("f"), 1e8 + t)
    assert model.score(X.astype("f"), 1e8 + t) > 0.8


def test_constant_targets_leave_the_start_alone() -> None:
    model = NCARegressor(2, init="identity", alpha=0.0).fit(X, np.ones(300))
    np.testing.assert_array_equal(model.components_, np.eye(2, 6))
    np.testing.assert_allclose(model.predict(X), 1)
    np.testing.assert_allclose(NCARegressor().fit(X, np.ones(300)).predict(X), 1)


def test_it_helps_on_real_data() -> None:
    points, targets = load_diabetes(return_X_y=True)
    learned = make_pipeline(StandardScaler(), NCARegressor(2, max_iter=300, alpha=1e-3))
    plain = make_pipeline(StandardScaler(), KNeighborsRegressor(5))
    gain = (
        cross_val_score(learned, points, targets).mean()
        - cross_val_score(plain, points, targets).mean()
    )
    assert gain > 0


def test_wrong_parameters() -> None:
    with pytest.raises(ValueError, match="init='lda' needs classes"):
        NCARegressor(2, init="lda").fit(X, t)
    with pytest.raises(ValueError, match="'width' parameter"):
        NCARegressor(width=0.0).fit(X, t)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("alpha", ["auto", 0.0])
@pytest.mark.parametrize("unit", [1e-60, 1e60])
@pytest.mark.parametrize("model", [NCARegressor, MLKR])
def test_extreme_targets(
    model: type[NCARegressor], unit: float, alpha: float | str
) -> None:
    plain = model(2, max_iter=30, tol=1e-3, alpha=alpha).fit(X[:200], t[:200])
    other = model(2, max_iter=30, tol=1e-3, alpha=alpha).fit(X[:200], unit * t[:200])
    predicted = other.predict(X[200:])
    assert np.isfinite(predicted).all()
    np.testing.assert_allclose(
        predicted / unit, plain.predict(X[200:]), rtol=0.05, atol=0.05
    )


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_targets_whose_squares_are_no_floats_are_refused(unit: float) -> None:
    with pytest.raises(ValueError, match="Scale the targets"):
        NCARegressor().fit(X, unit * t)
