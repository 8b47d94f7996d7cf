"""NCA on chunks: the paper's sums, the same bits on any cluster, an ordinary result."""

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import dask.array as da
import dask.dataframe as dd
import pandas as pd
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

import vicinal
from tests.dask.data import chunked, classes_in_noise
from tests.nca.oracles import nca_value_and_gradient
from vicinal.dask import NCA, NCAClassifier, _nca, _sampling
from vicinal.dask._chunks import find_chunks
from vicinal.dask._nca import LocalSGD, steps_of_share
from vicinal.dask._sampling import Pool, Rows, share
from vicinal.dask._tasks import Tasks
from vicinal.nca import fitted_scale
from vicinal.objectives import MinibatchSampler, NCAObjective
from vicinal.optimize import Adam

X, y = classes_in_noise(1200)
SHORT: dict[str, Any] = {"max_iter": 6, "random_state": 0}


def accuracy(model: Any, rows: Any = X, labels: Any = y) -> float:
    Z = np.asarray(model.transform(rows))
    knn = KNeighborsClassifier(3).fit(Z[:800], labels[:800])
    return float(knn.score(Z[800:], labels[800:]))


def batches(kind: str, n: int, alpha: float = 0.0) -> tuple[Any, dict[str, Any]]:
    sizes, prior = np.bincount(y[:n]).astype(float), np.full(3, 1 / 3)
    sampler = MinibatchSampler(None, n, n, alpha)  # type: ignore[arg-type]
    return sampler, {"kind": kind, "class_sizes": sizes, "class_prior": prior}


@pytest.mark.parametrize("kind", ["expected", "log", "class-density"])
@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_a_step_is_one_on_the_papers_sum(kind: str, alpha: float) -> None:
    rows = Rows(X[:60], y[:60], np.arange(60))
    A = 0.3 * np.random.default_rng(0).normal(size=(2, 8))
    given = share(1, 0, 3, 60, None, rows)
    reached = steps_of_share(given, *batches(kind, 60, alpha), A, Adam(), [0.01], 5)
    value, gradient = nca_value_and_gradient(rows.X, rows.codes, A, kind)
    gradient -= 2 * alpha * 60 * A
    [found] = reached.batch_values
    assert found == pytest.approx(value - alpha * 60 * (A**2).sum())
    np.testing.assert_allclose(reached.components, Adam().step(A, gradient, 0.01))


def test_steps_are_taken_in_the_basis_of_the_share() -> None:
    rows = Rows(X[:60], y[:60], np.arange(60))
    basis = np.random.default_rng(1).normal(size=(8, 5))
    A = 0.3 * np.random.default_rng(0).normal(size=(2, 5))
    given = share(1, 0, 1, 60, basis, rows)
    reached = steps_of_share(given, *batches("log", 60), A, Adam(), [0.01], 5)
    _, gradient = nca_value_and_gradient(X[:60], y[:60], A @ basis.T, "log")
    expected = Adam().step(A, gradient @ basis, 0.01)
    np.testing.assert_allclose(reached.components, expected)


def test_values_are_of_all_rows_not_of_the_share() -> None:
    rows = Rows(X[:60], y[:60], np.arange(60))
    A = 0.3 * np.random.default_rng(0).normal(size=(2, 8))
    few = share(1, 1, 3, 1, None, rows)
    assert len(few.rows) == 20
    value, _ = nca_value_and_gradient(few.rows.X, few.rows.codes, A, "log")
    reached = steps_of_share(few, *batches("log", 60), A, Adam(), [0.01], 5)
    [found] = reached.batch_values
    assert found == pytest.approx(3 * value)


def test_shares_take_an_iterations_steps_each_and_are_averaged() -> None:
    chunks = find_chunks(Tasks(), *chunked(X[:120], y[:120], 50), labeled=True)
    pool = Pool(chunks, None, 8, 2, 10, 1, np.random.default_rng(0))
    sizes, prior = chunks.counts.sum(axis=0, dtype=float), np.full(3, 1 / 3)
    sample = NCAObjective(X[:30], y[:30], "log")
    A, etas = 0.3 * np.random.default_rng(0).normal(size=(2, 8)), [0.1, 0.2, 0.1]
    sampler = MinibatchSampler(sample, 40, 50)
    rng = np.random.default_rng(7)
    reached = LocalSGD(pool, sizes, prior)(sampler, A, Adam(), etas, rng)
    seed = int(np.random.default_rng(7).integers(2**63))
    _, settings = batches("log", 120)
    of_each = MinibatchSampler(sample, 20, 50), settings
    apart = [
        steps_of_share(one, *of_each, A, Adam(), etas, (seed, k))
        for k, one in enumerate(pool.next())
    ]
    assert [len(one.rows) for one in pool.next()] == [60, 60]
    assert not np.allclose(apart[0].components, apart[1].components)
    mean = (apart[0].components + apart[1].components) / 2
    np.testing.assert_allclose(reached.components, mean)
    assert reached.adam.n_steps == 3
    assert len(reached.batch_values) == 3


# Two tasks an iteration; ten, whose means are averaged in turn.
@pytest.mark.parametrize("sizes", [{}, {"batch_size": 10_240, "n_references": 64}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_workers_gives_the_same_bits(
    clients: Callable[[int], Any], dtype: Any, sizes: dict[str, Any]
) -> None:
    rows, labels = chunked(X.astype(dtype), y, (10, 500, 0, 690))
    here = NCA(2, **SHORT, **sizes).fit(rows, labels)
    for n in (1, 2, 4):
        there = NCA(2, **SHORT, **sizes, client=clients(n)).fit(rows, labels)
        assert there.components_.dtype == dtype
        np.testing.assert_array_equal(there.components_, here.components_)
        np.testing.assert_array_equal(there.objective_curve_, here.objective_curve_)
        np.testing.assert_array_equal(
            there.effective_neighbors_, here.effective_neighbors_
        )


@pytest.mark.parametrize("max_iter", [1, 3, 5, 6, 9, 14, 24])
def test_other_rows_are_drawn_five_times_at_most(
    max_iter: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sampling, "POOL_BYTES", 2**13)
    pools: list[Pool] = []

    class Noted(Pool):
        def next(self) -> Any:
            pools.append(self)
            return super().next()

    monkeypatch.setattr(_nca, "Pool", Noted)
    sizes: dict[str, Any] = {"batch_size": 20, "n_references": 20}
    NCA(2, max_iter=max_iter, random_state=0, **sizes).fit(*chunked(X, y))
    assert len(pools) == max_iter
    assert min(max_iter, 3) <= pools[0].n_passes <= 5


def test_a_share_that_breaks_takes_all_back() -> None:
    chunks = find_chunks(Tasks(), *chunked(X[:120], y[:120], 50), labeled=True)
    pool = Pool(chunks, None, 8, 2, 10, 1, np.random.default_rng(0))
    sizes, prior = chunks.counts.sum(axis=0, dtype=float), np.full(3, 1 / 3)

    def breaks(terms: Any) -> Any:
        return terms * np.nan

    sampler = MinibatchSampler(NCAObjective(X[:30], y[:30]), 40, 50, report=breaks)
    A = 0.3 * np.random.default_rng(0).normal(size=(2, 8))
    take = LocalSGD(pool, sizes, prior)
    reached = take(sampler, A, Adam(), [0.1] * 3, np.random.default_rng(7))
    assert not reached.finite
    np.testing.assert_array_equal(reached.components, A)
    assert reached.adam.n_steps == 0


@pytest.mark.parametrize("kind", [NCA, NCAClassifier])
def test_float32_rows_far_from_the_origin_are_centered(kind: Any) -> None:
    near = (np.round(64 * X) / 64).astype(np.float32)
    far = near + np.float32(2**16)
    np.testing.assert_array_equal(far - np.float32(2**16), near)  # no digit is lost
    one, two = (kind(2, **SHORT).fit(*chunked(rows, y)) for rows in (near, far))
    if kind is NCA:
        found, expected = (model.get_mahalanobis_matrix() for model in (two, one))
    else:
        found, expected = two.predict_proba(far), one.predict_proba(near)
    np.testing.assert_allclose(found, expected, atol=2e-3 * np.abs(expected).max())


def test_it_learns_what_memory_learns() -> None:
    settings: dict[str, Any] = {"max_iter": 20, "random_state": 0}
    ours = NCA(2, **settings).fit(*chunked(X[:800], y[:800], 200))
    theirs = vicinal.NCA(2, solver="stochastic", **settings).fit(X[:800], y[:800])
    assert accuracy(KNN_ON_ALL) < 0.7
    assert accuracy(theirs) > 0.95
    assert accuracy(ours) > accuracy(theirs) - 0.02
    assert ours.n_iter_ == theirs.n_iter_ == 20
    assert len(ours.objective_curve_) == len(theirs.objective_curve_)
    # The scale is the one that suits all rows best.
    objective = NCAObjective(X[:800], y[:800])
    factor = fitted_scale(objective, ours.components_, np.random.default_rng(0))
    assert factor == pytest.approx(1, abs=0.1)


class _AsItIs:
    def transform(self, rows: Any) -> Any:
        return rows


KNN_ON_ALL = _AsItIs()


def test_rows_sorted_by_class_are_learned_as_well(client: Any) -> None:
    order = np.argsort(y[:800], kind="stable")
    sorted_rows = chunked(X[:800][order], y[:800][order], 200)
    model = NCA(2, max_iter=20, random_state=0, client=client).fit(*sorted_rows)
    assert accuracy(model) > 0.93


@pytest.mark.parametrize("objective", ["log", "class-density", "squared-error"])
def test_other_objectives(objective: str) -> None:
    model = NCA(2, objective=objective, max_iter=20, random_state=0)
    assert accuracy(model.fit(*chunked(X[:800], y[:800]))) > 0.9


def test_diagonal_maps() -> None:
    model = NCA(form="diagonal", objective="log", max_iter=10, random_state=0)
    model.fit(*chunked(X, y))
    assert set(np.argsort(model.feature_weights_)[-2:]) == {0, 1}


def test_the_map_is_lazy_and_ordinary(client: Any) -> None:
    model = NCA(2, **SHORT, client=client).fit(*chunked(X, y, unknown=True))
    local = model.to_local()
    assert type(local) is vicinal.NCA
    assert "client" not in local.get_params()
    rows, _ = chunked(X, y, (1, 0, 1199))
    Z = model.transform(rows)
    assert isinstance(Z, da.Array)
    assert Z.shape == (1200, 2)
    # Products of few rows may be rounded otherwise than those of many.
    expected = local.transform(X)
    np.testing.assert_allclose(Z.compute(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.transform(X), expected)
    unknown = model.transform(chunked(X, y, unknown=True)[0])
    np.testing.assert_allclose(unknown.compute(), expected, rtol=1e-9, atol=1e-9)


def test_copies_leave_the_connection(client: Any) -> None:
    model = NCA(2, **SHORT, client=client).fit(*chunked(X, y))
    assert clone(model).client is client
    assert not hasattr(clone(model), "components_")
    again = pickle.loads(pickle.dumps(model))
    assert again.client is None
    np.testing.assert_array_equal(again.components_, model.components_)


def test_frames_have_names() -> None:
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(8)]).assign(y=y)
    table = dd.from_pandas(frame, npartitions=3)
    rows = table.drop(columns="y")
    model = NCA(2, **SHORT).fit(rows, table["y"])
    assert model.feature_names_in_.tolist() == list(rows.columns)
    Z = model.transform(rows).compute()
    expected = model.to_local().transform(frame.drop(columns="y"))
    np.testing.assert_allclose(Z, expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="columns of X must be those of fit"):
        model.transform(table)


def test_warm_start_goes_on() -> None:
    rows = chunked(X, y)
    model = NCA(2, **SHORT, warm_start=True).fit(*rows)
    before = model.components_
    assert accuracy(model.fit(*rows)) > 0.9
    assert not np.array_equal(model.components_, before)


def test_a_fit_that_fails_changes_nothing() -> None:
    model = NCA(2, **SHORT).fit(*chunked(X, y))
    before = dict(vars(model))
    spoilt = X.copy()
    spoilt[700, 0] = np.nan
    with pytest.raises(ValueError, match=r"Chunk 2 of X .* contains NaN"):
        model.fit(*chunked(spoilt, y))
    assert vars(model) == before


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_components": "auto"}, "'n_components' parameter"),
        ({"n_references": "all"}, "'n_references' parameter"),
        ({"n_components": 9}, "n_components"),
        ({"client": 5}, "must be a distributed"),
        ({"class_prior": [1, 1, 2]}, "class_prior has no effect"),
    ],
)
def test_settings_that_are_wrong(setting: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        NCA(**{"n_components": 2, **setting}).fit(*chunked(X, y))


def test_new_rows_must_be_like_those_of_fit() -> None:
    model = NCA(2, **SHORT).fit(*chunked(X, y))
    with pytest.raises(ValueError, match="expecting 8 features"):
        model.transform(da.zeros((10, 3)))
    with pytest.raises(ValueError, match="chunked along its features"):
        model.transform(da.zeros((10, 8), chunks=(5, 4)))


def test_the_classifier_predicts_lazily(client: Any) -> None:
    names = np.array(["ant", "bee", "cicada"])[y]
    model = NCAClassifier(2, max_iter=10, random_state=0, client=client)
    model.fit(*chunked(X[:800], names[:800], 200))
    rows, labels = chunked(X[800:], names[800:], 150)
    predicted = model.predict(rows)
    assert isinstance(predicted, da.Array)
    assert (predicted == labels).mean().compute() > 0.93
    assert model.classes_.tolist() == ["ant", "bee", "cicada"]
    proba = model.predict_proba(rows)
    assert proba.shape == (400, 3)
    local = model.to_local()
    assert type(local) is vicinal.NCAClassifier
    expected = local.predict_proba(X[800:])
    np.testing.assert_allclose(proba.compute(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(predicted.compute(), model.predict(X[800:]))
    np.testing.assert_array_equal(model.predict_proba(X[800:]), expected)
    assert pickle.loads(pickle.dumps(local)).score(X[800:], names[800:]) > 0.93
    assert model.alpha_ >= 0


def test_all_rows_vote_where_there_are_few() -> None:
    model = NCAClassifier(2, alpha=0.0, **SHORT).fit(*chunked(X, y))
    theirs = vicinal.NCAClassifier(2, alpha=0.0, init=model.components_, max_iter=1)
    with pytest.warns(UserWarning, match="did not converge"):
        theirs.fit(X, y)
    assert len(model._points) == len(theirs._points) == 1200


def test_a_kept_start_is_kept() -> None:
    noise = np.random.default_rng(0).normal(size=(600, 5))
    labels = np.random.default_rng(1).integers(2, size=600)
    model = NCAClassifier(random_state=0, max_iter=3).fit(*chunked(noise, labels))
    assert model.components_.shape == (5, 5)
    assert np.isfinite(model.components_).all()
