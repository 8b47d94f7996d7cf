import tracemalloc
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
import sklearn
from hypothesis import given as with_any
from hypothesis import settings
from hypothesis import strategies as st

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    ClassSlices,
    NeighborWeights,
    Rule,
    average,
    expected_matches,
    laplacian_product,
    log_matches,
    perplexities,
    soft_matches,
    squared_errors,
)

MakeRule: TypeAlias = Callable[[IntArray, Any], Rule]


def ones(n: int, dtype: Any) -> NeighborWeights:
    return NeighborWeights.build(np.ones(n), np.ones(n), np.dtype(dtype))


def expected(y: IntArray, dtype: Any = np.float64) -> Rule:
    return expected_matches(ClassSlices.from_sorted(y), ones(len(y), dtype))


def log(y: IntArray, dtype: Any = np.float64) -> Rule:
    return log_matches(ClassSlices.from_sorted(y), ones(len(y), dtype))


def soft(y: IntArray, dtype: Any = np.float64) -> Rule:
    return soft_matches(y.astype(dtype), ones(len(y), dtype))


def squared(y: IntArray, dtype: Any = np.float64) -> Rule:
    return squared_errors(y.astype(dtype), ones(len(y), dtype))


RULES: list[MakeRule] = [expected, log, soft, squared]


def make(
    seed: int, n: int, d: int, n_classes: int, dtype: Any = np.float64
) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)).astype(dtype), np.sort(
        rng.integers(n_classes, size=n)
    )


def given(
    block: FloatArray,
    own: IntArray,
    norms_of: FloatArray,
    V: FloatArray,
    norms: FloatArray,
    values: FloatArray,
) -> None:
    values[:] = norms[own]
    np.testing.assert_array_equal(norms[own], norms_of)
    block[:] = V


@pytest.mark.parametrize("n", [2, 5, 300, 1100])
def test_the_product_is_that_of_the_laplacian(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vicinal.neighborhood.kernels.given", given, raising=False)
    rng = np.random.default_rng(n)
    Z, V = rng.normal(size=(n, 3)), rng.normal(size=(n, n))
    W = V + V.T
    laplacian = np.diag(W.sum(axis=1)) - W
    values, product = laplacian_product(Z, Rule("given", (V,)), n_threads=2)
    np.testing.assert_allclose(product, laplacian @ Z, rtol=1e-9, atol=1e-9)
    centered = Z - Z.mean(axis=0)
    np.testing.assert_allclose(values, (centered**2).sum(axis=1))


def test_only_queries_look_for_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vicinal.neighborhood.kernels.given", given, raising=False)
    rng = np.random.default_rng(0)
    Z, V = rng.normal(size=(900, 3)), rng.normal(size=(900, 900))
    queries = rng.choice(900, 600, replace=False)
    edges = np.zeros_like(V)
    edges[queries] = V[queries]
    W = edges + edges.T
    values, product = laplacian_product(Z, Rule("given", (V,)), 2, queries)
    np.testing.assert_allclose(product, np.diag(W.sum(axis=1)) @ Z - W @ Z, atol=1e-9)
    norms = ((Z - Z.mean(axis=0)) ** 2).sum(axis=1)
    np.testing.assert_allclose(values, norms[queries])


@pytest.mark.parametrize("rule", RULES)
def test_queries_see_what_they_see_among_all(rule: MakeRule) -> None:
    Z, y = make(3, 500, 3, 4)
    queries = np.random.default_rng(0).permutation(500)[:77]
    seen = laplacian_product(Z, rule(y, np.float64), 2, queries).values
    among_all = laplacian_product(Z, rule(y, np.float64)).values[queries]
    np.testing.assert_allclose(seen, among_all, rtol=1e-12)
    alone = laplacian_product(Z, rule(y, np.float64), 1, queries, values_only=True)
    np.testing.assert_array_equal(alone.values, seen)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(rule: MakeRule, dtype: Any) -> None:
    Z, y = make(0, 1500, 4, 5, dtype)
    one = laplacian_product(Z, rule(y, dtype), n_threads=1)
    for n_threads in (2, 3, 8):
        many = laplacian_product(Z, rule(y, dtype), n_threads)
        np.testing.assert_array_equal(one.values, many.values)
        np.testing.assert_array_equal(one.matrix, many.matrix)


@settings(deadline=None, max_examples=40)
@with_any(
    seed=st.integers(0, 2**31),
    n=st.integers(2, 60),
    d=st.integers(1, 6),
    n_classes=st.integers(1, 8),
    rule=st.sampled_from(RULES),
    scale=st.floats(1e-3, 1e3),
)
def test_what_the_pull_does_not_depend_on(
    seed: int, n: int, d: int, n_classes: int, rule: MakeRule, scale: float
) -> None:
    Z, y = make(seed, n, d, n_classes)
    Z *= scale
    rng = np.random.default_rng(seed)
    values, product = laplacian_product(Z, rule(y, np.float64))
    assert np.isfinite(values).all()
    assert np.isfinite(product).all()
    tolerance = 1e-7 * max(1, np.abs(product).max())

    shift = rng.normal(size=d) * 10 * scale
    moved = laplacian_product(Z + shift, rule(y, np.float64))
    np.testing.assert_allclose(moved.values, values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(moved.matrix, product, rtol=1e-6, atol=tolerance)

    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    turned = laplacian_product(Z @ Q, rule(y, np.float64))
    np.testing.assert_allclose(turned.values, values, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(turned.matrix, product @ Q, rtol=1e-6, atol=tolerance)

    # Any order inside a class.
    order = np.lexsort([rng.random(n), y])
    shuffled = laplacian_product(Z[order], rule(y, np.float64))
    np.testing.assert_allclose(shuffled.values, values[order], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        shuffled.matrix, product[order], rtol=1e-6, atol=tolerance
    )


@pytest.mark.parametrize("rule", RULES)
def test_the_block_size_does_not_matter(
    rule: MakeRule, monkeypatch: pytest.MonkeyPatch
) -> None:
    Z, y = make(1, 400, 3, 4)
    whole = laplacian_product(Z, rule(y, np.float64))
    monkeypatch.setattr("vicinal.neighborhood.threads.MIN_ROWS", 1)
    for size in (1, 7, 150):
        monkeypatch.setattr(
            "vicinal.neighborhood.threads.CACHE_BYTES", size * Z.itemsize * len(Z)
        )
        parts = laplacian_product(Z, rule(y, np.float64), n_threads=2)
        np.testing.assert_allclose(parts.values, whole.values, rtol=1e-12)
        np.testing.assert_allclose(parts.matrix, whole.matrix, rtol=1e-9, atol=1e-12)


def test_memory_is_a_few_blocks_however_many_points() -> None:
    n = 6000  # n×n in float32 would be 144 MB
    Z, y = make(2, n, 2, 3, np.float32)
    rule = expected(y, np.float32)
    laplacian_product(Z[:10], expected(y[:10], np.float32))  # compiles
    with sklearn.config_context(working_memory=64):
        tracemalloc.start()
        laplacian_product(Z, rule, n_threads=2)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 20e6


def probabilities(Q: FloatArray, Z: FloatArray, masses: FloatArray) -> FloatArray:
    distances = ((Q[:, None] - Z[None]) ** 2).sum(axis=2)
    weights = masses * np.exp(-distances)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_average_is_over_soft_neighbours(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    Z, Q = rng.normal(size=(700, 3)), rng.normal(size=(300, 3))
    targets, counts = rng.normal(size=(700, 2)), rng.integers(1, 5, 700).astype(float)
    masses = NeighborWeights.build(counts, np.ones(700), np.dtype(dtype))
    expected_means = probabilities(Q, Z, counts) @ targets
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for n_threads in (1, 3):
        means = average(
            Q.astype(dtype), Z.astype(dtype), targets.astype(dtype), masses, n_threads
        )
        np.testing.assert_allclose(means, expected_means, atol=tolerance)


def effective_neighbors(Z: Any, masses: NeighborWeights, n_threads: int = 1) -> Any:
    rule = perplexities(masses)
    return laplacian_product(Z, rule, n_threads, values_only=True).values


def test_perplexity_counts_neighbours() -> None:
    # Three points at one place, far from two at another: each sees 2 others, or 1.
    Z = np.array([[0.0], [0], [0], [1e3], [1e3]])
    seen = effective_neighbors(Z, ones(5, np.float64))
    np.testing.assert_allclose(seen, [2, 2, 2, 1, 1])
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(400, 2))
    p = probabilities(Z, Z, np.ones(400)) * (1 - np.eye(400))
    p /= p.sum(axis=1, keepdims=True)
    entropy = -(p * np.log(p + 1e-300)).sum(axis=1)
    np.testing.assert_allclose(
        effective_neighbors(Z, ones(400, np.float64), 2),
        np.exp(entropy),
        rtol=1e-9,
    )


def test_copies_of_a_point_count_as_neighbours_of_each_other() -> None:
    # As three points at one place, two at another and one between would.
    Z, counts = np.array([[0.0], [1.0], [0.5]]), np.array([3, 2, 1])
    masses = NeighborWeights.build(counts, np.ones(3), np.dtype(np.float64))
    repeated = np.repeat(Z, counts, axis=0)
    seen = effective_neighbors(repeated, ones(6, np.float64))
    np.testing.assert_allclose(effective_neighbors(Z, masses), seen[[0, 3, 5]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_that_overflow_are_an_error_not_nan(dtype: Any) -> None:
    Z = np.array([[0.0], [1.0], [1e19 if dtype == np.float32 else 1e155]], dtype=dtype)
    with pytest.raises(ValueError, match="Scale the data"):
        laplacian_product(Z, expected(np.array([0, 0, 1]), dtype))


def test_values_have_the_type_of_the_points() -> None:
    Z = np.random.default_rng(0).normal(size=(5, 1)).astype(np.float32)
    assert effective_neighbors(Z, ones(5, np.float32)).dtype == np.float32
