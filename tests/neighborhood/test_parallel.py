import itertools
import multiprocessing
import os
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest
import sklearn
from threadpoolctl import threadpool_limits

from tests.blas_pools import blas_threads_now
from vicinal.neighborhood import threads
from vicinal.neighborhood.threads import (
    back_project,
    blocks,
    effective_n_threads,
    map_in_order,
    project,
    rows_per_block,
)


def test_blocks_cover_every_row_once() -> None:
    slices = list(blocks(slice(2, 12), 4))
    assert slices == [slice(2, 6), slice(6, 10), slice(10, 12)]


@pytest.mark.parametrize("n_threads", [1, 2, 5, 40])
def test_results_come_in_order(n_threads: int) -> None:
    def work(part: int) -> int:
        time.sleep(0.001 * (part % 3))
        return part * part

    assert list(map_in_order(work, range(25), n_threads)) == [k * k for k in range(25)]


def test_threads_hold_blas_to_one_thread_and_give_it_back() -> None:
    def threads_of_blas(_: int = 0) -> set[int]:
        return set(blas_threads_now())

    for n_threads in (1, 2):
        with threadpool_limits(2, user_api="blas"):
            seen = list(map_in_order(threads_of_blas, range(3), n_threads))
            after = threads_of_blas()
        assert seen == [{1}] * 3
        assert after == {2}


@pytest.mark.parametrize("n_threads", [1, 2])
def test_an_error_reaches_the_caller_and_stops_the_rest(n_threads: int) -> None:
    done = []

    def work(part: int) -> None:
        if part == 1:
            raise ZeroDivisionError
        time.sleep(0.01)
        done.append(part)

    with pytest.raises(ZeroDivisionError):
        list(map_in_order(work, range(500), n_threads))
    assert len(done) < 100


def test_work_within_work_ends() -> None:
    """All threads of the pool may be waiting for the pool."""

    def outer(part: int) -> list[tuple[int, int]]:
        return list(map_in_order(lambda inner: (part, inner), range(3), 3))

    found = list(map_in_order(outer, range(6), 3))
    assert list(itertools.chain(*found)) == list(itertools.product(range(6), range(3)))


def test_threads_that_wait_for_the_pool_within_work_end() -> None:
    def outer(_: int) -> None:
        inner = threading.Thread(target=lambda: list(map_in_order(abs, range(4), 2)))
        inner.start()
        inner.join(30)
        assert not inner.is_alive()

    list(map_in_order(outer, range(3), 2))


def test_after_an_error_nothing_runs_on() -> None:
    done = []

    def work(part: int) -> None:
        if part == 0:
            raise KeyboardInterrupt
        time.sleep(0.05)
        done.append(part)

    with pytest.raises(KeyboardInterrupt):
        list(map_in_order(work, range(40), 3))
    n_done = len(done)
    time.sleep(0.2)
    assert len(done) == n_done < 10


def test_calls_share_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    threads._pool.cache_clear()
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    for n_parts in [6, 3] * 10:
        list(map_in_order(lambda _: None, range(n_parts), 6))
    assert len(started) <= 6


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_has_threads_of_its_own() -> None:
    list(map_in_order(lambda _: time.sleep(0.01), range(4), 2))
    context: Any = multiprocessing.get_context("fork")
    child = context.Process(target=_meet_in_two_threads)
    child.start()
    child.join(30)
    assert child.exitcode == 0


def _meet_in_two_threads() -> None:
    both_work = threading.Barrier(2, timeout=20)

    list(map_in_order(lambda _: both_work.wait(), range(2), 2))
    sys.exit(0)


def test_a_block_stays_within_working_memory() -> None:
    bytes_per_row = 8 * 10**6
    with sklearn.config_context(working_memory=1024):
        assert rows_per_block(10**6, bytes_per_row) == 8
    with sklearn.config_context(working_memory=256):
        assert rows_per_block(10**6, bytes_per_row) == 2
    with sklearn.config_context(working_memory=1):
        assert rows_per_block(10**6, bytes_per_row) == 1
    assert rows_per_block(5, 40) == 5


def test_none_is_as_many_threads_as_blas_may_use() -> None:
    with threadpool_limits(1, user_api="blas"):
        assert effective_n_threads(None) == 1
    assert effective_n_threads(3) == 3
    assert effective_n_threads(-1) >= 1
    assert effective_n_threads(-1000) == 1
    with pytest.raises(ValueError, match="n_jobs == 0"):
        effective_n_threads(0)
    with pytest.raises(TypeError, match="n_jobs must be an instance of int"):
        effective_n_threads(2.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("small", [0, threads.SMALL], ids=["in blocks", "at once"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_with_the_data_are_exact_and_the_same_on_any_threads(
    dtype: Any, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "SMALL", small)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 40)).astype(dtype)
    A = rng.normal(size=(3, 40)).astype(dtype)
    Z = project(X, A, 1)
    G = back_project(Z, X, 1)
    assert Z.dtype == G.dtype == dtype
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    exact = X.astype(np.float64) @ A.T.astype(np.float64)
    np.testing.assert_allclose(Z, exact, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        G, exact.T @ X, rtol=tolerance, atol=tolerance * np.abs(G).max()
    )
    np.testing.assert_array_equal(project(X, A, 3), Z)
    np.testing.assert_array_equal(back_project(Z, X, 3), G)
