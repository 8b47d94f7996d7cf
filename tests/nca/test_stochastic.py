from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from tests.nca.data import QUICK, X_TEST, Y_TEST, X, accuracy, y
from vicinal import NCA, NCAClassifier, NCARegressor
from vicinal._typing import FloatArray, IntArray
from vicinal.classic import MLKR
from vicinal.nca._initialization import queries_of_all
from vicinal.nca._schedules import hold_out
from vicinal.nca._stochastic import StochasticOptimizer
from vicinal.objectives import NCAObjective

KINDS = ["expected", "log", "class-density"]
ignore_convergence = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


@pytest.mark.parametrize("objective", KINDS)
def test_nearly_as_good_as_the_exact_fit(objective: str) -> None:
    raw = KNeighborsClassifier(5).fit(X, y).score(X_TEST, Y_TEST)
    exact = NCA(2, objective=objective, solver="lbfgs", max_iter=200, tol=1e-3).fit(
        X, y
    )
    nca = NCA(2, objective=objective, init="pca", **QUICK).fit(X, y)
    assert accuracy(nca) > accuracy(exact) - 0.02
    assert accuracy(nca) > raw + 0.3
    assert len(nca.objective_curve_) == nca.n_iter_ + 1 == 7
    assert nca.components_.shape == (2, 10)


@pytest.mark.parametrize("model", [NCARegressor, MLKR])
def test_regression(model: type[NCARegressor]) -> None:
    def make(n: int, seed: int) -> tuple[FloatArray, FloatArray]:
        rng = np.random.default_rng(seed)
        points = rng.normal(size=(n, 8)) * [1, 1, 2, 2, 2, 2, 2, 2]
        return points, np.sin(2 * points[:, 0]) + points[:, 1]

    points, targets = make(800, 0)
    new, truth = make(400, 1)
    exact = model(2, solver="lbfgs", max_iter=300, tol=1e-4).fit(points, targets)
    parts = model(2, **{**QUICK, "max_iter": 15}).fit(points, targets)
    assert parts.score(new, truth) > exact.score(new, truth) - 0.05
    assert parts.score(new, truth) > 0.85


@pytest.mark.parametrize("objective", KINDS)
@pytest.mark.parametrize("form", ["full", "diagonal"])
def test_the_unit_of_the_data_does_not_matter(objective: str, form: str) -> None:
    settings = {**QUICK, "max_iter": 3, "objective": objective, "form": form}
    plain = NCA(None, **settings).fit(X, y)
    scaled = NCA(None, **settings).fit(1000 * X, y)
    tiny = NCA(None, **settings).fit(1e-20 * X, y)
    for other, unit in ((scaled, 1e3), (tiny, 1e-20)):
        gram = other.get_mahalanobis_matrix() * unit**2
        expected = plain.get_mahalanobis_matrix()
        np.testing.assert_allclose(gram, expected, atol=1e-4 * np.abs(expected).max())
        np.testing.assert_allclose(other.objective_curve_, plain.objective_curve_)


@pytest.mark.parametrize("n_references", [4, 8, 20])
def test_nor_with_hardly_any_references(n_references: int) -> None:
    settings = {**QUICK, "max_iter": 2, "n_references": n_references}
    plain = NCA(2, init="pca", **settings).fit(X, y)
    scaled = NCA(2, init="pca", **settings).fit(1000 * X, y)
    np.testing.assert_allclose(1000 * scaled.components_, plain.components_, rtol=1e-3)


def test_units_of_single_features_hardly_matter() -> None:
    units = 10.0 ** np.arange(-5, 5)
    nca = NCA(2, init="lda", **QUICK).fit(X * units, y)
    knn = KNeighborsClassifier(5).fit(nca.transform(X * units), y)
    score = knn.score(nca.transform(X_TEST * units), Y_TEST)
    assert score > accuracy(NCA(2, init="lda", **QUICK).fit(X, y)) - 0.02


def test_seeds_and_threads() -> None:
    settings = {**QUICK, "max_iter": 2}
    first, again, threaded, other = (
        NCA(2, **{**settings, "random_state": seed, "n_jobs": n}).fit(X, y)
        for seed, n in ((0, 1), (0, 1), (0, 3), (1, 1))
    )
    np.testing.assert_array_equal(first.components_, again.components_)
    np.testing.assert_array_equal(first.components_, threaded.components_)
    np.testing.assert_array_equal(first.objective_curve_, again.objective_curve_)
    assert not np.allclose(first.components_, other.components_)


def test_weights_are_counts() -> None:
    doubled = np.arange(600) % 3 == 0
    weights = np.where(doubled, 2, 1)
    settings = {**QUICK, "init": "lda"}
    weighted = NCA(2, **settings).fit(X, y, sample_weight=weights)
    repeated = NCA(2, **settings).fit(np.repeat(X, weights, 0), np.repeat(y, weights))
    whole = NCAObjective(X, y, sample_weight=weights)
    heights = [
        whole.value_and_gradient(nca.components_)[0] for nca in (weighted, repeated)
    ]
    assert heights[0] == pytest.approx(heights[1], rel=0.02)
    assert weighted.objective_curve_[-1] == pytest.approx(
        repeated.objective_curve_[-1], rel=0.05
    )
    # Twice the weight of all is nothing new to draw, and twice the value.
    once = NCA(2, **settings).fit(X, y)
    twice = NCA(2, **settings).fit(X, y, sample_weight=np.full(600, 2))
    assert twice.objective_curve_[-1] > 1.8 * once.objective_curve_[-1]
    # Weights that say what is noise are listened to.
    noise = np.arange(600) % 2 == 0
    labels = np.where(noise, np.random.default_rng(7).integers(5, size=600), y)
    told = NCA(2, **settings).fit(X, labels, sample_weight=np.where(noise, 1e-6, 1))
    misled = NCA(2, **settings).fit(X, labels)
    assert accuracy(told) > 0.95
    assert told.objective_curve_[-1] / 300 > misled.objective_curve_[-1] / 600 + 0.2
    ignored = np.where(y == 4, 0, 1)
    seen = NCA(2, **QUICK).fit(X, y, sample_weight=ignored).effective_neighbors_
    assert np.isnan(seen[y == 4]).all()


@pytest.mark.parametrize("objective", KINDS)
@pytest.mark.parametrize("how", ["plain", "early stopping"])
def test_the_scale_is_that_of_all_points(objective: str, how: str) -> None:
    settings = {**QUICK, "objective": objective, "n_references": 60}
    settings["early_stopping"] = how == "early stopping"
    nca = NCA(2, init="lda", **settings).fit(X, y)
    # The scale is that which g likes best, whatever is climbed.
    kind = "class-density" if objective == "class-density" else "log"
    g = NCAObjective(X, y, kind).warmup_surrogate() if kind != "log" else None
    objective_g = NCAObjective(X, y, "log") if g is None else g[0]
    scales = np.exp(np.linspace(-2, 2, 41))
    heights = [objective_g.value_and_gradient(s * nca.components_)[0] for s in scales]
    here = objective_g.value_and_gradient(nca.components_)[0]
    assert (max(heights) - here) / len(X) < 0.005
    # A part of 60 points would have it much smaller.
    assert (max(heights) - heights[int(np.abs(scales - 0.4).argmin())]) / len(X) > 0.02


def test_early_stopping_keeps_the_best_map() -> None:
    nca = NCA(
        2,
        init="pca",
        early_stopping=True,
        n_iter_no_change=2,
        validation_fraction=0.2,
        **{**QUICK, "max_iter": 12},
    ).fit(X, y)
    curve = nca.validation_curve_
    assert len(curve) == nca.n_iter_ + 1 == len(nca.objective_curve_)
    best = int(curve.argmax())
    assert nca.n_iter_ == min(12, best + 2)
    train, held = hold_out(y, 0.2, 0)
    knn = KNeighborsClassifier(5).fit(nca.transform(X[train]), y[train])
    assert knn.score(nca.transform(X[held]), y[held]) == pytest.approx(curve[best])
    assert curve[best] > curve[0]


def test_early_stopping_can_keep_the_start() -> None:
    # Labels by chance: nothing helps, and the best may well be the start.
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(300, 5)), rng.integers(2, size=300)
    nca = NCAClassifier(
        2, early_stopping=True, n_iter_no_change=1, **{**QUICK, "max_iter": 2}
    ).fit(1e6 * points, labels)
    assert np.isfinite(nca.components_).all()
    assert 1 < np.nanmedian(nca.effective_neighbors_) < 300


def test_diagonal() -> None:
    rng = np.random.default_rng(2)
    points, labels = rng.normal(size=(600, 6)), rng.integers(3, size=600)
    points[:, 2] += 3 * labels
    nca = NCA(form="diagonal", **QUICK).fit(points, labels)
    assert nca.feature_weights_.shape == (6,)
    assert (nca.feature_weights_ >= 0).all()
    assert nca.feature_weights_.argmax() == 2
    np.testing.assert_array_equal(nca.components_, np.diag(nca.feature_weights_))


def test_effective_neighbors_of_some_of_many_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("vicinal.nca._initialization._PAIRS", 600 * 200)
    nca = NCA(2, **{**QUICK, "max_iter": 1}).fit(X, y)
    seen = nca.effective_neighbors_
    assert seen.shape == (600,)
    assert np.isnan(seen).sum() == 400
    whole = NCAObjective(X, y).effective_neighbors(nca.components_)
    looked_at = ~np.isnan(seen)
    np.testing.assert_allclose(seen[looked_at], whole[looked_at], rtol=1e-9)
    assert nca.suggest_n_neighbors() % 2 == 1
    regressor = NCARegressor(2, **{**QUICK, "max_iter": 1}).fit(X, X[:, 0])
    assert np.isnan(regressor.effective_neighbors_).sum() == 400


def test_looks_at_the_whole_cost_about_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objective, rng = NCAObjective(X, y), np.random.default_rng(0)
    assert len(queries_of_all(objective, rng)) == 600
    monkeypatch.setattr("vicinal.nca._initialization._PAIRS", 600 * 300)
    assert len(queries_of_all(objective, rng)) == 300
    monkeypatch.setattr("vicinal.nca._initialization._PAIRS", 600)
    assert len(queries_of_all(objective, rng)) == 128


def test_warm_start_goes_on() -> None:
    nca = NCA(2, init="pca", warm_start=True, **QUICK).fit(X, y)
    reached = nca.objective_curve_[-1]
    nca.set_params(max_iter=1).fit(X, y)
    assert nca.objective_curve_[0] > 0.9 * reached
    cold = NCA(2, init="pca", **{**QUICK, "max_iter": 1}).fit(X, y)
    assert cold.objective_curve_[0] < 0.8 * reached


def test_the_callback_sees_maps_of_the_features_and_can_stop() -> None:
    seen: list[FloatArray] = []

    def stop(components: FloatArray, n: int) -> None:
        seen.append(components)
        if n == 3:
            raise StopIteration

    nca = NCA(2, callback=stop, **QUICK).fit(X, y)
    assert nca.n_iter_ == 3
    assert len(nca.objective_curve_) == 4
    # Only the scale is set after the last step.
    ratio = nca.components_.ravel() / seen[-1]
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)


@pytest.mark.parametrize("objective", KINDS)
def test_an_interrupt_keeps_a_map_of_the_right_scale(objective: str) -> None:
    def interrupt(_: FloatArray, n: int) -> None:
        if n == 4:
            raise KeyboardInterrupt

    settings = {**QUICK, "objective": objective, "n_references": 60}
    nca = NCA(2, init="lda", warm_start=True, callback=interrupt, **settings)
    with pytest.raises(KeyboardInterrupt):
        nca.fit(X, y)
    assert nca.n_iter_ == 4
    g = NCAObjective(X, y, "log")
    heights = [
        g.value_and_gradient(s * nca.components_)[0]
        for s in np.exp(np.linspace(-2, 2, 21))
    ]
    here = g.value_and_gradient(nca.components_)[0]
    assert (max(heights) - here) / len(X) < 0.01


def test_left_out_directions_are_folded_back(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rng = np.random.default_rng(3)
    axes = np.linalg.qr(rng.normal(size=(130, 4)))[0]

    def make(n: int, labels: IntArray) -> FloatArray:
        centers = 3 * np.random.default_rng(4).normal(size=(5, 4))
        latent = centers[labels] + rng.normal(size=(n, 4))
        return 10 * latent @ axes.T + 0.01 * rng.normal(size=(n, 130))

    wide, new = make(600, y), make(400, Y_TEST)
    nca = NCA(2, init="pca", verbose=1, **QUICK).fit(wide, y)
    assert "of 130 directions" in capsys.readouterr().out
    assert nca.components_.shape == (2, 130)
    outside = nca.components_ - nca.components_ @ axes @ axes.T
    assert np.abs(outside).max() < 1e-2 * np.abs(nca.components_).max()
    knn = KNeighborsClassifier(5).fit(nca.transform(wide), y)
    reference = KNeighborsClassifier(5).fit(wide, y).score(new, Y_TEST)
    assert knn.score(nca.transform(new), Y_TEST) > reference - 0.1


@pytest.mark.slow
def test_a_penalty_counts_for_f_too() -> None:
    exact, parts = (
        NCA(2, alpha=0.1, solver=solver, max_iter=60, random_state=0).fit(X, y)
        for solver in ("lbfgs", "stochastic")
    )
    sizes = [np.linalg.norm(model.components_) for model in (exact, parts)]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.5)


class _Scaled:
    """Rows that each want a scale of their own; g wants another than f."""

    n_rows = 4
    counts = np.array([1.0, 1.0, 1.0, 97.0])

    def __init__(self, wanted: Any, surrogate: Any = None) -> None:
        self.wanted = np.array(wanted)
        self.surrogate = surrogate

    def warmup_surrogate(self) -> Any:
        return None if self.surrogate is None else (self.surrogate, None)

    def sample_queries(self, rng: Any, m: int) -> Any:
        return np.arange(self.n_rows)

    def terms(self, B: Any, queries: Any) -> Any:
        return -np.square(np.log(B[0, 0]) - self.wanted[queries])


class _AsIs:
    def unwhitening(self, A: Any) -> Any:
        return A


@pytest.mark.parametrize(("alpha", "found"), [(0.0, -1.0), (1e-9, 1.0)])
def test_the_last_scale_counts_rows_by_weight_and_judges_by_the_penalised_objective(
    alpha: float, found: float
) -> None:
    g = _Scaled([2.0, 2.0, 2.0, -1.1])
    f = _Scaled([-2.0, -2.0, -2.0, 1.1], g)
    optimizer = StochasticOptimizer(_AsIs(), None, None, 5, alpha, 0)  # type: ignore[arg-type]
    A = optimizer._fit_scale(f, np.eye(1), np.random.default_rng(0))  # type: ignore[arg-type]
    assert np.log(A[0, 0]) == pytest.approx(found, abs=0.1)
