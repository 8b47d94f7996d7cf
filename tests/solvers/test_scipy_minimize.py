"""SciPy's solvers: what is theirs alone; what all promise is in test_all."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.solvers.hills import Hill, Times, WrongWay, go_on
from vicinal._typing import FloatArray
from vicinal.objectives import NCAObjective
from vicinal.optimize import LBFGS, ConjugateGradient, relative_change


def test_lbfgs_finds_the_maximum_and_reports_every_iteration() -> None:
    seen: list[tuple[FloatArray, float]] = []

    def note(components: FloatArray, curve: list[float]) -> bool:
        seen.append((components, curve[-1]))
        return False

    solution = LBFGS(max_iter=100, tol=1e-12).maximize(Hill(), np.zeros((2, 3)), note)
    np.testing.assert_allclose(solution.x, Hill.top, atol=1e-4)
    assert solution.success
    assert solution.nit == len(seen) == len(solution.curve) - 1
    assert solution.curve[0] == Hill().value_and_gradient(np.zeros((2, 3)))[0]
    assert [value for _, value in seen] == solution.curve[1:]
    assert np.all(np.diff(solution.curve) >= 0)
    for components, value in seen:
        assert Hill().value_and_gradient(components)[0] == value


def test_cg_needs_as_many_iterations_as_a_quadratic_has_curvatures() -> None:
    solution = ConjugateGradient(tol=1e-9).maximize(Hill(), np.zeros((2, 3)), go_on)
    np.testing.assert_allclose(solution.x, Hill.top, atol=1e-6)
    assert solution.success
    # Three curvatures, each line search not quite exact.
    assert solution.nit <= 6


def test_cg_never_descends() -> None:
    X, y = load_iris(return_X_y=True)
    solution = ConjugateGradient().maximize(NCAObjective(X, y), np.eye(2, 4), go_on)
    assert np.all(np.diff(solution.curve) >= 0)


def test_cg_stops_on_a_small_gain_while_the_gradient_is_large() -> None:
    X, y = load_iris(return_X_y=True)
    objective = Times(1000, NCAObjective(X, y))
    solution = ConjugateGradient(tol=1e-3).maximize(objective, np.eye(2, 4), go_on)
    assert solution.success
    assert solution.message == "an iteration gained less than tol"
    *before, last = map(relative_change, solution.curve[:-1], solution.curve[1:])
    assert last <= 1e-3 < min(before)
    _, gradient = objective.value_and_gradient(solution.x)
    assert np.abs(gradient).max() > 1e-3


def test_cg_stops_where_the_gradient_is_small() -> None:
    near = Hill.top + 1e-4
    solution = ConjugateGradient(tol=0.1).maximize(Hill(), near, go_on)
    assert solution.success
    assert solution.nit == 0


@pytest.mark.parametrize("solver", [LBFGS, ConjugateGradient])
@pytest.mark.parametrize("max_iter", [5, 500])
def test_a_line_search_that_finds_nothing_is_told_from_a_lack_of_iterations(
    solver: type[LBFGS | ConjugateGradient], max_iter: int
) -> None:
    start = np.zeros((2, 3))
    solution = solver(max_iter=max_iter).maximize(WrongWay(), start, go_on)
    assert solution.reason == "line_search"
    assert not solution.success
    np.testing.assert_array_equal(solution.x, start)
