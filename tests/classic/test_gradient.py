"""The scale of the initial map of LMNN and MCML."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from vicinal.classic._shared import initial_map, unit_span

if TYPE_CHECKING:
    from vicinal._typing import FloatArray


@pytest.mark.parametrize("best", [1e-4, 0.7, 3.0, 1e4])
def test_the_best_scale_along_a_ray(best: float) -> None:
    """Of −(‖A‖² − best²)², which is concave in AᵀA."""

    def value(A: FloatArray) -> float:
        return -((float((A**2).sum()) / best**2 - 1) ** 2)

    X = np.random.default_rng(0).normal(size=(20, 2))
    settings = SimpleNamespace(init="identity", n_components=None)
    codes = np.arange(20) % 2
    random_state = np.random.RandomState(0)
    found = initial_map(settings, unit_span(X), codes, value, random_state)
    assert np.linalg.norm(found) == pytest.approx(best, rel=0.1)
