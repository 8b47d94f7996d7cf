import pickle
from collections.abc import Callable
from math import cos, exp, sin, tanh
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.linalg import subspace_angles
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.classic.oracles import ngca_beta
from vicinal._typing import FloatArray
from vicinal.classic import NGCA
from vicinal.classic.ngca import FAMILIES, beta_vectors, cosine

ignore_gaussian = pytest.mark.filterwarnings("ignore:NGCA found no direction")


@ignore_gaussian
@pytest.mark.parametrize(
    ("estimator", "check"),
    list(estimator_checks_generator(NGCA(n_functions=20))),
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: NGCA, check: object) -> None:
    check(estimator)  # type: ignore[operator]


def planted(kind: str, seed: int, n: int = 1000) -> tuple[FloatArray, FloatArray]:
    """Two non-Gaussian dimensions among ten, mixed; and the directions to find."""
    rng = np.random.default_rng(seed)
    sources = rng.normal(size=(n, 10))
    if kind == "clusters":
        sources[:, :2] += 3 * rng.choice([-1, 1], size=(n, 2))
    elif kind == "heavy tails":
        sources[:, :2] = rng.laplace(size=(n, 2))
    elif kind == "light tails":
        sources[:, :2] = rng.uniform(size=(n, 2))
    else:  # a ring: neither dimension alone makes it up
        angle = rng.uniform(0, 2 * np.pi, size=n)
        sources[:, :2] = 3 * np.column_stack([np.cos(angle), np.sin(angle)])
        sources[:, :2] += 0.3 * rng.normal(size=(n, 2))
    mixing = rng.normal(size=(10, 10))
    return sources @ mixing, np.linalg.inv(mixing)[:, :2]


def angle_between(X: FloatArray, rows: FloatArray, columns: FloatArray) -> float:
    """Largest angle in degrees, where the points have unit covariance."""
    root = np.linalg.cholesky(np.cov(X.T)).T
    return float(np.degrees(subspace_angles(root @ rows.T, root @ columns).max()))


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("kind", "degrees"),
    [("clusters", 5), ("heavy tails", 15), ("light tails", 15), ("ring", 5)],
)
def test_the_planted_subspace_is_found(kind: str, degrees: float, seed: int) -> None:
    X, directions = planted(kind, seed)
    ngca = NGCA(2, n_functions=100, random_state=seed).fit(X)
    assert angle_between(X, ngca.components_, directions) < degrees
    assert 20 < ngca.n_vectors_ <= 400


CONTRASTS: list[Callable[[float, float], float]] = [
    lambda z, sigma: z**3 * exp(-(z**2) / (2 * sigma**2)),
    lambda z, a: tanh(a * z),
    lambda z, a: sin(a * z),
    lambda z, a: cos(a * z),
]


@pytest.mark.parametrize("family", [0, 1, 2, 3])
def test_beta_is_the_mean_of_the_papers_terms(family: int) -> None:
    rng = np.random.default_rng(family)
    X = rng.normal(size=(30, 4))
    omega = rng.normal(size=(4, 3))
    omega /= np.linalg.norm(omega, axis=0)
    parameters = np.array([0.5, 1.3, 4.0])
    beta, spread = beta_vectors(X, FAMILIES[family][0], parameters, omega)
    for k, parameter in enumerate(parameters):

        def h(z: float, parameter: float = parameter) -> float:
            return CONTRASTS[family](z, parameter)

        naive_beta, naive_spread = ngca_beta(X, h, omega[:, k])
        np.testing.assert_allclose(beta[:, k], naive_beta, atol=1e-7)
        assert spread[k] == pytest.approx(naive_spread, rel=1e-6)


def test_beta_does_not_depend_on_the_blocks() -> None:
    X, _ = planted("ring", 0)
    omega = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]
    whole = beta_vectors(X, cosine, np.ones(10), omega)
    with sklearn.config_context(working_memory=0.01):
        parts = beta_vectors(X, cosine, np.ones(10), omega)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(other, one, atol=1e-10)


def test_mapped_points_have_unit_covariance() -> None:
    X, _ = planted("clusters", 0)
    Z = NGCA(3, n_functions=30, random_state=0).fit(X).transform(X)
    np.testing.assert_allclose(np.cov(Z.T, bias=True), np.eye(3), atol=1e-8)


def test_fewer_components_are_the_first_of_more() -> None:
    X, _ = planted("clusters", 1)
    few, many = (NGCA(d, n_functions=50, random_state=0).fit(X) for d in (2, None))
    np.testing.assert_allclose(few.components_, many.components_[:2])
    assert many.components_.shape == (10, 10)
    assert np.all(np.diff(many.eigenvalues_) <= 0)
    assert many.eigenvalues_[1] > 10 * many.eigenvalues_[2]


def test_the_answer_does_not_depend_on_the_coordinates() -> None:
    X, directions = planted("clusters", 2)
    turn = np.random.default_rng(0).normal(size=(10, 10))
    ngca = NGCA(2, n_functions=100, random_state=0).fit(X @ turn + 100)
    moved = np.linalg.inv(turn) @ directions
    assert angle_between(X @ turn, ngca.components_, moved) < 5


def test_gaussian_points_are_a_warning() -> None:
    X = np.random.default_rng(0).normal(size=(500, 5))
    with pytest.warns(UserWarning, match="no direction that is less Gaussian") as seen:
        ngca = NGCA(2, threshold=10.0, random_state=0).fit(X)
    assert seen[0].filename == __file__
    assert ngca.n_vectors_ == 0
    assert ngca.components_.shape == (2, 5)


def test_clusters_are_found_after_it() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(600, 8)) * 7
    truth = np.arange(600) % 2
    points[:, 0] = rng.normal(size=600) + 6 * truth
    clusters = KMeans(2, random_state=0, n_init=3)
    model = make_pipeline(NGCA(1, n_functions=50, random_state=0), clusters)
    assert adjusted_rand_score(truth, model.fit_predict(points)) > 0.9
    assert adjusted_rand_score(truth, clusters.fit_predict(points)) < 0.5


def test_seeds_float32_pickle_and_names() -> None:
    X, _ = planted("clusters", 0)
    first, again, other = (
        NGCA(2, n_functions=30, random_state=s).fit(X).components_ for s in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    single = NGCA(2, n_functions=30, random_state=0).fit(X.astype(np.float32))
    assert single.components_.dtype == np.float32
    assert angle_between(X, single.components_, first.T) < 1
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    ngca = NGCA(2, n_functions=30, random_state=0).set_output(transform="pandas")
    assert list(ngca.fit_transform(frame).columns) == ["ngca0", "ngca1"]
    copy = pickle.loads(pickle.dumps(ngca))
    pd.testing.assert_frame_equal(copy.transform(frame), ngca.transform(frame))
    assert not hasattr(clone(ngca), "components_")


X, _ = planted("clusters", 0, 100)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 11}, "n_components=11 is more than"),
        ({"n_components": 0}, "'n_components' parameter"),
        ({"n_functions": 0}, "'n_functions' parameter"),
        ({"n_iter": 0}, "'n_iter' parameter"),
        ({"threshold": -1.0}, "'threshold' parameter"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    ngca = NGCA(**parameters)
    before = dict(vars(ngca))
    with pytest.raises(ValueError, match=message):
        ngca.fit(X)
    assert vars(ngca) == before


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (np.full((20, 3), 0.1), "All rows of X are equal"),
        (X[:1], "minimum of 2"),
    ],
)
def test_input_that_cannot_serve(points: Any, message: str) -> None:
    ngca = NGCA()
    before = dict(vars(ngca))
    with pytest.raises(ValueError, match=message):
        ngca.fit(points)
    assert vars(ngca) == before


@ignore_gaussian
@pytest.mark.parametrize(
    "case", ["constant column", "duplicate column", "duplicate rows", "few rows"]
)
def test_what_can_be_handled_is(case: str) -> None:
    points, dimensions = X.copy(), 9
    if case == "constant column":
        points[:, 2] = 3.0
    elif case == "duplicate column":
        points[:, 2] = points[:, 3]
    elif case == "duplicate rows":
        points[50:] = points[:50]
        dimensions = 10
    else:
        points, dimensions = X[:6], 5
    ngca = NGCA(n_functions=30, random_state=0).fit(points)
    assert ngca.components_.shape == (dimensions, 10)
    assert np.isfinite(ngca.components_).all()
    if case == "constant column":
        np.testing.assert_allclose(ngca.components_[:, 2], 0, atol=1e-12)
        with pytest.raises(ValueError, match="along which the rows of X differ"):
            NGCA(10).fit(points)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_any_scale(unit: float) -> None:
    scaled = NGCA(2, n_functions=30, random_state=0).fit(X * unit).components_
    usual = NGCA(2, n_functions=30, random_state=0).fit(X).components_
    # Of the map's size: its search magnifies rounding, in small entries as in large.
    size = np.abs(usual).max()
    np.testing.assert_allclose(scaled * unit / size, usual / size, rtol=0, atol=1e-6)
