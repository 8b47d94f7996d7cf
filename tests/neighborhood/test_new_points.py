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
    offsets = np.arange(len(points), dtype=np.float32)
    Q, query_norms, Z, norms, found = resolved(queries, points, offsets)
    assert {one.dtype for one in (Q, query_norms, Z, norms, found)} == {np.dtype(dtype)}
    np.testing.assert_array_equal(found, offsets)
    np.testing.assert_allclose(query_norms, np.square(Q).sum(axis=1), rtol=1e-5)
    np.testing.assert_allclose(norms, np.square(Z).sum(axis=1), rtol=1e-5)
    wanted = queries.astype(float)[:, None] - points.astype(float)
    size = np.abs(wanted).max()
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(Q[:, None] - Z, wanted, atol=10 * eps * size)
