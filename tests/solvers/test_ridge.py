import numpy as np
import pytest

from tests.objectives.differences import by_differences
from tests.solvers.hills import Hill
from vicinal._typing import FloatArray
from vicinal.optimize import Ridge


@pytest.mark.parametrize("penalty", [0.3, np.array([0.0, 2.0])])
def test_takes_the_size_of_the_map_from_the_objective(
    penalty: float | FloatArray,
) -> None:
    A = np.random.default_rng(0).normal(size=(2, 3))
    plain = Hill().value_and_gradient(A)[0]
    penalised = Ridge(Hill(), penalty)
    value, gradient = penalised.value_and_gradient(A)
    sizes = (A**2).sum(axis=1)
    assert value == pytest.approx(plain - (np.broadcast_to(penalty, 2) * sizes).sum())
    np.testing.assert_allclose(gradient, by_differences(penalised, A), rtol=1e-5)
