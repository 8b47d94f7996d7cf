import numpy as np
import pytest

from tests.ldg.oracles import gaussians_around, ldg_scatters, local_qda_scores
from vicinal._typing import FloatArray, IntArray
from vicinal.ldg.local_gaussians import ClassPoints, scatters, summing


def problem(n: int = 60, d: int = 4) -> tuple[FloatArray, IntArray]:
    rng = np.random.default_rng(0)
    codes = np.sort(rng.integers(3, size=n))
    points = rng.normal(size=(n, d)) + codes[:, None]
    return points - points.mean(axis=0), codes


def floor_of(points: FloatArray, var_floor: float) -> float:
    return float(var_floor * np.square(points).sum() / len(points))


@pytest.mark.parametrize("k", [1, 2, 5, 100])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_variances_and_scatters_are_the_papers(k: int, n_threads: int) -> None:
    points, codes = problem()
    subset = ClassPoints.build(points, codes, floor_of(points, 1e-3))
    np.testing.assert_array_equal(subset.codes, codes)
    neighbors = subset.nearest(k, None, n_threads)
    _, variances, _ = gaussians_around(points, codes, k, 1e-3)
    np.testing.assert_allclose(subset.variances(neighbors, 4), variances)
    priors = np.bincount(codes) / len(codes)
    own, every = scatters(subset, neighbors, priors, 4, n_threads)
    V, A = ldg_scatters(points, codes, k, 1e-3)
    np.testing.assert_allclose(own, V, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(every, A, rtol=1e-10, atol=1e-10)


def test_densities_for_every_k_from_one_search() -> None:
    points, codes = problem()
    queries = np.random.default_rng(1).normal(size=(9, 4)) * 2
    subset = ClassPoints.build(points, codes, floor_of(points, 1e-3))
    sizes = [1, 2, 8, 50]
    neighbors = subset.nearest(50, queries, 1)
    found = subset.log_densities(queries, neighbors, sizes, 4, 2)
    prior = np.log(np.bincount(codes) / len(codes))
    for k, scores in zip(sizes, found, strict=True):
        expected = local_qda_scores(points, codes, queries, k, 1e-3)
        np.testing.assert_allclose(scores + prior, expected, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_variances_far_from_the_origin(dtype: type) -> None:
    """Of a tight cluster, where the mean of squares less the squared mean is noise."""
    rng = np.random.default_rng(2)
    near = rng.normal(size=(20, 3)) * 1e-3
    points: FloatArray = np.vstack([near + 100, near - 100]).astype(dtype)
    codes = np.repeat([0, 1], 20)
    subset = ClassPoints.build(points, codes, 1e-12)
    variances = subset.variances(subset.nearest(19, points[:1], 1), 3)[0]
    expected = [
        points[nearest].astype(np.float64).var(axis=0).mean()
        for nearest in (subset.nearest(19, points[:1], 1)[j][0] for j in (0, 1))
    ]
    np.testing.assert_allclose(variances, expected, rtol=1e-3)


def test_the_floor() -> None:
    points = np.repeat([[0.0, 1.0], [2.0, 3.0]], 5, axis=0)
    subset = ClassPoints.build(points, np.repeat([0, 1], 5), 0.25)
    variances = subset.variances(subset.nearest(3, None, 1), 2)
    np.testing.assert_array_equal(variances, np.full((10, 2), 0.125))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_over_neighbors_are_of_the_type_of_the_points(dtype: type) -> None:
    points: FloatArray = np.array([[1, 2], [3, 4], [5, 6]], dtype=dtype)
    neighbors = np.array([[0, 1], [2, 0]], dtype=np.int32)
    sums = summing(neighbors, 3, points.dtype) @ points
    assert sums.dtype == dtype
    np.testing.assert_array_equal(sums, [[4, 6], [6, 8]])
