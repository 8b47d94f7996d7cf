import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import estimator_checks_generator

from tests.lca.oracles import leave_one_out, local_covariance
from vicinal import LCA
from vicinal._typing import FloatArray

X = load_iris().data
FORMS = ["full", "diagonal", "spherical", "low-rank", "local"]
ignore_convergence = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


def constrained(C: FloatArray, form: str, rank: int) -> FloatArray:
    """What each form makes of eq. 4 (sections 3 and 6.2)."""
    if form == "diagonal":
        return np.diag(np.diag(C))
    if form == "spherical":
        return np.eye(len(C)) * np.trace(C) / len(C)
    if form == "low-rank":
        values, axes = np.linalg.eigh(C)
        values[:-rank] = values[:-rank].mean()
        return (axes * values) @ axes.T
    return C


@ignore_convergence
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for lca in (
            LCA(),
            LCA("spherical", alpha=1e-3),
            LCA("diagonal", batch_size=150, max_iter=5),
        )
        for pair in estimator_checks_generator(lca)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: LCA, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@pytest.mark.parametrize("form", ["full", "diagonal", "spherical", "low-rank"])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
@ignore_convergence
def test_iterations_are_those_of_the_equations(form: str, alpha: float) -> None:
    points = X[::3]
    start = np.cov(points.T, bias=True) + alpha * np.eye(4)
    covariance = constrained(start, form, 2)
    curve = []
    for _ in range(3):
        curve.append(leave_one_out(points, covariance).mean())
        curve[-1] -= alpha / 2 * np.trace(np.linalg.inv(covariance))
        C = local_covariance(points, np.linalg.inv(covariance))
        covariance = constrained(C + alpha * np.eye(4), form, 2)
    lca = LCA(form, alpha=alpha, n_components=2, max_iter=3, tol=0).fit(points)
    np.testing.assert_allclose(lca.objective_curve_[:3], curve, rtol=1e-9)
    np.testing.assert_allclose(lca.covariance_, covariance, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(
        lca.get_mahalanobis_matrix() @ lca.covariance_, np.eye(4), atol=1e-8
    )
    np.testing.assert_allclose(
        lca.loo_score_samples_, leave_one_out(points, covariance), rtol=1e-9
    )


@ignore_convergence
@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**20),
    n=st.integers(3, 60),
    d=st.integers(1, 4),
    form=st.sampled_from(FORMS),
    alpha=st.sampled_from([0.0, 1e-3, 0.3]),
    kind=st.sampled_from(["normal", "heavy", "grid", "clusters"]),
)
def test_exact_em_never_lowers_the_leave_one_out_likelihood(
    seed: int, n: int, d: int, form: str, alpha: float, kind: str
) -> None:
    rng = np.random.default_rng(seed)
    makers: dict[str, Callable[[], FloatArray]] = {
        "normal": lambda: rng.normal(size=(n, d)),
        "heavy": lambda: rng.standard_t(1.5, size=(n, d)),
        "grid": lambda: rng.integers(0, 4, size=(n, d)).astype(float),
        "clusters": lambda: rng.normal(size=(n, d)) + 50 * rng.integers(0, 3, (n, 1)),
    }
    points = makers[kind]()
    lca = LCA(form, alpha=alpha, max_iter=15, tol=0, n_jobs=1).fit(points)
    assert np.isfinite(lca.objective_curve_).all()
    steps = np.diff(lca.objective_curve_)
    # Without a ridge a kernel may collapse to its floor, 1e-10 of the data's variance,
    # where rounding is 1e10 times as large.
    rounding = 1e-8 if alpha else 1e-6
    assert (steps >= -rounding * np.abs(lca.objective_curve_).max()).all()


def test_a_stationary_point_is_reached() -> None:
    lca = LCA(tol=1e-10, max_iter=1000).fit(X)
    again = local_covariance(X, np.linalg.inv(lca.covariance_))
    again += lca.alpha_ * np.diag(X.var(axis=0))
    np.testing.assert_allclose(again, lca.covariance_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_units_do_not_matter(form: str) -> None:
    units = np.array([1e-20, 1.0, 1e3, 1e15])
    plain, scaled = LCA(form).fit(X), LCA(form).fit(X * units + 5 * units)
    np.testing.assert_allclose(
        scaled.covariance_, plain.covariance_ * np.outer(units, units), rtol=1e-5
    )
    np.testing.assert_allclose(
        scaled.objective_curve_ + np.log(units).sum(), plain.objective_curve_, rtol=1e-6
    )


def test_rotations_do_not_matter() -> None:
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(4, 4)))[0]
    plain, turned = LCA(alpha=0.0).fit(X), LCA(alpha=0.0).fit(X @ turn)
    np.testing.assert_allclose(
        turned.covariance_, turn.T @ plain.covariance_ @ turn, rtol=1e-5, atol=1e-8
    )


def test_the_optimum_beats_every_bandwidth_of_a_spherical_kernel() -> None:
    points = scale(load_wine().data)
    lca = LCA("spherical", tol=1e-9).fit(points)
    width = np.sqrt(lca.covariance_[0, 0])
    heights = [
        leave_one_out(points, np.eye(13) * (width * step) ** 2).mean()
        for step in (0.9, 1.0, 1.1)
    ]
    assert heights[1] > max(heights[0], heights[2])


def test_local_structure_is_not_squeezed() -> None:
    """Figure 1: far apart along x, but round where one looks closely."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 2))
    points[:, 0] += 100 * rng.integers(0, 5, size=400)
    variances = np.diag(LCA().fit(points).covariance_)
    assert 0.5 < variances[0] / variances[1] < 2


def test_float32_in_float32_out() -> None:
    single, double = LCA().fit(X.astype(np.float32)), LCA().fit(X)
    assert single.components_.dtype == single.transform(X.astype("f")).dtype == "f"
    assert single.score_samples(X.astype("f")).dtype == np.float64
    assert single.sample(2).dtype == np.float32
    assert single.score(X.astype("f")) == pytest.approx(double.score(X), abs=1e-3)
    np.testing.assert_allclose(single.covariance_, double.covariance_, rtol=0.02)


def test_float32_far_from_the_origin() -> None:
    points = X.astype(np.float32)
    moved = LCA().fit(points + np.float32(1024))
    plain = LCA().fit(points + np.float32(1024) - np.float32(1024))
    np.testing.assert_allclose(moved.covariance_, plain.covariance_, rtol=0.02)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_chosen_ridge_helps_if_points_are_few() -> None:
    points = scale(load_wine().data)
    lca = LCA().fit(points[::2])
    assert lca.alpha_ > 0
    assert (
        lca.score(points[1::2])
        > LCA(alpha=0.0).fit(points[::2]).score(points[1::2]) + 1
    )


def test_folds_are_shuffled_for_any_kind_of_int() -> None:
    plain, other = (LCA(cv=k).fit(X).alpha_ for k in (3, np.int64(3)))
    assert plain == other


def test_a_penalty_widens_the_kernel() -> None:
    narrow, wide = (
        np.linalg.eigvalsh(LCA(alpha=r).fit(X).covariance_) for r in (0, 0.1)
    )
    assert (wide > narrow).all()
    assert wide[0] > 0.1


def test_it_beats_kernel_density_on_correlated_data() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(600, 3)) @ rng.normal(size=(3, 3))
    bandwidths = {"bandwidth": np.logspace(-2, 1, 20)}
    peer = GridSearchCV(KernelDensity(), bandwidths).fit(points[:300])
    with pytest.warns(ConvergenceWarning, match="learned nothing local"):
        model = LCA().fit(points[:300])
    assert model.score(points[300:]) > peer.score(points[300:]) / 300 + 0.1


def test_a_warm_start_keeps_the_kernel_whatever_the_new_units() -> None:
    lca = LCA(warm_start=True, alpha=0.0).fit(X)
    known = lca.covariance_
    other = X[::2] * [1.5, 1.0, 2.0, 0.5]
    start = lca.fit(other).objective_curve_[0]
    assert start == pytest.approx(leave_one_out(other, known).mean(), rel=1e-6)


def test_warm_start_goes_on_where_it_stopped() -> None:
    lca = LCA(max_iter=2, warm_start=True, tol=1e-6)
    with pytest.warns(ConvergenceWarning, match=r"in 2 iterations; raise max_iter"):
        lca.fit(X)
    reached = lca.objective_curve_[-1]
    lca.set_params(max_iter=500).fit(X)
    assert lca.objective_curve_[0] == pytest.approx(reached, rel=1e-9)
    with pytest.raises(ValueError, match="X has 3 features, but the map to start"):
        lca.fit(X[:, :3])


@pytest.mark.parametrize("form", ["spherical", "diagonal", "low-rank"])
def test_a_warm_start_from_another_form(form: str) -> None:
    lca = LCA(warm_start=True, max_iter=500, tol=1e-6).fit(X)
    lca.set_params(covariance=form).fit(X)
    plain = LCA(form, max_iter=500, tol=1e-6).fit(X)
    assert lca.objective_curve_[-1] == pytest.approx(plain.objective_curve_[-1], 1e-3)
    assert (np.diff(lca.objective_curve_) > -1e-9).all()


def test_the_warning_names_its_caller() -> None:
    with pytest.warns(ConvergenceWarning) as caught:
        LCA(max_iter=1, alpha=0.0).fit(X)
    assert caught[0].filename == __file__
    with pytest.warns(ConvergenceWarning) as caught:
        LCA(alpha=0.0).fit(np.repeat(X, 2, axis=0))
    assert caught[0].filename == __file__


def interrupt(_: FloatArray, n: int) -> None:
    if n == 2:
        raise KeyboardInterrupt


@pytest.mark.parametrize("form", ["full", "local"])
def test_an_interrupt_keeps_the_density_only_with_warm_start(form: str) -> None:
    lca = LCA(form, alpha=0.0, callback=interrupt, tol=0)
    before = dict(vars(lca))
    with pytest.raises(KeyboardInterrupt):
        lca.fit(X)
    assert vars(lca) == before
    lca.set_params(warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        lca.fit(X)
    assert lca.n_iter_ == 2
    assert len(lca.objective_curve_) == 3
    if form == "full":
        assert lca.loo_score_samples_.mean() == pytest.approx(lca.objective_curve_[-1])
        expected = local_covariance(X, np.linalg.inv(lca.covariance_))
        unit = lca._density.units.scale
        np.testing.assert_allclose(
            lca._local_scatter * np.outer(unit, unit), expected, rtol=1e-6, atol=1e-9
        )


def test_callbacks_and_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[FloatArray] = []

    def note(components: FloatArray, n: int) -> None:
        seen.append(components)
        if n == 3:
            raise StopIteration

    lca = LCA(callback=note, verbose=1, tol=0).fit(X)
    assert lca.n_iter_ == 3
    np.testing.assert_array_equal(seen[-1], lca.components_.ravel())
    assert capsys.readouterr().out.count("[LCA]") == 5


def test_clone_pickle_frames_and_pipelines() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    lca = LCA().fit(frame)
    copy = pickle.loads(pickle.dumps(lca))
    np.testing.assert_array_equal(copy.score_samples(frame), lca.score_samples(frame))
    assert not hasattr(clone(lca), "components_")
    assert not hasattr(clone(lca), "loo_score_samples_")
    assert lca.get_feature_names_out().tolist() == ["lca0", "lca1", "lca2", "lca3"]
    out = clone(lca).set_output(transform="pandas").fit_transform(frame)
    assert list(out.columns) == ["lca0", "lca1", "lca2", "lca3"]
    pipeline = make_pipeline(StandardScaler(), LCA())
    assert cross_val_score(pipeline, X[::-1], cv=3).shape == (3,)
    search = GridSearchCV(LCA(), {"alpha": [0.0, 10.0]}).fit(X[:100])
    assert search.best_params_["alpha"] == 0


def test_clusters_on_what_transform_gives() -> None:
    """Figure 2, left, with the noise that swamps it."""
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 2))
    points[:100, 0] += 10
    points = points @ np.array([[0.1, 1.0], [0.0, 5.0]])
    labels = SpectralClustering(2, random_state=0).fit_predict(
        LCA().fit_transform(points)
    )
    assert abs(labels[:100].mean() - labels[100:].mean()) == 1


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_n_jobs_does_not_change_the_result(n_jobs: int) -> None:
    points = np.random.default_rng(0).normal(size=(900, 5))
    first, again = (
        LCA(n_jobs=k, max_iter=3, tol=1, alpha=0.0).fit(points) for k in (1, n_jobs)
    )
    np.testing.assert_array_equal(first.covariance_, again.covariance_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"covariance": "round"}, "'covariance' parameter"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"alpha": "some"}, "'alpha' parameter"),
        ({"covariance": "low-rank", "n_components": 4}, "leaves nothing"),
        ({"smoothing": 0.0}, "'smoothing' parameter"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"n_references": "many"}, "'n_references' parameter"),
        ({"discount": 1.0}, "'discount' parameter"),
        ({"contamination": 0.6}, "'contamination' parameter"),
        ({"max_iter": 0}, "'max_iter' parameter"),
        ({"tol": -1.0}, "'tol' parameter"),
        ({"n_jobs": 0}, "n_jobs == 0"),
    ],
)
def test_wrong_parameters(parameters: dict[str, Any], message: str) -> None:
    lca = LCA(**parameters)
    before = dict(vars(lca))
    with pytest.raises(ValueError, match=message):
        lca.fit(X)
    assert vars(lca) == before
