from typing import Any

import numpy as np
import pytest
from sklearn.covariance import empirical_covariance

from vicinal.base.linalg import (
    class_means,
    covariance,
    deviations,
    spread,
    within_class_residuals,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 6)) @ RNG.normal(size=(6, 6)) + 5
CODES = RNG.integers(3, size=200)


def test_means_and_residuals_are_those_of_the_classes() -> None:
    means = class_means(X, CODES)
    expected = np.stack([X[c == CODES].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(means, expected, rtol=1e-12)
    np.testing.assert_allclose(within_class_residuals(X, CODES), X - expected[CODES])
    np.testing.assert_allclose(within_class_residuals(X, None), X - X.mean(axis=0))
    # A class that has no points has a mean that nobody asks for.
    assert class_means(X, np.full(200, 2)).shape == (3, 6)


def test_weights_are_counts() -> None:
    counts = RNG.integers(1, 4, size=200)
    repeated, codes = np.repeat(X, counts, axis=0), np.repeat(CODES, counts)
    weights = counts.astype(float)
    np.testing.assert_allclose(
        class_means(X, CODES, weights), class_means(repeated, codes), rtol=1e-12
    )
    one, other = spread(X, CODES, weights), spread(repeated, codes)
    np.testing.assert_allclose(one.variances, other.variances, rtol=1e-9)
    np.testing.assert_allclose(one.units, other.units, rtol=1e-9)


@pytest.mark.parametrize("n", [200, 5])
def test_whitened_residuals_have_unit_covariance(n: int) -> None:
    residuals = within_class_residuals(X[:n], CODES[:n])
    found = spread(X[:n], CODES[:n])
    assert len(found.variances) == np.linalg.matrix_rank(residuals)
    white = residuals @ found.whitening()
    np.testing.assert_allclose(
        white.T @ white / n, np.eye(len(found.variances)), atol=1e-8
    )
    root = found.inverse_root()
    assert root.shape == (6, 6)
    square = residuals @ root.T
    kept = np.linalg.eigvalsh(square.T @ square / n)
    np.testing.assert_allclose(kept[-len(found.variances) :], 1, rtol=1e-7)


def test_shrinkage_leads_to_independent_features() -> None:
    residuals = within_class_residuals(X, None)
    found = spread(X)
    np.testing.assert_allclose(
        found.inverse_root(1.0), np.diag(1 / residuals.std(axis=0)), atol=1e-12
    )
    # In between: the covariance of the scaled features, mixed with the identity.
    scaled = residuals / residuals.std(axis=0)
    mixed = 0.7 * empirical_covariance(scaled, assume_centered=True) + 0.3 * np.eye(6)
    root = found.inverse_root(0.3) * residuals.std(axis=0)
    np.testing.assert_allclose(root @ mixed @ root.T, np.eye(6), atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_rounding_is_no_direction(dtype: Any, unit: float) -> None:
    # The last three columns are sums of others, and one is constant: what is left of
    # them is rounding, of the type and in the unit that they have.
    extra = X[:, :3] @ RNG.normal(size=(3, 3))
    wide = np.column_stack([X, extra, np.full(200, 0.1)])
    points = (wide * unit).astype(dtype)
    residuals = within_class_residuals(points, CODES)
    assert deviations(residuals, points)[-1] == 0
    found = spread(points, CODES)
    assert len(found.variances) == 6
    assert np.abs(found.inverse_root()).max() * unit < 1e3


def test_features_of_any_unit_are_directions() -> None:
    units = 10.0 ** np.array([-9, -6, -3, 0, 3, 6])
    points = X * units
    found = spread(points)
    assert len(found.variances) == 6
    one = found.inverse_root() * units
    other = spread(X).inverse_root()
    np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_covariance_by_blocks_is_that_of_the_residuals(dtype: Any) -> None:
    points = RNG.normal(size=(5000, 40)).astype(dtype) * 10.0 ** np.arange(-20, 20)
    points = (points + points.std(axis=0)).astype(dtype)
    codes = RNG.integers(7, size=5000)
    weights = RNG.uniform(0.5, 2, size=5000)
    residuals = within_class_residuals(points, codes, weights)
    C, units = covariance(points, codes, weights)
    scale = np.multiply.outer(units, units)
    np.testing.assert_allclose(
        C, residuals.T @ residuals / 5000 / scale, rtol=1e-9, atol=1e-13
    )
    np.testing.assert_array_equal(covariance(points, codes, weights, 3)[0], C)


def test_means_by_blocks() -> None:
    points = RNG.normal(size=(100_000, 6))
    codes = RNG.integers(3, size=len(points))
    expected = np.stack([points[c == codes].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(class_means(points, codes), expected, rtol=1e-9)


def test_means_of_many_classes() -> None:
    codes = RNG.integers(50, size=200) * 2  # every other class has no points
    means = class_means(X, codes)
    for c in range(codes.max() + 1):
        expected = X[codes == c].mean(axis=0) if (codes == c).any() else 0.0
        np.testing.assert_allclose(means[c], expected, rtol=1e-12)
