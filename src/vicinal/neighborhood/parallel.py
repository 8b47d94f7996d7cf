"""Blocks of rows on threads: how large, in what order, and under which BLAS.

Results are always combined in the blocks' order, and a block's size never depends
on the number of threads: any number of threads gives the same bits.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import lru_cache
from numbers import Integral

import joblib
import numpy as np
import sklearn
from scipy.sparse import issparse
from sklearn.utils import check_scalar

from vicinal._typing import FloatArray
from vicinal.neighborhood.blas import blas_threads, single_threaded_blas

# Target block size, so that GEMM output is still cached for the row kernel.
CACHE_BYTES = 4 * 2**20
# Fewer rows starve the matrix products; below this, threads cost more than they give.
MIN_ROWS = 16
ROWS_WORTH_A_THREAD = 256
# A product of fewer multiplications is done before a thread has started.
SMALL = 2**22
# Into how many parts the rows are shared out, and so the most threads that are of use
# and the most partial sums that can wait for their turn.
N_PARTITIONS = 16


def effective_n_threads(n_jobs: int | None) -> int:
    """Return how many threads to use.

    Parameters
    ----------
    n_jobs : int or None
        None is as many as BLAS would use here, so that `OMP_NUM_THREADS`, joblib's
        workers and `threadpoolctl` limits are obeyed; −1 is all cores, −2 all but
        one.
    """
    cores = int(joblib.cpu_count())
    if n_jobs is None:
        return max(1, min(cores, blas_threads()))
    check_scalar(n_jobs, "n_jobs", Integral)
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use None, 1 or more, or -1.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def rows_per_block(n_rows: int, bytes_per_row: int) -> int:
    """Return how many rows make a block.

    The block should stay in the cache, must fit scikit-learn's `working_memory` once
    for each of the partitions, and there should be enough blocks to share out.
    """
    budget = sklearn.get_config()["working_memory"] * 2**20 / N_PARTITIONS
    cached = max(MIN_ROWS, CACHE_BYTES // bytes_per_row)
    shared = max(ROWS_WORTH_A_THREAD, -(-n_rows // N_PARTITIONS))
    return int(max(1, min(cached, shared, budget // bytes_per_row, n_rows)))


def blocks(rows: slice, size: int) -> Iterator[slice]:
    """Yield consecutive slices of `size` of the rows; the last may be shorter."""
    for start in range(rows.start, rows.stop, size):
        yield slice(start, min(start + size, rows.stop))


def partitions(n_rows: int, size: int) -> list[slice]:
    """Return at most N_PARTITIONS consecutive slices, each of whole blocks."""
    n_blocks = -(-n_rows // size)
    return list(blocks(slice(0, n_rows), -(-n_blocks // N_PARTITIONS) * size))


class ReproducibleSum:
    """Sums threads' terms in block order: bitwise reproducible for any number of them.

    Terms that come early are buffered; no thread waits.
    """

    def __init__(self, total: FloatArray) -> None:
        self.total = total
        self._early: dict[int, FloatArray] = {}
        self._spare: list[FloatArray] = []
        self._next = 0
        self._lock = threading.Lock()

    def buffer(self) -> FloatArray:
        """Return an array for the next term to be written into."""
        with self._lock:
            return self._spare.pop() if self._spare else np.empty_like(self.total)

    def add(self, position: int, term: FloatArray) -> None:
        """Add the term with this position; it belongs to the sum from here on."""
        with self._lock:
            self._early[position] = term
            while self._next in self._early:
                term = self._early.pop(self._next)
                self.total += term
                self._spare.append(term)
                self._next += 1


def run_in_threads(
    worker: Callable[[], Callable[[int, slice], None]],
    parts: Iterable[slice],
    n_threads: int,
) -> None:
    """Do all parts on at most n_threads threads, of which the caller's is one.

    Parameters
    ----------
    worker : callable
        Called once on each thread; returns the function that does one part, given
        its position and rows. What the outer call allocates is the thread's own.
    parts : iterable of slice
        The rows of each part.
    n_threads : int
        How many threads at most.
    """
    todo: deque[tuple[int, slice]] = deque(enumerate(parts))
    n_helpers = min(n_threads, len(todo)) - 1

    def work() -> None:
        try:
            # Held by each thread, since each may have a number of BLAS threads its own.
            with single_threaded_blas():
                do = worker()
                while True:
                    try:
                        position, rows = todo.popleft()
                    except IndexError:
                        return
                    do(position, rows)
        except BaseException:
            # An error or Ctrl-C: the other threads finish their part and stop.
            todo.clear()
            raise

    if n_helpers <= 0:
        work()
        return
    # As many as there may be: calls with fewer parts share them.
    pool = _pool(n_threads - 1)
    helpers: list[Future[None]] = []
    try:
        for _ in range(n_helpers):
            helpers.append(pool.submit(work))  # noqa: PERF401  known one by one
        work()
    except BaseException:
        todo.clear()
        raise
    finally:
        # One that has not begun has nothing left to do. It must not be waited for: the
        # pool's threads may all be waiting here themselves.
        begun = [helper for helper in helpers if not helper.cancel()]
        wait(begun)
    for helper in begun:
        helper.result()


@lru_cache(maxsize=1)
def _pool(n_threads: int) -> ThreadPoolExecutor:
    """Return threads that stay: to start one takes as long as a small mini-batch."""
    return ThreadPoolExecutor(n_threads, thread_name_prefix="vicinal")


if hasattr(os, "register_at_fork"):
    # A child has none of its parent's threads.
    os.register_at_fork(after_in_child=_pool.cache_clear)


def project(X: FloatArray, components: FloatArray, n_threads: int) -> FloatArray:
    """Return Z = X Aᵀ, in blocks of rows, in the wider type of the two.

    X may be sparse, as for `back_project`; Z is dense.
    """
    if issparse(X):
        image: FloatArray = np.asarray(X @ components.T)
        return image
    if X.size * len(components) <= SMALL:
        with single_threaded_blas():
            product: FloatArray = X @ components.T
            return product
    dtype = np.result_type(X, components)
    Z = np.empty((len(X), len(components)), dtype=dtype)

    def do(_: int, rows: slice) -> None:
        np.matmul(X[rows].astype(dtype, copy=False), components.T, out=Z[rows])

    run_in_threads(lambda: do, _parts(X), n_threads)
    return Z


def back_project(G: FloatArray, X: FloatArray, n_threads: int) -> FloatArray:
    """Return GᵀX, summed over blocks of rows, in the wider type of the two."""
    if issparse(X):
        gradient: FloatArray = np.ascontiguousarray((X.T @ G).T)
        return gradient
    dtype = np.result_type(G, X)
    if G.size * X.shape[1] <= SMALL:
        with single_threaded_blas():
            small: FloatArray = G.T @ X.astype(dtype, copy=False)
            return small
    product = ReproducibleSum(np.zeros((G.shape[1], X.shape[1]), dtype=dtype))

    def do(position: int, rows: slice) -> None:
        block = X[rows].astype(dtype, copy=False)
        product.add(position, np.matmul(G[rows].T, block, out=product.buffer()))

    run_in_threads(lambda: do, _parts(X), n_threads)
    return product.total


def _parts(X: FloatArray) -> Iterator[slice]:
    size = rows_per_block(len(X), X.shape[1] * X.itemsize)
    return blocks(slice(0, len(X)), size)
