import numpy as np
import pytest

from vicinal.classic.tuples import Differences

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4)) + 3


@pytest.mark.parametrize("n_pairs", [5, 40])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_sums_are_those_of_the_differences(n_pairs: int, n_threads: int) -> None:
    i, j = RNG.integers(12, size=(2, n_pairs))
    V, w = X[i] - X[j], RNG.normal(size=n_pairs)
    found = Differences(X, i, j, n_threads)
    A, G = RNG.normal(size=(3, 4)), RNG.normal(size=(n_pairs, 3))
    np.testing.assert_allclose(found.project(A), V @ A.T, atol=1e-12)
    np.testing.assert_allclose(found.back_project(G), G.T @ V, atol=1e-12)
    np.testing.assert_allclose(found.scatter(w), (V.T * w) @ V, atol=1e-11)
    np.testing.assert_allclose(found.scatter(), V.T @ V, atol=1e-11)
    np.testing.assert_allclose(found.squares(), V**2, atol=1e-11)
