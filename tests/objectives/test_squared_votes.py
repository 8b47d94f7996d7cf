"""NCA's objective "squared-error": Lowe's leave-one-out error of the vote."""

import numpy as np
import pytest

from tests.nca.oracles import vote_value
from tests.objectives.differences import differences_of
from vicinal import NCA
from vicinal._typing import FloatArray
from vicinal.objectives import NCAObjective

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
y = rng.integers(3, size=30)
y[0] = 7  # alone


@pytest.mark.parametrize("shape", [(1, 4), (2, 4), (4, 4), (4,)])
@pytest.mark.parametrize("case", ["plain", "duplicates", "outlier"])
def test_value_and_gradient(shape: tuple[int, ...], case: str) -> None:
    points = X.copy()
    if case == "duplicates":
        points[15:] = points[:15]
    if case == "outlier":
        points[5] += 1e3
    A = rng.normal(size=shape) / 2
    objective = NCAObjective(points, y, "squared-error")
    value, gradient = objective.value_and_gradient(A)

    def naive(A: FloatArray) -> float:
        return vote_value(points, y, A if A.ndim == 2 else np.diag(A))

    assert value == pytest.approx(naive(A), rel=1e-10)
    # With a row at 1e3 the engine is exact to 1e-12: too little for its own quotient.
    expected = differences_of(naive, A)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def test_a_weight_is_as_good_as_copies() -> None:
    weights = rng.integers(1, 4, size=30)
    copies = np.repeat(np.arange(30), weights)
    A = rng.normal(size=(2, 4))
    found = NCAObjective(X, y, "squared-error", sample_weight=weights)
    expected = NCAObjective(X[copies], y[copies], "squared-error")
    value, gradient = found.value_and_gradient(A)
    assert value == pytest.approx(expected.value_and_gradient(A)[0])
    np.testing.assert_allclose(gradient, expected.value_and_gradient(A)[1], atol=1e-9)


def test_feature_weights_find_the_features_that_matter() -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(2, size=300)
    points = draw.normal(size=(300, 5))
    points[:, 0] += 2 * labels
    points[:, 1] -= 2 * labels
    model = NCA(form="diagonal", objective="squared-error", max_iter=200)
    weights = model.fit(points, labels).feature_weights_
    assert (weights >= 0).all()
    assert weights[:2].min() > 3 * weights[2:].max()


def test_a_feature_left_out_stays_out() -> None:
    start = np.array([1.0, 0.0, 1.0, 1.0])
    model = NCA(form="diagonal", objective="squared-error", init=start, max_iter=5)
    with pytest.warns(match="did not converge"):
        model.fit(X, y)
    assert model.feature_weights_[1] == 0


def test_truncated_sums_are_refused() -> None:
    with pytest.raises(ValueError, match="use n_neighbors='all'"):
        NCA(objective="squared-error", n_neighbors=5).fit(X, y)


@pytest.mark.parametrize("solver", ["lbfgs", "stochastic"])
def test_low_rank(solver: str) -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(3, size=200)
    points = draw.normal(size=(200, 6)) + 3 * np.eye(6)[labels]
    model = NCA(
        2, objective="squared-error", solver=solver, max_iter=100, random_state=0
    )
    curve = model.fit(points, labels).objective_curve_
    assert curve[-1] > curve[0]
