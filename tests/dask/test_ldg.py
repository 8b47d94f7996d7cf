"""LDG on chunks: the paper's two matrices, from merged candidates or a sample."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from distributed import Client

import vicinal
from tests.dask.data import chunked, classes_in_noise
from tests.ldg.oracles import ldg_scatters
from vicinal.dask import LDG, _ldg
from vicinal.dask._chunks import Chunks, Frame, find_chunks
from vicinal.dask._ldg import Neighborhoods, exact_scatters, n_exact_tasks
from vicinal.dask._tasks import Tasks

X, y = classes_in_noise(600)
GIVEN: dict[str, Any] = {
    "n_components": 2,
    "n_neighbors": 5,
    "gamma": 0.6,
    "random_state": 0,
}


@pytest.mark.parametrize("sizes", [60, (1, 0, 40, 19)])
def test_candidates_of_chunks_give_the_papers_matrices(sizes: Any) -> None:
    rows, labels = X[:60], y[:60].copy()
    labels[7] = 3  # alone in its class
    chunks = find_chunks(Tasks(), *chunked(rows, labels, sizes), labeled=True)
    frame = Frame.of(chunks)
    sizes = chunks.counts.sum(axis=0)
    floor = 1e-3 * float(rows.var(axis=0).sum()) / frame.unit**2
    asked = Neighborhoods(4, sizes, sizes / 60, floor, 8)
    own, every = exact_scatters(chunks, frame, asked)
    V, A = ldg_scatters(rows, labels, 4, 1e-3)
    np.testing.assert_allclose(own, V, rtol=1e-8, atol=1e-8 * np.abs(V).max())
    np.testing.assert_allclose(every, A, rtol=1e-8, atol=1e-8 * np.abs(A).max())


def looked_at(sizes: Any) -> Chunks:
    return find_chunks(Tasks(), *chunked(X, y, sizes), labeled=True)


def test_small_neighbouring_chunks_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    assert n_exact_tasks(looked_at(5)) == 1  # and not 120²
    monkeypatch.setattr(_ldg, "JOINED_ROWS", 250)
    assert n_exact_tasks(looked_at(5)) == 3**2
    assert n_exact_tasks(looked_at((240, 20, 5, 5, 330))) == 3**2
    assert n_exact_tasks(looked_at(300)) == 2**2
    many = LDG(**GIVEN, n_references="all").fit(*chunked(X, y, 5))
    theirs = vicinal.LDG(**GIVEN).fit(X, y)
    np.testing.assert_allclose(many.components_, theirs.components_, atol=1e-9)


def test_too_many_tasks_are_not_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    def exact(*_: Any) -> Any:
        raise AssertionError("all chunks were compared with all")

    monkeypatch.setattr(_ldg, "exact_scatters", exact)
    with pytest.raises(AssertionError, match="were compared"):
        LDG(**GIVEN).fit(*chunked(X, y, 200))
    monkeypatch.setattr(_ldg, "MOST_TASKS", 8)
    monkeypatch.setattr(_ldg, "JOINED_ROWS", 250)
    ours = LDG(**GIVEN).fit(*chunked(X, y, 200))
    theirs = vicinal.LDG(**GIVEN).fit(X, y)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-9)


def test_few_results_are_held_at_a_time(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ldg, "JOINED_ROWS", 100)
    held, sent = [], []
    send = Client.map

    def counted(self: Client, function: Any, *given: Any, **options: Any) -> Any:
        held.append(sum(one.status == "pending" for one in self.futures.values()))
        sent.append(len(given[0]))
        return send(self, function, *given, **options)

    monkeypatch.setattr(Client, "map", counted)
    LDG(**GIVEN, n_references="all", client=client).fit(*chunked(X, y, 120))
    # Two blocks, each of five tasks for candidates, five for sums and five others,
    # and the five chunks.
    assert sum(sent) > 5 * 14
    assert max(held) <= 2 * 15 + 5


@pytest.mark.parametrize("n_references", ["all", "auto", 600])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(np.float64, 1e-9), (np.float32, 1e-4)]
)
def test_all_rows_as_references_are_exact(
    n_references: Any, dtype: Any, tolerance: float
) -> None:
    rows = X.astype(dtype)
    ours = LDG(**GIVEN, n_references=n_references)
    ours.fit(*chunked(rows, y, (3, 200, 397), unknown=True))
    theirs = vicinal.LDG(**GIVEN).fit(rows, y)
    assert ours.components_.dtype == dtype
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=tolerance)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=tolerance)


@pytest.mark.parametrize("n_references", ["all", 100])
def test_any_number_of_workers_gives_the_same_bits(
    clients: Callable[[int], Any], n_references: Any
) -> None:
    rows = chunked(X, y, (10, 200, 0, 390))
    here = LDG(**GIVEN, n_references=n_references).fit(*rows)
    for n in (1, 2, 4):
        there = LDG(**GIVEN, n_references=n_references, client=clients(n)).fit(*rows)
        np.testing.assert_array_equal(there.components_, here.components_)
        np.testing.assert_array_equal(there.eigenvalues_, here.eigenvalues_)


def test_a_sample_finds_nearly_the_same_directions() -> None:
    ours = LDG(**GIVEN, n_references=200).fit(*chunked(X, y, 150))
    assert np.linalg.norm(ours.components_[:, :2]) ** 2 > 1.95


def test_choices_are_made_as_in_memory() -> None:
    ours = LDG(random_state=0).fit(*chunked(X, y, 150))
    theirs = vicinal.LDG(random_state=0).fit(X, y)
    assert ours.n_neighbors_ in (4, 8, 16, 32, 64, 128)
    assert 0 < ours.gamma_ <= 1
    assert abs(ours.n_components_ - theirs.n_components_) <= 1
    local = ours.to_local()
    assert type(local) is vicinal.LDG
    Z = ours.transform(chunked(X, y)[0]).compute()
    np.testing.assert_allclose(Z, local.transform(X), rtol=1e-9, atol=1e-9)
    assert local.set_n_components(1).transform(X).shape == (600, 1)
    assert ours.set_n_components(1).transform(X).shape == (600, 1)


def test_constant_features_come_last() -> None:
    rows = np.hstack([np.full((600, 1), 1e6), X, 1e6 * (1 + 1e-16 * X[:, :1])])
    ours = LDG(**GIVEN).fit(*chunked(rows, y))
    theirs = vicinal.LDG(**GIVEN).fit(rows, y)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-8)


def test_rows_that_are_all_equal() -> None:
    rows = np.ones((30, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LDG(**GIVEN).fit(*chunked(rows, np.arange(30) % 2, 10))
    assert np.isfinite(model.components_).all()


def test_small_classes_are_named() -> None:
    labels = y.copy()
    labels[:3] = 9
    with pytest.warns(UserWarning, match=r"too few rows .*9 \(3\)"):
        LDG(**GIVEN).fit(*chunked(X, labels))


def test_priors() -> None:
    priors = [0.8, 0.1, 0.1]
    ours = LDG(**GIVEN, class_prior=priors).fit(*chunked(X, y))
    theirs = vicinal.LDG(**GIVEN, class_prior=priors).fit(X, y)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-9)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"n_components": 9}, "n_components=9"),
        ({"n_references": 1}, "n_references"),
        ({"class_prior": [1.0]}, "class_prior must have one entry"),
    ],
)
def test_settings_that_are_wrong(setting: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LDG(**{**GIVEN, **setting}).fit(*chunked(X, y))


def test_values_too_large() -> None:
    with pytest.raises(ValueError, match="too large to compute with"):
        LDG(**GIVEN).fit(*chunked(np.sign(X) * 1.7e308, y))
