"""Clusters of threads, which start in no time, for the tests on Dask."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def started(n_workers: int, **options: Any) -> Iterator[Any]:
    """Start a cluster on this machine, and return its client."""
    from distributed import Client, LocalCluster

    usual = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with ExitStack() as stack:
        cluster = LocalCluster(n_workers=n_workers, **{**usual, **options})
        stack.enter_context(cluster)
        yield stack.enter_context(Client(cluster, set_as_default=False))


@pytest.fixture(scope="session")
def client() -> Iterator[Any]:
    """Two workers."""
    with started(2) as connected:
        yield connected


@pytest.fixture(scope="session")
def clients(client: Any) -> Iterator[Callable[[int], Any]]:
    """Clients by their number of workers."""
    with started(1) as one, started(4) as four:
        yield {1: one, 2: client, 4: four}.__getitem__
