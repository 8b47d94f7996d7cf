from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.random import Generator

from tests.solvers.hills import Hill, Plain, Times, go_on
from vicinal._typing import FloatArray
from vicinal.optimize import (
    Adam,
    Objective,
    Progress,
    Stochastic,
    average,
    schedule,
    take_steps,
    typical_entry,
)

START: FloatArray = np.ones((2, 3))


@dataclass
class Noisy:
    """Each part is the hill with another slope added to it, 0 on average."""

    noise: float = 5.0
    factor: float = 1.0
    n_drawn: int = 0

    def draw(self, rng: Generator) -> Objective:
        self.n_drawn += 1
        slope = self.noise * rng.normal(size=Hill.top.shape)

        class Part:
            def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
                value, gradient = Hill().value_and_gradient(A)
                return value + float((slope * A).sum()), gradient + slope

        return Times(self.factor, Part())


@dataclass
class Same:
    """Every part is the whole; notes where it was evaluated."""

    objective: Objective
    maps: list[FloatArray] = field(default_factory=list)
    values: list[float] = field(default_factory=list)

    def draw(self, rng: Generator) -> "Same":
        return self

    def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = self.objective.value_and_gradient(A)
        self.maps.append(A)
        self.values.append(value)
        return value, gradient


def naive_adam(gradients: list[FloatArray], t: int) -> FloatArray:
    """Adam's step t, from weighted means over all gradients so far."""
    past = gradients[:t]
    ages = np.arange(t)[::-1]
    first = sum((1 - 0.9) * 0.9**a * g for a, g in zip(ages, past, strict=True))
    second = sum((1 - 0.999) * 0.999**a * g**2 for a, g in zip(ages, past, strict=True))
    return np.asarray(first / (1 - 0.9**t) / np.sqrt(second / (1 - 0.999**t)))


def test_adam_is_adam() -> None:
    rng = np.random.default_rng(0)
    units = np.array([1, 1e-3, 1e3])
    gradients: list[FloatArray] = [rng.normal(size=(2, 3)) * units for _ in range(40)]
    etas = rng.uniform(0.1, 1, size=40)
    adam, A = Adam(), START
    for t, (gradient, eta) in enumerate(zip(gradients, etas, strict=True), start=1):
        moved = adam.step(A, gradient, eta)
        np.testing.assert_allclose(moved - A, eta * naive_adam(gradients, t), rtol=1e-6)
        A = moved


def test_where_nothing_pulls_nothing_moves() -> None:
    adam = Adam()
    gradient = np.array([[1.0, 0.0, -2.0]])
    moved = adam.step(np.ones((1, 3)), gradient, 0.5)
    np.testing.assert_allclose(moved, [[1.5, 1.0, 0.5]])
    np.testing.assert_array_equal(Adam().step(START, 0 * START, 1.0), START)


@pytest.mark.parametrize("first", [0.0, 1e-60, 1e-20])
def test_gradients_that_grow(first: float) -> None:
    # What was before them is as good as nothing: entries move as after zeros.
    small, plain = Adam(), Adam()
    A: FloatArray = np.ones((2, 3))
    B: FloatArray = np.ones((2, 3))
    for size in (first, 1.0, 3.0):
        A = small.step(A, np.full((2, 3), size), 0.1)
        B = plain.step(B, np.full((2, 3), size if size > 1e-30 else 1e-30), 0.1)
    assert np.isfinite(A).all()
    np.testing.assert_allclose(A, B - 0.1 * (first == 0), rtol=1e-6)


def test_a_held_size_of_nothing_stays_nothing() -> None:
    zeros = np.zeros((2, 3))
    np.testing.assert_array_equal(Adam(True).step(zeros, zeros + 1, 0.1), zeros)


def test_a_held_size_is_held() -> None:
    rng = np.random.default_rng(1)
    adam = Adam(size_held=True)
    A: FloatArray = rng.normal(size=(2, 5))
    size = np.linalg.norm(A)
    for _ in range(20):
        moved = adam.step(A, rng.normal(size=(2, 5)), 0.3)
        assert np.linalg.norm(moved) == pytest.approx(size, rel=1e-12)
        assert np.abs(moved - A).max() > 1e-3
        A = moved
    nothing = np.zeros((2, 5))
    np.testing.assert_array_equal(Adam(size_held=True).step(nothing, nothing, 1), 0)


RNG = np.random.default_rng(3)


def paths(n: int, size_held: bool = False, unit: float = 1.0) -> list[Progress]:
    """Lead maps from one start by three steps each, by gradients of other sizes."""
    rng = np.random.default_rng(0)
    return [
        take_steps(Noisy(factor=unit**k), START, Adam(size_held), [0.1, 0.2, 0.1], rng)
        for k in range(n)
    ]


@pytest.mark.parametrize("unit", [1.0, 1e30])
def test_maps_and_memories_are_averaged(unit: float) -> None:
    some = paths(3, unit=unit)
    total = average(*some)
    np.testing.assert_allclose(
        total.components, np.mean([one.components for one in some], axis=0)
    )
    for name in ("mean", "square"):
        parts = [getattr(one.adam, name) for one in some]
        np.testing.assert_allclose(getattr(total.adam, name), np.mean(parts, axis=0))
    values = np.mean([one.batch_values for one in some], axis=0)
    np.testing.assert_allclose(total.batch_values, values)
    assert total.adam.n_steps == 3
    assert total.n_paths == 3
    assert total.finite


@pytest.mark.parametrize("size", [1e-60, 1e60])
def test_a_path_without_gradients_has_no_unit(size: float) -> None:
    seen, blind = Adam(), Adam()
    paths = [
        Progress(one.step(START, size * START * k, 0.1), one, [0.0])
        for k, one in enumerate((blind, seen))
    ]
    total = average(*paths)
    moved = total.adam.step(total.components, size * START, 0.1) - total.components
    assert 0.01 < np.abs(moved).max() < 0.11


def test_means_of_means_are_those_of_all() -> None:
    some = paths(5)
    flat, tree = average(*some), average(average(*some[:4]), some[4])
    np.testing.assert_allclose(tree.components, flat.components)
    np.testing.assert_allclose(tree.adam.square, flat.adam.square)
    assert tree.n_paths == 5


def test_the_mean_of_one_is_itself() -> None:
    for held in (False, True):
        [one] = paths(1, held)
        np.testing.assert_array_equal(average(one).components, one.components)


def test_a_mean_holds_the_size() -> None:
    some = paths(4, size_held=True)
    shorter = np.mean([one.components for one in some], axis=0)
    assert np.linalg.norm(shorter) < 0.999 * np.linalg.norm(START)
    found = average(*some).components
    assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(START))


def test_one_path_that_breaks_is_told() -> None:
    [good] = paths(1)
    broken = take_steps(Noisy(factor=np.nan), START, Adam(), [0.1] * 3, rng=RNG)
    assert not broken.finite
    total = average(good, broken)
    assert not total.finite
    assert np.isfinite(total.components).all()


def test_a_step_too_far_is_told_without_a_warning() -> None:
    class Steep:
        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            return float(-(A**2).sum()), -2e200 * A**2

    far = take_steps(Same(Steep()), 1e150 * START, Adam(), [0.1] * 3, rng=RNG)
    assert not far.finite
    np.testing.assert_array_equal(far.components, 1e150 * START)


def test_steps_leave_the_memory_of_those_before() -> None:
    adam = Adam()
    take_steps(Noisy(), START, adam, [0.1], np.random.default_rng(0))
    assert adam.n_steps == 0


def test_the_schedule_rises_shortly_and_falls_to_nothing() -> None:
    progress = np.linspace(0, 1, 1001)
    eta = np.array([schedule(p) for p in progress])
    top = int(eta.argmax())
    assert 0 < eta[0] < 0.05
    assert 0.02 < progress[top] < 0.1
    assert eta[top] > 0.95
    assert np.all(np.diff(eta[: top + 1]) > 0)
    assert np.all(np.diff(eta[top:]) < 0)
    assert eta[500] == pytest.approx(0.5, abs=1e-3)
    assert eta[-1] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_climbs_a_noisy_hill_to_its_top(seed: int) -> None:
    solver = Stochastic(max_iter=60, seed=seed)
    objective = Noisy()
    solution = solver.maximize(objective, START, go_on)
    assert objective.n_drawn == 60 * 25
    # One step at the size of the first would miss by 0.3; the noise alone moves the
    # top of a part by 2.5 where the hill is flattest.
    np.testing.assert_allclose(solution.x, Hill.top, atol=0.2)
    assert solution.success
    assert solution.nit == 60
    assert len(solution.curve) == 61


def test_an_iteration_is_steps_and_the_curve_has_their_mean() -> None:
    objective = Same(Hill())
    seen: list[tuple[FloatArray, list[float]]] = []

    def note(A: FloatArray, curve: list[float]) -> bool:
        seen.append((A, list(curve)))
        return False

    solution = Stochastic(max_iter=4, steps=5).maximize(objective, START, note)
    assert len(objective.values) == 20
    np.testing.assert_array_equal(objective.maps[0], START)
    assert solution.curve[0] == objective.values[0]
    means = np.reshape(objective.values, (4, 5)).mean(axis=1)
    np.testing.assert_allclose(solution.curve[1:], means)
    assert [curve for _, curve in seen] == [solution.curve[:n] for n in (2, 3, 4, 5)]
    # What is told is the map after the iteration's last step: the next one's first.
    for n in (1, 2, 3):
        np.testing.assert_array_equal(seen[n - 1][0], objective.maps[5 * n])
    np.testing.assert_array_equal(seen[-1][0], solution.x)


def test_seeds() -> None:
    first, again, other = (
        Stochastic(5, seed).maximize(Noisy(), START, go_on) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.x, again.x)
    assert first.curve == again.curve
    assert not np.allclose(first.x, other.x)


@pytest.mark.parametrize("factor", [1e-60, 1e-12, 1e-3, 1e6, 1e60])
def test_the_unit_of_the_objective_does_not_matter(factor: float) -> None:
    plain = Stochastic(10).maximize(Noisy(), START, go_on)
    scaled = Stochastic(10).maximize(Noisy(factor=factor), START, go_on)
    np.testing.assert_allclose(scaled.x, plain.x, rtol=1e-6)
    np.testing.assert_allclose(scaled.curve, factor * np.array(plain.curve), rtol=1e-6)


def test_steps_are_in_units_of_the_start() -> None:
    # One iteration of one step: schedule(0) of the largest step, up or down.
    start = np.array([[3.0, -4.0, 0.0]])
    assert typical_entry(start) == pytest.approx(np.sqrt(25 / 3))
    assert typical_entry(np.zeros((2, 2))) == 1
    moved = Stochastic(1, steps=1, first_step=0.5).maximize(Same(Slope()), start, go_on)
    np.testing.assert_allclose(
        moved.x - start, 0.5 * schedule(0) * np.sqrt(25 / 3), rtol=1e-9
    )


class Slope:
    def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
        return float(A.sum()), np.ones_like(A)


def test_a_held_size_stays_through_the_climb() -> None:
    start = np.array([[3.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
    solution = Stochastic(30, size_held=True).maximize(Same(Hill()), start, go_on)
    assert np.linalg.norm(solution.x) == pytest.approx(np.linalg.norm(start))
    start_value = Hill().value_and_gradient(start)[0]
    assert Hill().value_and_gradient(solution.x)[0] > start_value


def test_a_callback_stops_it() -> None:
    solution = Stochastic(20).maximize(Noisy(), START, lambda _, c: len(c) == 4)
    assert solution.nit == 3
    assert len(solution.curve) == 4
    assert solution.success
    assert solution.reason == "callback"
    assert "callback" in solution.message


@pytest.mark.parametrize("what", ["value", "gradient"])
@pytest.mark.parametrize("when", [0, 60])
def test_what_is_not_finite_ends_the_climb(what: str, when: int) -> None:
    class Breaks(Hill):
        n = 0

        def draw(self, rng: Generator) -> Objective:
            return self

        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            value, gradient = super().value_and_gradient(A)
            self.n += 1
            if self.n > when:
                bad = np.nan * gradient
                return (np.inf, gradient) if what == "value" else (value, bad)
            return value, gradient

    solution = Stochastic(10).maximize(Breaks(), START, go_on)
    assert not solution.success
    assert solution.reason == "not_finite"
    assert "not finite" in solution.message
    assert np.isfinite(solution.x).all()
    assert solution.nit == when // 25
    assert len(solution.curve) == solution.nit + 1


def test_without_a_slope_the_start_comes_back() -> None:
    start = np.arange(6.0).reshape(2, 3)
    solution = Stochastic(3).maximize(Same(Plain()), start, go_on)
    np.testing.assert_array_equal(solution.x, start)
    assert solution.curve == [3.0] * 4


def test_single_precision_in_double_out_and_the_start_is_left_alone() -> None:
    class Coarse(Hill):
        def value_and_gradient(self, A: FloatArray) -> tuple[float, FloatArray]:
            assert A.dtype == np.float64
            value, gradient = super().value_and_gradient(A)
            return value, gradient.astype(np.float32)

    start = np.ones((2, 3), dtype=np.float32)
    solution = Stochastic(5).maximize(Same(Coarse()), start, go_on)
    assert solution.x.dtype == np.float64
    np.testing.assert_array_equal(start, 1)
