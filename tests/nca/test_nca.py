import pickle
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.utils.estimator_checks import estimator_checks_generator
from threadpoolctl import threadpool_limits

from tests.blas_pools import blas_threads_now
from vicinal import NCA
from vicinal._typing import FloatArray
from vicinal.nca._initialization import initial_components
from vicinal.objectives import NCAObjective

X, y = load_iris(return_X_y=True)
ignore_convergence = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning"
)


@ignore_convergence
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for nca in (
            NCA(),
            NCA(1, objective="log", init="random"),
            # Few iterations: each of CG's line searches magnifies the rounding by
            # which weights and copies differ.
            NCA(objective="class-density", alpha=1e-3, solver="cg", max_iter=3),
        )
        for pair in estimator_checks_generator(nca)
    ],
    ids=lambda part: getattr(getattr(part, "func", None), "__name__", str(part)),
)
def test_scikit_learns_checks(estimator: NCA, check: object) -> None:
    check(estimator)  # type: ignore[operator]


@ignore_convergence
@pytest.mark.parametrize("init", ["auto", "pca", "identity", "random"])
@pytest.mark.parametrize("n_components", [2, None])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_same_optimum_as_scikit_learn(
    load: object, n_components: int | None, init: str
) -> None:
    points, labels = load(return_X_y=True)  # type: ignore[operator]
    points = scale(points)
    shared = {"init": init, "max_iter": 200, "random_state": 0}
    ours = NCA(n_components, **shared).fit(points, labels)  # type: ignore[arg-type]
    peer = NeighborhoodComponentsAnalysis(n_components, **shared).fit(points, labels)
    objective = NCAObjective(points, labels)
    value = objective.value_and_gradient(ours.components_)[0]
    # LDA's directions are the same but for rounding, from which two paths part; both
    # end where an iteration gains less than tol.
    by_lda = n_components == 2 and init == "auto"
    assert value == pytest.approx(
        objective.value_and_gradient(peer.components_)[0], rel=1e-5 if by_lda else 1e-6
    )
    assert value == pytest.approx(ours.objective_curve_[-1], rel=1e-12)
    if not by_lda:
        assert ours.n_iter_ == peer.n_iter_ - 1  # its count begins at 1


def test_parameters_and_defaults_are_scikit_learns() -> None:
    ours, peer = NCA().get_params(), NeighborhoodComponentsAnalysis().get_params()
    assert {name: ours[name] for name in peer} == peer


@pytest.mark.parametrize("labels", [np.zeros(15), np.arange(15)])
@pytest.mark.parametrize("objective", ["expected", "log"])
@pytest.mark.parametrize("init", ["auto", "identity", "random"])
def test_without_matches_to_gain_the_start_comes_back(
    labels: FloatArray, objective: str, init: str
) -> None:
    points = X[::10]
    codes = np.unique(labels, return_inverse=True)[1]
    start = initial_components(init, points, codes, 2, np.random.RandomState(0))
    nca = NCA(2, init=init, objective=objective, random_state=0)
    one_class = pytest.warns(UserWarning, match="y has one class only")
    with one_class if not labels.any() else nullcontext():
        nca.fit(points, labels)
    np.testing.assert_allclose(nca.components_, start, rtol=1e-12)
    assert nca.n_iter_ == 0


@pytest.mark.parametrize("objective", ["expected", "log", "class-density"])
def test_the_curve_climbs(objective: str) -> None:
    nca = NCA(2, init="pca", objective=objective, max_iter=300).fit(X, y)
    assert len(nca.objective_curve_) == nca.n_iter_ + 1
    assert np.all(np.diff(nca.objective_curve_) >= 0)
    assert nca.objective_curve_[-1] > nca.objective_curve_[0]
    height = NCAObjective(X, y, objective).value_and_gradient(nca.components_)[0]
    assert nca.objective_curve_[-1] == pytest.approx(height, rel=1e-9)


def test_it_helps_nearest_neighbours() -> None:
    points, labels = load_wine(return_X_y=True)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), NCA(2, max_iter=500), KNeighborsClassifier(3)),
        {"nca__objective": ["expected", "log"]},
    ).fit(points, labels)
    assert search.best_score_ > 0.95


def test_stopping_early_is_always_a_warning() -> None:
    with pytest.warns(ConvergenceWarning, match=r"in 2 iterations .*raise max_iter"):
        NCA(init="pca", n_components=2, max_iter=2).fit(X, y)
    with pytest.warns(ConvergenceWarning) as caught:
        NCA(init="pca", n_components=2, max_iter=2).fit(X, y)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_n_jobs_does_not_change_the_result(n_jobs: int) -> None:
    points, labels = load_digits(return_X_y=True)
    maps = [
        NCA(2, n_jobs=n, max_iter=3, tol=1, init="lda").fit(points, labels).components_
        for n in (None, n_jobs)
    ]
    np.testing.assert_array_equal(*maps)


def test_float32_stays_float32_and_reaches_the_same_height() -> None:
    single = NCA(2, init="pca", max_iter=500).fit(X.astype(np.float32), y)
    double = NCA(2, init="pca", max_iter=500).fit(X, y)
    assert single.components_.dtype == single.transform(X[:2].astype("f")).dtype == "f"
    assert single.objective_curve_[-1] == pytest.approx(
        double.objective_curve_[-1], rel=1e-2
    )


@pytest.mark.parametrize("far_away", [1e5, 1e6, 1e7])
def test_float32_bears_one_far_outlier(far_away: float) -> None:
    points, labels = load_wine(return_X_y=True)
    points = scale(points)
    points[0, 0] = far_away
    single = points.astype(np.float32)
    nca = NCA(init="identity", max_iter=200).fit(single, labels)
    height = NCAObjective(single.astype(float), labels).value_and_gradient(
        nca.components_
    )[0]
    assert nca.objective_curve_[-1] == pytest.approx(height, rel=1e-3)
    assert height > 176


def test_a_float32_climb_survives_steps_that_would_overflow() -> None:
    points, labels = load_breast_cancer(return_X_y=True)
    points = (points * 1e4).astype(np.float32)
    nca = NCA(2, init="random", objective="log", max_iter=30, random_state=2, tol=0)
    with pytest.warns(ConvergenceWarning):
        nca.fit(points, labels)
    assert nca.n_iter_ >= 22
    assert np.isfinite(nca.components_).all()


def test_blas_is_held_for_the_whole_climb_and_given_back() -> None:
    def threads_of_blas(*_: object) -> int:
        return max(blas_threads_now())

    seen = []
    with threadpool_limits(2, user_api="blas"):
        NCA(2, init="pca", max_iter=200, callback=lambda *_: seen.append(
            threads_of_blas())).fit(X, y)  # fmt: skip
        assert threads_of_blas() == 2
    assert set(seen) == {1}


def test_threaded_searches_leave_blas_as_it_was() -> None:
    search = GridSearchCV(
        make_pipeline(NCA(2, tol=1), KNeighborsClassifier()),
        {"nca__init": ["pca", "identity", "whiten"]},
        n_jobs=2,
    )
    with threadpool_limits(2, user_api="blas"):
        with parallel_config(backend="threading"):
            search.fit(X, y)
        assert set(blas_threads_now()) == {2}


def test_seeds() -> None:
    first, again, other = (
        NCA(2, init="random", random_state=seed, max_iter=500).fit(X, y).components_
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


@ignore_convergence
def test_warm_start_goes_on_where_it_stopped() -> None:
    nca = NCA(2, init="pca", max_iter=3, warm_start=True).fit(X, y)
    reached = nca.objective_curve_[-1]
    nca.fit(X, y)
    assert nca.objective_curve_[0] == pytest.approx(reached, rel=1e-12)
    cold = NCA(2, init="pca", max_iter=3).fit(X, y)
    assert cold.fit(X, y).objective_curve_[0] < reached
    with pytest.raises(ValueError, match=r"X has 3 features, but the map to start"):
        nca.fit(X[:, :3], y)


@ignore_convergence
def test_the_callback_sees_each_iteration() -> None:
    calls: list[tuple[FloatArray, int]] = []
    nca = NCA(2, init="pca", max_iter=5, callback=lambda *seen: calls.append(seen))
    nca.fit(X, y)
    assert [n for _, n in calls] == [1, 2, 3, 4, 5]
    np.testing.assert_array_equal(calls[-1][0], nca.components_.ravel())


def test_the_callback_can_stop_the_fit() -> None:
    def stop(_: FloatArray, n: int) -> None:
        if n == 2:
            raise StopIteration

    nca = NCA(2, init="pca", callback=stop).fit(X, y)
    assert nca.n_iter_ == 2
    assert len(nca.objective_curve_) == 3


def interrupt(_: FloatArray, n: int) -> None:
    if n == 3:
        raise KeyboardInterrupt


def test_an_interrupt_keeps_the_map_only_with_warm_start() -> None:
    frame = pd.DataFrame(X, columns=list("abcd"))
    nca = NCA(2, init="pca", max_iter=500).fit(frame, y).set_params(callback=interrupt)
    before = dict(vars(nca))
    with pytest.raises(KeyboardInterrupt):
        nca.fit(X[:, :3], y)
    assert vars(nca) == before
    with pytest.raises(ValueError, match="Unknown label type"):
        nca.fit(X[:, :3], np.linspace(0, 1, 150))
    assert vars(nca) == before

    fresh = NCA(2, init="pca", callback=interrupt)
    before = dict(vars(fresh))
    with pytest.raises(KeyboardInterrupt):
        fresh.fit(X, y)
    assert vars(fresh) == before

    warm = NCA(2, init="pca", callback=interrupt, warm_start=True)
    with pytest.raises(KeyboardInterrupt):
        warm.fit(X, y)
    assert warm.n_iter_ == 3
    assert len(warm.objective_curve_) == 4
    assert warm.transform(X).shape == (150, 2)
    height = NCAObjective(X, y).value_and_gradient(warm.components_)[0]
    assert height == pytest.approx(warm.objective_curve_[-1])


@ignore_convergence
def test_verbose_prints_a_line_for_each_iteration(
    capsys: pytest.CaptureFixture[str],
) -> None:
    nca = NCA(2, init="pca", max_iter=4, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[NCA] ") for line in lines)
    assert lines[0].split()[1:] == ["solver", "lbfgs"]
    assert lines[1].split()[1:] == ["iteration", "objective", "seconds", "left"]
    assert [int(line.split()[1]) for line in lines[2:-1]] == [1, 2, 3, 4]
    assert float(lines[-2].split()[2]) == pytest.approx(
        nca.objective_curve_[-1], rel=1e-6
    )
    assert lines[-1].startswith("[NCA] took")
    NCA(2, init="pca", max_iter=4).fit(X, y)
    assert capsys.readouterr().out == ""


def test_clone_and_pickle() -> None:
    nca = NCA(2, init=np.eye(2, 4), max_iter=500).fit(X, y)
    copy = pickle.loads(pickle.dumps(nca))
    np.testing.assert_array_equal(copy.transform(X), nca.transform(X))
    fresh = clone(nca)
    assert not hasattr(fresh, "components_")
    np.testing.assert_array_equal(fresh.fit(X, y).components_, nca.components_)


def test_importing_vicinal_does_not_load_numba_or_the_optional_parts() -> None:
    code = (
        "import sys; from vicinal import NCA\n"
        "print([m for m in ('numba', 'typer', 'polars', 'matplotlib',"
        " 'sklearn.model_selection') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_sample_weight_is_routed_through_a_pipeline() -> None:
    weights = np.random.default_rng(0).integers(1, 4, size=150)
    alone = NCA(2, init="identity", max_iter=300).fit(X, y, sample_weight=weights)
    plain = NCA(2, init="identity", max_iter=300).fit(X, y)
    with config_context(enable_metadata_routing=True):
        asking = NCA(2, init="identity", max_iter=300).set_fit_request(
            sample_weight=True
        )
        pipeline = make_pipeline(asking, KNeighborsClassifier())
        pipeline.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(pipeline[0].components_, alone.components_)
    assert not np.allclose(alone.components_, plain.components_)
