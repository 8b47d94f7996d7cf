"""Rows and clusters away from the origin, against sums of differences.

The oracles take all differences in extended precision; the points are what they are
after rounding to the type in question.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.datasets import load_iris

from vicinal._typing import FloatArray, IntArray
from vicinal.classic import LMNNClassifier
from vicinal.neighborhood import (
    ClassSlices,
    NeighborWeights,
    Rule,
    average,
    expected_matches,
    laplacian_product,
    log_matches,
    log_sums,
    perplexities,
    responsibilities,
    scatter,
)
from vicinal.objectives import NCAObjective, TargetObjective

N, D, N_CLASSES = 60, 3, 3
FAR = {"float32": 10.0, "float64": 1e9}


def one_row(far: float) -> FloatArray:
    places = np.zeros((N, D))
    places[17, 1] = far
    return places


def two_clusters(far: float) -> FloatArray:
    places = np.zeros((N, D))
    places[::2] = far
    return places


def many_clusters(far: float) -> FloatArray:
    rng = np.random.default_rng(1)
    return far * rng.normal(size=(5, D))[rng.integers(5, size=N)]


def a_few_far_clusters(far: float) -> FloatArray:
    places = np.zeros((N, D))
    places[::7, 0], places[1::7, 1] = far, -3 * far
    return places


PLACES = [one_row, two_clusters, many_clusters, a_few_far_clusters]
every_place = pytest.mark.parametrize("places", PLACES)
every_type = pytest.mark.parametrize("dtype", ["float32", "float64"])


def points(places: Any, dtype: str) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    # Clusters in float32 must be near; one far row may be anywhere.
    far = 3e4 if places is one_row and dtype == "float32" else FAR[dtype]
    Z = (rng.normal(size=(N, D)) + places(far)).astype(dtype)
    return Z, np.sort(rng.integers(N_CLASSES, size=N))


def masses(dtype: str, n: int = N) -> NeighborWeights:
    return NeighborWeights.build(np.ones(n), np.ones(n), np.dtype(dtype))


def distances(Q: FloatArray, Z: FloatArray) -> Any:
    gaps = Q.astype(np.longdouble)[:, None] - Z.astype(np.longdouble)[None]
    return (gaps**2).sum(axis=2)


def naive(Z: FloatArray, y: IntArray, kind: str) -> tuple[Any, Any]:
    """Return values and the weights v_ij, in extended precision."""
    d2 = distances(Z, Z)
    np.fill_diagonal(d2, np.inf)
    nearest = d2.min(axis=1, keepdims=True)
    e = np.exp(nearest - d2)
    p = e / e.sum(axis=1, keepdims=True)
    if kind == "responsibilities":
        return np.log(e.sum(axis=1)) - nearest[:, 0], p
    matched = p * (y[:, None] == y)
    p_i = matched.sum(axis=1)
    if kind == "expected":
        return p_i, p_i[:, None] * p - matched
    same = np.where(y[:, None] == y, d2, np.inf)
    closest = same.min(axis=1, keepdims=True)
    shares = np.exp(closest - same)
    sums = shares.sum(axis=1, keepdims=True)
    log_p = (nearest - closest)[:, 0] + np.log(sums[:, 0] / e.sum(axis=1))
    return log_p, p - shares / sums


RULES: dict[str, Callable[[IntArray, str], Rule]] = {
    "expected": lambda y, dtype: expected_matches(
        ClassSlices.from_sorted(y), masses(dtype)
    ),
    "log": lambda y, dtype: log_matches(ClassSlices.from_sorted(y), masses(dtype)),
    "responsibilities": lambda _, dtype: responsibilities(masses(dtype)),
}


def close(found: FloatArray, expected: Any, scale: Any, dtype: str) -> None:
    tolerance = 1e-4 if dtype == "float32" else 1e-6
    assert np.all(np.abs(found - expected) <= tolerance * (1 + scale))


@every_place
@every_type
@pytest.mark.parametrize("kind", RULES)
def test_values_and_products_are_those_of_differences(
    places: Any, dtype: str, kind: str
) -> None:
    Z, y = points(places, dtype)
    values, V = naive(Z, y, kind)
    W = V + V.T
    gaps = Z.astype(np.longdouble)[:, None] - Z.astype(np.longdouble)[None]
    product = np.einsum("ij,ijk->ik", W, gaps)
    # What is summed, in size: the yardstick of rounding.
    size = np.einsum("ij,ijk->ik", np.abs(W), np.abs(gaps))
    rule = RULES[kind](y, dtype)
    found = laplacian_product(Z, rule)
    close(found.values, values, np.abs(values), dtype)
    close(found.matrix, product, size, dtype)
    values_alone = laplacian_product(Z, rule, values_only=True).values
    np.testing.assert_array_equal(values_alone, found.values)
    many = laplacian_product(Z, rule, n_threads=3)
    np.testing.assert_array_equal(many.matrix, found.matrix)
    some = np.arange(1, N, 4)
    close(
        laplacian_product(Z, rule, 1, some).values,
        values[some],
        np.abs(values[some]),
        dtype,
    )


@every_place
@every_type
def test_scatters_and_perplexities(places: Any, dtype: str) -> None:
    Z, y = points(places, dtype)
    X = np.random.default_rng(5).normal(size=(N, 4)).astype(dtype)
    values, V = naive(Z, y, "responsibilities")
    rule = RULES["responsibilities"](y, dtype)
    for scattered in (None, X):
        S = (Z if scattered is None else X).astype(np.longdouble)
        gaps = S[:, None] - S[None]
        expected = np.einsum("ij,ijk,ijl->kl", V, gaps, gaps)
        found = scatter(Z, rule, 2, scattered=scattered)
        close(found.values, values, np.abs(values), dtype)
        close(found.matrix, expected, np.abs(expected).max(), dtype)
    entropy = -(V * np.log(np.maximum(V, 1e-300))).sum(axis=1)
    found_perplexities = laplacian_product(
        Z, perplexities(masses(dtype)), values_only=True
    ).values
    close(found_perplexities, np.exp(entropy), N, dtype)


@every_place
@every_type
def test_new_points(places: Any, dtype: str) -> None:
    Z, y = points(places, dtype)
    rng = np.random.default_rng(3)
    Q = (Z[rng.permutation(N)[:25]] + rng.normal(size=(25, D)) / 2).astype(dtype)
    log_offsets = rng.random(N).astype(dtype)
    d2 = (distances(Q, Z) + log_offsets).astype(float)
    sums = logsumexp(-d2, axis=1)
    found = log_sums(Q, Z, log_offsets, 2)
    assert found.dtype == dtype
    close(found, sums, np.abs(sums), dtype)
    targets = np.eye(N_CLASSES, dtype=dtype)[y]
    weights = NeighborWeights(log_offsets, np.zeros(0), np.zeros(0))
    means = average(Q, Z, targets, weights, 2)
    close(means, np.exp(-d2 - sums[:, None]) @ targets, 1, dtype)


@pytest.mark.parametrize("far", [0.0, 1e8, 1e10, 1e12])
def test_one_far_row_changes_no_other_rows_term(far: float) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    without = NCAObjective(X[1:], y[1:])
    A = 2 * np.eye(2)
    X[0] = far
    value = NCAObjective(X, y).value_and_gradient(A)[0]
    d2 = distances(X @ A.T, X @ A.T)
    np.fill_diagonal(d2, np.inf)
    e = np.exp(d2.min(axis=1, keepdims=True) - d2)
    e /= e.sum(axis=1, keepdims=True)
    assert value == pytest.approx(float(e[y[:, None] == y].sum()), rel=1e-9)
    if far:
        gradient = NCAObjective(X, y).value_and_gradient(A)[1]
        np.testing.assert_allclose(
            gradient, without.value_and_gradient(A)[1], rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("far", [1e8, 1e10, 1e12])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_far_row_changes_no_class_of_new_points(far: float, dtype: str) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = (rng.normal(size=(60, 2)) / 2 + 4 * y[:, None]).astype(dtype)
    new = X[:30] + 0.1
    A = np.eye(2)
    before = NCAObjective(X, y).class_probabilities(A, new)
    X[0] = far
    after = NCAObjective(X, y).class_probabilities(A, new)
    assert np.abs(before - after).max() < 0.2
    np.testing.assert_array_equal(after.argmax(axis=1)[1:], y[1:30])


@pytest.mark.parametrize(("far", "dtype"), [(1e8, "float64"), (1e4, "float32")])
def test_a_gradient_among_far_clusters_is_that_of_differences(
    far: float, dtype: str
) -> None:
    rng = np.random.default_rng(0)
    places = np.zeros((40, 3))
    places[:10], places[10:15] = far, -3 * far
    X = (rng.normal(size=(40, 3)) + places).astype(dtype)
    y = rng.integers(2, size=40)
    A = rng.normal(size=(2, 3))
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    Z = X @ A.T
    V = naive(Z, y, "expected")[1]
    gaps = X.astype(np.longdouble)[:, None] - X.astype(np.longdouble)[None]
    mapped = Z.astype(np.longdouble)[:, None] - Z.astype(np.longdouble)[None]
    expected = 2 * np.einsum("ij,ijk,ijl->kl", V, mapped, gaps)
    gradient = NCAObjective(X, y).value_and_gradient(A)[1]
    np.testing.assert_allclose(gradient, expected.astype(float), atol=1e-4)


def test_regression_with_a_far_row() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    near = TargetObjective(X[1:], X[1:, 0], "squared-error")
    far = X.copy()
    far[0] = 1e11
    targets = X[:, 0]
    whole = TargetObjective(far, targets, "squared-error")
    terms = whole.terms(np.eye(2), np.arange(50))
    np.testing.assert_allclose(
        terms[1:], near.terms(np.eye(2), np.arange(49)), rtol=1e-7, atol=1e-12
    )


@pytest.mark.parametrize("far", [0.0, 1e9])
def test_energies_and_impostors_among_far_clusters(far: float) -> None:
    """Two copies of the same points, far apart, are classified like one."""
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    model = LMNNClassifier(random_state=0).fit(X[::2], y[::2])
    alone = model.predict(X[1::2])
    both = np.vstack([X, X + far]), np.concatenate([y, y])
    model = LMNNClassifier(random_state=0).fit(both[0][::2], both[1][::2])
    predicted = model.predict(both[0][1::2])
    assert np.mean(predicted == both[1][1::2]) > np.mean(alone == y[1::2]) - 0.05
