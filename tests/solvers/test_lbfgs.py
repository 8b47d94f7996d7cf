import numpy as np
import pytest

from tests.solvers.hills import Hill, WrongWay, go_on
from vicinal._typing import FloatArray
from vicinal.solvers import LBFGS


def test_finds_the_summit_and_tells_the_way() -> None:
    seen: list[tuple[FloatArray, float]] = []

    def note(components: FloatArray, curve: list[float]) -> bool:
        seen.append((components, curve[-1]))
        return False

    solution = LBFGS(max_iter=100, tol=1e-12).maximize(Hill(), np.zeros((2, 3)), note)
    np.testing.assert_allclose(solution.components, Hill.top, atol=1e-4)
    assert solution.converged
    assert solution.n_iter == len(seen) == len(solution.curve) - 1
    assert solution.curve[0] == Hill().value_and_gradient(np.zeros((2, 3)))[0]
    assert [value for _, value in seen] == solution.curve[1:]
    assert np.all(np.diff(solution.curve) >= 0)
    for components, value in seen:
        assert Hill().value_and_gradient(components)[0] == value


def test_running_out_of_iterations_is_no_convergence() -> None:
    solution = LBFGS(max_iter=1, tol=0).maximize(
        Hill(), np.zeros((2, 3)), lambda *_: False
    )
    assert not solution.converged
    assert solution.n_iter == 1


def test_a_callback_can_stop_it() -> None:
    solution = LBFGS(max_iter=50).maximize(
        Hill(), np.zeros((2, 3)), lambda _, curve: curve[-1] > -100
    )
    assert solution.converged
    assert solution.n_iter < 50
    assert solution.message == "stopped by a callback"


@pytest.mark.parametrize("max_iter", [5, 500])
def test_a_line_search_that_finds_nothing_is_told_from_a_lack_of_iterations(
    max_iter: int,
) -> None:
    start = np.zeros((2, 3))
    solution = LBFGS(max_iter=max_iter).maximize(WrongWay(), start, go_on)
    assert solution.reason == "line_search"
    assert not solution.converged
    np.testing.assert_array_equal(solution.components, start)
