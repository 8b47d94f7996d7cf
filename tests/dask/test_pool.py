"""The pool of rows that steps draw from."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from tests.dask.data import chunked
from vicinal.dask import _pool
from vicinal.dask._chunks import find_chunks
from vicinal.dask._pool import Pool, meeting
from vicinal.dask._tasks import InThreads


def make(n: int = 100, **given: int) -> Pool:
    X, y = np.arange(float(n))[:, None], np.arange(n) * 4 // n  # sorted by class
    chunks = find_chunks(InThreads(), *chunked(X, y, 25), labeled=True)
    usual: dict[str, Any] = {
        "n_shares": 3,
        "n_references": 5,
        "refresh_every": 4,
        **given,
    }
    return Pool(chunks, None, 1, rng=np.random.default_rng(0), **usual)


def test_shares_hold_each_row_once_and_all_classes() -> None:
    shares, references, step = make().next()
    numbers = np.concatenate([share.numbers for share in shares])
    assert sorted(numbers.tolist()) == list(range(100))
    assert all(len(np.unique(share.codes)) == 4 for share in shares)
    assert len(references) == 20
    assert step == 1


def test_a_pool_of_all_rows_is_read_once() -> None:
    pool = make()
    for _ in range(9):
        pool.next()
    assert pool.n_passes == 1


def test_a_smaller_pool_is_refreshed_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pool, "POOL_BYTES", 40 * 8)
    pool = make()
    held = [np.concatenate([s.numbers for s in pool.next()[0]]) for _ in range(9)]
    assert pool.n_passes == 3
    assert all(len(numbers) == 40 for numbers in held)
    assert held[3].tolist() == held[0].tolist()
    assert held[4].tolist() != held[0].tolist()


def test_no_query_is_its_own_reference() -> None:
    [share], references, _ = make(n_shares=1).next()
    rows, n = meeting(share, references, 60, 20, (1, 2))
    assert n == 60
    assert len(np.unique(rows.numbers)) == len(rows)
    assert set(references.numbers) <= set(rows.numbers)
