"""The objective of pairs against eq. 8 written naively; pairs that are wrong."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.objectives.differences import by_differences
from tests.objectives.oracles_matches import pairs_value
from vicinal._typing import FloatArray, IntArray
from vicinal.objectives import GivenPairsObjective, MinibatchSampler
from vicinal.objectives.matches import Normalization, check_pairs

NORMALIZATIONS: list[Normalization] = ["pairs", "all", "anchor"]


def some(seed: int, n: int = 15) -> tuple[FloatArray, IntArray, FloatArray]:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(n, size=(12, 2))
    pairs = np.vstack([pairs[pairs[:, 0] != pairs[:, 1]], [[0, 1], [0, 1], [1, 0]]])
    return rng.normal(size=(n, 4)), pairs, rng.random(len(pairs)) + 0.1


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
@pytest.mark.parametrize("rank", [1, 2, 4])
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_value_and_gradient(normalization: Normalization, rank: int, seed: int) -> None:
    X, pairs, weights = some(seed)
    X[3] = X[2]  # a duplicate
    A = np.random.default_rng(seed).normal(size=(rank, 4)) / 2
    objective = GivenPairsObjective(X, check_pairs(pairs, 15, weights), normalization)
    value, gradient = objective.value_and_gradient(A)
    expected = pairs_value(X, pairs, weights, A, normalization)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(gradient, by_differences(objective, A), atol=1e-5)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_diagonal_maps_float32_and_threads(normalization: Normalization) -> None:
    X, pairs, weights = some(0)
    matrix = check_pairs(pairs, 15, weights)
    objective = GivenPairsObjective(X, matrix, normalization, n_jobs=1)
    diagonal = np.array([0.5, 1.0, 0.2, 0.7])
    value, gradient = objective.value_and_gradient(diagonal)
    whole, full = objective.value_and_gradient(np.diag(diagonal))
    assert value == pytest.approx(whole)
    np.testing.assert_allclose(gradient, np.diag(full))
    threads = GivenPairsObjective(X, matrix, normalization, n_jobs=3)
    assert threads.value_and_gradient(diagonal)[0] == value
    single = GivenPairsObjective(X.astype(np.float32), matrix, normalization)
    assert single.value_and_gradient(diagonal)[0] == pytest.approx(value, rel=1e-5)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_terms_are_parts_of_the_value(normalization: Normalization) -> None:
    X, pairs, weights = some(1)
    objective = GivenPairsObjective(X, check_pairs(pairs, 15, weights), normalization)
    A = np.eye(4)
    anchors = objective.sample_queries(np.random.default_rng(0), 100)
    assert set(anchors) == set(pairs[:, 0])
    terms = objective.terms(A, anchors)
    value, gradient = objective.value_and_gradient(A)
    assert terms @ objective.counts[anchors] == pytest.approx(value)
    some_terms, slope = objective.terms_and_gradient(A, anchors[:2])
    np.testing.assert_allclose(some_terms, terms[:2])
    rest = objective.terms_and_gradient(A, anchors[2:])[1]
    np.testing.assert_allclose(slope + rest, gradient, atol=1e-12)


def test_the_sum_over_all_pairs_is_estimated_from_random_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    pairs = np.column_stack([np.arange(200), np.arange(200, 400)])
    objective = GivenPairsObjective(X, check_pairs(pairs, 400))
    queries = objective.sample_queries(rng, 200)
    exact = objective.terms(np.eye(3), queries)
    monkeypatch.setattr("vicinal.objectives.matches._ALL_ROWS", 0)
    estimated = objective.terms(np.eye(3), queries)
    difference = estimated - exact
    assert 0 < np.abs(difference).max() < 0.2
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)


@pytest.mark.parametrize("normalization", NORMALIZATIONS)
def test_mini_batches_of_everything_are_the_whole(normalization: Normalization) -> None:
    X, pairs, weights = some(2)
    objective = GivenPairsObjective(X, check_pairs(pairs, 15, weights), normalization)
    batch = MinibatchSampler(objective, 100, 100, 0.1).draw(np.random.default_rng(0))
    value, gradient = objective.value_and_gradient(np.eye(4))
    penalty = 0.1 * weights.sum()
    found, slope = batch.value_and_gradient(np.eye(4))
    assert found == pytest.approx(value - 4 * penalty)
    np.testing.assert_allclose(slope, gradient - 2 * penalty * np.eye(4))


def test_mini_batches_hold_both_points_of_a_pair() -> None:
    X, pairs, weights = some(3)
    objective = GivenPairsObjective(X, check_pairs(pairs, 15, weights), "anchor")
    part, queries = objective.draw(np.random.default_rng(0), 3, 4)
    assert part.weights.nnz == 3
    assert (part.counts[queries] > 0).all()
    assert 4 <= part.n_rows <= 10


def test_weights_of_the_same_pair_add_up() -> None:
    matrix = check_pairs([[0, 1], [0, 1], [2, 0]], 3, [0.5, 1.0, 0.0])
    assert matrix.toarray().tolist() == [[0, 1.5, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("pairs", "weights", "words"),
    [
        ([[0, 3]], None, "row 3, but X has 3 rows"),
        ([[-1, 0]], None, "row -1"),
        ([[0, 1], [2, 2]], None, "Pair 1 is of row 2 with itself"),
        ([[0, 1.5]], None, "whole numbers"),
        ([[0, np.nan]], None, "whole numbers"),
        ([0, 1, 2], None, r"shape \(n_pairs, 2\)"),
        ([["a", "b"]], None, r"shape \(n_pairs, 2\)"),
        ([[0, 1]], [-1.0], "not negative"),
        ([[0, 1]], [np.inf], "finite"),
        ([[0, 1]], [1.0, 2.0], "one number for each of the 1 pairs"),
        ([[0, 1]], [0.0], "nothing to learn from"),
        (np.empty((0, 2), dtype=int), None, "nothing to learn from"),
    ],
)
def test_what_is_wrong_is_said(pairs: Any, weights: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_pairs(pairs, 3, weights)
