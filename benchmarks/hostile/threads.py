"""Fits in threads, in processes, and after and during forks."""

import multiprocessing
import os
import threading
import time
import warnings
from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.base import clone
from threadpoolctl import threadpool_info

from benchmarks.hostile.cases import CLOCK_SECONDS, Wrong
from benchmarks.hostile.data import choose
from vicinal import LCA, LDG, NCA, NCAClassifier, NCARegressor
from vicinal.classic import ITML, MLKR

MODELS = [
    NCA(max_iter=5),
    NCA(2, solver="stochastic", max_iter=1, random_state=0),
    NCAClassifier(max_iter=3),
    NCARegressor(max_iter=3),
    MLKR(max_iter=3),
    LDG(random_state=0),
    LCA(max_iter=3, alpha=0.1),
    ITML(random_state=0),
]


def case(rng: Generator) -> bool:
    """Fit at the same time in several threads, or in processes, and compare."""
    X = rng.normal(size=(90, 4)) + 2 * (np.arange(90) % 3)[:, None]
    models = [choose(rng, *MODELS) for _ in range(int(rng.integers(2, 6)))]
    expected = [_fit(model, X) for model in models]
    before = _blas()
    choose(rng, _threads, _threads, _forks, _fork_during, _spawned)(models, X, expected)
    if _blas() != before:
        raise Wrong(f"BLAS had {before} threads and has {_blas()}")
    return False


def _fit(model: Any, X: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return clone(model).fit(X, np.arange(len(X)) % 3).components_


def _blas() -> list[int]:
    return [one["num_threads"] for one in threadpool_info()]


def _compare(found: dict[int, Any], expected: list[Any], how: str) -> None:
    for k, one in enumerate(expected):
        if k not in found:
            raise Wrong(f"a fit in {how} did not end")
        if not np.array_equal(found[k], one):
            raise Wrong(f"a fit in {how} gives another map")


def _threads(models: list[Any], X: Any, expected: list[Any]) -> None:
    found: dict[int, Any] = {}

    def work(k: int) -> None:
        found[k] = _fit(models[k], X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(models))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(CLOCK_SECONDS)
    _compare(found, expected, "threads")


def _child(queue: Any, k: int, model: Any, X: Any) -> None:
    queue.put((k, _fit(model, X)))


def _processes(method: str, models: list[Any], X: Any, expected: list[Any]) -> None:
    context = multiprocessing.get_context(method)
    queue: Any = context.Queue()
    processes: list[Any] = [
        context.Process(target=_child, args=(queue, k, model, X))  # type: ignore[attr-defined]
        for k, model in enumerate(models)
    ]
    for process in processes:
        process.start()
    found = {}
    try:
        for _ in models:
            k, components = queue.get(timeout=CLOCK_SECONDS)
            found[k] = components
    except Exception as error:
        raise Wrong(f"a fit in a process made by {method} did not end") from error
    finally:
        for process in processes:
            process.join(5)
            process.kill()
    _compare(found, expected, f"a process made by {method}")


def _forks(models: list[Any], X: Any, expected: list[Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _processes("fork", models, X, expected)


def _spawned(models: list[Any], X: Any, expected: list[Any]) -> None:
    _processes("spawn", models[:1], X, expected[:1])


def _fork_during(models: list[Any], X: Any, expected: list[Any]) -> None:
    """Fork while another thread is in the middle of a fit; the child must not hang."""
    end = threading.Event()

    def busy() -> None:
        while not end.is_set():
            _fit(models[0], X)

    thread = threading.Thread(target=busy)
    thread.start()
    time.sleep(0.05)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            same = np.array_equal(_fit(models[1], X), expected[1])
            os._exit(0 if same else 3)
        _wait(child)
    finally:
        end.set()
        thread.join(CLOCK_SECONDS)


def _wait(child: int) -> None:
    until = time.monotonic() + CLOCK_SECONDS
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            if status:
                raise Wrong(f"a fit in a child forked during a fit ended with {status}")
            return
        time.sleep(0.05)
    os.kill(child, 9)
    os.waitpid(child, 0)
    raise Wrong("a fit in a child that was forked during a fit hangs")
