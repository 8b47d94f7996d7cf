"""Holds on BLAS that overlap: whoever enters and leaves, it ends as it began."""

import multiprocessing
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from tests.blas_pools import blas_threads_now
from vicinal.neighborhood import threads
from vicinal.neighborhood.threads import effective_n_threads, single_threaded_blas
from vicinal.objectives import NCAObjective
from vicinal.optimize import LBFGS


def threads_of_blas() -> list[int]:
    return blas_threads_now()


def n_threads() -> int:
    return effective_n_threads(None)


@pytest.fixture(autouse=True)
def before() -> Iterator[list[int]]:
    """Let BLAS have two threads, and see that it has them still at the end."""
    with threadpool_limits(2, user_api="blas"):
        had = threads_of_blas()
        assert set(had) == {2}
        whole = threadpool_info()
        yield had
        assert threadpool_info() == whole


class Holder:
    """A thread that enters and leaves when it is told to."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._holds: list[Any] = []

    def enter(self) -> None:
        self._holds.append(single_threaded_blas())
        self.do(self._holds[-1].__enter__)

    def leave(self) -> None:
        hold = self._holds.pop()
        self.do(lambda: hold.__exit__(None, None, None))

    def do(self, what: Callable[[], Any]) -> Any:
        return self._pool.submit(what).result(30)


def test_a_worker_thread_holds_blas_and_gives_it_back(before: list[int]) -> None:
    worker = Holder()
    worker.enter()
    assert set(threads_of_blas()) == {1}
    assert n_threads() == worker.do(n_threads) == 2
    worker.leave()
    assert threads_of_blas() == before


@pytest.mark.parametrize("first_to_leave", ["A", "B"])
def test_of_two_threads_the_last_to_leave_gives_it_back(
    first_to_leave: str, before: list[int]
) -> None:
    threads = {"A": Holder(), "B": Holder()}
    threads["A"].enter()
    threads["B"].enter()
    threads.pop(first_to_leave).leave()
    assert set(threads_of_blas()) == {1}
    threads.popitem()[1].leave()
    assert threads_of_blas() == before


@pytest.mark.parametrize("seed", range(5))
def test_any_order_of_entering_and_leaving(seed: int, before: list[int]) -> None:
    rng = np.random.default_rng(seed)
    threads = [Holder() for _ in range(6)]
    inside: list[Holder] = []
    for _ in range(200):
        if inside and rng.random() < 0.55:
            inside.pop(int(rng.integers(len(inside)))).leave()
        else:
            inside.append(threads[rng.integers(6)])
            inside[-1].enter()
        assert threads_of_blas() == ([1] * len(before) if inside else before)
    for holder in inside:
        holder.leave()
    assert threads_of_blas() == before


def test_limits_that_somebody_else_sets_meanwhile_are_left_alone() -> None:
    limit = threadpool_limits(1, user_api="blas")
    with single_threaded_blas():
        limit.restore_original_limits()
    assert set(threads_of_blas()) == {2}


def learned(seed: int) -> bytes:
    """Return a map's bits, of a fit large enough for BLAS to use its threads."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(700, 60)), rng.integers(4, size=700)
    objective = NCAObjective(X, y, n_jobs=1)
    with single_threaded_blas():
        solution = LBFGS(max_iter=4).maximize(
            objective, np.eye(20, 60), lambda *_: False
        )
    return solution.x.tobytes()


def test_eight_threads_learn_what_the_main_thread_does(before: list[int]) -> None:
    expected = [learned(seed) for seed in range(4)] * 4
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(learned, [0, 1, 2, 3] * 4))
    assert found == expected
    assert threads_of_blas() == before


def test_a_worker_thread_learns_the_same_while_the_main_thread_limits_blas() -> None:
    # The main thread is then the only one whose limits threadpoolctl lets through.
    expected = learned(0)
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:
        assert pool.submit(learned, 0).result() == expected


class OwnNumbers:
    """What threadpoolctl has for MKL: each thread has its own number of threads."""

    def __init__(self) -> None:
        self._own = threading.local()

    def get_num_threads(self) -> int:
        return getattr(self._own, "n", 7)

    def set_num_threads(self, n: int) -> None:
        self._own.n = n


def test_where_each_thread_has_a_number_each_is_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mkl = OwnNumbers()
    libraries = [(mkl.get_num_threads, mkl.set_num_threads, True)]
    monkeypatch.setattr(threads, "_libraries", lambda: libraries)
    A, B, C = Holder(), Holder(), Holder()

    def numbers() -> list[int]:
        return [thread.do(mkl.get_num_threads) for thread in (A, B, C)]

    A.enter()
    assert numbers() == [1, 7, 7]
    B.enter()
    B.enter()
    assert numbers() == [1, 1, 7]
    A.leave()
    assert numbers() == [7, 1, 7]
    B.leave()
    assert numbers() == [7, 1, 7]
    assert B.do(mkl.get_num_threads) == 1
    assert C.do(mkl.get_num_threads) == 7
    B.leave()
    assert numbers() == [7, 7, 7]


def hold_in_child(results: Any) -> None:
    first = threads_of_blas()
    with single_threaded_blas():
        within = threads_of_blas()
    results.put((first, within, threads_of_blas(), learned(0)))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("holder_is_the_parent", [True, False])
def test_a_fork_during_a_hold_has_only_its_own(
    holder_is_the_parent: bool, before: list[int]
) -> None:
    context: Any = multiprocessing.get_context("fork")
    results = context.Queue()
    expected = learned(0)
    holder = None if holder_is_the_parent else Holder()
    hold = single_threaded_blas()
    if holder:
        holder.enter()
    else:
        hold.__enter__()
    child = context.Process(target=hold_in_child, args=(results,))
    child.start()
    first, within, after, bits = results.get(timeout=60)
    child.join(60)
    if holder:
        holder.leave()
    else:
        hold.__exit__(None, None, None)
    ones = [1] * len(before)
    # The child goes on inside its parent's hold, or without the one of a lost thread.
    expected_outside = ones if holder_is_the_parent else before
    assert (first, within, after) == (expected_outside, ones, expected_outside)
    assert bits == expected


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_joblib_workers_learn_the_same(backend: str, before: list[int]) -> None:
    tasks = (joblib.delayed(learned)(seed) for seed in (0, 1, 0, 1))
    with joblib.parallel_config(backend, n_jobs=2):
        found = joblib.Parallel()(tasks)
    expected = [learned(0), learned(1)] * 2
    if backend == "threading":
        assert found == expected
    # A process that has compiled the kernels and one that has loaded them from the
    # cache may differ in the last digits: of processes, no more is promised.
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(
            np.frombuffer(one), np.frombuffer(other), rtol=1e-7, atol=1e-9
        )
    assert threads_of_blas() == before


def test_the_first_hold_of_a_process_may_come_from_any_thread() -> None:
    code = (
        "import threading\n"
        "from threadpoolctl import threadpool_info, threadpool_limits\n"
        "from vicinal.neighborhood import single_threaded_blas\n"
        "threadpool_limits(2, user_api='blas')\n"  # and keeps it
        "before, seen = threadpool_info(), []\n"
        "def hold():\n"
        "    with single_threaded_blas():\n"
        "        seen.extend(p['num_threads'] for p in threadpool_info()\n"
        "                    if p['user_api'] == 'blas')\n"
        "thread = threading.Thread(target=hold)\n"
        "thread.start(); thread.join()\n"
        "assert set(seen) == {1}, seen\n"
        "assert threadpool_info() == before\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
