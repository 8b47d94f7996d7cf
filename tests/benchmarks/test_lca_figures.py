import numpy as np
import pytest
from scipy.stats import gaussian_kde
from sklearn.cluster import SpectralClustering

from benchmarks.papers.lca_figure_3 import clusters_by_local_scaling, two_circles
from benchmarks.papers.lca_figure_4 import IndependentDensity


def test_density_of_independent_components_is_a_product() -> None:
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(3, 3))
    X, rows = rng.laplace(size=(2000, 3)) @ mixing, rng.laplace(size=(1000, 3)) @ mixing
    model = IndependentDensity(1e-9).fit(X)
    points, sources = (X - model.mean) @ model.map, (rows - model.mean) @ model.map
    assert np.allclose(points.std(axis=0), 1)
    expected = np.linalg.slogdet(model.map)[1]
    for own, of in zip(points.T, sources.T, strict=True):
        width = 1.06 * len(X) ** -0.2 / own.std(ddof=1)  # scipy's unit is that
        expected += np.log(gaussian_kde(own, bw_method=width)(of)).mean()
    assert model.score(rows) == pytest.approx(expected, abs=1e-5)
    # The sources have the log-density −Σ|s| − 3 log 2, but for the smoothing.
    truth = -np.abs(rows @ np.linalg.inv(mixing)).sum(axis=1).mean() - 3 * np.log(2)
    truth -= np.linalg.slogdet(mixing)[1]
    assert model.score(rows) == pytest.approx(truth, abs=0.2)


def test_local_scaling_has_the_unit_of_each_point() -> None:
    circles, labels = two_circles(np.random.default_rng(0))
    X = circles[:120]
    affinity = np.empty((len(X), len(X)))
    sigma = [np.sort(np.linalg.norm(X - x, axis=1))[7] for x in X]
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            affinity[i, j] = np.exp(-(np.linalg.norm(x - z) ** 2) / sigma[i] / sigma[j])
    expected = SpectralClustering(2, affinity="precomputed", random_state=0)
    assert (clusters_by_local_scaling(X, 2) == expected.fit_predict(affinity)).all()
    agreement = np.mean(clusters_by_local_scaling(circles, 2) == labels)
    assert max(agreement, 1 - agreement) > 0.95
