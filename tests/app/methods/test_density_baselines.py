from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.covariance import LedoitWolf

from vicinal.app.methods.baselines import GaussianMetric, KernelDensityMetric

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3)) @ RNG.normal(size=(3, 3))
X_NEW = RNG.normal(size=(20, 3))


def test_gaussian_against_scipy() -> None:
    gaussian = GaussianMetric().fit(X)
    known = LedoitWolf().fit(X)
    density = multivariate_normal(known.location_, known.covariance_)
    assert gaussian.score(X_NEW) == pytest.approx(density.logpdf(X_NEW).mean())
    covariance = np.linalg.inv(gaussian.components_.T @ gaussian.components_)
    np.testing.assert_allclose(covariance, known.covariance_)


def test_kernel_density_against_its_sum() -> None:
    density = KernelDensityMetric().fit(X)
    h = density.density_.bandwidth_
    kernels = multivariate_normal(np.zeros(3), h**2 * np.eye(3))
    differences = X_NEW[:, None] - X[None]
    expected = np.log(kernels.pdf(differences).mean(axis=1)).mean()
    assert density.score(X_NEW) == pytest.approx(expected)
    np.testing.assert_allclose(density.transform(X_NEW), X_NEW / h)


def test_bandwidth_follows_the_data() -> None:
    wide, narrow = (
        KernelDensityMetric().fit(X * c).density_.bandwidth_ for c in (1, 0.2)
    )
    assert narrow < wide


def test_folds_are_of_rows_in_any_order_and_as_many_as_there_can_be() -> None:
    # In the order of one feature, neighbours would be held out together.
    ordered = X[np.argsort(X[:, 0])]
    bandwidths = [
        KernelDensityMetric().fit(one).density_.bandwidth_ for one in (ordered, X)
    ]
    # Within a step of those that are tried.
    assert max(bandwidths) < 1.5 * min(bandwidths)
    assert KernelDensityMetric().fit(X[:3]).score(X[:3]) < 0


def test_a_sample_chooses_the_bandwidth_of_many_rows() -> None:
    rows = RNG.normal(size=(4500, 4))
    every = KernelDensityMetric().fit(rows[:3000], max_rows=3000)
    sampled = KernelDensityMetric().fit(rows[:3000], max_rows=300)
    ratio = sampled.density_.bandwidth_ / every.density_.bandwidth_
    # Within a step of those that are tried: by itself, the sample would ask for 1.33.
    assert 2**-0.5 < ratio < 2**0.5
    assert sampled.score(rows[3000:]) > every.score(rows[3000:]) - 0.05
