"""How many threads BLAS may use, and how a fit holds it to one.

The number belongs to the process with some libraries (OpenBLAS on its own threads,
BLIS) and to the calling thread with others (MKL, OpenBLAS on OpenMP). Both are
handled here, since neither can be restored by a `threadpoolctl` limit alone when
several threads hold BLAS at the same time.
"""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, suppress
from functools import lru_cache
from typing import Any

import numpy as np
from joblib import cpu_count
from threadpoolctl import ThreadpoolController


class _Library:
    """One loaded BLAS library.

    Attributes
    ----------
    per_thread : bool or None
        Whether each thread has a number of its own; None as long as it is unknown.
    before : int
        How many threads it had when the process's hold began.
    """

    def __init__(self, controller: Any) -> None:
        self._controller = controller
        # Since version 3.8, threadpoolctl's own `set_num_threads` does nothing, without
        # a word, in any thread but the first that has called it.
        self._set = getattr(
            controller, "_real_set_num_threads", controller.set_num_threads
        )
        self.per_thread: bool | None = None
        self.before = 1

    def get(self) -> int:
        """Return how many threads it would use if this thread called it."""
        return self._controller.get_num_threads() or 1

    def hold(self) -> int:
        """Go down to one thread, and return how many there were."""
        before = self.get()
        if before > 1 and self.per_thread is None:
            other = threading.Thread(target=self._set, args=(1,))
            other.start()
            other.join()
            self.per_thread = self.get() > 1
        self._set(1)
        return before

    def release(self, n_threads: int) -> None:
        """Undo a hold, unless somebody else has set another number since."""
        if self.get() == 1:
            self._set(n_threads)


@lru_cache(maxsize=1)
def _libraries() -> list[_Library]:
    if _is_memory_bounded():
        _take_buffers(cpu_count())
    found = ThreadpoolController().select(user_api="blas").lib_controllers
    return [_Library(controller) for controller in found]


def _is_memory_bounded() -> bool:
    """Return whether the process may not have all the addresses that there are."""
    try:
        import resource
    except ImportError:  # not on Windows
        return False
    return resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY


def _take_buffers(n_threads: int) -> None:
    """Let NumPy's and SciPy's BLAS take what they compute in, while there is room.

    OpenBLAS asks for 32 MB when a thread first needs them, keeps them, and where it
    gets none asks again for ever.

    Parameters
    ----------
    n_threads : int
        How many threads may compute at the same time.
    """
    from scipy.linalg.blas import dsymv

    matrix = np.ones((256, 256))
    together = threading.Barrier(n_threads)

    def compute(_: int) -> None:
        with suppress(threading.BrokenBarrierError):  # some were not there in time
            together.wait(timeout=1)
        for _ in range(4):
            np.matmul(matrix, matrix)

    # Where there may not be so many threads, fits will not have them either.
    with suppress(RuntimeError), ThreadPoolExecutor(n_threads) as pool:
        list(pool.map(compute, range(n_threads)))
    dsymv(1.0, matrix, matrix[0])  # eigenproblems are solved in one thread at a time


class _OfThisThread(threading.local):
    """The current thread's part in the hold."""

    depth = 0
    """How often it has entered and not yet left."""

    def __init__(self) -> None:
        self.before: dict[_Library, int] = {}


class _BlasHold:
    """Holds BLAS to one thread from when the first enters until the last has left.

    Any thread may enter, any number of times, and leave in any order. Where the number
    belongs to the process, the last to leave restores it; where each thread has its
    own, each restores that when it leaves for the last time.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._own = _OfThisThread()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._after_fork,
            )

    def threads(self) -> int:
        """Return how many threads BLAS may use in this thread when it is not held."""
        with self._lock:
            return min(map(self._threads_of, _libraries()), default=1)

    def __enter__(self) -> None:
        with self._lock:
            for library in _libraries():
                if not self._holders:
                    library.before = library.hold()
                    if library.per_thread:
                        self._own.before[library] = library.before
                elif library.per_thread and not self._own.depth:
                    self._own.before[library] = library.hold()
            self._holders += 1
            self._own.depth += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._holders -= 1
            self._own.depth = max(0, self._own.depth - 1)
            for library in _libraries():
                if library.per_thread:
                    if not self._own.depth and library in self._own.before:
                        library.release(self._own.before.pop(library))
                elif not self._holders:
                    library.release(library.before)

    def _threads_of(self, library: _Library) -> int:
        if library.per_thread:
            return self._own.before.get(library) or library.get()
        return library.before if self._holders else library.get()

    def _after_fork(self) -> None:
        """Forget the holders whose threads the child does not have."""
        held, self._holders = self._holders, self._own.depth
        if held and not self._holders:
            for library in _libraries():
                if not library.per_thread:
                    library.release(library.before)
        self._lock.release()


_hold = _BlasHold()


def single_threaded_blas() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread: the threads are the engine's.

    Whichever threads enter and leave, BLAS has one thread while anybody is inside and
    as many as before when the last has left. Limits that somebody sets meanwhile by
    other means are left alone.
    """
    return _hold


def blas_threads() -> int:
    """Return how many threads BLAS may use here, when nobody holds it to one."""
    return _hold.threads()
