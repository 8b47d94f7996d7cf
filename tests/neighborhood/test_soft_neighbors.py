"""Soft neighbours between two sets of points, against the sums written out."""

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from vicinal._typing import FloatArray
from vicinal.neighborhood import soft_neighbors


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_all_results_are_their_sums(dtype: type, offset: float) -> None:
    rng = np.random.default_rng(0)
    Q: FloatArray = (rng.normal(size=(300, 3)) + offset).astype(dtype)
    X: FloatArray = (rng.normal(size=(170, 3)) + offset).astype(dtype)
    carried: FloatArray = rng.normal(size=(300, 2)).astype(dtype)
    exponents = -((Q[:, None].astype(float) - X[None].astype(float)) ** 2).sum(axis=2)
    p = softmax(exponents, axis=1)
    found = soft_neighbors(Q, X, 2, carried)
    tolerance: dict[str, Any] = (
        {"rtol": 1e-3, "atol": 1e-4} if dtype == np.float32 else {"rtol": 1e-8}
    )
    np.testing.assert_allclose(
        found.log_sums, logsumexp(exponents, axis=1), **tolerance
    )
    np.testing.assert_allclose(found.means, p @ X, **tolerance)
    np.testing.assert_allclose(
        found.received,
        p.T @ carried,
        rtol=1e-3,
        atol=1e-4 if dtype == np.float32 else 0,
    )


def test_nothing_carried_is_nothing_received() -> None:
    found = soft_neighbors(np.eye(2), np.eye(2))
    assert found.received.shape == (2, 0)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_any_number_of_threads_gives_the_same_bits(n_threads: int) -> None:
    rng = np.random.default_rng(1)
    Q, X = rng.normal(size=(2, 900, 4)).astype(np.float32)
    one = soft_neighbors(Q, X, 1, Q)
    several = soft_neighbors(Q, X, n_threads, Q)
    for a, b in zip(one, several, strict=True):
        assert a.tobytes() == b.tobytes()


def test_points_far_out_keep_their_neighbours() -> None:
    rng = np.random.default_rng(2)
    X = np.vstack([rng.normal(size=(20, 2)), 1e4 + rng.normal(size=(2, 2))])
    Q = np.vstack([X[:3], X[-1:]]) + 0.01
    exponents = -((Q[:, None] - X[None]) ** 2).sum(axis=2)
    found = soft_neighbors(Q, X, 1, np.ones((4, 1)))
    p = softmax(exponents, axis=1)
    np.testing.assert_allclose(
        found.log_sums, logsumexp(exponents, axis=1), rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(found.received, p.sum(axis=0)[:, None], rtol=1e-6)
