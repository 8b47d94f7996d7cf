from collections.abc import Callable

import numpy as np
import pytest

from tests.solvers.hills import Hill, Plain, WrongWay, go_on
from vicinal._typing import FloatArray
from vicinal.optimize import SOLVERS, Objective, Refreshed

START = np.array([[9.0, 0.0, 1.0], [-4.0, 0.0, 1.0]])


class Looking(Hill):
    """A hill that notes where it was told to look around."""

    def __init__(self) -> None:
        self.looked_at: list[FloatArray] = []

    def refresh(self, A: FloatArray) -> None:
        self.looked_at.append(A.copy())


def never(_: FloatArray) -> bool:
    return False


def rounds(
    hill: Looking,
    is_stale: Callable[[FloatArray], bool] = never,
    solver: str = "bold-driver",
    max_iter: int = 25,
    tol: float = 0.0,
    length: int = 10,
) -> Refreshed:
    how = {"solver": solver, "max_iter": max_iter, "tol": tol}
    return Refreshed(hill.refresh, is_stale, how, length)


def test_looks_at_the_start_every_so_often_and_at_the_end() -> None:
    hill = Looking()
    maps: list[FloatArray] = []

    def note(A: FloatArray, curve: list[float]) -> bool:
        maps.append(A.copy())
        return False

    solution = rounds(hill).maximize(hill, START, note)
    assert solution.nit == len(maps) == 25
    assert len(solution.curve) == 26
    assert not solution.success
    assert solution.reason == "max_iter"
    assert "used up" in solution.message
    assert len(hill.looked_at) == 4
    for looked, at in zip(
        hill.looked_at, [START, maps[9], maps[19], maps[24]], strict=True
    ):
        np.testing.assert_array_equal(looked, at)
    np.testing.assert_array_equal(solution.x, maps[24])


@pytest.mark.parametrize("solver", ["lbfgs", "cg", "bold-driver"])
@pytest.mark.parametrize("max_iter", [1, 3, 7])
def test_no_more_iterations_than_allowed(solver: str, max_iter: int) -> None:
    hill = Looking()
    climb = rounds(hill, solver=solver, max_iter=max_iter, length=2)
    solution = climb.maximize(hill, START, go_on)
    assert solution.nit <= max_iter
    assert len(solution.curve) == solution.nit + 1


def test_looks_again_when_stale() -> None:
    hill = Looking()
    seen: list[FloatArray] = []

    def stale(A: FloatArray) -> bool:
        seen.append(A.copy())
        return len(seen) in (3, 4)

    solution = rounds(hill, stale, max_iter=10).maximize(hill, START, go_on)
    assert solution.nit == len(seen) == 10
    places = [START, seen[2], seen[3], solution.x]
    assert len(hill.looked_at) == 4
    for looked, at in zip(hill.looked_at, places, strict=True):
        np.testing.assert_array_equal(looked, at)


def test_the_curve_goes_on_from_round_to_round() -> None:
    hill = Looking()
    told: list[list[float]] = []

    def note(A: FloatArray, curve: list[float]) -> bool:
        told.append(list(curve))
        assert curve[-1] == hill.value_and_gradient(A)[0]
        return False

    solution = rounds(hill, length=4, max_iter=14).maximize(hill, START, note)
    assert solution.curve[0] == hill.value_and_gradient(START)[0]
    assert [len(curve) for curve in told] == list(range(2, 16))
    assert told[-1] == solution.curve
    assert all(curve == solution.curve[: len(curve)] for curve in told)
    assert np.all(np.diff(solution.curve) >= 0)
    assert solution.curve[-1] > solution.curve[0]


@pytest.mark.parametrize("n", [1, 5, 10, 13])
def test_a_callback_stops_it(n: int) -> None:
    hill = Looking()
    solution = rounds(hill).maximize(hill, START, lambda _, curve: len(curve) > n)
    assert solution.nit == n
    assert len(solution.curve) == n + 1
    assert solution.success
    assert solution.reason == "callback"
    np.testing.assert_array_equal(hill.looked_at[-1], solution.x)


@pytest.mark.parametrize("solver", ["lbfgs", "cg"])
def test_ends_at_the_top_and_says_so(solver: str) -> None:
    hill = Looking()
    climb = rounds(hill, solver=solver, max_iter=500, tol=1e-10, length=3)
    solution = climb.maximize(hill, START, go_on)
    assert solution.success
    assert solution.nit < 500
    np.testing.assert_allclose(solution.x, Hill.top, atol=1e-3)
    np.testing.assert_array_equal(hill.looked_at[-1], solution.x)


def test_a_round_that_gains_little_is_the_last() -> None:
    hill = Looking()
    solution = rounds(hill, tol=0.9, length=1).maximize(hill, Hill.top + 1e-3, go_on)
    assert solution.success
    assert solution.nit < 25


@pytest.mark.parametrize("solver", ["lbfgs", "cg"])
def test_a_solver_that_finds_no_step_at_all_ends_it(solver: str) -> None:
    make = solver
    climb = Refreshed(
        lambda _: None, never, {"solver": make, "max_iter": 25, "tol": 1e-5}
    )
    solution = climb.maximize(WrongWay(), START, go_on)
    assert solution.reason == "line_search"
    assert not solution.success


def test_without_a_slope_the_start_comes_back() -> None:
    looked: list[FloatArray] = []
    make = "lbfgs"
    climb = Refreshed(
        looked.append, never, {"solver": make, "max_iter": 9, "tol": 1e-5}
    )
    solution = climb.maximize(Plain(), START, go_on)
    np.testing.assert_array_equal(solution.x, START)
    assert solution.success
    assert solution.nit == 0
    assert solution.curve == [3.0]


def test_what_is_climbed_may_change_when_it_looks() -> None:
    class Moving:
        """A hill whose top is where the map was when it last looked, plus 1."""

        top: FloatArray = np.zeros((1, 2))

        def refresh(self, A: FloatArray) -> None:
            self.top = np.minimum(A + 1, 5)

        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            off = A - self.top
            return 10 - float((off**2).sum()), -2 * off

    moving = Moving()
    objective: Objective = moving
    make = "lbfgs"
    climb = Refreshed(
        moving.refresh, never, {"solver": make, "max_iter": 100, "tol": 1e-6}
    )
    solution = climb.maximize(objective, np.zeros((1, 2)), go_on)
    np.testing.assert_allclose(solution.x, 5, atol=1e-4)
    assert solution.success


def test_where_every_look_finds_less_nothing_is_left_of_the_rounds() -> None:
    class Sinking(Looking):
        """A hill that is lower at every look."""

        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = super().value_and_gradient(A)
            return value - 1e6 * len(self.looked_at), gradient

    hill = Sinking()
    solution = rounds(hill, max_iter=100).maximize(hill, START, go_on)
    assert solution.reason == "stale"
    np.testing.assert_array_equal(solution.x, START)
    assert solution.nit == 0
    assert len(solution.curve) == 1


def test_a_round_that_a_fresh_look_finds_lower_is_taken_back() -> None:
    class Mirage:
        """Seen from afar, a slope without end; looked at closely, a hill at 3."""

        seen_from: FloatArray = np.zeros((1, 1))

        def refresh(self, A: FloatArray) -> None:
            self.seen_from = A.copy()

        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            off = self.seen_from - 3
            value = -float((off**2).sum()) + 2 * float((A - self.seen_from).sum())
            return value, np.full_like(A, 2.0)

    mirage = Mirage()
    make = "bold-driver"
    climb = Refreshed(
        mirage.refresh, never, {"solver": make, "max_iter": 200, "tol": 1e-9}
    )
    start = np.ones((1, 1))
    solution = climb.maximize(mirage, start, go_on)
    assert solution.reason == "stale"
    assert not solution.success
    assert abs(solution.x[0, 0] - 3) <= 2
    np.testing.assert_array_equal(mirage.seen_from, solution.x)
    assert len(solution.curve) == solution.nit + 1
    # Without a look in between, one goes on and on.
    blind = SOLVERS["bold-driver"](max_iter=200, tol=1e-9)
    mirage.refresh(start)
    assert blind.maximize(mirage, start, go_on).x[0, 0] > 100
