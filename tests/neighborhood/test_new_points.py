"""New points: float64 where float32 cannot tell their distances apart."""

import numpy as np
import pytest

from vicinal._typing import FloatArray
from vicinal.neighborhood.engine import resolved

NEAR = np.random.default_rng(0).normal(size=(20, 2)).astype(np.float32)
FAR = NEAR * np.float32(1e4)


@pytest.mark.parametrize(
    ("queries", "points", "dtype"),
    [
        (NEAR, NEAR, np.float32),
        (FAR, NEAR, np.float64),
        (NEAR, FAR, np.float64),
        (FAR, FAR, np.float64),
    ],
    ids=["all near", "queries far", "points far", "all far"],
)
def test_either_may_need_float64(
    queries: FloatArray, points: FloatArray, dtype: type
) -> None:
    offsets = np.zeros(len(points), dtype=np.float32)
    found = resolved(queries, points, offsets)
    assert [one.dtype for one in found] == [dtype] * 3
    for one, given in zip(found, (queries, points, offsets), strict=True):
        np.testing.assert_array_equal(one, given)
