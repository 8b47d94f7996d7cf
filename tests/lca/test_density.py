from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.neighbors import KernelDensity

from tests.lca.oracles import leave_one_out, log_density
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray

X = load_iris().data
MODELS = [
    LCA(alpha=0.0),
    LCA("diagonal", alpha=0.0),
    LCA("spherical", alpha=0.0),
    LCA("local", alpha=0.0),
]


def blobs(n: int, d: int = 2) -> tuple[FloatArray, FloatArray]:
    points, labels = make_blobs(n, d, centers=3, center_box=(-20, 20), random_state=0)
    return points, labels


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_scores_are_the_parzen_estimate(model: Any) -> None:
    model.fit(X[::2])
    covariance = getattr(model, "covariances_", model.covariance_)
    np.testing.assert_allclose(
        model.score_samples(X[1::2]), log_density(X[1::2], X[::2], covariance)
    )
    np.testing.assert_allclose(
        model.loo_score_samples_, leave_one_out(X[::2], covariance)
    )
    assert model.score(X[1::2]) == pytest.approx(model.score_samples(X[1::2]).mean())


def test_a_spherical_kernel_is_scikit_learns_kernel_density() -> None:
    model = LCA("spherical", alpha=0.0).fit(X)
    peer = KernelDensity(bandwidth=np.sqrt(model.covariance_[0, 0])).fit(X)
    np.testing.assert_allclose(model.score_samples(X + 1), peer.score_samples(X + 1))


@pytest.mark.parametrize("model", [*MODELS, LCAGauss(1)], ids=str)
def test_densities_integrate_to_one(model: Any) -> None:
    points, _ = blobs(60)
    model.fit(points)
    sides = np.linspace(-40, 40, 400)
    grid = np.stack(np.meshgrid(sides, sides), axis=-1).reshape(-1, 2)
    cell = (sides[1] - sides[0]) ** 2
    assert np.exp(model.score_samples(grid)).sum() * cell == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("model", [*MODELS, LCAGauss(2)], ids=str)
def test_samples_have_the_densitys_moments(model: Any) -> None:
    model.fit(X)
    drawn = model.sample(30_000, random_state=0)
    kernel = model.covariance_ if isinstance(model, LCA) else None
    if hasattr(model, "covariances_"):
        kernel = model.covariances_.mean(axis=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X.mean(axis=0), atol=0.05)
    if kernel is not None:
        expected = np.cov(X.T, bias=True) + kernel
        np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.08)
    again = model.sample(30_000, random_state=0)
    np.testing.assert_array_equal(drawn, again)


def test_scores_by_a_tree_keep_their_error_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points, _ = blobs(1200)
    # Also between and beyond the clusters, where a tree alone would be wrong.
    apart = np.random.default_rng(0).uniform(-30, 30, size=(200, 2))
    new = np.vstack([points[:50] + 0.1, apart, [[100.0, 100.0]]])
    exact = LCA(rtol=0, alpha=0.0).fit(points)
    used: list[int] = []
    by_tree = KernelDensity.score_samples

    def spy(tree: KernelDensity, Q: FloatArray) -> FloatArray:
        used.append(len(Q))
        scores: FloatArray = by_tree(tree, Q)
        return scores

    monkeypatch.setattr(KernelDensity, "score_samples", spy)
    monkeypatch.setattr("vicinal.lca.density.TREE_POINTS", 1000)
    expected = exact.score_samples(new)
    assert not used
    for rtol in (1e-2, 1e-4):
        found = replace(exact._density, rtol=rtol).log_density(new, 1)
        np.testing.assert_allclose(found, expected, atol=1.01 * rtol)
    assert used == [251, 251]


@pytest.mark.parametrize(
    "model", [*MODELS, LCAGauss(1, alpha_local=0.0, alpha_global=0.0)], ids=str
)
def test_modes_are_peaks(model: Any) -> None:
    points, _ = blobs(90)
    model.fit(points)
    modes = model.modes(points, tol=1e-7, max_iter=5000)
    heights = model.score_samples(modes)
    for step in np.eye(2) * 1e-2:
        assert (model.score_samples(modes + step) <= heights + 1e-6).all()
        assert (model.score_samples(modes - step) <= heights + 1e-6).all()
    assert (heights >= model.score_samples(points) - 1e-9).all()


def test_wider_kernels_have_fewer_modes() -> None:
    points, _ = blobs(90)
    model = LCA().fit(points)
    few, one = (
        np.unique(model.modes(points, width=w, max_iter=9999).round(2), axis=0)
        for w in (2.0, 200.0)
    )
    assert len(few) == 3
    assert len(one) == 1
    np.testing.assert_allclose(one[0], points.mean(axis=0), atol=0.1)
    with pytest.raises(ValueError, match="width must be above 0"):
        model.modes(points, width=0)
    with pytest.warns(ConvergenceWarning, match="in 1 steps"):
        model.modes(points, max_iter=1)


@pytest.mark.parametrize("model", [LCA(), LCAGauss(), LCA("local")], ids=str)
def test_contamination_is_the_share_of_training_points(model: Any) -> None:
    points, _ = blobs(200)
    model.set_params(contamination=0.05).fit(points)
    assert (model.predict(points) == -1).sum() == 10
    np.testing.assert_array_equal(model.fit_predict(points), model.predict(points))
    np.testing.assert_allclose(
        model.decision_function(points), model.score_samples(points) - model.offset_
    )


def test_auto_contamination_is_for_new_points() -> None:
    rng = np.random.default_rng(0)
    points, new = rng.normal(size=(2, 500, 10))
    model = LCA(contamination="auto", alpha=0.0).fit(points)
    assert (model.predict(new) == -1).mean() < 0.1
    assert (model.predict(new * 5) == -1).mean() > 0.9
    lower, upper = np.percentile(model.loo_score_samples_, [25, 75])
    assert model.offset_ == pytest.approx(lower - 1.5 * (upper - lower))


def test_many_points_have_their_threshold_from_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points, _ = blobs(900)
    for contamination in ("auto", 0.1):
        exact: dict[str, Any] = {"batch_size": "all", "n_references": "all"}
        model = LCA(contamination=contamination, **exact)
        whole = model.fit(points).offset_
        with monkeypatch.context() as patch:
            patch.setattr("vicinal.lca._shared.N_EXACT", 800)
            part = model.fit(points).offset_
        assert part != whole
        assert part == pytest.approx(whole, abs=1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "model", [LCA(alpha=0.0), LCAGauss(1, alpha_local=0.0, alpha_global=0.0)], ids=str
)
def test_points_far_away_are_outliers(model: Any, dtype: Any) -> None:
    model.fit(X.astype(dtype))
    for far in (1e4, 1e15, 1e30):
        alone = np.full((1, 4), far, dtype=dtype)
        score = model.score_samples(alone)[0]
        precision = model.get_mahalanobis_matrix().astype(float)
        if isinstance(model, LCA):
            assert score == pytest.approx(-precision.sum() * far**2 / 2, rel=0.01)
        assert model.predict(alone)[0] == -1
        # Beside others it has the same density.
        both = model.score_samples(np.vstack([X[:1].astype(dtype), alone]))
        assert both[1] == pytest.approx(score, rel=1e-4)


def test_far_points_in_tiny_units() -> None:
    model = LCA().fit((X * 1e-30).astype("f"))
    assert model.predict(np.full((1, 4), 1e20, dtype="f"))[0] == -1


def test_a_picture_of_the_estimator_does_not_wait_for_all_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = LCA().fit(X)
    assert {"offset_", "loo_score_samples_"} <= set(dir(model))
    monkeypatch.setattr("vicinal.lca._shared.N_EXACT", 100)
    model = LCA(batch_size="all", n_references="all").fit(X)
    assert not {"offset_", "loo_score_samples_"} & set(dir(model))
    model._repr_html_()
    assert not model._cache
    assert len(model.loo_score_samples_) == 150
    assert "loo_score_samples_" in dir(model)


def test_before_fit_there_is_nothing() -> None:
    model = LCA()
    for method in (model.score_samples, model.score, model.modes, model.predict):
        with pytest.raises(NotFittedError):
            method(X)
    with pytest.raises(NotFittedError):
        model.sample()
    assert not hasattr(model, "loo_score_samples_")
    with pytest.raises(ValueError, match="n_samples must be at least 1"):
        model.fit(X).sample(0)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.score_samples(X[:, :3])
