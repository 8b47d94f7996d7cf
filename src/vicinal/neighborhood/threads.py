"""Threads for blocks of rows, and the control of BLAS threads.

Results are combined in the order of the blocks, and the size of a block does not depend
on the number of threads, so that results are bitwise reproducible.

The number of BLAS threads is a setting of the process in some libraries (OpenBLAS with
its own threads, BLIS) and of the calling thread in others (MKL, OpenBLAS with OpenMP).
A `threadpoolctl` limit alone cannot restore either if several threads limit BLAS.
"""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from numbers import Integral
from typing import Any, TypeVar

import joblib
import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.utils import check_scalar
from threadpoolctl import ThreadpoolController

from vicinal._typing import FloatArray


class _ThreadState(threading.local):
    """State of the current thread in the limit of BLAS."""

    depth = 0
    """Number of times that the thread has entered and not left."""

    def __init__(self) -> None:
        self.before: dict[int, int] = {}


_lock = threading.Lock()
_own = _ThreadState()
_process: dict[str, Any] = {"holders": 0, "before": {}}


@lru_cache(maxsize=1)
def _libraries() -> list[tuple[Any, Any, bool]]:
    """Return (get, set, whether each thread has its own number) of each BLAS."""
    found = []
    for library in ThreadpoolController().select(user_api="blas").lib_controllers:
        # Since version 3.8, threadpoolctl's own `set_num_threads` silently does nothing
        # in all threads but the first that has called it.
        change = getattr(library, "_real_set_num_threads", library.set_num_threads)
        before = library.get_num_threads() or 1
        other = threading.Thread(target=change, args=(1 if before > 1 else 2,))
        other.start()
        other.join()
        per_thread = library.get_num_threads() == before
        if not per_thread:
            change(before)
        found.append((library.get_num_threads, change, per_thread))
    return found


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread, since the engine has its own threads.

    BLAS has one thread while any thread is inside, and the previous number after the
    last has left. Limits that are set by other means in the meantime are kept. Inside
    of another limit of the same thread, it does nothing.
    """
    if _own.depth:
        yield
        return
    with _lock:
        for k, (get, change, per_thread) in enumerate(_libraries()):
            if not (_own.depth if per_thread else _process["holders"]):
                (_own.before if per_thread else _process["before"])[k] = get()
                change(1)
        _process["holders"] += 1
        _own.depth += 1
    try:
        yield
    finally:
        with _lock:
            _process["holders"] -= 1
            _own.depth -= 1
            for k, (get, change, per_thread) in enumerate(_libraries()):
                if not (_own.depth if per_thread else _process["holders"]):
                    before = (_own.before if per_thread else _process["before"]).pop(k)
                    if get() == 1:
                        change(before)


def _after_fork() -> None:
    """Forget the threads that do not exist in a child process."""
    held, _process["holders"] = _process["holders"], _own.depth
    if held and not _own.depth:
        for k, (get, change, per_thread) in enumerate(_libraries()):
            if not per_thread and get() == 1:
                change(_process["before"].pop(k))
    _pool.cache_clear()
    _lock.release()


# Target block size, so that GEMM output is still cached for the row kernel.
CACHE_BYTES = 4 * 2**20
# Minimum rows of a block for efficient matrix products, and rows that justify a thread.
MIN_ROWS = 16
ROWS_WORTH_A_THREAD = 256
# Products with fewer multiplications take less time than starting a thread.
SMALL = 2**22
# Number of parts of the rows: the maximum number of useful threads and of buffered
# partial sums.
N_PARTITIONS = 16


def effective_n_threads(n_jobs: int | None) -> int:
    """Return the number of threads to use.

    Parameters
    ----------
    n_jobs : int or None
        None uses as many as BLAS would, which respects `OMP_NUM_THREADS`, joblib's
        workers and `threadpoolctl` limits; −1 uses all cores, −2 all but one.
    """
    cores = int(joblib.cpu_count())
    if n_jobs is None:
        with _lock:
            before = [
                (_own.before if per_thread else _process["before"]).get(k) or get() or 1
                for k, (get, _, per_thread) in enumerate(_libraries())
            ]
        return max(1, min([cores, *before]))
    check_scalar(n_jobs, "n_jobs", Integral)
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use None, 1 or more, or -1.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def rows_per_block(n_rows: int, bytes_per_row: int) -> int:
    """Return the number of rows in a block.

    A block should fit the cache, must fit scikit-learn's `working_memory` once for each
    partition, and there should be enough blocks for all threads.
    """
    budget = sklearn.get_config()["working_memory"] * 2**20 / N_PARTITIONS
    cached = max(MIN_ROWS, CACHE_BYTES // bytes_per_row)
    shared = max(ROWS_WORTH_A_THREAD, -(-n_rows // N_PARTITIONS))
    return int(max(1, min(cached, shared, budget // bytes_per_row, n_rows)))


def blocks(rows: slice, size: int) -> list[slice]:
    """Return consecutive slices of `size` rows; the last may be shorter."""
    starts = range(rows.start, rows.stop, size)
    return [slice(start, min(start + size, rows.stop)) for start in starts]


T = TypeVar("T")
R = TypeVar("R")


def map_in_order(
    work: Callable[[T], R], parts: Sequence[T], n_threads: int
) -> Iterator[R]:
    """Yield work(part) of each part, in order, from at most n_threads threads.

    The caller works, too: it takes parts that no other thread has begun, so that nested
    calls cannot wait for each other. After an error or Ctrl-C, no further parts begin,
    and those that have begun are finished first.
    """
    with single_threaded_blas():
        if min(n_threads, len(parts)) < 2:
            yield from map(work, parts)
            return
        pool, own = _pool(n_threads - 1), {}
        futures: dict[int, Future[R]] = {}
        try:
            for k, part in enumerate(parts):
                futures[k] = pool.submit(work, part)
            for k in range(len(parts)):
                while k not in own and not futures[k].done():
                    left = (j for j in futures if j not in own and futures[j].cancel())
                    j = next(left, None)
                    if j is None:
                        break  # all parts have begun
                    own[j] = work(parts[j])
                result = own.pop(k) if k in own else futures[k].result()
                del futures[k]  # after the wait, which Ctrl-C may end
                yield result
        finally:
            wait([future for future in futures.values() if not future.cancel()])


@lru_cache(maxsize=1)
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return persistent threads: starting one takes as long as a small mini-batch."""
    return ThreadPoolExecutor(n_threads, "vicinal", _limit_own_blas)


def _limit_own_blas() -> None:
    """Limit BLAS libraries that have a number of threads for each calling thread."""
    for _, change, per_thread in _libraries():
        if per_thread:
            change(1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_lock.acquire,
        after_in_parent=_lock.release,
        after_in_child=_after_fork,
    )


def project(X: FloatArray, components: FloatArray, n_threads: int = 1) -> FloatArray:
    """Return Z = X Aᵀ, in blocks of rows, in the wider type of the two.

    X may be sparse, as for `back_project`; Z is dense.
    """
    if issparse(X):
        image: FloatArray = np.asarray(X @ components.T)
        return image
    dtype = np.result_type(X, components)
    if X.size * len(components) <= SMALL:
        with single_threaded_blas():
            product: FloatArray = X @ components.T
            return product
    Z = np.empty((len(X), len(components)), dtype=dtype)

    def multiply(rows: slice) -> None:
        np.matmul(X[rows].astype(dtype, copy=False), components.T, out=Z[rows])

    for _ in map_in_order(multiply, _parts(X), n_threads):
        pass
    return Z


def back_project(
    G: FloatArray,
    X: FloatArray,
    n_threads: int = 1,
    parameters: FloatArray | None = None,  # noqa: ARG001  of a map that is linear
) -> FloatArray:
    """Return GᵀX, summed over blocks of rows, in the wider type of the two."""
    if issparse(X):
        gradient: FloatArray = np.ascontiguousarray((X.T @ G).T)
        return gradient
    dtype = np.result_type(G, X)
    if G.size * X.shape[1] <= SMALL:
        with single_threaded_blas():
            small: FloatArray = G.T @ X.astype(dtype, copy=False)
            return small
    product = np.zeros((G.shape[1], X.shape[1]), dtype=dtype)

    def multiply(rows: slice) -> FloatArray:
        part: FloatArray = G[rows].T @ X[rows].astype(dtype, copy=False)
        return part

    for part in map_in_order(multiply, _parts(X), n_threads):
        product += part
    return product


def _parts(X: FloatArray) -> list[slice]:
    size = rows_per_block(len(X), X.shape[1] * X.itemsize)
    return blocks(slice(0, len(X)), size)
