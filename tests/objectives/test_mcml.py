import numpy as np
import pytest

from tests.classic.oracles import mcml_value
from tests.objectives.differences import by_differences
from vicinal.objectives import MCMLObjective

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 4))
y = rng.integers(3, size=30)
y[0] = 7  # alone


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("case", ["plain", "duplicates", "outlier"])
def test_value_and_gradient(d: int, case: str) -> None:
    points = X.copy()
    if case == "duplicates":
        points[15:] = points[:15]
    if case == "outlier":
        points[5] += 1e3
    A = rng.normal(size=(d, 4)) / 2
    objective = MCMLObjective(points, y)
    value, gradient = objective.value_and_gradient(A)
    assert value == pytest.approx(mcml_value(points, y, A), rel=1e-10)
    expected = by_differences(objective, A)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * abs(value))


def test_it_is_concave_in_the_matrix() -> None:
    def value(M: np.ndarray) -> float:
        return MCMLObjective(X, y).value_and_gradient(np.linalg.cholesky(M).T)[0]

    for _ in range(10):
        first, second = (B @ B.T for B in rng.normal(size=(2, 4, 4)))
        middle = value((first + second) / 2)
        assert middle >= (value(first) + value(second)) / 2


def test_float32_and_threads() -> None:
    A = rng.normal(size=(2, 4))
    expected, slope = MCMLObjective(X, y, n_jobs=1).value_and_gradient(A)
    value, gradient = MCMLObjective(X.astype(np.float32), y).value_and_gradient(A)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-3)
    for threads in (2, 5):
        other = MCMLObjective(X, y, n_jobs=threads).value_and_gradient(A)[1]
        np.testing.assert_array_equal(other, slope)


def test_one_point_has_no_neighbour() -> None:
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        MCMLObjective(X[:1], y[:1])
