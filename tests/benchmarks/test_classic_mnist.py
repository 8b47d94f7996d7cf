"""The preparation of digits that LMNN's figures on MNIST rest on."""

import numpy as np

from benchmarks.speed.classic_mnist import straightened
from vicinal._typing import FloatArray

SIZE = 28


def slanted_bar(slant: float, shift: float) -> FloatArray:
    """Draw a bar of blurred edges that leans by `slant` pixels a line."""
    lines, columns = np.mgrid[:SIZE, :SIZE]
    middle = 13.5 + shift + slant * (lines - 13.5)
    image = np.exp(-np.square(columns - middle) / 4)
    image[(lines < 5) | (lines > 22)] = 0
    return image


def test_leaning_bars_stand_upright_in_the_middle() -> None:
    bars = [slanted_bar(0, 0), slanted_bar(0.5, 0), slanted_bar(-0.4, 2.3)]
    rows = np.array([bar.ravel() for bar in bars], dtype=np.float32)
    upright = straightened(rows)
    assert upright.dtype == np.float32
    np.testing.assert_allclose(upright[0], rows[0], atol=1e-5)
    # Between pixels, edges are interpolated.
    np.testing.assert_allclose(upright[1:], rows[[0, 0]], atol=0.1)
    assert np.abs(rows[1:] - rows[0]).max() > 0.9


def test_empty_images_stay_empty() -> None:
    np.testing.assert_array_equal(straightened(np.zeros((2, SIZE**2))), 0)
