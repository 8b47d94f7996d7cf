from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from tests.ldg.oracles import equation_2
from tests.objectives.differences import by_differences
from vicinal import LDG
from vicinal._typing import FloatArray, IntArray
from vicinal.ldg.eigenproblem import LocalGaussianObjective
from vicinal.ldg.local_gaussians import ClassPoints

X_wine, y = load_wine(return_X_y=True)
X = scale(X_wine)
FIXED: dict[str, Any] = {"n_neighbors": 8, "gamma": 0.6}
ignore_warnings = pytest.mark.filterwarnings(
    "ignore:These classes have too few",
    "ignore::sklearn.exceptions.ConvergenceWarning",
)


def objective_and_points(
    n_components: int,
) -> tuple[LocalGaussianObjective, FloatArray, IntArray, FloatArray]:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 5))
    points -= points.mean(axis=0)
    labels = np.sort(np.r_[2, rng.integers(2, size=29)])  # a class of one
    floor = 1e-3 * np.square(points).sum() / 30
    subset = ClassPoints.build(points, labels, floor)
    priors = np.bincount(labels) / 30
    objective = LocalGaussianObjective(subset, subset.nearest(4, None, 1), priors, 5)
    return objective, points, labels, rng.normal(size=(n_components, 5))


@pytest.mark.parametrize("n_components", [1, 2, 4])
def test_the_objective_is_equation_2(n_components: int) -> None:
    objective, points, labels, A = objective_and_points(n_components)
    B = np.linalg.qr(A.T)[0]
    expected = equation_2(points, labels, B, 4, 1e-3)
    value, gradient = objective.value_and_gradient(A)
    assert -value == pytest.approx(expected)
    np.testing.assert_allclose(gradient, by_differences(objective, A), atol=1e-5)
    # It is one of subspaces: their basis does not matter.
    mixed = np.random.default_rng(1).normal(size=(n_components, n_components)) @ A
    assert objective.value_and_gradient(mixed)[0] == pytest.approx(value)


@pytest.mark.parametrize("gamma", [0.2, 1.0])
def test_refine_descends_equation_2_on_orthonormal_maps(gamma: float) -> None:
    plain = LDG(2, n_neighbors=8, gamma=gamma).fit(X, y)
    refined = LDG(2, n_neighbors=8, gamma=gamma, refine=True, max_iter=500).fit(X, y)
    before, after = (
        equation_2(X, y, ldg.components_.T, 8, ldg.var_floor)
        for ldg in (plain, refined)
    )
    curve = refined.objective_curve_
    assert len(curve) == refined.n_iter_ > 1
    assert curve[0] == pytest.approx(-before)
    assert curve[-1] == pytest.approx(-after)
    assert np.all(np.diff(curve) >= 0)
    assert after < before
    A = refined.components_
    np.testing.assert_allclose(A @ A.T, np.eye(2), atol=1e-9)
    assert np.all(np.diff(refined.eigenvalues_) >= 0)
    assert plain.n_iter_ == 1
    assert not hasattr(refined.set_params(refine=False).fit(X, y), "objective_curve_")


def test_refined_maps_have_no_more_dimensions_to_give() -> None:
    refined = LDG(3, **FIXED, refine=True, max_iter=500).fit(X, y)
    assert refined.set_n_components(2).components_.shape == (2, 13)
    with pytest.raises(ValueError, match="n_components"):
        refined.set_n_components(4)


def test_refine_warns_when_it_stops_early() -> None:
    with pytest.warns(ConvergenceWarning, match=r"in 1 iterations .*max_iter") as seen:
        LDG(2, **FIXED, refine=True, max_iter=1).fit(X, y)
    assert seen[0].filename == __file__


@ignore_warnings
def test_refine_where_there_is_nothing_to_choose_between() -> None:
    refined = LDG(13, **FIXED, refine=True).fit(X, y)
    np.testing.assert_array_equal(
        refined.components_, LDG(13, **FIXED).fit(X, y).components_
    )
    assert refined.n_iter_ == 1
