"""More columns than rows, and sparse rows that fit in memory as dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_wine

from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal.nca import _initialization

rng = np.random.default_rng(0)
y = np.arange(40) % 3
X = rng.normal(size=(40, 90))
X[:, :5] += y[:, None]
new = rng.normal(size=(7, 90)) + 1e3


def axes(rows: Any) -> Any:
    _, sizes, axes = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    return axes[sizes > 1e-9 * sizes[0]]


@pytest.mark.parametrize(
    ("kind", "d"),
    [
        *((NCAClassifier, d) for d in (None, 3, "auto")),
        *((NCARegressor, d) for d in (None, 3)),
    ],
)
def test_a_wide_map_is_learned_in_the_span_of_the_rows(kind: Any, d: Any) -> None:
    V = axes(X)
    wide = kind(d, alpha="auto", random_state=0).fit(X, y)
    A = wide.components_
    assert A.shape == ({None: 90, 3: 3}.get(d, len(A)), 90)
    np.testing.assert_allclose(A, A @ V.T @ V, atol=1e-10 * np.abs(A).max())
    inside = kind(d, alpha="auto", random_state=0).fit((X - X.mean(axis=0)) @ V.T, y)
    rows = (new - X.mean(axis=0)) @ V.T
    predict = "predict_proba" if kind is NCAClassifier else "predict"
    expected = getattr(inside, predict)(rows)
    np.testing.assert_allclose(getattr(wide, predict)(new), expected, atol=1e-6)
    np.testing.assert_allclose(wide.transform(X[:1] - X[1:2])[0], A @ (X[0] - X[1]))


def test_float32_wide_rows() -> None:
    one = NCAClassifier(2, random_state=0).fit(X.astype(np.float32), y)
    other = NCAClassifier(2, random_state=0).fit(X, y)
    assert one.components_.dtype == np.float32
    np.testing.assert_allclose(
        one.predict_proba(X.astype(np.float32)), other.predict_proba(X), atol=1e-2
    )


def test_rows_that_span_less_than_the_map() -> None:
    few = np.repeat(X[:3], 10, axis=0)
    model = NCAClassifier(4, random_state=0).fit(few, np.arange(30) % 3)
    assert model.components_.shape == (4, 90)


@pytest.mark.parametrize("kind", [NCA, NCAClassifier])
def test_sparse_rows_give_the_model_of_dense_rows(kind: Any) -> None:
    X, y = load_wine(return_X_y=True)
    dense = kind(2, random_state=0).fit(X, y)
    found = kind(2, random_state=0).fit(sparse.csr_array(X), y)
    np.testing.assert_array_equal(found.components_, dense.components_)
    if kind is NCAClassifier:
        assert found.score(sparse.csr_array(X), y) == dense.score(X, y) > 0.95


def test_large_sparse_rows_say_which_starts_are_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_initialization, "DENSE_SIZE", 1000)
    S = sparse.csr_array(np.maximum(X, 0))
    with pytest.warns(UserWarning, match="Sparse X of 40 rows and 90 features"):
        NCAClassifier(2, random_state=0).fit(S, y)
    NCAClassifier(2, init="pca", random_state=0).fit(S, y)
