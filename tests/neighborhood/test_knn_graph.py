from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.nca.oracles_terms import nca_terms_and_gradient, probabilities
from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    ClassSlices,
    NeighborWeights,
    Rule,
    expected_matches,
    laplacian_product,
    log_matches,
)
from vicinal.neighborhood.nearest import (
    NearestLists,
    pull_nearest,
    sorted_masses,
)
from vicinal.neighborhood.nearest import probabilities as some_probabilities

RULES: dict[str, Callable[..., Rule]] = {
    "expected": expected_matches,
    "log": log_matches,
}


def make(case: str, n: int = 60, d: int = 2) -> tuple[FloatArray, IntArray, FloatArray]:
    """Points sorted by class, and how many each stands for."""
    rng = np.random.default_rng(0)
    Z, y = 2 * rng.normal(size=(n, d)), np.sort(rng.integers(4, size=n))
    counts = np.ones(n)
    if case == "singletons":
        y[-5:] = 10 + np.arange(5)
    elif case == "duplicates":
        Z[n // 2 :] = Z[: n // 2]
        Z[:5] = Z[0]
    elif case == "counts":
        counts = rng.integers(1, 5, size=n).astype(float)
        y[-5:] = 10 + np.arange(5)
    elif case == "mixed":  # hardly anybody has a match nearby
        y = np.sort(rng.permutation(np.repeat(np.arange(n // 2), 2)))
    return Z, y, counts


CASES = ["plain", "singletons", "duplicates", "counts", "mixed"]


def masses_of(counts: FloatArray, dtype: Any = np.float64) -> NeighborWeights:
    return NeighborWeights.build(counts, np.ones(len(counts)), np.dtype(dtype))


def lists_of(Z: FloatArray, y: IntArray, k: int) -> NearestLists:
    return NearestLists.find(Z, ClassSlices.from_sorted(y), k, 1)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("k", [1, 2, 7, 58])
def test_the_lists_are_of_the_nearest(case: str, k: int) -> None:
    Z, y, _ = make(case)
    lists = lists_of(Z, y, k)
    n = len(Z)
    assert lists.columns.shape == (n, k + 1)
    distances = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    for i in range(n):
        listed = lists.columns[i]
        assert np.all(np.diff(listed) > 0)
        assert listed[lists.own[i]] == i
        others = listed[listed != i]
        run = listed[lists.runs.starts[i] : lists.runs.stops[i]]
        np.testing.assert_array_equal(run, listed[y[listed] == y[i]])
        rest = np.delete(distances[i], i)
        nearest = np.sort(rest)[:k]
        found = np.sort(distances[i][others])
        matches = np.flatnonzero((y == y[i]) & (np.arange(n) != i))
        # Without a match among the k nearest, the nearest match takes the last place.
        within = distances[i][matches].min(initial=np.inf) <= nearest[-1]
        if not len(matches) or within:
            np.testing.assert_allclose(found, nearest, rtol=1e-9, atol=1e-12)
        else:
            np.testing.assert_allclose(found[:-1], nearest[:-1], rtol=1e-9, atol=1e-12)
            assert found[-1] == pytest.approx(distances[i][matches].min())
        if len(matches):
            assert (y[others] == y[i]).any()


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("k", [1, 5, 20])
def test_equals_the_sums_over_the_lists(case: str, kind: str, k: int) -> None:
    Z, y, counts = make(case)
    lists = lists_of(Z, y, k)
    rule = RULES[kind](ClassSlices.from_sorted(y), masses_of(counts))
    values, product = pull_nearest(Z, rule, lists)
    # Zᵀ L Z is the gradient of the sum at the identity, over 2.
    terms, gradient = nca_terms_and_gradient(
        Z, y, np.eye(2), kind, counts, list(lists.columns), np.arange(len(Z))
    )
    np.testing.assert_allclose(values, terms, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(2 * product.T @ Z, gradient, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(product.sum(axis=0), 0, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lists_of_all_give_the_whole(case: str, kind: str, dtype: Any) -> None:
    Z, y, counts = make(case)
    Z = Z.astype(dtype)
    rule: Rule = RULES[kind](ClassSlices.from_sorted(y), masses_of(counts, dtype))
    lists = lists_of(Z, y, len(Z) - 1)
    values, product = pull_nearest(Z, rule, lists)
    whole = laplacian_product(Z, rule)
    assert values.dtype == product.dtype == dtype
    tolerance = 2e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(values, whole.values, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        product,
        whole.matrix,
        atol=tolerance * np.abs(whole.matrix).max(),
    )


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_threads_gives_the_same_bits(kind: str, dtype: Any) -> None:
    Z, y, counts = make("counts", n=1500, d=3)
    Z = Z.astype(dtype)
    rule = RULES[kind](ClassSlices.from_sorted(y), masses_of(counts, dtype))
    lists = lists_of(Z, y, 9)
    one = pull_nearest(Z, rule, lists, 1)
    for n_threads in (2, 5):
        many = pull_nearest(Z, rule, lists, n_threads)
        np.testing.assert_array_equal(one.values, many.values)
        np.testing.assert_array_equal(one.matrix, many.matrix)
    np.testing.assert_array_equal(
        NearestLists.find(Z, ClassSlices.from_sorted(y), 9, 2).columns, lists.columns
    )


@pytest.mark.parametrize("kind", RULES)
def test_the_origin_does_not_matter(kind: str) -> None:
    Z, y, counts = make("plain", n=300)
    Z = np.round(Z * 64) / 64  # so that shifting by a power of 2 rounds nothing
    rule = RULES[kind](ClassSlices.from_sorted(y), masses_of(counts, np.float32))
    lists = lists_of(Z, y, 10)
    near = pull_nearest(Z.astype(np.float32), rule, lists)
    far = pull_nearest((Z + 4096).astype(np.float32), rule, lists)
    np.testing.assert_allclose(far.values, near.values, rtol=1e-5)
    product = near.matrix
    np.testing.assert_allclose(far.matrix, product, atol=1e-4 * np.abs(product).max())


@pytest.mark.parametrize("case", CASES)
def test_probabilities_are_those_of_the_whole(case: str) -> None:
    Z, _, counts = make(case)
    queries = np.array([0, 3, 59, 30])
    p = some_probabilities(Z, masses_of(counts), queries)
    expected = probabilities(Z, counts)[queries]
    np.testing.assert_allclose(p, expected, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_sorted_masses_are_what_the_heaviest_hold(n_threads: int) -> None:
    Z, _, counts = make("counts")
    queries = np.arange(0, 60, 2)
    p = probabilities(Z, counts)[queries]
    held = np.cumsum(np.sort(p, axis=1)[:, ::-1], axis=1).mean(axis=0)
    found = sorted_masses(Z, masses_of(counts), queries, n_threads)
    np.testing.assert_allclose(found, held, rtol=1e-5)
    assert found[-1] == pytest.approx(1, abs=1e-6)
