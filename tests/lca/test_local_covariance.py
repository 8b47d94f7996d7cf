"""Local covariances, one for each point: against naive sums, and their penalty."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tests.lca.oracles import leave_one_out, local_scatters
from vicinal import LCA
from vicinal._typing import FloatArray
from vicinal.lca._local_covariance import LocalKernels

X = load_iris().data


def far_blobs() -> FloatArray:
    """Two blobs so far apart that kernels of one underflow in the other."""
    points = np.random.default_rng(0).normal(size=(90, 3))
    points[:40] += 60
    return points


@pytest.mark.parametrize("points", [X[::3], far_blobs()], ids=["iris", "far blobs"])
def test_the_e_step_is_that_of_naive_sums(points: FloatArray) -> None:
    rng = np.random.default_rng(0)
    n, d = points.shape
    roots = np.eye(d) + 0.3 * rng.normal(size=(n, d, d))
    covariances = roots @ roots.transpose(0, 2, 1)
    kernels = LocalKernels(points, covariances)
    seen = kernels.expectation(n_threads=1)
    weights, matrices = local_scatters(points, covariances)
    constant = np.log(n - 1) + d / 2 * np.log(2 * np.pi)
    np.testing.assert_allclose(
        seen.log_sums - constant, leave_one_out(points, covariances), rtol=1e-9
    )
    np.testing.assert_allclose(seen.weights, weights, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(seen.matrices, matrices, rtol=1e-6, atol=1e-8)


def test_any_number_of_threads_gives_the_same_bits() -> None:
    points = np.random.default_rng(0).normal(size=(700, 4))
    kernels = LocalKernels(points, np.broadcast_to(0.3 * np.eye(4), (700, 4, 4)))
    for one, three in zip(kernels.expectation(1), kernels.expectation(3), strict=True):
        assert np.array_equal(one, three)


def test_local_covariances_follow_their_smoothing() -> None:
    loose, stiff = (
        LCA("local", smoothing=s, alpha=0.0).fit(X[::2]) for s in (1.0, 1e9)
    )
    shared = LCA(alpha=0.0).fit(X[::2])
    np.testing.assert_allclose(
        stiff.covariances_, np.broadcast_to(shared.covariance_, (75, 4, 4)), rtol=1e-5
    )
    np.testing.assert_allclose(stiff.score(X), shared.score(X), rtol=1e-5)
    np.testing.assert_allclose(
        loose.loo_score_samples_, leave_one_out(X[::2], loose.covariances_), rtol=1e-8
    )
    assert loose.loo_score_samples_.mean() > shared.loo_score_samples_.mean() + 0.1
    loose.set_params(covariance="full").fit(X)
    assert not hasattr(loose, "covariances_")


def test_the_curve_of_local_covariances_has_their_penalty() -> None:
    lca = LCA("local", smoothing=2.0, alpha=0.0).fit(X[::2])
    ratios = np.linalg.solve(lca.covariance_, lca.covariances_)
    traces = np.trace(np.linalg.inv(ratios), axis1=1, axis2=2)
    penalty = np.mean(traces - 4 + np.linalg.slogdet(ratios)[1])  # times s/2
    expected = lca.loo_score_samples_.mean() - penalty
    assert lca.objective_curve_[-1] == pytest.approx(expected, rel=1e-6)


def test_too_many_local_covariances() -> None:
    points = np.random.default_rng(0).normal(size=(500, 500))
    with pytest.raises(ValueError, match="would keep 500 matrices"):
        LCA("local").fit(points)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_features_that_do_not_vary_beside_huge_ones() -> None:
    """Eigenvalues that round to less than nothing have no root."""
    rng = np.random.default_rng(0)
    points = np.zeros((70, 40))
    points[:, :22] = np.round(rng.normal(size=(70, 22)) * 10 ** rng.uniform(0, 9, 22))
    model = LCA(covariance="local", alpha=0.1, max_iter=20, random_state=0).fit(points)
    assert np.isfinite(model.components_).all()


def test_no_density_is_above_its_kernel_s_peak() -> None:
    rng = np.random.default_rng(0)
    V = 1e5 + rng.normal(size=(200, 2))
    kernels = LocalKernels(V, np.repeat(np.eye(2)[None] / 4, len(V), axis=0))
    terms = kernels.log_terms(V)
    assert terms.max() == pytest.approx(np.log(4.0), abs=1e-12)
