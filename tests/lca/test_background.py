"""The Gaussian behind the kernels, and constant features."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from tests.lca.oracles import log_density
from vicinal import LCA
from vicinal.lca.data import Scaler
from vicinal.lca.density import Background, mixture_weight

X = load_iris().data


@pytest.mark.parametrize("ridge", [1e-6, 0.1])
def test_leave_one_out_of_the_gaussian_is_exact(ridge: float) -> None:
    points = X[::5]
    found = Background.fit(points, np.cov(points.T, bias=True), ridge).loo_scores
    for i, score in enumerate(found):
        others = np.delete(points, i, axis=0)
        covariance = np.cov(others.T, bias=True) + ridge * np.eye(4)
        normal = multivariate_normal(others.mean(axis=0), covariance)
        assert score == pytest.approx(normal.logpdf(points[i]), rel=1e-9)


def test_the_ridge_is_the_best_for_left_out_points() -> None:
    points = np.random.default_rng(0).normal(size=(20, 15))
    covariance = np.cov(points.T, bias=True)
    best = Background.fit(points, covariance)
    for ridge in (best.ridge * 10**0.5, best.ridge / 10**0.5):
        other = Background.fit(points, covariance, ridge)
        assert other.loo_scores.mean() < best.loo_scores.mean()
    assert best.ridge > 0.01


def test_the_weight_is_the_best_and_never_vanishes() -> None:
    rng = np.random.default_rng(0)
    parzen, gaussian = rng.normal(size=(2, 50))
    weight = mixture_weight(parzen, gaussian)

    def height(w: float) -> float:
        mixed = np.log((1 - w) * np.exp(parzen) + w * np.exp(gaussian)).sum()
        return float(mixed + np.log(w) + np.log1p(-w))

    assert height(weight) >= max(height(weight - 1e-3), height(weight + 1e-3))
    assert mixture_weight(parzen, parzen - 1000) == pytest.approx(1 / 52)
    assert mixture_weight(parzen, parzen + 1000) == pytest.approx(51 / 52)


def test_the_default_density_is_the_mixture() -> None:
    model = LCA().fit(X[::2])
    kernels = log_density(X[1::2], X[::2], model.covariance_)
    scale = X[::2].std(axis=0)
    ridge = model._density.background.ridge * np.diag(scale**2)
    covariance = np.cov(X[::2].T, bias=True) + ridge
    normal = multivariate_normal(X[::2].mean(axis=0), covariance).logpdf(X[1::2])
    weight = model.background_weight_
    np.testing.assert_allclose(
        model.score_samples(X[1::2]),
        np.logaddexp(kernels + np.log1p(-weight), normal + np.log(weight)),
    )
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(drawn.mean(axis=0), X[::2].mean(axis=0), atol=0.05)
    far = model.score_samples(X[:1] + 100)
    assert np.isfinite(far).all()
    assert not hasattr(model.set_params(alpha=0.1).fit(X), "background_weight_")


def test_a_constant_feature_is_no_part_of_the_density() -> None:
    points = (X - X.mean(axis=0)) / X.std(axis=0)
    wide = np.column_stack([points, np.full(150, 7.0)])
    plain, padded = LCA().fit(points[::2]), LCA().fit(wide[::2])
    np.testing.assert_allclose(
        padded.score_samples(wide[1::2]),
        plain.score_samples(points[1::2]),
        atol=0.05,
    )
    moved = wide[1:2] + np.array([0, 0, 0, 0, 1.0])
    fall = padded.score(wide[1:2]) - padded.score(moved)
    assert 1 < fall < 10  # a value that was never seen is unlikely, not impossible


def test_the_unit_of_a_constant_feature() -> None:
    points = np.column_stack([X[:, :2] * [3.0, 4.0], np.full(150, 2.0)])
    scaler = Scaler.of(points, isotropic=False)
    assert scaler.constant.tolist() == [False, False, True]
    square = np.mean(np.var(points[:, :2], axis=0)) / (2 * np.pi)
    assert scaler.scale[2] == pytest.approx(np.sqrt(square))
    assert Scaler.of(np.ones((5, 2)), isotropic=True).scale.tolist() == [1, 1]


def test_a_column_of_two_values_has_a_finite_density() -> None:
    rng = np.random.default_rng(0)
    two = (rng.random(300) < 0.2).astype(float)
    points = np.column_stack([rng.normal(size=(300, 3)), np.full(300, 7.0), two])
    points[:100, :3] += 6
    with pytest.warns(ConvergenceWarning, match="in 1 directions.*few values"):
        model = LCA().fit(points[::2])
    assert model.score(points[1::2]) > -6
    between = np.column_stack([points[:5, :4], np.full(5, 0.5)])
    assert model.score(between) > -20


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_both_types_have_the_same_density_with_columns_of_few_values() -> None:
    rng = np.random.default_rng(0)
    few = rng.choice(3, size=(400, 2), p=[0.9, 0.08, 0.02]) / 2
    points = np.column_stack([np.round(rng.normal(size=(400, 4)), 2), few])
    double, single = (LCA().fit(points.astype(kind)) for kind in "df")
    for model in (double, single):
        assert (np.diff(model.objective_curve_) > -0.01).all()
    assert single.score(points.astype("f")) == pytest.approx(
        double.score(points), abs=0.1
    )


def test_rounding_of_large_numbers_is_no_variation() -> None:
    rounded = np.where(np.arange(150) % 2, 1e6, np.nextafter(1e6, 2e6))
    columns = np.column_stack([X[:, 0], 1e12 * X[:, 1], rounded])
    scaler = Scaler.of(columns, isotropic=False)
    assert scaler.constant.tolist() == [False, False, True]
