"""Tasks give the same on any number of workers, and say so when a cluster is lost."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("dask.dataframe")
pytest.importorskip("distributed")

from dask import delayed
from distributed import Client, KilledWorker
from distributed.comm import CommClosedError

from vicinal.dask._tasks import (
    FAN_IN,
    ClusterLostError,
    Tasks,
    tasks_of,
)


def bracketed(*parts: str) -> str:
    return f"({' '.join(parts)})"


def fail(_: Any) -> None:
    raise ZeroDivisionError("as planned")


@pytest.mark.parametrize("n", [1, 2, FAN_IN, FAN_IN + 1, 70])
def test_the_tree_has_a_fixed_shape(client: Client, n: int) -> None:
    leaves = [str(i) for i in range(n)]
    here, there = Tasks(), Tasks(client)
    handles = there.map(str, [(leaf,) for leaf in leaves])
    [tree] = here.combine(bracketed, leaves)
    assert there.result(there.combine(bracketed, handles)) == [tree]
    assert tree.replace("(", "").replace(")", "").split() == leaves
    assert there.reduce(bracketed, handles) == here.reduce(bracketed, leaves)


def test_chunks_are_given_as_delayed(client: Client) -> None:
    for tasks in (Tasks(), Tasks(client)):
        [handle] = tasks.over_chunks(pow, [(delayed(abs)(-3), 2)])
        assert tasks.result(handle) == 9


def test_results_serve_other_tasks(client: Client) -> None:
    for tasks in (Tasks(), Tasks(client)):
        [three] = tasks.map(abs, [(-3,)])
        [nine] = tasks.over_chunks(pow, [(three, delayed(abs)(-2))])
        assert tasks.result(nine) == 9


def test_errors_of_tasks_come_as_they_are(client: Client) -> None:
    tasks = Tasks(client)
    with pytest.raises(ZeroDivisionError, match="as planned"):
        tasks.result(tasks.map(fail, [(1,)]))


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError("part 3"),
        PermissionError("part 3"),
        ConnectionResetError("part 3"),
        TimeoutError("part 3"),
        CommClosedError("part 3"),
    ],
)
def test_errors_of_reading_a_part_are_no_lost_cluster(
    client: Client, error: Exception
) -> None:
    def read(_: int) -> None:
        raise error

    tasks = Tasks(client)
    for handle in (
        tasks.over_chunks(abs, [(delayed(read)(3),), (delayed(abs)(-3),)]),
        tasks.combine(bracketed, tasks.map(read, [(1,), (2,)])),
    ):
        with pytest.raises(OSError, match="part 3") as caught:
            tasks.result(handle)
        assert type(caught.value) is type(error)


def test_a_task_that_ends_workers_is_told(client: Client) -> None:
    def ended(_: int) -> None:
        last = SimpleNamespace(address="tcp://gone")
        raise KilledWorker("task", last, 4)  # as the scheduler does

    tasks = Tasks(client)
    with pytest.raises(ClusterLostError, match="has ended several workers"):
        tasks.result(tasks.map(ended, [(1,)]))


def test_without_a_client_tasks_run_here() -> None:
    assert tasks_of(None).client is None


def test_the_current_client_is_the_default(client: Client) -> None:
    with client.as_current():
        assert tasks_of(None).client is client


def test_no_client_is_an_error() -> None:
    with pytest.raises(
        TypeError, match=r"must be a distributed\.Client or None, got str"
    ):
        tasks_of("tcp://localhost:8786")


def test_a_closed_client_is_an_error(client: Client) -> None:
    other = Client(client.scheduler.address, set_as_default=False)
    other.close()
    with pytest.raises(ClusterLostError, match="'closed', not running"):
        tasks_of(other)
