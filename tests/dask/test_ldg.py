"""LDG on chunks: the paper's two matrices, with neighbors in a sample or exact."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import vicinal
from tests.dask.data import chunked, classes_in_noise
from tests.ldg.oracles import ldg_scatters
from vicinal.dask import LDG
from vicinal.dask._chunks import Centering, add_each, find_chunks
from vicinal.dask._ldg import scatters_of_chunk, sorted_by_class
from vicinal.dask._sampling import draw_sample
from vicinal.dask._tasks import Tasks

X, y = classes_in_noise(600)
GIVEN: dict[str, Any] = {
    "n_components": 2,
    "n_neighbors": 5,
    "gamma": 0.6,
    "random_state": 0,
}


@pytest.mark.parametrize("sizes", [60, (1, 0, 40, 19)])
def test_sums_over_chunks_are_the_papers_matrices(sizes: Any) -> None:
    rows, labels = X[:60], y[:60].copy()
    labels[7] = 3  # alone in its class
    chunks = find_chunks(Tasks(), *chunked(rows, labels, sizes), labeled=True)
    centering = Centering.of(chunks)
    drawn = draw_sample(chunks, 60, np.random.default_rng(0), centering)
    priors = chunks.counts.sum(axis=0) / 60
    floor = 1e-3 * float(rows.var(axis=0).sum())
    given = (sorted_by_class(drawn), centering, 4, priors, floor)
    parts = chunks.map(scatters_of_chunk, chunks.offsets.tolist(), common=given)
    own, every = add_each(*parts)
    V, A = ldg_scatters(rows, labels, 4, 1e-3)
    np.testing.assert_allclose(own, V, rtol=1e-8, atol=1e-8 * np.abs(V).max())
    np.testing.assert_allclose(every, A, rtol=1e-8, atol=1e-8 * np.abs(A).max())


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
    with pytest.raises(ValueError, match="Scale the data"):
        LDG(**GIVEN).fit(*chunked(np.sign(X) * 1.7e308, y))
