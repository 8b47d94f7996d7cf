"""Run tasks on a cluster through its client, or in threads of this process.

Tasks are pure functions of their arguments: Dask can compute the results again that a
worker has lost. Nothing is scattered, no task is bound to a worker, and results are
combined in the order of the chunks, so that they do not depend on the workers.
"""

import asyncio
import ctypes
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import dask.config
from dask import compute, delayed
from dask.utils import funcname, parse_timedelta
from distributed import Client, KilledWorker, default_client, wait
from distributed.comm import CommClosedError

from vicinal.neighborhood import effective_n_threads

FAN_IN = 8
"""Number of results that a task combines."""

Handle = Any
"""A result, or Dask's future of it."""


class ClusterLostError(ConnectionError):
    """The cluster, or data that it held, was lost during a fit.

    See Also
    --------
    vicinal.dask.NCA : Raises it.

    Examples
    --------
    >>> from vicinal.dask import ClusterLostError
    >>> issubclass(ClusterLostError, Exception)
    True
    """


def tasks_of(client: Client | None) -> "Tasks":
    """Return the tasks of a client, of the current client, or of this process."""
    if client is None:
        try:
            client = default_client()
        except ValueError:
            return Tasks()
    if not isinstance(client, Client):
        raise TypeError(
            f"client must be a distributed.Client or None, got {type(client).__name__}."
        )
    if client.status != "running":
        raise ClusterLostError(
            f"The Dask client is {client.status!r}, not running: connect a new one."
        )
    return Tasks(client)


class Tasks:
    """Runs functions, and holds their results on the workers that computed them.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The cluster; None runs tasks in threads of this process.
    """

    def __init__(self, client: Client | None = None) -> None:
        self.client = client

    def over_chunks(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function for each chunk, a delayed object among its arguments."""
        task = delayed(function, pure=False, traverse=False)
        calls = [task(*one) for one in arguments]
        if self.client is None:
            return list(compute(*calls))
        with self._connected():
            futures: list[Handle] = self.client.compute(calls)
        return futures

    def map(
        self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]
    ) -> list[Handle]:
        """Call a function of values and handles for each set of arguments."""
        if self.client is None:
            if len(arguments) == 1:
                return [function(*arguments[0])]
            with ThreadPoolExecutor(effective_n_threads(None)) as pool:
                return list(pool.map(lambda one: function(*one), arguments))
        with self._connected():
            # A group of its own for each call: Dask takes a group that grows for the
            # roots of a graph, and runs its tasks on any worker that is free,
            # regardless of the data that they need.
            group = f"{funcname(function)}-{uuid4().hex}"
            futures: list[Handle] = self.client.map(
                _call,
                [function] * len(arguments),
                arguments,
                key=[(group, k) for k in range(len(arguments))],
                pure=False,
            )
        return futures

    def combine(
        self, function: Callable[..., Any], handles: Sequence[Handle], few: int = 1
    ) -> list[Handle]:
        """Combine results by a tree of fixed shape, up to the level that has few.

        The function takes results in their order, and returns another of their kind.
        """
        handles = list(handles)
        while len(handles) > few:
            groups = range(0, len(handles), FAN_IN)
            handles = self.map(
                function, [tuple(handles[i : i + FAN_IN]) for i in groups]
            )
        return handles

    def reduce(self, function: Callable[..., Any], handles: Sequence[Handle]) -> Any:
        """Combine all results, with the root of the tree in this process."""
        return function(*self.result(self.combine(function, handles, few=FAN_IN)))

    def result(self, handle: Handle) -> Any:
        """Return a result to this process; of a list of handles, a list.

        Raises ClusterLostError after `vicinal.no-workers-timeout` of Dask's
        configuration, 300 seconds by default, without workers.
        """
        if self.client is None:
            return handle
        patience = parse_timedelta(dask.config.get("vicinal.no-workers-timeout", 300))
        last_seen = time.monotonic()
        while True:
            with self._connected():
                try:
                    wait(handle, timeout=min(2.0, patience))
                    break
                except TimeoutError:
                    if self.client.nthreads():
                        last_seen = time.monotonic()
            if time.monotonic() - last_seen > patience:
                raise ClusterLostError(
                    f"The cluster has had no workers for {patience:.0f} seconds. Add "
                    "workers, and fit again."
                )
        # Errors of tasks are raised as they are: reading a part of the data may fail
        # with the same errors as the connection.
        for future in handle if isinstance(handle, list) else [handle]:
            if future.status == "error":
                try:
                    future.result()
                except KilledWorker as error:
                    raise ClusterLostError(
                        "A task of the fit has ended several workers, most likely for "
                        "want of memory: give the data smaller chunks, or the workers "
                        f"more memory. ({error})"
                    ) from error
        with self._connected():
            return self.client.gather(handle)

    @contextmanager
    def _connected(self) -> Iterator[None]:
        """Turn errors of the connection into ClusterLostError."""
        lost = CancelledError, asyncio.CancelledError, CommClosedError, ConnectionError
        assert self.client is not None  # noqa: S101  for mypy
        try:
            if self.client.status != "running":
                raise CommClosedError(f"the client is {self.client.status}")
            with self.client.as_current():
                yield
        except ClusterLostError:
            raise
        except lost as error:
            raise ClusterLostError(
                "The Dask cluster went away, was restarted, or has lost data that only "
                "a client had scattered: nothing was learned. Start it again, load the "
                "data by tasks (as dask.dataframe.read_parquet does), and fit again. "
                f"({error})"
            ) from error


def _call(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    return function(*arguments)


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed memory for the next step, and return it to the system at the end.

    Dask starts workers with MALLOC_TRIM_THRESHOLD_ set, so that each freed array is
    returned to the system at once. Steps that allocate and free a few megabytes each
    then take half as long again. The settings are those of the process: a task that
    ends while another runs makes that one slower. Does nothing without that setting or
    without glibc.
    """
    threshold = os.environ.get("MALLOC_TRIM_THRESHOLD_", "")
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    kept = 2**28  # bytes
    low = threshold.isdecimal() and int(threshold) < kept
    if not (low and hasattr(library, "mallopt")):
        yield
        return
    assert library is not None  # noqa: S101  for mypy
    trim_threshold, mmap_threshold = -1, -3  # M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
    # Arrays up to 32 MB, the most that glibc allows, come from the memory that is kept.
    library.mallopt(mmap_threshold, 2**25)
    library.mallopt(trim_threshold, kept)
    try:
        yield
    finally:
        library.mallopt(mmap_threshold, 2**17)  # glibc's default
        library.mallopt(trim_threshold, int(threshold))
        library.malloc_trim(0)
