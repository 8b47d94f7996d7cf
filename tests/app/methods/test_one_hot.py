from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import StandardScaler

from vicinal import compare
from vicinal.app.methods.baselines import CategoryScaler, Whitening, one_hot_groups
from vicinal.app.methods.linear_map import feature_shares, linear_map
from vicinal.app.methods.registry import METHODS

RNG = np.random.default_rng(0)


def one_hot(codes: Any, k: int) -> Any:
    return np.eye(k)[codes]


def mixed(n: int = 400, k: int = 12) -> tuple[Any, Any]:
    """Three numbers, of which one tells the class, and a category that says nothing."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    numbers = rng.normal(size=(n, 3))
    numbers[:, 0] += 3 * y
    return np.hstack([numbers, one_hot(rng.integers(0, k, n), k)]), y


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        ([[1, 0], [0, 1]], [(0, 2)]),
        ([[1, 0, 1, 0, 0], [0, 1, 0, 0, 1], [0, 1, 0, 1, 0]], [(0, 2), (2, 5)]),
        ([[0.5, 1, 0], [1, 0, 1]], [(1, 3)]),
        # Which of two starts it is cannot be seen; both say the same.
        ([[1, 0], [1, 1]], []),
        ([[0, 0], [0, 1]], []),
        ([[2, 0], [0, 2]], []),
        ([[1.0], [1.0]], []),
        ([[1, 1, 0], [1, 0, 1]], [(1, 3)]),
        # A value that no row has.
        ([[1, 0, 0], [0, 0, 1]], [(0, 3)]),
        (np.zeros((4, 3)), []),
        (np.zeros((4, 0)), []),
    ],
)
def test_groups(X: Any, expected: list[tuple[int, int]]) -> None:
    found = one_hot_groups(np.array(X, dtype=float).reshape(len(X), -1))
    assert [(one.start, one.stop) for one in found] == expected


def test_a_number_after_many_rows_of_zeros_and_ones() -> None:
    X = one_hot(np.arange(200) % 3, 3)
    assert one_hot_groups(X) == [slice(0, 3)]
    X[150, 1] = 0.5
    assert one_hot_groups(X) == []


@given(st.lists(st.integers(2, 5), min_size=1, max_size=4), st.integers(0, 99))
def test_columns_of_tables_are_found(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = []
    for k in sizes:
        codes = np.concatenate([np.arange(k), rng.integers(0, k, 10 - k)])
        parts += [one_hot(rng.permutation(codes), k), rng.normal(size=(10, 1))]
    starts = np.cumsum([0, *(k + 1 for k in sizes)])
    expected = [
        slice(int(start), int(start) + k)
        for start, k in zip(starts, sizes, strict=False)
    ]
    assert one_hot_groups(np.hstack(parts)) == expected


def test_a_category_weighs_as_much_as_a_number() -> None:
    X, _ = mixed()
    Z = CategoryScaler().fit_transform(X)
    np.testing.assert_allclose(Z[:, :3], StandardScaler().fit_transform(X[:, :3]))
    assert Z[:, 3:].var(axis=0).sum() == pytest.approx(1)
    # Any two categories are as far apart.
    gaps = np.unique(
        np.round(np.linalg.norm(Z[:, None, 3:] - Z[None, :, 3:], axis=2), 9)
    )
    assert len(gaps) == 2
    single = CategoryScaler().fit(X.astype(np.float32)).transform(X.astype(np.float32))
    assert single.dtype == np.float32
    constant = CategoryScaler().fit(np.eye(3)[[0, 0, 0]])
    assert constant.scale_.tolist() == [1, 1, 1]


def test_whitening_beside_categories() -> None:
    X, y = mixed()
    X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
    pipeline = METHODS["whitened"].pipeline(X, y).fit(X, y)
    Z = pipeline.transform(X)
    np.testing.assert_allclose(np.cov(Z[:, :3].T), np.eye(3), atol=1e-9)
    assert Z[:, 3:].var(axis=0).sum() == pytest.approx(1)
    found = linear_map(pipeline)
    again = (X - found.mean) / found.scale @ found.components.T
    np.testing.assert_allclose(again - again[0], Z - Z[0], atol=1e-9)
    alone = METHODS["whitened"].pipeline(X[:, 3:], y).fit(X[:, 3:], y)
    assert alone.transform(X[:, 3:]).shape == (400, 12)
    # A category whose last value no row has.
    part, rows = X[:, 3:14], X[:, 14] == 0
    rare = np.hstack([part, np.zeros((400, 1)), X[:, :1]])[rows]
    Z = METHODS["whitened"].pipeline(rare, y[rows]).fit(rare, y[rows]).transform(rare)
    assert Z[:, 1:].var(axis=0).sum() == pytest.approx(1)
    assert Whitening().fit(np.ones((5, 2))).components_.shape == (0, 2)


@pytest.mark.parametrize("name", ["standardised", "whitened"])
def test_categories_do_not_take_over_the_shares(name: str) -> None:
    X, y = mixed()
    pipeline = METHODS[name].pipeline(X, y).fit(X, y)
    found = linear_map(pipeline)
    # As the report does: of features in their standard deviations.
    share = feature_shares(found.components * X.std(axis=0) / found.scale)
    assert share[3:].sum() == pytest.approx(0.25, abs=0.01)


def test_a_category_that_says_nothing_does_not_drown_numbers() -> None:
    X, y = mixed(k=30)
    result = compare(X, y, methods="standardised whitened", n_splits=5)
    numbers = compare(X[:, :3], y, methods="standardised whitened", n_splits=5)
    for name in ("standardised", "whitened"):
        assert result[name].mean > numbers[name].mean - 0.05
