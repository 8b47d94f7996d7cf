import numpy as np
import pytest

from vicinal._typing import FloatArray, IntArray
from vicinal.objectives import (
    MinibatchSampler,
    NCAObjective,
    TargetObjective,
)
from vicinal.objectives.minibatch import Minibatch
from vicinal.objectives.nca import PairObjective, sample_indices
from vicinal.optimize import Ridge

KINDS = ["expected", "log", "class-density"]
TARGET_KINDS = ["soft-match", "squared-error"]
N, D = 60, 4
A = 0.7 * np.random.default_rng(9).normal(size=(2, D))


def data() -> tuple[FloatArray, IntArray, FloatArray]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(N, D)), rng.integers(3, size=N)
    return X, y, rng.integers(1, 4, size=N).astype(float)


def make(kind: str, weighted: bool = False) -> PairObjective:
    X, y, counts = data()
    weights = counts if weighted else None
    if kind in KINDS:
        return NCAObjective(X, y, kind, sample_weight=weights)
    return TargetObjective(X, y.astype(float), kind, sample_weight=weights)


@pytest.mark.parametrize("kind", [*KINDS, *TARGET_KINDS])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [N, N + 1, 10**6])
def test_the_largest_part_is_the_whole(kind: str, weighted: bool, size: int) -> None:
    objective = make(kind, weighted)
    part = MinibatchSampler(objective, size, size).draw(np.random.default_rng(1))
    value, gradient = part.value_and_gradient(A)
    expected = objective.value_and_gradient(A)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [*KINDS, *TARGET_KINDS])
def test_with_all_as_references_parts_are_right_on_average(kind: str) -> None:
    objective = make(kind)
    batches = MinibatchSampler(objective, 15, N)
    rng = np.random.default_rng(2)
    drawn = [batches.draw(rng).value_and_gradient(A) for _ in range(400)]
    value, gradient = objective.value_and_gradient(A)
    values = np.array([v for v, _ in drawn])
    gradients = np.stack([g for _, g in drawn])
    error = gradients.std(axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(gradients.mean(axis=0) - gradient) < 4.5 * error)
    assert abs(values.mean() - value) < 4.5 * values.std() / 20
    # Parts do differ, and the mean says more than any of them.
    assert np.all(gradients.std(axis=0) > 10 * error)


def test_each_part_is_another_and_seeds_reproduce() -> None:
    batches = MinibatchSampler(make("log"), 10, 30)
    rng = np.random.default_rng(3)
    first, second = (batches.draw(rng).value_and_gradient(A)[1] for _ in range(2))
    again = batches.draw(np.random.default_rng(3)).value_and_gradient(A)[1]
    assert not np.allclose(first, second)
    np.testing.assert_array_equal(first, again)


def batch_of(batches: MinibatchSampler, rng: np.random.Generator) -> Minibatch:
    part = batches.draw(rng)
    assert isinstance(part, Minibatch)
    return part


def test_sizes() -> None:
    rng = np.random.default_rng(4)
    for batch_size, n_references, queries, references in [
        (10, 30, 10, 30),
        (40, 30, 30, 30),
        (1, 1, 1, 1),
        (10**6, 10**6, N, N),
    ]:
        part = batch_of(MinibatchSampler(make("log"), batch_size, n_references), rng)
        assert len(part.queries) == queries
        assert part.objective.n_rows == references
        assert np.all(np.diff(part.queries) > 0)


def test_only_those_of_the_pool_ask() -> None:
    X, y, counts = data()
    objective = NCAObjective(X, y, sample_weight=counts)
    pool = objective.positions(slice(50, N))
    asked = set()
    rng = np.random.default_rng(5)
    for n_references in (5, 30, N):
        for _ in range(20):
            part = batch_of(
                MinibatchSampler(objective, 4, n_references, pool=pool), rng
            )
            rows = part.objective.X[part.objective._order[part.queries]]
            positions = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
            assert len(set(positions)) == 4
            assert min(positions) >= 50
            asked |= set(positions)
            assert n_references <= part.objective.n_rows <= n_references + 4
    assert asked == set(range(50, N))


def test_a_pool_of_all_points_is_no_pool() -> None:
    objective = make("expected", weighted=True)
    part = MinibatchSampler(objective, N, N, pool=np.arange(N)).draw(
        np.random.default_rng(0)
    )
    np.testing.assert_allclose(
        part.value_and_gradient(A)[1], objective.value_and_gradient(A)[1], rtol=1e-10
    )


def test_a_pools_terms_stand_for_all_points() -> None:
    objective = make("log", weighted=True)
    pool = np.array([3, 4, 30, 59])
    part = MinibatchSampler(objective, 99, 99, pool=pool).draw(np.random.default_rng(0))
    terms, gradient = objective.terms_and_gradient(A, pool)
    counts = objective.counts[pool]
    value, of_part = part.value_and_gradient(A)
    scale = objective.n_points / counts.sum()
    assert value == pytest.approx(scale * float(terms @ counts), rel=1e-10)
    np.testing.assert_allclose(of_part, scale * gradient, rtol=1e-9)


def test_the_penalty_is_that_of_the_whole() -> None:
    objective = make("expected", weighted=True)
    penalised = Ridge(objective, 0.1 * objective.n_points)
    part = MinibatchSampler(objective, N, N, alpha=0.1).draw(np.random.default_rng(0))
    value, gradient = part.value_and_gradient(A)
    expected = penalised.value_and_gradient(A)
    assert value == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-10)


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_coordinates(alpha: float) -> None:
    objective = make("log")
    basis = np.random.default_rng(6).normal(size=(D, D))
    batches = MinibatchSampler(objective, N, N, alpha, basis)
    value, gradient = batches.draw(np.random.default_rng(0)).value_and_gradient(A)
    whole = Ridge(objective, alpha * N).value_and_gradient(A @ basis.T)
    assert value == pytest.approx(whole[0], rel=1e-12)
    np.testing.assert_allclose(gradient, whole[1] @ basis, rtol=1e-9)


def test_what_is_reported_is_not_what_is_climbed() -> None:
    objective = make("expected")
    warmup_surrogate = objective.warmup_surrogate()
    assert warmup_surrogate is not None
    g, says = warmup_surrogate
    part = MinibatchSampler(g, N, N, report=says).draw(np.random.default_rng(0))
    value, gradient = part.value_and_gradient(A)
    assert value == pytest.approx(objective.value_and_gradient(A)[0], rel=1e-10)
    np.testing.assert_allclose(gradient, g.value_and_gradient(A)[1], rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_may_miss_classes(kind: str) -> None:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, D))
    y = np.arange(N) // 3
    batches = MinibatchSampler(NCAObjective(X, y, kind), 5, 8)
    values = []
    for _ in range(30):
        value, gradient = batches.draw(rng).value_and_gradient(A)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        values.append(value)
    assert np.ptp(values) > 0
    # Down to a point with nobody to look at.
    value, gradient = (
        MinibatchSampler(NCAObjective(X, y, kind), 1, 1).draw(rng).value_and_gradient(A)
    )
    assert np.isfinite(value)
    np.testing.assert_array_equal(gradient, 0)


def test_some_is_a_fair_draw_in_order() -> None:
    rng = np.random.default_rng(8)
    np.testing.assert_array_equal(sample_indices(rng, 5, 9), np.arange(5))
    counts = np.zeros(20)
    for _ in range(2000):
        drawn = sample_indices(rng, 20, 6)
        assert len(set(drawn)) == 6
        assert np.all(np.diff(drawn) > 0)
        counts[drawn] += 1
    # 600 each, with a standard error of √(2000 · 0.3 · 0.7) ≈ 20.
    assert np.abs(counts - 600).max() < 90
