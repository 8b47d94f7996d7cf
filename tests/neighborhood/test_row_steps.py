from typing import Any

import numpy as np
import pytest
from numba import njit

from vicinal._typing import FloatArray
from vicinal.neighborhood import kernels as rows


@njit(nogil=True)
def exponentials(x: FloatArray) -> FloatArray:
    out = np.empty_like(x)
    for i in range(x.shape[0]):
        out[i] = rows.exp(x[i])
    return out


@pytest.mark.parametrize(
    ("dtype", "cutoff", "ulps"), [(np.float32, 60, 2), (np.float64, 600, 2)]
)
def test_exp_is_right_to_two_units_in_the_last_place(
    dtype: Any, cutoff: float, ulps: int
) -> None:
    x = -np.linspace(0, cutoff * 0.999, 100_001, dtype=dtype)
    exact = np.exp(x.astype(np.longdouble))
    error = np.abs(exponentials(x) / exact - 1).max()
    assert error < ulps * np.finfo(dtype).eps


@pytest.mark.parametrize(("dtype", "cutoff"), [(np.float32, 60), (np.float64, 600)])
def test_exp_of_zero_is_one_and_of_a_negligible_number_zero(
    dtype: Any, cutoff: float
) -> None:
    x = np.array([0, -cutoff, -2 * cutoff, np.finfo(dtype).min], dtype=dtype)
    np.testing.assert_array_equal(exponentials(x), [1, 0, 0, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7, 64, 1001])
def test_least_is_the_minimum(dtype: Any, n: int) -> None:
    rng = np.random.default_rng(n)
    row = (10.0 ** rng.uniform(-30, 30, size=n)).astype(dtype)
    least = rows.least(row)
    assert least == row.min()
    row[n // 2] = 0
    assert rows.least(row) == 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_point_is_never_its_own_neighbour(dtype: Any) -> None:
    Z = np.array([[0.0], [3.0], [5.0]], dtype=dtype)
    norms = (Z**2).sum(axis=1)
    row = (Z @ Z[1]).astype(dtype)
    log_offsets = np.array([0, 0, 1], dtype=dtype)
    far = dtype(1e38)
    assert rows.to_distances_of(row, 1, norms[1], norms, log_offsets, far) == 5
    np.testing.assert_array_equal(row[[0, 2]], [9, 5])
    assert row[1] >= 1e37


def test_a_point_that_stands_for_several_is() -> None:
    Z = np.array([[0.0], [3.0]])
    norms = (Z**2).sum(axis=1)
    row = Z @ Z[1]
    assert rows.to_distances_of(row, 1, norms[1], norms, np.zeros(2), 0.25) == 0.25
    np.testing.assert_array_equal(row, [9, 0.25])
