from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import pdist

from vicinal.base.linalg import centered, span_of, unit_of, varying_axes


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 20), st.integers(1, 40), st.booleans(), st.booleans(),
    st.integers(0, 10**6),
)  # fmt: skip
def test_coordinates_have_the_rows_geometry_and_lead_back(
    n: int, d: int, duplicates: bool, is_sparse: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    X = 1e3 * rng.normal(size=(n, d)) + 7
    if duplicates:
        X[n // 2 :] = X[0]
    span = span_of(sparse.csr_array(X) if is_sparse else X)
    Z = span.coordinates
    np.testing.assert_allclose(
        span.unit * pdist(Z), pdist(X), atol=1e-9 * np.abs(X).max()
    )
    # Any direction sees of the coordinates what it sees of the rows, taken back.
    columns = rng.normal(size=(span.n_coordinates, 3))
    seen = (X - X.mean(axis=0)) @ span.to_features(columns).T / span.unit
    # Sparse rows are centred in their inner products: the root of rounding is left.
    np.testing.assert_allclose(seen - seen.mean(axis=0), Z @ columns, atol=1e-7)
    if Z.any():  # else there is no direction to speak of
        Q = np.linalg.qr(rng.normal(size=(span.n_coordinates,) * 2))[0]
        rows = span.basis_to_features(Q)
        assert rows.shape == (span.n_coordinates, d)
        np.testing.assert_allclose(rows @ rows.T, np.eye(len(rows)), atol=1e-12)


def test_wide_rows_have_no_more_coordinates_than_they_differ_in() -> None:
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 50)), 4, axis=0)
    assert span_of(X).n_coordinates == 2
    assert span_of(X.T).n_coordinates == 12  # features are taken as they are
    assert varying_axes(span_of(X.T).coordinates).shape == (12, 3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_a_centred_table(dtype: Any, scale: float) -> None:
    rng = np.random.default_rng(0)
    X = (scale * rng.normal(size=(20, 4))).astype(dtype)
    X[:, 2] = dtype(0.1) * dtype(scale)
    moved = centered(X)
    assert moved.points.dtype == dtype
    assert 0.5 < np.abs(moved.points).max() <= 2
    np.testing.assert_array_equal(moved.points[:, 2], 0)
    np.testing.assert_allclose(moved.points.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_array_equal(moved.also(X), moved.points)
    np.testing.assert_allclose(
        moved.points.astype(float) * float(moved.unit) + moved.origin, X, rtol=1e-5
    )


def test_units_are_powers_of_two() -> None:
    assert unit_of(np.array([3.0, -9.0])) == 8
    assert unit_of(np.array([0.0])) == 1
    assert unit_of(np.array([], dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_coordinate_of_one_sign_varies_all_the_same(sign: float) -> None:
    rng = np.random.default_rng(0)
    coordinates = sign * np.abs(rng.normal(size=(20, 3))) * [1, 1e-6, 0]
    coordinates[0] = 0
    axes = varying_axes(coordinates)
    np.testing.assert_allclose(np.abs(axes @ axes.T), np.diag([1, 1, 0]), atol=1e-12)
