"""The scale of the initial map of LMNN and MCML."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from vicinal.classic._shared import initial_map, unit_span

if TYPE_CHECKING:
    from collections.abc import Callable

    from vicinal._typing import FloatArray


def scaled(gradient: Callable[[FloatArray], FloatArray]) -> FloatArray:
    X = np.random.default_rng(0).normal(size=(20, 2))
    settings = SimpleNamespace(init="identity", n_components=None)
    codes = np.arange(20) % 2
    random_state = np.random.RandomState(0)
    return initial_map(settings, unit_span(X), codes, gradient, random_state)


@pytest.mark.parametrize("best", [1e-4, 0.7, 3.0, 1e4])
def test_the_best_scale_along_a_ray(best: float) -> None:
    """Of −(‖A‖² − best²)², which is concave in AᵀA."""
    found = scaled(lambda A: -4 * (float((A**2).sum()) - best**2) * A)
    assert np.linalg.norm(found) == pytest.approx(best, rel=0.1)


@pytest.mark.parametrize("sign", [-1, 1])
def test_a_slope_that_never_changes_leaves_the_map(sign: int) -> None:
    np.testing.assert_array_equal(scaled(lambda A: sign * A), np.eye(2))
