from itertools import chain, repeat

import numpy as np
import pytest

from tests.solvers.hills import Hill, Scripted, Times, Watched, WrongWay, go_on
from vicinal._typing import FloatArray
from vicinal.optimize import BoldDriver, DecayingSteps, DeltaBarDelta, GradientAscent

START = np.array([[9.0, 0.0, 1.0], [-4.0, 0.0, 1.0]])

every_rule = pytest.mark.parametrize("rule", [BoldDriver, DeltaBarDelta, DecayingSteps])


class Fenced:
    """A slope that is not a number outside of |A| < 2."""

    def __init__(self, blind: str) -> None:
        self.blind = blind

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = float(components.sum()), np.ones_like(components)
        if np.abs(components).max() >= 2:
            if self.blind == "gradient":
                return value, np.full_like(components, np.nan)
            return float(self.blind), gradient
        return value, gradient


@every_rule
def test_the_unit_of_the_objective_does_not_matter(rule: type[GradientAscent]) -> None:
    plain, scaled = Watched(Hill()), Watched(Times(1000, Hill()))
    for objective in (plain, scaled):
        rule(max_iter=40, tol=0).maximize(objective, START, go_on)
    np.testing.assert_allclose(scaled.maps, plain.maps, rtol=1e-6, atol=1e-9)


@every_rule
def test_the_unit_of_the_data_does_not_matter(rule: type[GradientAscent]) -> None:
    class Smaller(Hill):
        top = Hill.top / 1000

    large = rule(max_iter=40, tol=0).maximize(Hill(), START, go_on)
    small = rule(max_iter=40, tol=0).maximize(Smaller(), START / 1000, go_on)
    np.testing.assert_allclose(1e6 * np.array(small.curve), large.curve, rtol=1e-6)


@every_rule
@pytest.mark.parametrize("blind", ["nan", "inf", "-inf", "gradient"])
def test_turns_round_where_the_objective_is_not_finite(
    rule: type[GradientAscent], blind: str
) -> None:
    start = np.ones((2, 2))
    solution = rule(max_iter=200).maximize(Fenced(blind), start, go_on)
    assert np.isfinite(solution.curve).all()
    assert 7.9 < solution.x.sum() == max(solution.curve) < 8


@every_rule
def test_does_not_begin_where_the_objective_is_not_finite(
    rule: type[GradientAscent],
) -> None:
    solution = rule().maximize(Fenced("nan"), np.full((2, 2), 3.0), go_on)
    assert not solution.success
    assert solution.nit == 0
    assert "not finite" in solution.message
    np.testing.assert_array_equal(solution.x, 3)


@every_rule
def test_gives_up_when_no_step_is_short_enough(rule: type[GradientAscent]) -> None:
    solution = rule(max_iter=500).maximize(WrongWay(), START, go_on)
    assert solution.message == "the step has become negligible"
    assert 5 < solution.nit < 100
    np.testing.assert_array_equal(solution.x, START)


@every_rule
def test_one_small_gain_is_no_convergence(rule: type[GradientAscent]) -> None:
    values = chain([10, 20, 20, 30, 40, 40], repeat(40))
    # The search for t_0 is not part of the script: it takes the first values.
    search = [10, 11, 11] if rule is DecayingSteps else [10]
    script = Scripted(map(float, chain(search, values)))
    solution = rule().maximize(script, np.ones((2, 3)), go_on)
    assert solution.curve == [10, 10, 20, 20, 30, 40, 40, 40]
    assert solution.success
    assert solution.message == "two iterations in a row gained less than tol"


@every_rule
def test_a_slope_too_small_to_square_is_none(rule: type[GradientAscent]) -> None:
    solution = rule().maximize(Times(1e-200, Hill()), START, go_on)
    assert solution.success
    assert solution.nit == 0


@pytest.mark.parametrize("rule", [BoldDriver, DeltaBarDelta])
def test_finds_the_summit_exactly(rule: type[GradientAscent]) -> None:
    solution = rule(max_iter=2000, tol=1e-12).maximize(Hill(), START, go_on)
    np.testing.assert_allclose(solution.x, Hill.top, atol=1e-4)
    assert solution.success


@pytest.mark.parametrize("rule", [BoldDriver, DeltaBarDelta])
def test_the_first_step_is_relative_to_the_map(rule: type[GradientAscent]) -> None:
    watched = Watched(Hill())
    rule(max_iter=1, first_step=0.03).maximize(watched, START, go_on)
    step = watched.maps[1] - START
    assert np.linalg.norm(step) == pytest.approx(0.03 * np.linalg.norm(START))
    assert np.vdot(step, watched.gradients[0]) == pytest.approx(
        np.linalg.norm(step) * np.linalg.norm(watched.gradients[0])
    )


def test_bold_driver_follows_its_rule() -> None:
    watched = Watched(Hill())
    solution = BoldDriver(max_iter=60, tol=0).maximize(watched, START, go_on)
    here, etas = 0, []
    for k in range(1, 61):
        step = watched.maps[k] - watched.maps[here]
        etas.append(np.linalg.norm(step) / np.linalg.norm(watched.gradients[here]))
        here = k if watched.values[k] >= watched.values[here] else here
        assert solution.curve[k] == watched.values[here]
    climbed = np.diff(solution.curve)[:-1] > 0
    assert 0 < climbed.sum() < len(climbed)
    np.testing.assert_allclose(
        np.divide(etas[1:], etas[:-1]), np.where(climbed, 1.1, 0.5)
    )


def test_a_bold_driver_that_does_not_grow_has_a_fixed_rate() -> None:
    """A ← A + η ∂f/∂A of the thesis (algorithm 3.1), with one η throughout."""
    solver = BoldDriver(max_iter=20, tol=0, first_step=0.01, rho=1.0)
    found = solver.maximize(Hill(), START, go_on).x
    gradient = Hill().value_and_gradient(START)[1]
    eta, A = 0.01 * np.linalg.norm(START) / np.linalg.norm(gradient), START
    for _ in range(20):
        A = A + eta * Hill().value_and_gradient(A)[1]
    np.testing.assert_allclose(found, A)


def test_bold_driver_is_not_stopped_by_steps_taken_back() -> None:
    solver = BoldDriver(max_iter=1000, tol=1e-9, first_step=1e4)
    solution = solver.maximize(Hill(), START, go_on)
    assert solution.curve[:10] == [solution.curve[0]] * 10
    np.testing.assert_allclose(solution.x, Hill.top, atol=1e-2)


def test_delta_bar_delta_follows_its_rule() -> None:
    watched = Watched(Hill())
    solver = DeltaBarDelta(max_iter=40, tol=0, kappa=0.5, phi=0.2, theta=0.6)
    solution = solver.maximize(watched, START, go_on)
    assert solution.curve == watched.values  # no step was taken back
    gradient = watched.gradients[0]
    first = 0.1 * np.linalg.norm(START) / np.linalg.norm(gradient)
    eta, average = np.full_like(START, first), gradient
    n_shrunk = 0
    for k in range(40):
        np.testing.assert_allclose(
            watched.maps[k + 1], watched.maps[k] + eta * watched.gradients[k]
        )
        gradient = watched.gradients[k + 1]
        for entry in np.ndindex(eta.shape):
            if average[entry] * gradient[entry] > 0:
                eta[entry] += 0.5 * first
            elif average[entry] * gradient[entry] < 0:
                eta[entry] -= 0.2 * eta[entry]
                n_shrunk += 1
        average = 0.4 * gradient + 0.6 * average
    assert n_shrunk > 5


@pytest.mark.parametrize("rule", [DeltaBarDelta, DecayingSteps])
def test_a_bad_drop_sends_it_back_to_the_best(rule: type[GradientAscent]) -> None:
    # From 10 up to 110; a tenth of that climb may be lost, and is at 101 but not at 99.
    values = [60.0, 110.0, 101.0, 99.0, 111.0]
    search = [10.0, 11.0, 11.0] if rule is DecayingSteps else [10.0]
    watched = Watched(Scripted(chain(search, values)))
    seen = []

    def note(components: FloatArray, _: list[float]) -> bool:
        seen.append(components)
        return False

    solution = rule(max_iter=5).maximize(watched, np.ones((2, 3)), note)
    assert solution.curve == [10.0, 60.0, 110.0, 101.0, 110.0, 111.0]
    at_60, best, lower, dropped, again = watched.maps[len(search) :]
    np.testing.assert_array_equal(seen, [at_60, best, lower, best, again])
    np.testing.assert_array_equal(solution.x, again)
    # The slope is 1 everywhere, so that a step is its η.
    np.testing.assert_allclose(again - best, (dropped - lower) / 2)


def test_delta_bar_delta_halves_kappa_when_it_goes_back() -> None:
    watched = Watched(Scripted(iter([10.0, 60.0, 0.0, 70.0, 80.0])))
    DeltaBarDelta(max_iter=4).maximize(watched, np.ones((2, 3)), go_on)
    _, best, dropped, again, last = (entries[0, 0] for entries in watched.maps)
    eta, kappa = (dropped - best) / 2, 0.1  # 0.1 is the first step's η, and κ 1 of it
    assert again - best == pytest.approx(eta)
    assert last - again == pytest.approx(eta + kappa / 2)


def test_delta_bar_delta_survives_a_first_step_that_is_far_too_long() -> None:
    class Ridge(Hill):
        steepness = np.array([1.0, 30.0, 1000.0])

    solver = DeltaBarDelta(max_iter=500, tol=0, first_step=10.0)
    solution = solver.maximize(Ridge(), START, go_on)
    assert max(solution.curve) > 1e-4 * solution.curve[0]


def test_decay_searches_on_until_a_step_raises() -> None:
    watched = Watched(Scripted(iter([10.0, 5.0, 4.0, 12.0, 11.0, 12.0])))
    DecayingSteps(max_iter=1).maximize(watched, np.ones((2, 3)), go_on)
    np.testing.assert_allclose(
        [entries[0, 0] - 1 for entries in watched.maps],
        [0, 0.1, 0.1 / 2, 0.1 / 4, 0.1 / 8, 0.1 / 4],
    )


def test_decay_searches_shorter_steps_where_the_first_leads_nowhere() -> None:
    watched = Watched(Scripted(iter([10.0, np.nan, 12.0, 11.0, 12.0])))
    DecayingSteps(max_iter=1).maximize(watched, np.ones((2, 3)), go_on)
    np.testing.assert_allclose(
        [entries[0, 0] - 1 for entries in watched.maps],
        [0, 0.1, 0.1 / 2, 0.1 / 4, 0.1 / 2],
    )


@pytest.mark.parametrize("first_step", [1e-2, 1.0, 30.0])
def test_decay_searches_for_the_first_step_that_raises_most(first_step: float) -> None:
    watched = Watched(Hill())
    solver = DecayingSteps(max_iter=1, first_step=first_step)
    solver.maximize(watched, START, go_on)
    *tried, first = watched.values[1:]
    assert 2 <= len(tried) <= 11
    assert first == max(tried) > watched.values[0]
    lengths = [np.linalg.norm(trial - START) for trial in watched.maps[1:-1]]
    assert lengths[0] == pytest.approx(first_step * np.linalg.norm(START))
    ratio = 2 if lengths[1] > lengths[0] else 0.5
    np.testing.assert_allclose(np.divide(lengths[1:], lengths[:-1]), ratio)


def test_decay_follows_its_rule() -> None:
    watched = Watched(Hill())
    solver = DecayingSteps(max_iter=30, tol=0, eta_0=5.0)
    solution = solver.maximize(watched, START, go_on)
    n_search = len(watched.maps) - 31
    maps, gradients = watched.maps[n_search:], watched.gradients[n_search:]
    maps[0], gradients[0] = START, watched.gradients[0]
    assert solution.curve[1:] == watched.values[n_search + 1 :]  # none taken back
    etas = [
        np.linalg.norm(maps[t + 1] - maps[t]) / np.linalg.norm(gradients[t])
        for t in range(30)
    ]
    eta_0 = 5 * np.linalg.norm(START) / np.linalg.norm(gradients[0])
    t_0 = eta_0 / etas[0]
    np.testing.assert_allclose(etas, eta_0 / (np.arange(30) + t_0))
