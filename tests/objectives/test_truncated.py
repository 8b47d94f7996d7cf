from typing import Any

import numpy as np
import pytest

from tests.nca.oracles_terms import (
    class_masses,
    nca_terms_and_gradient,
    probabilities,
)
from tests.objectives.differences import by_differences
from vicinal._typing import FloatArray, IntArray
from vicinal.objectives import NCAObjective, TruncatedNCA
from vicinal.objectives.nca import TOLERATED

KINDS = ["expected", "log", "class-density"]
D = 4


def awkward(case: str) -> tuple[FloatArray, IntArray, FloatArray]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(70, D)), rng.integers(3, size=70)
    counts = np.ones(70)
    if case == "singletons":
        y[:6] = 100 + np.arange(6)
    elif case == "duplicates":
        X[35:] = X[:35]
    elif case == "counts":
        counts = rng.integers(1, 5, size=70).astype(float)
        y[:3] = 100 + np.arange(3)
    elif case == "far class":
        X[y == 2] += 1e3
    return X, y, counts


CASES = ["plain", "singletons", "duplicates", "counts", "far class"]
A = np.random.default_rng(1).normal(size=(2, D))


def nearest(X: FloatArray, y: IntArray, at: FloatArray, k: int) -> list[IntArray]:
    """The k nearest others, of which one is a match where there is any."""
    Z = X @ at.T
    lists = []
    for i in range(len(X)):
        distances = ((Z[i] - Z) ** 2).sum(axis=1)
        distances[i] = np.inf
        order = np.argsort(distances, kind="stable")
        listed = order[:k]
        matches = [j for j in order if y[j] == y[i] and j != i]
        if matches and not set(matches) & set(listed):
            listed = np.append(listed[:-1], matches[0])
        lists.append(listed)
    return lists


@pytest.mark.parametrize("kind", KINDS)
# With duplicates, who is nearest is a matter of taste: see the neighbourhood's tests.
@pytest.mark.parametrize("case", [case for case in CASES if case != "duplicates"])
@pytest.mark.parametrize("k", [1, 4, 20])
def test_equals_the_truncated_sums(kind: str, case: str, k: int) -> None:
    X, y, counts = awkward(case)
    objective = TruncatedNCA(X, y, kind, n_neighbors=k, sample_weight=counts)
    objective.refresh(A)
    assert objective.n_neighbors == k
    one = class_masses(y, counts) if kind == "class-density" else None
    lists = nearest(X, y, A, k)
    for B in (A, A + 0.1 * np.random.default_rng(3).normal(size=A.shape)):
        terms, gradient = nca_terms_and_gradient(
            X, y, B, kind, counts, lists, np.arange(70), one
        )
        value, ours = objective.value_and_gradient(B)
        assert value == pytest.approx(float(terms @ counts), rel=1e-9)
        np.testing.assert_allclose(
            ours, gradient, rtol=1e-6, atol=1e-8 * np.abs(gradient).max()
        )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_the_gradient_is_that_of_the_value(kind: str, case: str) -> None:
    X, y, counts = awkward(case)
    objective = TruncatedNCA(X, y, kind, n_neighbors=6, sample_weight=counts)
    B = 0.5 * A
    objective.refresh(B)
    gradient = objective.value_and_gradient(B)[1]
    np.testing.assert_allclose(
        gradient,
        by_differences(objective, B),
        rtol=1e-4,
        atol=1e-4 * (1 + np.abs(gradient).max()),
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("k", [68, 69, 70, 1000])
def test_with_all_neighbours_it_is_the_whole(kind: str, case: str, k: int) -> None:
    X, y, counts = awkward(case)
    objective = TruncatedNCA(X, y, kind, n_neighbors=k, sample_weight=counts)
    whole = NCAObjective(X, y, kind, sample_weight=counts).value_and_gradient(A)
    before = objective.value_and_gradient(A)
    assert before[0] == whole[0]
    objective.refresh(A)
    value, gradient = objective.value_and_gradient(A)
    # One of 69 others is left out at k = 68, and that is the farthest.
    tolerance = 0.03 if k == 68 else 1e-12
    assert value == pytest.approx(whole[0], rel=tolerance)
    if k > 68:
        np.testing.assert_array_equal(gradient, whole[1])
        assert objective.n_neighbors == 69
        assert objective.lost_mass(A) == 0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["plain", "counts"])
def test_the_lost_mass_is_what_is_not_listed(kind: str, case: str) -> None:
    X, y, counts = awkward(case)
    objective = TruncatedNCA(X, y, kind, n_neighbors=5, sample_weight=counts)
    assert objective.lost_mass(A) == 0
    objective.refresh(A)
    one = class_masses(y, counts) if kind == "class-density" else None
    lists = nearest(X, y, A, 5)
    for B in (A, 0.5 * A, 3 * A):
        p = probabilities(X @ B.T, counts, one)
        lost = [1 - p[i, [*lists[i], i]].sum() for i in range(70)]
        # All of so few points are looked at.
        assert objective.lost_mass(B) == pytest.approx(np.mean(lost), abs=1e-9)
    assert objective.lost_mass(0.5 * A) > objective.lost_mass(3 * A)


def spread_out(n: int = 900) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, D))
    return X, (X[:, 0] > 0).astype(int) + 2 * (X[:, 1] > 0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", ["plain", "counts", "rare class"])
@pytest.mark.parametrize("scale", [10.0, 40.0])
def test_auto_loses_less_than_a_thousandth(kind: str, case: str, scale: float) -> None:
    X, y = spread_out()
    rng = np.random.default_rng(6)
    counts = np.ones(len(X))
    if case == "counts":
        counts = np.ceil(rng.pareto(1.0, size=len(X)) + 1e-9)
    if case == "rare class":
        y[rng.permutation(len(X))[:8]] = 7
    B = scale * np.eye(2, D)
    objective = TruncatedNCA(X, y, kind, n_neighbors="auto", sample_weight=counts)
    objective.refresh(B)
    assert objective.n_neighbors < len(X) / 2
    order = np.argsort(y, kind="stable")
    one = class_masses(y, counts)[order] if kind == "class-density" else None
    p = probabilities((X @ B.T)[order], counts[order], one)
    assert objective._lists is not None
    np.put_along_axis(p, objective._lists.columns, 0, axis=1)
    assert objective.lost_mass(B) < TOLERATED == 1e-3
    # On all points: the sample has its error.
    assert p.sum(axis=1).mean() < 1.5e-3
    assert not objective.is_stale(B)


def test_auto_keeps_whole_sums_where_lists_would_not_pay() -> None:
    X, y = spread_out(300)
    objective = TruncatedNCA(X, y, n_neighbors="auto")
    objective.refresh(0.01 * np.eye(2, D))
    assert objective.n_neighbors == 299
    assert objective.lost_mass(np.eye(2, D)) == 0
    assert not objective.is_stale(np.eye(2, D))


def test_auto_is_stale_where_too_much_is_lost_and_a_number_never() -> None:
    X, y = spread_out()
    B = 12 * np.eye(2, D)
    auto = TruncatedNCA(X, y, n_neighbors="auto")
    fixed = TruncatedNCA(X, y, n_neighbors=3)
    for objective in (auto, fixed):
        objective.refresh(B)
    elsewhere = 12 * np.eye(2, D)[:, ::-1]
    assert auto.lost_mass(elsewhere) > 0.1
    assert auto.is_stale(elsewhere)
    assert not fixed.is_stale(elsewhere)
    auto.refresh(elsewhere)
    assert auto.lost_mass(elsewhere) < 1e-3
    assert not auto.is_stale(elsewhere)


@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads_gives_the_same_result(kind: str) -> None:
    X, y = spread_out()
    found = []
    for n_jobs in (1, 2, 4):
        objective = TruncatedNCA(X, y, kind, n_neighbors="auto", n_jobs=n_jobs)
        objective.refresh(15 * np.eye(2, D))
        found.append(objective.value_and_gradient(15 * np.eye(2, D)))
        assert objective.n_neighbors < 450
    for value, gradient in found[1:]:
        assert value == found[0][0]
        np.testing.assert_array_equal(gradient, found[0][1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_diagonal_map(kind: str) -> None:
    X, y, counts = awkward("counts")
    a = np.array([1.0, 0.2, 2.0, 0.0])
    objective = TruncatedNCA(X, y, kind, n_neighbors=5, sample_weight=counts)
    objective.refresh(a)
    value, gradient = objective.value_and_gradient(a)
    objective.refresh(np.diag(a))
    full_value, full_gradient = objective.value_and_gradient(np.diag(a))
    assert value == pytest.approx(full_value, rel=1e-12)
    np.testing.assert_allclose(gradient, np.diag(full_gradient), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", CASES)
def test_float32_is_near_the_truth(kind: str, case: str) -> None:
    X, y, counts = awkward(case)
    X = (X + 100).astype(np.float32)
    given: dict[str, Any] = {"n_neighbors": 8, "sample_weight": counts}
    single = TruncatedNCA(X, y, kind, **given)
    double = TruncatedNCA(X.astype(np.float64), y, kind, **given)
    single.refresh(A)
    double.refresh(A)
    value, gradient = single.value_and_gradient(A)
    expected_value, expected = double.value_and_gradient(A)
    assert gradient.dtype == (np.float64 if case == "far class" else np.float32)
    assert value == pytest.approx(expected_value, rel=1e-3)
    assert np.abs(gradient - expected).max() <= 2e-3 * (1 + np.abs(expected).max())


def test_terms_of_some_points_are_whole() -> None:
    X, y, _ = awkward("plain")
    objective = TruncatedNCA(X, y, n_neighbors=3)
    objective.refresh(A)
    whole = NCAObjective(X, y)
    queries = np.array([0, 8, 44])
    np.testing.assert_array_equal(
        objective.terms_and_gradient(A, queries)[0], whole.terms(A, queries)
    )
    part = np.arange(0, 70, 3)
    np.testing.assert_allclose(
        objective.subset(part).terms(A, queries // 3),
        whole.subset(part).terms(A, queries // 3),
    )
