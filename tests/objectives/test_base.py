from typing import Any

import numpy as np
import pytest

from tests.nca.oracles_terms import (
    class_masses,
    nca_terms_and_gradient,
    probabilities,
    target_terms,
)
from vicinal._typing import FloatArray, IntArray
from vicinal.objectives import NCAObjective, TargetObjective
from vicinal.objectives.minibatch import Minibatch
from vicinal.objectives.nca import PairObjective

D = 4
KINDS = ["expected", "log", "class-density"]
TARGET_KINDS = ["soft-match", "squared-error"]


def labeled() -> tuple[FloatArray, IntArray, FloatArray]:
    """Points in no order of classes, one class of one, duplicates, and counts."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, D)), rng.integers(3, size=50)
    y[7] = 9
    X[20:25] = X[:5]
    return X, y, rng.integers(1, 4, size=50).astype(float)


def targets() -> tuple[FloatArray, FloatArray, FloatArray]:
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 4, size=40).astype(float)
    return rng.normal(size=(40, D)), rng.normal(size=40), counts


A = 0.6 * np.random.default_rng(2).normal(size=(2, D))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_some_points_terms_with_sums_over_all(kind: str, weighted: bool) -> None:
    X, y, counts = labeled()
    counts = counts if weighted else np.ones(50)
    # The rule's order: by class, and as given inside a class.
    order = np.argsort(y, kind="stable")
    X, y, counts = X[order], y[order], counts[order]
    shuffle = np.random.default_rng(3).permutation(50)
    objective = NCAObjective(X, y, kind, sample_weight=counts)
    queries = np.sort(shuffle[:20])
    everyone = [np.arange(50)] * 50
    one = class_masses(y, counts) if kind == "class-density" else None
    expected = nca_terms_and_gradient(X, y, A, kind, counts, everyone, queries, one)
    terms, gradient = objective.terms_and_gradient(A, queries)
    np.testing.assert_allclose(terms, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(objective.terms(A, queries), terms)


@pytest.mark.parametrize("kind", KINDS)
def test_places_are_those_of_the_rules_order(kind: str) -> None:
    X, y, counts = labeled()
    order = np.argsort(y, kind="stable")
    given = NCAObjective(X, y, kind, sample_weight=counts)
    sorted_before = NCAObjective(X[order], y[order], kind, sample_weight=counts[order])
    queries = np.array([0, 3, 11, 30, 49])
    ours, theirs = (o.terms_and_gradient(A, queries) for o in (given, sorted_before))
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-12)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(given.counts, counts[order])
    rows = slice(10, 17)
    np.testing.assert_array_equal(
        np.sort(order[given.positions(rows)]), np.arange(10, 17)
    )
    assert np.all(np.diff(given.positions(rows)) > 0)
    assert len(given.positions(slice(-3, None))) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_queries_in_any_order_and_repeated(kind: str) -> None:
    X, y, counts = labeled()
    objective = NCAObjective(X, y, kind, sample_weight=counts)
    everyone = np.arange(50)
    terms, gradient = objective.terms_and_gradient(A, everyone)
    shuffled = np.random.default_rng(5).permutation(50)
    ours = objective.terms_and_gradient(A, shuffled)
    np.testing.assert_allclose(ours[0], terms[shuffled], rtol=1e-12)
    np.testing.assert_allclose(ours[1], gradient, rtol=1e-9, atol=1e-12)
    repeated = np.zeros(50, dtype=int)
    np.testing.assert_allclose(objective.terms(A, repeated), terms[repeated])
    part = Minibatch(objective, shuffled, objective.n_points, np.asarray)
    value, slope = objective.value_and_gradient(A)
    estimate, slope_of_part = part.value_and_gradient(A)
    assert estimate == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(slope_of_part, slope, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_among_some_of_the_points(kind: str) -> None:
    X, y, counts = labeled()
    objective = NCAObjective(X, y, kind, sample_weight=counts)
    order = np.argsort(y, kind="stable")
    one = class_masses(y, counts)[order] if kind == "class-density" else np.ones(50)
    positions = np.sort(np.random.default_rng(4).permutation(50)[:21])
    part = objective.subset(positions)
    rows = order[positions]
    queries = np.array([0, 5, 6, 20])
    expected = nca_terms_and_gradient(
        X[rows],
        y[rows],
        A,
        kind,
        counts[rows],
        [np.arange(21)] * 21,
        queries,
        one[positions],
    )
    terms, gradient = part.terms_and_gradient(A, queries)
    np.testing.assert_allclose(terms, expected[0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(gradient, expected[1], rtol=1e-7, atol=1e-9)
    assert part.n_rows == 21
    assert part.n_points == counts[rows].sum()
    # The whole is as it was.
    assert objective.n_rows == 50
    assert objective.n_points == counts.sum()


def test_among_points_of_a_part() -> None:
    X, y, _ = labeled()
    objective = NCAObjective(X, y)
    whole = objective.subset(np.arange(10, 40))
    twice = whole.subset(np.array([2, 3, 9, 25]))
    once = objective.subset(np.array([12, 13, 19, 35]))
    np.testing.assert_array_equal(
        twice.value_and_gradient(A)[1], once.value_and_gradient(A)[1]
    )


@pytest.mark.parametrize("kind", TARGET_KINDS)
def test_targets_of_some_points(kind: str) -> None:
    X, t, counts = targets()
    objective = TargetObjective(X, t, kind, width=0.7, sample_weight=counts)
    queries = np.array([1, 2, 17, 39])
    np.testing.assert_allclose(
        objective.terms(A, queries),
        target_terms(X, t, A, kind, counts, queries, 0.7),
        rtol=1e-9,
    )
    positions = np.arange(3, 40, 2)
    part = objective.subset(positions)
    queries = np.array([0, 4, 18])
    terms, gradient = part.terms_and_gradient(A, queries)

    def weighted_sum(B: FloatArray) -> float:
        of_part = (X[positions], t[positions], B, kind, counts[positions], queries, 0.7)
        return float(target_terms(*of_part) @ counts[positions][queries])

    np.testing.assert_allclose(
        terms,
        target_terms(
            X[positions], t[positions], A, kind, counts[positions], queries, 0.7
        ),
        rtol=1e-9,
    )
    np.testing.assert_allclose(gradient, slopes(weighted_sum), rtol=1e-5, atol=1e-7)


def slopes(function: Any, step: float = 1e-6) -> FloatArray:
    gradient = np.empty_like(A)
    for index in np.ndindex(A.shape):
        up, down = A.copy(), A.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = (function(up) - function(down)) / (2 * step)
    return gradient


@pytest.mark.parametrize("kind", [*KINDS, *TARGET_KINDS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_turned_is_the_objective_of_other_coordinates(kind: str, dtype: Any) -> None:
    X, y, counts = labeled()
    X = X.astype(dtype)
    basis = np.random.default_rng(5).normal(size=(D, 3))
    make: Any = NCAObjective if kind in KINDS else TargetObjective
    objective: PairObjective = make(X, y, kind, sample_weight=counts)
    in_basis = objective.in_basis(basis)
    B = np.random.default_rng(6).normal(size=(2, 3))
    assert in_basis.X.dtype == dtype
    value, gradient = in_basis.value_and_gradient(B)
    expected_value, expected = objective.value_and_gradient(B @ basis.T)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    assert value == pytest.approx(expected_value, rel=tolerance)
    np.testing.assert_allclose(
        gradient, expected @ basis, atol=30 * tolerance * np.abs(expected).max()
    )
    assert objective.X.shape == (50, D)


@pytest.mark.parametrize("kind", ["expected", "class-density"])
def test_easier_than_f_is_g(kind: str) -> None:
    X, y, counts = labeled()
    objective = NCAObjective(X, y, kind, sample_weight=counts)
    objective.value_and_gradient(A)
    warmup_surrogate = objective.warmup_surrogate()
    assert warmup_surrogate is not None
    g, says = warmup_surrogate
    positions = np.arange(50)
    matched = objective.terms(A, positions) > 0
    np.testing.assert_allclose(
        says(g.terms(A, positions))[matched], objective.terms(A, positions)[matched]
    )
    order = np.argsort(y, kind="stable")
    one = class_masses(y, counts)[order] if kind == "class-density" else None
    expected = nca_terms_and_gradient(
        X[order], y[order], A, "log", counts[order], [positions] * 50, positions, one
    )
    np.testing.assert_allclose(
        g.value_and_gradient(A)[1], expected[1], rtol=1e-7, atol=1e-9
    )
    assert g.warmup_surrogate() is None


def test_others_have_nothing_easier() -> None:
    X, y, _ = labeled()
    assert NCAObjective(X, y, "log").warmup_surrogate() is None
    for kind in TARGET_KINDS:
        assert TargetObjective(X, y, kind).warmup_surrogate() is None


def test_effective_neighbors_of_some() -> None:
    X, y, counts = labeled()
    counts = np.ones(50)
    objective = NCAObjective(X, y)
    order = np.argsort(y, kind="stable")
    p = probabilities(X @ A.T, counts)
    perplexities = np.exp(-np.sum(p * np.log(p, where=p > 0, out=np.zeros_like(p)), 1))
    queries = np.array([0, 9, 33])
    seen = objective.effective_neighbors(A, queries)
    assert seen.shape == (50,)
    np.testing.assert_array_equal(
        np.flatnonzero(~np.isnan(seen)), np.sort(order[queries])
    )
    np.testing.assert_allclose(seen[order[queries]], perplexities[order[queries]])
    np.testing.assert_allclose(objective.effective_neighbors(A), perplexities)


def test_bad_maps_are_named() -> None:
    X, y, _ = labeled()
    objective = NCAObjective(X, y)
    with pytest.raises(ValueError, match=r"shape \(n_components, 4\)"):
        objective.terms(np.eye(2, 3), np.arange(3))
    with pytest.raises(ValueError, match=r"shape \(n_components, 4\)"):
        objective.subset(np.arange(9)).terms_and_gradient(np.eye(5), np.arange(3))


@pytest.mark.parametrize("kind", ["soft-match", "squared-error"])
def test_targets_far_from_zero_keep_their_digits(kind: str) -> None:
    """The sums of both are exact: a multiple of 2⁻¹⁰, and 2²⁰ more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    t = rng.integers(-9, 9, size=30) / 1024
    near, far = (
        TargetObjective(X, t + shift, kind, width=7e-4) for shift in (0, 2**20)
    )
    value, gradient = near.value_and_gradient(np.eye(3))
    found = far.value_and_gradient(np.eye(3))
    assert found[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found[1], gradient, atol=1e-12 * np.abs(gradient).max())
