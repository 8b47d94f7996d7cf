"""Maps of tables against their formulas, and their gradients."""

from typing import Any

import numpy as np
import pytest

from vicinal.maps import Additive, ColumnWeights, project_columns
from vicinal.objectives import NCAObjective, TargetObjective

rng = np.random.default_rng(0)
# Two numbers, a gap of the first, and a category with three levels, of which a value
# may have none.
X = np.column_stack(
    [rng.normal(size=(30, 2)), rng.integers(-1, 1, 30), rng.integers(0, 4, 30)]
)
X[X[:, 3] == 0, 3] = -1
y = rng.integers(0, 3, 30)
ADDITIVE = Additive(n_numbers=2, n_levels=4, n_components=3, n_frequencies=2)
WEIGHTS = ColumnWeights([[0, 2], [1], [3]], 2, 4, np.array([2, 3, 3, 3]))
GROUPS = [[0, 2], [1], [3]]
both_maps = pytest.mark.parametrize("form", [ADDITIVE, WEIGHTS], ids=["curves", "one"])


def parameters(form: Any) -> Any:
    return np.random.default_rng(1).normal(size=form.size)


def naive_additive(form: Additive, X: Any, given: Any) -> Any:
    curves, levels, frequencies = form.parts(given)
    K = form.n_frequencies
    Z = np.zeros((len(X), form.n_components))
    for i, row in enumerate(X):
        for c in range(form.n_numbers):
            Z[i] += curves[0, c] * row[c]
            for k in range(K):
                angle = frequencies[k, c] * row[c]
                Z[i] += curves[1 + k, c] * (np.cos(angle) - 1)
                Z[i] += curves[1 + K + k, c] * np.sin(angle)
        for code in row[form.n_numbers :]:
            if code >= 0:
                Z[i] += levels[int(code)]
    return Z


def test_additive_is_its_formula() -> None:
    given = parameters(ADDITIVE)
    expected = naive_additive(ADDITIVE, X, given)
    np.testing.assert_allclose(ADDITIVE.project(X, given), expected, atol=1e-13)


def test_column_weights_are_a_gower_distance() -> None:
    weights = np.array([1.0, 2.0, 0.5])
    Z = WEIGHTS.project(X, weights)
    for i, j in rng.integers(30, size=(50, 2)):
        numbers = np.square(weights[:2] * (X[i, :2] - X[j, :2])).sum()
        gap = weights[0] ** 2 / 2 * (X[i, 2] != X[j, 2])  # a gap and a number
        one, other = X[i, 3], X[j, 3]
        unlike = (1.0 if min(one, other) >= 0 else 0.5) * (one != other)
        expected = numbers + gap + weights[2] ** 2 * unlike
        assert np.square(Z[i] - Z[j]).sum() == pytest.approx(expected)


@both_maps
def test_parts_of_columns_sum_to_the_points(form: Any) -> None:
    given = parameters(form)
    parts = project_columns(form, X, given, GROUPS)
    np.testing.assert_allclose(parts.sum(axis=1), form.project(X, given), atol=1e-13)


@both_maps
def test_scaled_scales_the_points(form: Any) -> None:
    given = parameters(form)
    scaled = form.project(X, form.scaled(given, 1.7))
    np.testing.assert_allclose(scaled, 1.7 * form.project(X, given), atol=1e-13)


def naive_log_matches(Z: Any, weights: Any) -> float:
    """Σ_i w_i log p_i with p_ij ∝ w_j exp(−d_ij); w_i − 1 copies of i are neighbors."""
    total = 0.0
    for i in range(len(Z)):
        mass = weights * np.exp(-np.linalg.norm(Z - Z[i], axis=1))
        mass[i] = weights[i] - 1
        matched = mass[y == y[i]].sum()
        total += weights[i] * np.log(matched / mass.sum())
    return total


@pytest.mark.parametrize("weighted", [False, True])
def test_plain_distances_against_the_formula(weighted: bool) -> None:
    weights = rng.integers(1, 4, 30).astype(float) if weighted else np.ones(30)
    objective = NCAObjective(
        X, y, "log", sample_weight=weights, form=ADDITIVE, plain=True
    )
    given = parameters(ADDITIVE)
    Z = naive_additive(ADDITIVE, X, given)
    value = objective.value_and_gradient(given)[0]
    # A copy is at the distance √least instead of 0.
    assert value == pytest.approx(naive_log_matches(Z, weights), rel=1e-6)


def test_plain_perplexities() -> None:
    objective = NCAObjective(X, y, "log", form=ADDITIVE, plain=True)
    given = parameters(ADDITIVE)
    Z = naive_additive(ADDITIVE, X, given)
    p = np.exp(-np.linalg.norm(Z[:, None] - Z, axis=2))
    np.fill_diagonal(p, 0)
    p /= p.sum(axis=1, keepdims=True)
    entropies = -(p * np.log(np.where(p > 0, p, 1))).sum(axis=1)
    found = objective.effective_neighbors(given)
    np.testing.assert_allclose(found, np.exp(entropies), rtol=1e-9)


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("task", ["classes", "numbers"])
@both_maps
def test_gradients(form: Any, task: str, plain: bool) -> None:
    how: dict[str, Any] = {"form": form, "plain": plain}
    objective: Any = NCAObjective(X, y, "log", **how)
    if task == "numbers":
        objective = TargetObjective(X, X[:, 1] ** 2 + y, "squared-error", **how)
    given = parameters(form)
    gradient = objective.value_and_gradient(given)[1]
    for entry, step in zip(gradient, 1e-6 * np.eye(form.size), strict=True):
        above, below = (
            objective.value_and_gradient(given + s)[0] for s in (step, -step)
        )
        assert entry == pytest.approx((above - below) / 2e-6, abs=2e-5, rel=1e-5)


def test_points_that_coincide_have_a_finite_gradient() -> None:
    objective = NCAObjective(
        X[[0, 0, 1, 1, 2]], y[:5], "log", form=ADDITIVE, plain=True
    )
    value, gradient = objective.value_and_gradient(parameters(ADDITIVE))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
