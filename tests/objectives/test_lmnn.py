import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.classic.oracles import lmnn_loss
from tests.objectives.differences import by_differences
from vicinal.objectives import LMNNObjective

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
y = rng.integers(3, size=40)
y[:3] = [7, 8, 8]  # alone, and two


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("case", ["plain", "duplicates", "outlier"])
def test_value_and_gradient(d: int, case: str) -> None:
    points = X.copy()
    if case == "duplicates":
        points[20:] = points[:20] + 1e-3 * rng.normal(size=(20, 4))
    if case == "outlier":
        points[5] += 1e3
    A = rng.normal(size=(d, 4)) / 3
    objective = LMNNObjective(points, y, 3, regularization=0.3)
    value, gradient = objective.value_and_gradient(A)
    assert value == pytest.approx(-lmnn_loss(points, y, A, 3, 0.3), rel=1e-10)
    expected = by_differences(objective, A, 1e-7)
    np.testing.assert_allclose(gradient, expected, rtol=1e-4, atol=1e-4 * abs(value))


def test_float32_is_computed_in_float32() -> None:
    A = rng.normal(size=(2, 4))
    value, gradient = LMNNObjective(X.astype(np.float32), y).value_and_gradient(A)
    expected, slope = LMNNObjective(X, y).value_and_gradient(A)
    assert gradient.dtype == np.float32
    assert value == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(gradient, slope, rtol=1e-3, atol=1e-3)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5))
def test_what_does_not_matter(seed: int, threads: int) -> None:
    # Order, origin, axes, names and threads.
    draw = np.random.default_rng(seed)
    A = draw.normal(size=(2, 4))
    Q = np.linalg.qr(draw.normal(size=(4, 4)))[0]
    order = draw.permutation(40)
    moved = X[order] @ Q + draw.normal(size=4)
    names = np.array(list("cdab efghi"))[y[order]]
    expected = LMNNObjective(X, y, n_jobs=1).value_and_gradient(A)
    found = LMNNObjective(moved, names, n_jobs=threads).value_and_gradient(A @ Q)
    assert found[0] == pytest.approx(expected[0], rel=1e-9)
    np.testing.assert_allclose(found[1], expected[1] @ Q, rtol=1e-7, atol=1e-7)


def test_lists_are_exact_where_they_were_made_and_low_nearby() -> None:
    A = np.eye(4) / 2
    kept = LMNNObjective(X, y, keep_lists=True)
    exact = LMNNObjective(X, y)
    kept.refresh(A)
    assert kept.value_and_gradient(A)[0] == exact.value_and_gradient(A)[0]
    for scale in (0.1, 1.05):
        fresh, stale = (o.value_and_gradient(scale * A)[0] for o in (exact, kept))
        assert stale >= fresh  # what is not listed costs nothing
    far = 0.1 * A
    assert kept.value_and_gradient(far)[0] > exact.value_and_gradient(far)[0]
    kept.refresh(far)
    assert kept.value_and_gradient(far)[0] == exact.value_and_gradient(far)[0]


def test_terms_of_some_points_sum_to_the_whole() -> None:
    A = rng.normal(size=(3, 4))
    objective = LMNNObjective(X, y)
    whole, slope = objective.value_and_gradient(A)
    for known in (False, True):
        if known:
            objective.find_targets()
        parts = [
            objective.of_queries(np.arange(40)[part]).value_and_gradient(A)
            for part in (slice(0, 13), slice(13, 40))
        ]
        assert sum(value for value, _ in parts) == pytest.approx(whole)
        np.testing.assert_allclose(sum(g for _, g in parts), slope, atol=1e-9)


def test_a_sample_of_too_many_impostors_is_unbiased() -> None:
    draw = np.random.default_rng(1)
    points, labels = draw.normal(size=(600, 3)), draw.integers(4, size=600)
    A = np.eye(3) / 4
    whole, slope = LMNNObjective(points, labels).value_and_gradient(A)
    few = LMNNObjective(points, labels, max_impostors=30_000)
    sampled, sampled_slope = few.value_and_gradient(A)
    assert sampled != whole
    assert sampled == pytest.approx(whole, rel=0.05)
    error = np.linalg.norm(sampled_slope - slope) / np.linalg.norm(slope)
    assert error < 0.1


def test_components_of_another_width() -> None:
    with pytest.raises(ValueError, match=r"shape \(n_components, 4\)"):
        LMNNObjective(X, y).value_and_gradient(np.eye(3))
    with pytest.raises(ValueError, match="finite"):
        LMNNObjective(X, y).value_and_gradient(np.full((2, 4), np.nan))
