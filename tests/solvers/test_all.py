"""What every solver promises."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from tests.solvers.hills import Hill, Plain, Times, go_on
from vicinal._typing import FloatArray
from vicinal.objectives import NCAObjective
from vicinal.optimize import LBFGS, SOLVERS

START = np.zeros((2, 3))

pytestmark = pytest.mark.parametrize("name", SOLVERS)


def test_climbs_to_the_summit(name: str) -> None:
    solution = SOLVERS[name](max_iter=2000, tol=0).maximize(Hill(), START, go_on)
    bottom = solution.curve[0]
    assert max(solution.curve) > 1e-4 * bottom
    np.testing.assert_allclose(solution.x, Hill.top, atol=0.3)


def test_tells_the_way(name: str) -> None:
    seen: list[tuple[FloatArray, float, int]] = []

    def note(components: FloatArray, curve: list[float]) -> bool:
        seen.append((components, curve[-1], len(curve)))
        return False

    start = np.array([[9.0, 0.0, 1.0], [-4.0, 0.0, 1.0]])
    solution = SOLVERS[name](max_iter=20, tol=1e-12).maximize(Hill(), start, note)
    assert solution.nit == len(seen) == len(solution.curve) - 1
    assert solution.curve[0] == Hill().value_and_gradient(start)[0]
    assert [value for _, value, _ in seen] == solution.curve[1:]
    assert [length for *_, length in seen] == list(range(2, len(seen) + 2))
    for components, value, _ in seen:
        assert Hill().value_and_gradient(components)[0] == value


def test_returns_the_best_map(name: str) -> None:
    start = np.array([[9.0, 0.0, 1.0], [-4.0, 0.0, 1.0]])
    for max_iter in range(1, 15):
        solution = SOLVERS[name](max_iter=max_iter).maximize(Hill(), start, go_on)
        value, _ = Hill().value_and_gradient(solution.x)
        assert value == max(solution.curve) > solution.curve[0]


def test_a_callback_can_stop_it(name: str) -> None:
    solution = SOLVERS[name](max_iter=500).maximize(
        Hill(), START, lambda _, curve: curve[-1] > -1000
    )
    assert solution.success
    assert solution.reason == "callback"
    assert solution.message == "stopped by a callback"
    assert solution.curve[-1] > -1000
    assert max(solution.curve[:-1]) <= -1000


def test_running_out_of_iterations_is_no_convergence(name: str) -> None:
    solution = SOLVERS[name](max_iter=2, tol=0).maximize(Hill(), START, go_on)
    assert not solution.success
    assert solution.reason == "max_iter"
    assert solution.nit == 2


def test_where_there_is_no_slope_the_start_comes_back(name: str) -> None:
    start = np.arange(6.0).reshape(2, 3)
    solution = SOLVERS[name]().maximize(Plain(), start, go_on)
    np.testing.assert_array_equal(solution.x, start)
    assert solution.success
    assert solution.reason == "converged"
    assert solution.nit == 0
    assert solution.curve == [3.0]


def test_an_objective_that_is_not_finite_is_told_from_a_lack_of_iterations(
    name: str,
) -> None:
    class Nowhere:
        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            return np.nan, np.full_like(A, np.nan)

    solution = SOLVERS[name]().maximize(Nowhere(), START, go_on)
    assert not solution.success
    assert solution.reason == "not_finite"


def test_a_map_may_be_a_vector(name: str) -> None:
    class Diagonal:
        def value_and_gradient(self, entries: FloatArray) -> tuple[float, FloatArray]:
            assert entries.shape == (3,)
            off = entries - np.array([1.0, 2.0, 3.0])
            return -float((off**2).sum()), -2 * off

    solution = SOLVERS[name](max_iter=500, tol=1e-9).maximize(
        Diagonal(), np.ones(3), go_on
    )
    np.testing.assert_allclose(solution.x, [1.0, 2.0, 3.0], atol=0.02)


def test_single_precision_in_double_out(name: str) -> None:
    class Coarse(Hill):
        def value_and_gradient(
            self, components: FloatArray
        ) -> tuple[float, FloatArray]:
            assert components.dtype == np.float64
            value, gradient = super().value_and_gradient(components)
            return value, gradient.astype(np.float32)

    start = np.ones((2, 3), dtype=np.float32)
    solution = SOLVERS[name](max_iter=200).maximize(Coarse(), start, go_on)
    assert solution.x.dtype == np.float64
    assert max(solution.curve) > 1e-3 * solution.curve[0]
    np.testing.assert_array_equal(start, 1)


def test_nca_ends_as_high_as_with_lbfgs(name: str) -> None:
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    objective = NCAObjective(X, y, n_jobs=1)
    start = PCA(2).fit(X).components_
    peer = LBFGS(max_iter=500).maximize(objective, start, go_on)
    solution = SOLVERS[name](max_iter=500).maximize(objective, start, go_on)
    assert max(solution.curve) > 0.98 * max(peer.curve)
    assert max(peer.curve) > 1.1 * peer.curve[0]


@pytest.mark.parametrize("factor", [1e160, 1e300])
def test_slopes_too_steep_to_square_are_no_warning(name: str, factor: float) -> None:
    solver = SOLVERS[name](max_iter=5, tol=0)
    solution = solver.maximize(Times(factor, Hill()), START, go_on)
    assert np.isfinite(solution.x).all()
