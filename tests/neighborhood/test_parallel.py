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
    ReproducibleSum,
    back_project,
    blocks,
    effective_n_threads,
    partitions,
    project,
    rows_per_block,
    run_in_threads,
)


def test_blocks_cover_every_row_once() -> None:
    slices = list(blocks(slice(2, 12), 4))
    assert slices == [slice(2, 6), slice(6, 10), slice(10, 12)]


@pytest.mark.parametrize("n_rows", [1, 5, 100, 1601, 100_000])
def test_partitions_are_few_and_made_of_whole_blocks(n_rows: int) -> None:
    found = partitions(n_rows, 10)
    assert len(found) <= 16
    assert [row for partition in found for row in range(n_rows)[partition]] == list(
        range(n_rows)
    )
    assert all(partition.start % 10 == 0 for partition in found)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_a_sum_does_not_depend_on_the_order_of_arrival(order: tuple[int, ...]) -> None:
    # In float32 this sum is 1 in order, and 0 or 2 in most others.
    terms = np.array([1e8, -1e8, 1, 1e-3], dtype=np.float32)
    total = ReproducibleSum(np.zeros(1, dtype=np.float32))
    for position in order:
        term = total.buffer()
        term[:] = terms[position]
        total.add(position, term)
    expected = np.float32(0)
    for term in terms:
        expected += term
    assert total.total[0] == expected


@pytest.mark.parametrize("n_threads", [1, 2, 5, 40])
def test_each_part_is_done_once(n_threads: int) -> None:
    done = np.zeros(25, dtype=int)

    def do(_: int, rows: slice) -> None:
        done[rows] += 1

    run_in_threads(lambda: do, blocks(slice(0, 25), 2), n_threads)
    assert (done == 1).all()


def test_threads_hold_blas_to_one_thread_and_gives_it_back() -> None:
    def threads_of_blas() -> set[int]:
        return set(blas_threads_now())

    seen = []
    with threadpool_limits(2, user_api="blas"):
        three = blocks(slice(0, 3), 1)
        run_in_threads(lambda: lambda *_: seen.append(threads_of_blas()), three, 1)
        after = threads_of_blas()
    assert seen == [{1}] * 3
    assert after == {2}


@pytest.mark.parametrize("failing_thread", ["caller", "helper"])
def test_an_error_in_any_thread_reaches_the_caller(failing_thread: str) -> None:
    caller = threading.get_ident()
    both_work = threading.Barrier(2, timeout=30)
    done = []

    def do(_: int, rows: slice) -> None:
        if rows.start < 2:
            both_work.wait()
        is_caller = threading.get_ident() == caller
        if is_caller == (failing_thread == "caller"):
            raise ZeroDivisionError
        time.sleep(0.01)
        done.append(rows)

    with pytest.raises(ZeroDivisionError):
        run_in_threads(lambda: do, blocks(slice(0, 500), 1), 2)
    assert len(done) < 100  # the other finishes its part and stops


def test_work_within_work_ends() -> None:
    """The threads that stay may all be busy with those who wait for them."""
    done: list[tuple[int, int]] = []

    def outer(position: int, _: slice) -> None:
        run_in_threads(
            lambda: lambda inner, _: done.append((position, inner)),
            [slice(0, 1)] * 3,
            3,
        )

    run_in_threads(lambda: outer, [slice(0, 1)] * 6, 3)
    assert sorted(done) == list(itertools.product(range(6), range(3)))


def test_calls_with_fewer_parts_share_the_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_in_threads(lambda: lambda *_: None, [slice(0, 1)], 1)
    threads._pool.cache_clear()
    started: list[threading.Thread] = []
    start = threading.Thread.start

    def counted(thread: threading.Thread) -> None:
        started.append(thread)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", counted)
    for n_parts in [6, 3] * 10:
        run_in_threads(lambda: lambda *_: None, [slice(0, 1)] * n_parts, 6)
    assert len(started) <= 5


def test_an_interrupt_while_threads_are_called_stops_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pool, done = threads._pool(3), []
    submit = pool.submit

    def interrupted(work: Any) -> Any:
        monkeypatch.undo()
        submit(work).result()  # of what it may do, it does all
        raise KeyboardInterrupt

    helpers: Any = iter([submit, interrupted])
    monkeypatch.setattr(pool, "submit", lambda work: next(helpers)(work))

    def do(*_: object) -> None:
        time.sleep(0.002)
        done.append(threading.current_thread().name)

    with pytest.raises(KeyboardInterrupt):
        run_in_threads(lambda: do, [slice(0, 1)] * 40, 4)
    n_done = len(done)
    time.sleep(0.1)
    assert len(done) == n_done


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_fork_has_threads_of_its_own() -> None:
    run_in_threads(lambda: lambda *_: time.sleep(0.01), [slice(0, 1)] * 4, 2)
    context: Any = multiprocessing.get_context("fork")
    child = context.Process(target=_meet_in_two_threads)
    child.start()
    child.join(30)
    assert child.exitcode == 0


def _meet_in_two_threads() -> None:
    both_work = threading.Barrier(2, timeout=20)

    def meet(*_: object) -> None:
        both_work.wait()

    run_in_threads(lambda: meet, [slice(0, 1)] * 2, 2)
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
