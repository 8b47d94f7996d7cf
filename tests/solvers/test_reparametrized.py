import numpy as np
import pytest

from tests.objectives.differences import by_differences
from tests.solvers.hills import Hill
from vicinal._typing import FloatArray
from vicinal.objectives import NCAObjective
from vicinal.optimize import Reparametrized

rng = np.random.default_rng(0)


@pytest.mark.parametrize("n_coordinates", [2, 3, 5])
def test_maps_are_those_of_the_coordinates(n_coordinates: int) -> None:
    basis = rng.normal(size=(3, n_coordinates))
    B = rng.normal(size=(2, n_coordinates))
    seen = Reparametrized(Hill(), basis)
    value, gradient = seen.value_and_gradient(B)
    assert value == Hill().value_and_gradient(B @ basis.T)[0]
    np.testing.assert_allclose(gradient, by_differences(seen, B), rtol=1e-5, atol=1e-4)


def test_it_is_the_objective_of_points_in_these_coordinates() -> None:
    X, y = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    basis, B = rng.normal(size=(4, 3)), rng.normal(size=(2, 3))
    value, gradient = Reparametrized(NCAObjective(X, y), basis).value_and_gradient(B)
    expected = NCAObjective(X @ basis, y).value_and_gradient(B)
    assert value == pytest.approx(expected[0], rel=1e-10)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-7, atol=1e-10)


def test_diagonal_maps() -> None:
    class Diagonal:
        def value_and_gradient(self, a: FloatArray) -> tuple[float, FloatArray]:
            off = a - np.array([1.0, 2.0, 3.0])
            return -float((off**2).sum()), -2 * off

    basis, b = np.array([0.5, 2.0, 10.0]), rng.normal(size=3)
    seen = Reparametrized(Diagonal(), basis)
    value, gradient = seen.value_and_gradient(b)
    assert value == Diagonal().value_and_gradient(b * basis)[0]
    np.testing.assert_allclose(gradient, by_differences(seen, b), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("unit", [0.125, 1.0, 3.0])
def test_in_another_unit(unit: float) -> None:
    objective = Reparametrized(Hill(), unit)
    A = np.random.default_rng(0).normal(size=(2, 3))
    value, gradient = objective.value_and_gradient(A)
    assert value == Hill().value_and_gradient(unit * A)[0]
    np.testing.assert_allclose(
        gradient, by_differences(objective, A), rtol=1e-4, atol=1e-7
    )
