"""Fits in several threads at once: the main thread's bits, and BLAS as before."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from vicinal import LCA, NCA
from vicinal._typing import FloatArray

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(600, 40)), RNG.integers(4, size=600)


def nca(_: int = 0) -> FloatArray:
    metric = NCA(20, init="identity", max_iter=3, tol=0, random_state=0)
    return metric.fit(X, Y).components_


def lca(_: int = 0) -> FloatArray:
    return LCA(max_iter=2, batch_size=200, random_state=0).fit(X).components_


@pytest.mark.filterwarnings("ignore")  # the list of filters is not a thread's own
@pytest.mark.parametrize("fit", [nca, lca])
def test_overlapping_fits(fit: Callable[[int], FloatArray]) -> None:
    with threadpool_limits(2, user_api="blas"):
        before = threadpool_info()
        expected = fit(0)
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(fit, range(8)):
                np.testing.assert_array_equal(found, expected)
        assert threadpool_info() == before
