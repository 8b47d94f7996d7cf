"""Where tasks run: on a cluster through its client, or in threads of this process.

Tasks are pure functions of what they are given: whatever a worker has lost, Dask
computes again. Nothing is scattered, no task is bound to a worker, and results are
combined in the order of the chunks, so that they do not depend on who did what.
"""

import asyncio
import ctypes
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, Protocol
from uuid import uuid4

from dask import compute, delayed
from dask.utils import funcname
from distributed import Client, KilledWorker, default_client, wait
from distributed.comm import CommClosedError

from vicinal.neighborhood import effective_n_threads

FAN_IN = 8
"""How many results a task combines."""
PATIENCE = 300.0
"""Seconds to wait for a cluster without workers."""
# How often, in seconds, one looks whether there are workers at all.
_LOOK = 2.0

Handle = Any
"""A result, or Dask's future of it."""


class ClusterLostError(ConnectionError):
    """The cluster, or what it held of the data, went away in the middle of a fit.

    See Also
    --------
    vicinal.dask.NCA : Raises it.

    Examples
    --------
    >>> from vicinal.dask import ClusterLostError
    >>> issubclass(ClusterLostError, Exception)
    True
    """


class Tasks(Protocol):
    """Runs functions, and holds their results where they were computed."""

    def over_chunks(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function for each chunk, given among other arguments as delayed."""

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function of values and results for each set of arguments."""

    def result(self, handle: Handle) -> Any:
        """Return a result to this process; of a list of handles, a list."""


def tasks_of(client: Client | None) -> Tasks:
    """Return what runs tasks: a client, or the current one, or this process."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            return InThreads()
    if not isinstance(client, Client):
        raise TypeError(
            f"client must be a distributed.Client or None, got {type(client).__name__}."
        )
    if client.asynchronous:
        raise ValueError("client must not be asynchronous: fit waits for its results.")
    if client.status != "running":
        raise ClusterLostError(
            f"The Dask client is {client.status!r}, not running: connect a new one."
        )
    return OnCluster(client)


def combined(
    tasks: Tasks, function: Callable[..., Any], handles: Sequence[Handle]
) -> Handle:
    """Return what a function makes of all results, by a tree of fixed shape.

    Parameters
    ----------
    tasks : Tasks
        Runs them.
    function : callable
        Takes results in their order, and returns another of their kind.
    handles : sequence
        The results, at least one.
    """
    [root] = combined_to_few(tasks, function, handles, few=1)
    return root


def combined_to_few(
    tasks: Tasks,
    function: Callable[..., Any],
    handles: Sequence[Handle],
    few: int = FAN_IN,
) -> list[Handle]:
    """Return the tree's nodes on the first level that has few; see `combined`."""
    handles = list(handles)
    while len(handles) > few:
        groups = range(0, len(handles), FAN_IN)
        handles = tasks.map(function, [tuple(handles[i : i + FAN_IN]) for i in groups])
    return handles


def summed(
    tasks: Tasks, function: Callable[..., Any], handles: Sequence[Handle]
) -> Any:
    """Return the same to this process, which is the root of the tree."""
    return function(*tasks.result(combined_to_few(tasks, function, handles)))


class InThreads:
    """Runs tasks in threads of this process, for data that are only too large."""

    def over_chunks(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function for each chunk; see `Tasks`."""
        return list(compute(*_delayed(function, arguments)))

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function for each set of arguments; see `Tasks`."""
        if len(arguments) == 1:
            return [function(*arguments[0])]
        with ThreadPoolExecutor(effective_n_threads(None)) as pool:
            return list(pool.map(lambda one: function(*one), arguments))

    def result(self, handle: Handle) -> Any:
        """Return the result, which is here already."""
        return handle


class OnCluster:
    """Runs tasks on the workers of a cluster.

    Parameters
    ----------
    client : distributed.Client
        Connected to it.
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    def over_chunks(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function for each chunk; see `Tasks`."""
        with _loss_reported():
            self._check_connection()
            futures: list[Handle] = self.client.compute(_delayed(function, arguments))
        return futures

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function for each set of arguments; see `Tasks`."""
        with _loss_reported():
            self._check_connection()
            # One message for all of them, and a group of their own: Dask takes a group
            # that grows for the roots of a graph, and sends these wherever a worker is
            # free, however much of what they need is elsewhere.
            group = f"{funcname(function)}-{uuid4().hex}"
            futures: list[Handle] = self.client.map(
                _call,
                [function] * len(arguments),
                arguments,
                key=[(group, k) for k in range(len(arguments))],
                pure=False,
            )
        return futures

    def result(self, handle: Handle) -> Any:
        """Wait for a result, but not for ever where there is nobody to compute it."""
        with _loss_reported(), self.client.as_current():
            self._wait(handle)
        # What a task raised itself is not for _loss_reported: reading a part of the
        # data may fail as a connection does.
        for future in handle if isinstance(handle, list) else [handle]:
            if future.status == "error":
                _raise(future)
        with _loss_reported(), self.client.as_current():
            return self.client.gather(handle)

    def _wait(self, handle: Handle) -> None:
        alone_since = None
        while True:
            try:
                wait(handle, timeout=_LOOK)
                break
            except TimeoutError:
                if self._n_workers():
                    alone_since = None
                    continue
                alone_since = alone_since or time.monotonic()
                if time.monotonic() - alone_since > PATIENCE:
                    raise ClusterLostError(
                        f"The cluster has had no workers for {PATIENCE:.0f} seconds. "
                        "Add workers, and fit again."
                    ) from None

    def _check_connection(self) -> None:
        if self.client.status != "running":
            raise CommClosedError(f"the client is {self.client.status}")

    def _n_workers(self) -> int:
        self._check_connection()
        return len(self.client.nthreads())


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


def _delayed(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
) -> list[Any]:
    task = delayed(function, pure=False, traverse=False)
    return [task(*one) for one in arguments]


def _raise(future: Handle) -> None:
    """Raise what a task raised."""
    try:
        future.result()
    except KilledWorker as error:
        raise ClusterLostError(
            "A task of the fit has ended several workers, most likely for want of "
            "memory: give the data smaller chunks, or the workers more memory. "
            f"({error})"
        ) from error


@contextmanager
def _loss_reported() -> Iterator[None]:
    """Say what a lost cluster means, in place of how its connection failed."""
    lost = CancelledError, asyncio.CancelledError, CommClosedError, ConnectionError
    try:
        yield
    except ClusterLostError:
        raise
    except lost as error:
        raise ClusterLostError(
            "The Dask cluster went away, was restarted, or has lost data that only a "
            "client had scattered: nothing was learned. Start it again, load the data "
            f"by tasks (as dask.dataframe.read_parquet does), and fit again. ({error})"
        ) from error


_lock = threading.Lock()
_n_inside = 0


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed memory for the next step, and return it to the system at the end.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_ set, so that each freed array is
    returned to the system at once. Steps that allocate and free a few megabytes each
    then take half as long again. Applies to all threads of the process until the last
    one has left; does nothing without that setting or without glibc.
    """
    global _n_inside  # noqa: PLW0603  the settings of the C library are the process's
    library, usual = _glibc(), os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    # Keep up to 256 MB. Arrays up to 32 MB, the most that glibc allows, come from it.
    kept, largest = 2**28, 2**25
    if library is None or not usual.isdecimal() or int(usual) >= kept:
        yield
        return
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
    with _lock:
        _n_inside += 1
        if _n_inside == 1:
            library.mallopt(mmap_threshold, largest)
            library.mallopt(trim_threshold, kept)
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if not _n_inside:
                given = os.environ.get("MALLOC_MMAP_THRESHOLD_", "")
                before = int(given) if given.isdecimal() and int(given) else 2**17
                library.mallopt(mmap_threshold, min(before, largest))
                library.mallopt(trim_threshold, int(usual))
                library.malloc_trim(0)


@lru_cache
def _glibc() -> Any:
    """Return the C library if it is glibc, and None otherwise."""
    try:
        library = ctypes.CDLL(None)
        for name in ("gnu_get_libc_version", "mallopt", "malloc_trim"):
            getattr(library, name)
    except (OSError, TypeError, AttributeError):
        return None
    return library
