"""Blocks of rows on threads: how large, in what order, and under which BLAS.

Results are always combined in the blocks' order, and a block's size never depends
on the number of threads: any number of threads gives the same bits.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

import joblib
import numpy as np
import sklearn
from threadpoolctl import ThreadpoolController

from vicinal._typing import FloatArray

# A block of this size passes between BLAS and the row kernels in the cache.
CACHE_BYTES = 4 * 2**20
# Fewer rows starve the matrix products; below this, threads cost more than they give.
MIN_ROWS = 16
ROWS_WORTH_A_THREAD = 256


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    return ThreadpoolController()


def single_threaded_blas() -> AbstractContextManager[Any]:
    """Hold BLAS to one thread: the threads are ours, one block each."""
    return _threadpools().limit(limits=1, user_api="blas")


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
        blas = [
            pool["num_threads"]
            for pool in _threadpools().info()
            if pool["user_api"] == "blas"
        ]
        return max(1, min([cores, *blas]))
    if n_jobs == 0:
        raise ValueError("n_jobs == 0 has no meaning; use None, 1 or more, or -1.")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def rows_per_block(n_rows: int, bytes_per_row: int) -> int:
    """Return how many rows make a block.

    The block should stay in the cache, must fit scikit-learn's `working_memory`
    several times over (one for each thread), and there should be enough blocks to
    share out.
    """
    budget = sklearn.get_config()["working_memory"] * 2**20 / 8
    cached = max(MIN_ROWS, CACHE_BYTES // bytes_per_row)
    shared = max(ROWS_WORTH_A_THREAD, -(-n_rows // 16))
    return int(max(1, min(cached, shared, budget // bytes_per_row, n_rows)))


def blocks(n_rows: int, size: int) -> Iterator[slice]:
    """Yield consecutive slices of `size` rows; the last may be shorter."""
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


class OrderedSum:
    """A sum whose terms arrive in any order, from any thread, and are added in order.

    A term that comes early waits; nobody waits for it.
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


def share(
    worker: Callable[[], Callable[[int, slice], None]],
    parts: Iterable[slice],
    n_threads: int,
) -> None:
    """Do all parts on n_threads threads, of which the caller is one.

    Parameters
    ----------
    worker : callable
        Called once on each thread; returns the function that does one part, given
        its position and rows. What the outer call allocates is the thread's own.
    parts : iterable of slice
        The blocks of rows.
    n_threads : int
        How many threads at most.
    """
    todo: deque[tuple[int, slice]] = deque(enumerate(parts))
    n_threads = min(n_threads, len(todo))

    def work() -> None:
        do = worker()
        while True:
            try:
                position, rows = todo.popleft()
            except IndexError:
                return
            do(position, rows)

    with single_threaded_blas():
        if n_threads <= 1:
            work()
            return
        with ThreadPoolExecutor(n_threads - 1) as pool:
            helpers = [pool.submit(work) for _ in range(n_threads - 1)]
            try:
                work()
                for helper in helpers:
                    helper.result()
            finally:
                # On an error or Ctrl-C the other threads finish their part and stop.
                todo.clear()


def project(X: FloatArray, components: FloatArray, n_threads: int) -> FloatArray:
    """Return Z = X Aᵀ, in blocks of rows."""
    Z = np.empty((len(X), len(components)), dtype=X.dtype)

    def do(_: int, rows: slice) -> None:
        np.matmul(X[rows], components.T, out=Z[rows])

    share(lambda: do, blocks(*_of_features(X)), n_threads)
    return Z


def back_project(G: FloatArray, X: FloatArray, n_threads: int) -> FloatArray:
    """Return GᵀX, summed over blocks of rows."""
    shape = (G.shape[1], X.shape[1])
    product = OrderedSum(np.zeros(shape, dtype=X.dtype))

    def do(position: int, rows: slice) -> None:
        term = np.matmul(G[rows].T, X[rows], out=product.buffer())
        product.add(position, term)

    share(lambda: do, blocks(*_of_features(X)), n_threads)
    return product.total


def _of_features(X: FloatArray) -> tuple[int, int]:
    return len(X), rows_per_block(len(X), X.shape[1] * X.itemsize)
