import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    NeighborWeights,
    Rule,
    WeightedPairs,
    laplacian_product,
    log_sums,
    responsibilities,
    scatter,
)


def rule(n: int, dtype: Any = np.float64) -> Rule:
    return responsibilities(
        NeighborWeights.build(np.ones(n), np.ones(n), np.dtype(dtype))
    )


def make(n: int, d: int, dtype: Any = np.float64) -> FloatArray:
    return np.random.default_rng(n).normal(size=(n, d)).astype(dtype)


def naive(Z: FloatArray, scattered: FloatArray, queries: IntArray) -> WeightedPairs:
    d2 = np.square(Z[queries, None] - Z[None]).sum(axis=2)
    d2[np.arange(len(queries)), queries] = np.inf
    values = logsumexp(-d2, axis=1)
    weights = np.exp(-d2 - values[:, None])
    differences = scattered[queries, None] - scattered[None]
    matrix = np.einsum("ij,ijk,ijl->kl", weights, differences, differences)
    return WeightedPairs(values, matrix)


@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 3), (300, 4), (900, 2)])
def test_the_scatter_is_that_of_the_equation(n: int, d: int) -> None:
    Z = make(n, d)
    found = scatter(Z, rule(n), n_threads=2)
    expected = naive(Z, Z, np.arange(n))
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-10)
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-9, atol=1e-9)


def test_it_is_the_laplacians_of_laplacian_product() -> None:
    Z = make(400, 5)
    product = laplacian_product(Z, rule(400)).matrix
    np.testing.assert_allclose(
        scatter(Z, rule(400)).matrix, (Z - Z.mean(axis=0)).T @ product, rtol=1e-9
    )


def test_some_look_and_something_else_is_scattered() -> None:
    Z, X = make(350, 2), make(350, 6) * 3 + 10
    queries = np.random.default_rng(0).permutation(350)[:40]
    found = scatter(Z, rule(350), 1, queries, scattered=X)
    expected = naive(Z, X, queries)
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-10)
    np.testing.assert_allclose(found.matrix, expected.matrix, rtol=1e-9)


def test_float32_keeps_a_scatter_that_is_small_against_the_spread() -> None:
    rng = np.random.default_rng(0)
    places = rng.normal(size=(100, 3)) * 100
    Z = (np.repeat(places, 8, axis=0) + rng.normal(size=(800, 3))).astype(np.float32)
    found = scatter(Z, rule(800, np.float32))
    assert found.matrix.dtype == np.float64
    expected = naive(Z.astype(float), Z.astype(float), np.arange(800))
    np.testing.assert_allclose(found.matrix, expected.matrix, atol=0.02 * 800)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    Z = make(1500, 3, np.float32)
    one, three = (scatter(Z, rule(1500, np.float32), k) for k in (1, 3))
    np.testing.assert_array_equal(one.matrix, three.matrix)
    np.testing.assert_array_equal(one.values, three.values)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_log_sums_of_new_points(dtype: Any) -> None:
    Z, Q = make(300, 3, dtype), make(41, 3, dtype)
    log_offsets = np.abs(make(300, 1, dtype)[:, 0])
    d2 = np.square(Q[:, None] - Z[None]).sum(axis=2)
    found = log_sums(Q, Z, log_offsets, 2)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, logsumexp(-d2 - log_offsets, axis=1), rtol=1e-4)


def test_a_far_query_has_a_finite_log_sum() -> None:
    Z = make(50, 2)
    found = log_sums(np.array([[1e6, 0.0]]), Z, np.zeros(50))
    nearest = np.square(np.array([1e6, 0.0]) - Z).sum(axis=1).min()
    assert found[0] == pytest.approx(-nearest, rel=1e-6)


def test_no_array_of_all_pairs() -> None:
    n = 4000
    Z = make(n, 3, np.float32)
    scatter(Z[:50], rule(50, np.float32))
    tracemalloc.start()
    scatter(Z, rule(n, np.float32), 2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * n * n / 3
