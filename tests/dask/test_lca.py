"""LCA on chunks: the paper's local scatter by tasks, the same bits on any cluster."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import dask.array as da

import vicinal
from tests.lca.oracles import local_covariance
from vicinal._typing import FloatArray
from vicinal.dask import LCA, _lca
from vicinal.dask._chunks import add_each
from vicinal.dask._lca import local_scatter
from vicinal.dask._sampling import Rows, share
from vicinal.lca.em import Kernel


def spiral(n: int, dtype: Any = np.float64, seed: int = 0) -> FloatArray:
    rng = np.random.default_rng(seed)
    t = rng.uniform(0, 12, n)
    X = np.c_[t * np.cos(t), t * np.sin(t), 5 * rng.normal(size=(n, 2))]
    X += 0.3 * rng.normal(size=X.shape)
    mixed = X @ np.random.default_rng(1).normal(size=(4, 4)) + 100
    return mixed.astype(dtype)


X = spiral(3000)


def rows_of(points: FloatArray, sizes: Any = 700) -> Any:
    return da.from_array(points, chunks=(sizes, -1))


@pytest.fixture
def few_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be many."""
    monkeypatch.setattr(_lca, "N_KERNELS", 1000)


def test_tasks_add_up_to_the_papers_scatter() -> None:
    points = X[:60] - X[:60].mean(axis=0)
    rows = Rows(points, np.zeros(60, dtype=int), np.arange(60))
    A = 0.4 * np.random.default_rng(0).normal(size=(4, 4))
    kernel = Kernel(A, np.linalg.inv(A), 4, 0.0, 0.0, 0)
    given = share(1, 0, 3, 60, None, rows)
    total, n = add_each(*(local_scatter(given, 60, 60, (k,), kernel) for k in range(2)))
    expected = 120 * local_covariance(points, A.T @ A)
    assert n == 120
    np.testing.assert_allclose(total, expected, rtol=1e-4, atol=1e-4)


def test_shares_have_their_own_rows() -> None:
    points = X[:60] - X[:60].mean(axis=0)
    rows = Rows(points, np.zeros(60, dtype=int), np.arange(60))
    A = 0.4 * np.random.default_rng(0).normal(size=(4, 4))
    kernel = Kernel(A, np.linalg.inv(A), 4, 0.0, 0.0, 0)
    shares = [share(1, k, 2, 1, None, rows) for k in range(2)]
    total, n = add_each(*(local_scatter(one, 60, 60, (0,), kernel) for one in shares))
    apart = [local_covariance(one.rows.X, A.T @ A) for one in shares]
    assert n == 60
    np.testing.assert_allclose(total, 30 * sum(apart), rtol=1e-4, atol=1e-4)


def test_few_rows_are_learned_as_in_memory(client: Any) -> None:
    ours = LCA(random_state=0, client=client).fit(rows_of(X[:500], 200))
    theirs = vicinal.LCA(random_state=0).fit(X[:500])
    np.testing.assert_allclose(ours.covariance_, theirs.covariance_, rtol=1e-9)
    assert ours.background_weight_ == pytest.approx(theirs.background_weight_)


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_workers_gives_the_same_bits(
    clients: Callable[[int], Any], dtype: Any
) -> None:
    rows = rows_of(X.astype(dtype), (10, 2000, 0, 990))
    settings: dict[str, Any] = {"random_state": 0, "max_iter": 3, "tol": 0.0}
    models = [LCA(**settings)]
    models += [LCA(**settings, client=clients(n)) for n in (1, 2, 4)]
    for model in models:
        with pytest.warns(UserWarning, match="did not converge"):
            model.fit(rows)
        assert model.components_.dtype == dtype
        np.testing.assert_array_equal(model.covariance_, models[0].covariance_)
        np.testing.assert_array_equal(
            model.objective_curve_, models[0].objective_curve_
        )


@pytest.mark.usefixtures("few_kernels")
@pytest.mark.parametrize("covariance", ["full", "diagonal", "spherical", "low-rank"])
def test_it_learns_what_memory_learns(covariance: str) -> None:
    new = spiral(1000, seed=2)
    ours = LCA(covariance, random_state=0).fit(rows_of(X))
    theirs = vicinal.LCA(covariance, random_state=0).fit(X[::3])  # as many kernels
    error = ours.score_samples(new).std() / np.sqrt(len(new))
    assert ours.to_local().score(new) > theirs.score(new) - 2 * error


@pytest.mark.usefixtures("few_kernels")
def test_scores_are_lazy_and_ordinary() -> None:
    model = LCA(random_state=0).fit(rows_of(X))
    local = model.to_local()
    assert type(local) is vicinal.LCA
    assert len(local.loo_score_samples_) == 1000
    scores = model.score_samples(rows_of(X))
    assert isinstance(scores, da.Array)
    np.testing.assert_allclose(scores.compute(), local.score_samples(X), rtol=1e-9)
    outliers = model.predict(rows_of(X))
    assert isinstance(outliers, da.Array)
    np.testing.assert_array_equal(outliers.compute(), local.predict(X))
    np.testing.assert_array_equal(model.predict(X), local.predict(X))
    assert model.offset_ == local.offset_
    assert model.score(rows_of(X)) == pytest.approx(local.score(X))
    margin = model.decision_function(rows_of(X)).compute()
    np.testing.assert_allclose(margin, local.decision_function(X), atol=1e-9)
    assert model.sample(3, random_state=0).shape == (3, 4)
    with_kernel = local._density.units.inverse_transform(local._density.U)
    assert (local.predict(with_kernel) == -1).mean() == pytest.approx(0.1, abs=0.01)


@pytest.mark.usefixtures("few_kernels")
def test_constant_features_and_warm_starts() -> None:
    rows = rows_of(np.hstack([X, np.full((3000, 1), 7.0)]))
    model = LCA(random_state=0, warm_start=True).fit(rows)
    assert np.isfinite(model.components_).all()
    first = model.n_iter_
    assert model.fit(rows).n_iter_ <= first


@pytest.mark.parametrize(
    "setting",
    [
        {"covariance": "local"},
        {"batch_size": "all"},
        {"n_references": "all"},
    ],
)
def test_settings_that_need_all_rows(setting: Any) -> None:
    [name] = setting
    with pytest.raises(ValueError, match=f"'{name}' parameter of LCA"):
        LCA(**setting).fit(rows_of(X))


def test_the_chunk_with_nan_is_named() -> None:
    spoilt = X.copy()
    spoilt[1500, 1] = np.nan
    with pytest.raises(ValueError, match="Chunk 2 of X"):
        LCA().fit(rows_of(spoilt))
