import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.lca.oracles import (
    local_covariance,
    product_leave_one_out,
    proposition_1_cost,
)
from vicinal import LCA, LCAGauss
from vicinal._typing import FloatArray
from vicinal.lca.lca_gauss import gaussian_parzen_split, golden_section

ignore_convergence = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)
wine = scale(load_wine().data)


def circles(seed: int, n: int, n_noise: int) -> FloatArray:
    """Figure 2, centre: two concentric circles, with dimensions of noise."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, size=n)
    radius = rng.integers(1, 3, size=n)
    ring = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    noise = rng.normal(size=(n, n_noise))
    return np.hstack([scale(ring + 0.1 * rng.normal(size=(n, 2))), noise])


def positive(rng: np.random.Generator, d: int) -> FloatArray:
    root = rng.normal(size=(d, d + 2))
    return root @ root.T / d


@ignore_convergence
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for model in (
            LCAGauss(alpha_local=1e-3, alpha_global=1e-3),
            LCAGauss(1, batch_size=150, max_iter=5),
        )
        for pair in estimator_checks_generator(model)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: LCAGauss, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**20), d=st.integers(1, 6))
def test_proposition_1_is_the_minimum(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    C_G, C_L = positive(rng, d), positive(rng, d)
    split = gaussian_parzen_split(C_G, C_L)
    least = proposition_1_cost(C_G, C_L, split.B_G, split.B_L)
    # The value that the proof gives.
    e = split.eigenvalues
    value = d + np.linalg.slogdet(C_G)[1] + np.log(e[e < 1]).sum()
    assert least == pytest.approx(value)
    np.testing.assert_allclose(
        np.linalg.eigvals(np.linalg.solve(C_G, C_L)).real.sum(), e.sum(), rtol=1e-6
    )
    B = np.hstack([split.B_G, split.B_L])
    n_gaussian = split.B_G.shape[1]
    for size in (1e-3, 0.1, 1.0):
        other = B + size * rng.normal(size=(d, d))
        cost = proposition_1_cost(
            C_G, C_L, other[:, :n_gaussian], other[:, n_gaussian:]
        )
        assert cost >= least - 1e-9
    for n in range(d + 1):
        fixed = gaussian_parzen_split(C_G, C_L, n)
        assert fixed.B_G.shape == (d, n)
        cost = proposition_1_cost(C_G, C_L, fixed.B_G, fixed.B_L)
        assert cost >= least - 1e-9
        if n == n_gaussian:
            assert cost == pytest.approx(least)


def test_an_eigenvalue_of_one_is_gaussian() -> None:
    split = gaussian_parzen_split(np.eye(2), np.diag([1.0, 0.5]))
    np.testing.assert_allclose(np.abs(split.B_G[:, 0]), [1, 0], atol=1e-12)
    np.testing.assert_allclose(np.abs(split.B_L[:, 0]), [0, np.sqrt(2)], atol=1e-12)


@pytest.mark.parametrize(
    ("C_G", "C_L", "n_gaussian", "message"),
    [
        (np.eye(2), np.diag([1.0, 0.0]), None, "positive definite"),
        (np.diag([1.0, 0.0]), np.eye(2), None, "positive definite"),
        (np.eye(2), np.eye(3), None, "C_G has shape"),
        (np.ones((2, 3)), np.eye(2), None, "C_G must be a symmetric"),
        (np.eye(2), np.array([[1, 1], [0, 1]]), None, "C_L must be a symmetric"),
        (np.eye(2), np.array([[1e-12, 5e-13], [0, 1e-12]]), None, "C_L must be a"),
        (np.eye(2), np.eye(2), 3, "between 0 and 2"),
        (np.eye(2), np.eye(2), 1.0, "an int between 0 and 2"),
        (np.eye(2), np.full((2, 2), np.nan), None, "NaN"),
    ],
)
def test_matrices_that_cannot_be_split(
    C_G: FloatArray, C_L: FloatArray, n_gaussian: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        gaussian_parzen_split(C_G, C_L, n_gaussian)


@ignore_convergence
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_iterations_are_those_of_algorithm_1(alpha: float) -> None:
    points = wine[::4, :6]
    C_G = np.cov(points.T, bias=True) + alpha * np.eye(6)
    C_L = local_covariance(points, np.linalg.inv(C_G))
    for _ in range(3):
        split = gaussian_parzen_split(C_G, C_L + alpha * np.eye(6))
        C_L = local_covariance(points, split.B_L @ split.B_L.T)
    model = LCAGauss(alpha_local=alpha, alpha_global=alpha, max_iter=3, tol=0).fit(
        points
    )
    A_G, A_L = model.gaussian_components_, model.local_components_
    np.testing.assert_allclose(A_L.T @ A_L, split.B_L @ split.B_L.T, rtol=1e-6)
    np.testing.assert_allclose(A_G.T @ A_G, split.B_G @ split.B_G.T, atol=1e-8)
    assert model.n_gaussian_ == split.B_G.shape[1] == len(A_G)
    scores = product_leave_one_out(points, A_G.T, A_L.T)
    np.testing.assert_allclose(model.loo_score_samples_, scores, rtol=1e-9)
    penalty = alpha / 2 * (np.sum(A_L**2) + np.sum(A_G**2))
    assert model.objective_curve_[-1] == pytest.approx(scores.mean() - penalty)
    np.testing.assert_array_equal(model.components_, A_L)


@ignore_convergence
@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**20),
    n=st.integers(2, 60),
    d=st.integers(1, 8),
    n_gaussian=st.sampled_from(["auto", 0, 1]),
    alpha=st.sampled_from([0.0, 0.01]),
    grid=st.booleans(),
)
def test_exact_em_never_lowers_the_leave_one_out_likelihood(
    seed: int, n: int, d: int, n_gaussian: Any, alpha: float, grid: bool
) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, d)) + 3 * rng.integers(0, 3, size=(n, 1))
    if grid:
        points = points.round()
    model = LCAGauss(
        n_gaussian, alpha_local=alpha, alpha_global=alpha, max_iter=15, tol=0
    )
    curve = model.fit(points).objective_curve_
    assert np.isfinite(curve).all()
    # Covariances that cannot be inverted but for the floor have few digits left.
    slack = 1e-8 if n > 20 and not grid else 1e-6
    assert (np.diff(curve) >= -slack * max(1, np.abs(curve).max())).all()


def test_without_gaussian_directions_it_is_lca() -> None:
    plain = LCA(tol=1e-9, max_iter=2000).fit(wine[:, :4])
    product = LCAGauss(0, tol=1e-9, max_iter=2000).fit(wine[:, :4])
    assert product.objective_curve_[-1] == pytest.approx(plain.objective_curve_[-1])
    np.testing.assert_allclose(
        product.get_mahalanobis_matrix(), plain.get_mahalanobis_matrix(), rtol=1e-2
    )


def test_with_gaussian_directions_only_it_is_a_gaussian() -> None:
    model = LCAGauss(13, alpha_local=0.0, alpha_global=0.0).fit(wine)
    normal = multivariate_normal(wine.mean(axis=0), np.cov(wine.T, bias=True))
    np.testing.assert_allclose(model.score_samples(wine), normal.logpdf(wine))
    np.testing.assert_allclose(model.loo_score_samples_, normal.logpdf(wine))
    assert model.transform(wine).shape == (178, 0)
    drawn = model.sample(20_000, random_state=0)
    np.testing.assert_allclose(np.cov(drawn.T), np.cov(wine.T), atol=0.1)


def test_noise_is_one_gaussian_and_says_so() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(1500, 12)) @ rng.normal(size=(12, 12))
    with pytest.warns(ConvergenceWarning, match="learned nothing local.*no columns"):
        model = LCAGauss().fit(points[:1000])
    assert model.n_gaussian_ == 12
    assert model.background_weight_ == 1
    assert model.transform(points).shape == (1500, 0)
    train, held_out = points[:1000], points[1000:]
    normal = multivariate_normal(train.mean(axis=0), np.cov(train.T, bias=True))
    assert model.score(held_out) > normal.logpdf(held_out).mean() - 0.02


def test_directions_that_are_not_gaussian_are_kept_by_default() -> None:
    model = LCAGauss().fit(circles(0, 1000, 6))
    assert model.n_gaussian_ < 8
    assert model.background_weight_ < 0.5


def test_new_points_see_all_training_points() -> None:
    points, new = wine[::2, :5], wine[1:40:2, :5]
    model = LCAGauss(2, alpha_local=0.0, alpha_global=0.0).fit(points)
    A_G, A_L = model.gaussian_components_, model.local_components_
    for x, score in zip(new, model.score_samples(new), strict=True):
        # As leave-one-out among the training points and x, but for the mean.
        gaussian = -0.5 * np.sum((A_G @ (x - points.mean(axis=0))) ** 2)
        parzen = np.mean(np.exp(-0.5 * np.sum(((x - points) @ A_L.T) ** 2, axis=1)))
        log_det = np.linalg.slogdet(np.vstack([A_G, A_L]))[1]
        expected = gaussian + np.log(parzen) + log_det - 2.5 * np.log(2 * np.pi)
        assert score == pytest.approx(expected)


@pytest.mark.parametrize("search", [False, True])
def test_it_finds_the_directions_that_are_not_gaussian(search: bool) -> None:
    model = LCAGauss(search=search, tol=1e-4, max_iter=500).fit(circles(0, 600, 3))
    shares = np.square(model.local_components_)
    shares = shares / shares.sum(axis=1, keepdims=True)
    assert shares[0, :2].sum() > 0.95
    if search:
        assert model.n_gaussian_ == 3
        assert shares[:, :2].sum() > 1.9


def test_the_search_is_never_worse() -> None:
    for seed in range(3):
        points = circles(seed, 200, 4)
        plain, searched = (
            LCAGauss(search=s, max_iter=500, alpha_local=0.0, alpha_global=0.0).fit(
                points
            )
            for s in (False, True)
        )
        assert searched.objective_curve_[-1] >= plain.objective_curve_[-1]
        assert searched.n_gaussian_ >= plain.n_gaussian_


@pytest.mark.parametrize("peak", [0, 1, 7, 19, 20])
@pytest.mark.parametrize(("low", "high"), [(0, 20), (0, 21), (0, 40)])
def test_golden_section_finds_the_peak(peak: int, low: int, high: int) -> None:
    asked = set()

    def height(n: int) -> float:
        assert low <= n <= high
        asked.add(n)
        return -abs(n - peak)

    assert golden_section(height, low, high) == peak
    assert len(asked) <= 12


def test_golden_section_of_one_place() -> None:
    assert golden_section(lambda _: 0.0, 3, 3) == 3
    assert golden_section(lambda n: float(n), 3, 4) == 4


def test_chosen_ridges_help_if_points_are_few() -> None:
    model = LCAGauss().fit(wine[::2])
    assert model.alpha_local_ > 0
    assert model.alpha_global_ > 0
    plain = LCAGauss(max_iter=500, alpha_local=0.0, alpha_global=0.0).fit(wine[::2])
    assert model.score(wine[1::2]) > plain.score(wine[1::2]) + 1


def test_float32_and_pickle() -> None:
    points = wine.astype(np.float32)
    model = LCAGauss(alpha_local=0.1, alpha_global=0.1).fit(points)
    for array in (model.components_, model.gaussian_components_, model.sample(2)):
        assert array.dtype == np.float32
    double = LCAGauss(alpha_local=0.1, alpha_global=0.1).fit(wine)
    assert model.score(points) == pytest.approx(double.score(wine), abs=0.02)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        copy.score_samples(points), model.score_samples(points)
    )
    names = model.get_feature_names_out()
    assert len(names) == 13 - model.n_gaussian_
    assert names[0] == "lcagauss0"


def test_warm_start() -> None:
    model = LCAGauss(warm_start=True, max_iter=500, alpha_local=0.1).fit(wine)
    reached = model.objective_curve_[-1]
    model.fit(wine)
    assert model.objective_curve_[0] == pytest.approx(reached, rel=1e-9)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_gaussian": 14}, "more than the 13 features"),
        ({"n_gaussian": -1}, "'n_gaussian' parameter"),
        ({"n_gaussian": "some"}, "'n_gaussian' parameter"),
        ({"alpha_local": -1.0}, "'alpha_local' parameter"),
        ({"alpha_global": "some"}, "'alpha_global' parameter"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    model = LCAGauss(**parameters)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=message):
        model.fit(wine)
    assert vars(model) == before
