"""The pool of rows that steps draw from."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from tests.dask.data import chunked
from vicinal.dask import _sampling
from vicinal.dask._chunks import find_chunks
from vicinal.dask._sampling import Pool, Share
from vicinal.dask._tasks import Tasks


def make(n: int = 100, tasks: Tasks | None = None, **given: Any) -> Pool:
    X, y = np.arange(float(n))[:, None], np.arange(n) * 4 // n  # sorted by class
    given_to = tasks or Tasks()
    chunks = find_chunks(given_to, *chunked(X, y, n // 4), labeled=True)
    usual: dict[str, Any] = {
        "n_shares": 3,
        "n_references": 5,
        "refresh_every": 4,
        **given,
    }
    return Pool(chunks, None, 1, rng=np.random.default_rng(0), **usual)


def test_shares_hold_each_row_once_and_all_classes() -> None:
    shares = make().next()
    numbers = np.concatenate([share.rows.numbers for share in shares])
    assert sorted(numbers.tolist()) == list(range(100))
    assert all(len(np.unique(share.rows.codes)) == 4 for share in shares)


@pytest.mark.parametrize(("n_references", "size"), [(5, 34), (25, 50), (80, 100)])
def test_shares_overlap_where_rows_are_few(n_references: int, size: int) -> None:
    shares = make(n_references=n_references).next()
    assert max(len(share.rows) for share in shares) == size
    assert all(
        len(np.unique(share.rows.numbers)) == len(share.rows) for share in shares
    )
    numbers = np.concatenate([share.rows.numbers for share in shares])
    assert set(numbers.tolist()) == set(range(100))


def test_shares_have_the_basis_with_them() -> None:
    basis = np.eye(1)
    assert all(share.basis is basis for share in make(basis=basis).next())


def test_a_pool_of_all_rows_is_read_once() -> None:
    pool = make()
    for _ in range(9):
        pool.next()
    assert pool.n_passes == 1


def test_a_smaller_pool_is_refreshed_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sampling, "POOL_BYTES", 40 * 8)
    pool = make()
    held = [np.concatenate([s.rows.numbers for s in pool.next()]) for _ in range(9)]
    assert pool.n_passes == 3
    assert all(len(numbers) == 40 for numbers in held)
    assert held[3].tolist() == held[0].tolist()
    assert held[4].tolist() != held[0].tolist()


def _size(share: Share) -> int:
    return len(share.rows)


def test_shares_are_on_all_workers_and_stay_there(client: Any) -> None:
    tasks = Tasks(client)
    pool = make(tasks=tasks, n_shares=4)
    shares = pool.next()
    tasks.result(shares)
    first = client.who_has(shares)
    assert {len(where) for where in first.values()} == {1}
    assert len({where for [where] in first.values()}) == 2
    for _ in range(20):
        tasks.result(tasks.map(_size, [(one,) for one in shares]))
    assert client.who_has(shares) == first
