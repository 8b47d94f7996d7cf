"""A worker that dies costs time and not the result; a lost cluster is an error."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

import dask
from distributed import Client

from tests.dask.conftest import started
from tests.dask.data import chunked, classes_in_noise
from vicinal.dask import LDG, NCA, ClusterLostError

X, y = classes_in_noise(1500)


class After:
    """A callback of fit that does something once, after some iterations."""

    def __init__(self, n_iter: int, action: Callable[[], object]) -> None:
        self.n_iter, self.action, self.done = n_iter, action, False

    def __call__(self, components: Any, n_iter: int) -> None:
        if n_iter == self.n_iter and not self.done:
            self.done = True
            self.action()


def fitted(client: Any, callback: Any = None) -> NCA:
    model = NCA(2, max_iter=8, random_state=0, client=client, callback=callback)
    return model.fit(*chunked(X, y, 300))


@pytest.mark.slow
def test_workers_that_are_killed_cost_time_only() -> None:
    # A process that compiles kernels may differ in the last digits from those that load
    # them: here, this one compiles, and all workers load, new ones included.
    near = fitted(None)
    with started(2, processes=True) as client:
        expected = fitted(client)
        first = set(client.run(os.getpid).values())

        def kill(components: Any, n_iter: int) -> None:
            victims = set(client.run(os.getpid).values())
            if n_iter in (3, 5):
                for pid in victims if n_iter == 5 else {min(victims)}:
                    os.kill(pid, signal.SIGKILL)

        found = fitted(client, kill)
        wait_for(lambda: not first & set(client.run(os.getpid).values()))
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.objective_curve_, expected.objective_curve_)
    np.testing.assert_allclose(found.components_, near.components_, rtol=1e-9)


@pytest.mark.slow
def test_a_worker_that_is_killed_in_the_middle_of_a_task() -> None:
    # Long tasks, in which one can be found; ten of them, and so means on the workers.
    settings: dict[str, Any] = {
        "objective": "log", "batch_size": 10_240, "n_references": 1024,
        "max_iter": 4, "random_state": 0,
    }  # fmt: skip
    rows = chunked(X, y, 300)
    with started(2, processes=True) as client:
        expected = NCA(2, client=client, **settings).fit(*rows)
        before = client.run(os.getpid)
        killed = []

        def kill() -> None:
            wait_for(lambda: bool(busy(client)))
            for address in busy(client)[:1]:
                os.kill(before[address], signal.SIGKILL)
                killed.append(address)

        thread = threading.Thread(target=kill)
        thread.start()
        found = NCA(2, client=client, **settings).fit(*rows)
        thread.join()
    assert killed
    np.testing.assert_array_equal(found.components_, expected.components_)


def busy(client: Any) -> list[str]:
    """Return the workers that have steps to take just now."""
    return [
        address
        for address, keys in client.processing().items()
        if any("steps_of_share" in str(key) for key in keys)
    ]


def test_a_cluster_that_is_closed_is_an_error() -> None:
    gone = pytest.raises(ClusterLostError, match="Dask cluster went away")
    with started(1) as client, gone:
        fitted(client, After(2, client.cluster.close))


@pytest.mark.slow
def test_a_restart_is_told() -> None:
    told = pytest.raises(ClusterLostError, match="was restarted")
    with started(1, processes=True) as client, told:
        fitted(client, After(2, client.restart))


def test_no_workers_are_not_waited_for_for_ever() -> None:
    with dask.config.set({"vicinal.no-workers-timeout": "1s"}), started(0) as client:
        start = time.monotonic()
        with pytest.raises(ClusterLostError, match="no workers for 1 seconds"):
            LDG(2, n_neighbors=3, gamma=0.5, client=client).fit(*chunked(X, y))
        assert time.monotonic() - start < 20


@pytest.mark.slow
def test_a_scheduler_that_dies_is_an_error(tmp_path: Path) -> None:
    where = tmp_path / "scheduler.json"
    arguments = ["--port", "0", "--dashboard-address", ":0"]
    run = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    scheduler = subprocess.Popen(
        [*run, *arguments, "--scheduler-file", str(where)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    worker = None
    try:
        wait_for(where.exists)
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker",
             "--scheduler-file", str(where), "--nthreads", "1", "--no-nanny",
             "--death-timeout", "10"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path,
        )  # fmt: skip
        with Client(scheduler_file=str(where), set_as_default=False) as client:
            client.wait_for_workers(1, timeout=60)
            start = time.monotonic()
            with pytest.raises(ClusterLostError, match="Dask cluster went away"):
                fitted(client, After(2, scheduler.kill))
            assert time.monotonic() - start < 90
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it has not come true"
        time.sleep(0.1)
