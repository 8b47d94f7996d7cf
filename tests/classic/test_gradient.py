"""Scales of maps along a ray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from vicinal.classic._gradient import scaled_along_ray

if TYPE_CHECKING:
    from vicinal._typing import FloatArray


@pytest.mark.parametrize("size", [1e-6, 0.7, 3.0, 1e5])
def test_the_best_scale_along_a_ray(size: float) -> None:
    """Of −(‖A‖² − 9)², which is concave in AᵀA, wherever one begins."""

    def evaluate(A: FloatArray) -> tuple[float, FloatArray]:
        excess = float((A**2).sum()) - 9
        return -(excess**2), -4 * excess * A

    found = scaled_along_ray(evaluate, size * np.eye(2))
    assert np.linalg.norm(found) == pytest.approx(3, rel=0.02)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_slope_that_never_changes_leaves_the_map(sign: int) -> None:
    A = np.eye(2)
    np.testing.assert_array_equal(scaled_along_ray(lambda B: (0.0, sign * B), A), A)
