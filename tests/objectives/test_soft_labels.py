"""Soft labels and match matrices against their sums, and against plain classes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from tests.objectives.differences import by_differences
from tests.objectives.oracles_matches import matches_value
from vicinal.objectives import NCAObjective, SoftMatchObjective
from vicinal.objectives.matches import check_soft_labels


@pytest.mark.parametrize("kind", ["expected", "log"])
@pytest.mark.parametrize("sparse", [False, True])
@settings(deadline=None, max_examples=10)
@given(seed=st.integers(0, 2**32 - 1))
def test_value_and_gradient(kind: str, sparse: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 12
    X, A = rng.normal(size=(n, 3)), rng.normal(size=(2, 3))
    X[5] = X[4] + 20  # far from all others
    Y = rng.dirichlet([0.3] * 4, size=n)
    Y[0] = np.eye(4)[0]
    kappa = Y @ Y.T
    copies = np.ones(n)
    if sparse:
        kappa *= rng.random((n, n)) < 0.3
        kappa[1] = 0  # matches nobody
        np.fill_diagonal(kappa, 0)
    else:
        copies[2] = 3
    labels = csr_array(kappa) if sparse else Y
    objective = SoftMatchObjective(X, labels, kind, counts=copies)
    value, gradient = objective.value_and_gradient(A)
    expected = matches_value(X, kappa, A, kind, copies)
    assert value == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(
        gradient, by_differences(objective, A), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("kind", ["expected", "log"])
def test_hard_labels_are_classes(kind: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 5)), rng.integers(3, size=40)
    A = rng.normal(size=(2, 5))
    value, gradient = NCAObjective(X, y, kind).value_and_gradient(A)
    same = csr_array((y[:, None] == y) & ~np.eye(40, dtype=bool)).astype(float)
    for Y in (np.eye(3)[y], same):
        found, slope = SoftMatchObjective(X, Y, kind).value_and_gradient(A)
        assert found == pytest.approx(value)
        np.testing.assert_allclose(slope, gradient, atol=1e-12)
        part = SoftMatchObjective(X, Y, kind).subset(np.arange(0, 40, 2))
        other = NCAObjective(X[::2], y[::2], kind)
        assert part.value_and_gradient(A)[0] == pytest.approx(
            other.value_and_gradient(A)[0]
        )


def test_checked_labels_are_exact_probabilities() -> None:
    rounded = np.full((2, 3), np.float32(1 / 3))
    np.testing.assert_allclose(check_soft_labels(rounded, 2).sum(axis=1), 1)
    matches: Any = check_soft_labels(csr_array(np.array([[1.0, 0.5], [0, 0]])), 2)
    assert matches.toarray().tolist() == [[0, 0.5], [0, 0]]


@pytest.mark.parametrize(
    ("Y", "words"),
    [
        ([[0.5, 0.6], [0.5, 0.5]], "row 0 sums to 1.1"),
        ([[0.5, 0.6], [0.1, 0.1]], "and 1 others do not"),
        ([[1.5, -0.5], [0.5, 0.5]], "between 0 and 1"),
        ([[np.nan, 1.0], [0.5, 0.5]], "between 0 and 1"),
        ([[1.0, 0.0]], "a row for each of the 2"),
        ([["a", "b"], ["a", "b"]], "probabilities of classes"),
        (csr_array((2, 3)), "must have shape"),
        (csr_array(np.eye(2)), "nothing to learn from"),
        (csr_array(np.array([[0, 2.0], [0, 0]])), "between 0 and 1"),
    ],
)
def test_what_is_wrong_is_said(Y: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_soft_labels(Y, 2)
