"""Freed memory stays with a task while it runs, and goes back when it ends."""

import os
import subprocess
import sys
import threading

import pytest

pytest.importorskip("distributed")

from vicinal.dask import _tasks
from vicinal.dask._tasks import freed_memory_kept

# As Dask starts its workers. Counts the pages that are asked for again.
PROGRAM = """
import resource
import numpy as np
from vicinal.dask._tasks import freed_memory_kept

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        np.ones(2**18)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

np.ones(2**18)
usual = faults()
with freed_memory_kept():
    inside = faults()
print(usual, inside, faults())
"""


@pytest.mark.skipif(_tasks._glibc() is None, reason="a setting of glibc")
def test_pages_are_kept_inside_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"},
    )
    before, inside, after = map(int, done.stdout.split())
    # Two megabytes are 512 pages.
    assert before > 50 * 500
    assert inside < 3 * 512
    assert after > 50 * 500


class Library:
    def __init__(self) -> None:
        self.calls: list[tuple[int, ...]] = []

    def mallopt(self, *call: int) -> None:
        self.calls.append(call)

    def malloc_trim(self, *call: int) -> None:
        self.calls.append(call)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Library:
    made = Library()
    monkeypatch.setattr(_tasks, "_glibc", lambda: made)
    return made


@pytest.mark.parametrize(
    ("other", "back"), [("", 2**17), ("4096", 4096), ("9" * 30, 2**25)]
)
def test_the_last_one_out_sets_it_back(
    library: Library, monkeypatch: pytest.MonkeyPatch, other: str, back: int
) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1234")
    monkeypatch.setenv("MALLOC_MMAP_THRESHOLD_", other)
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with freed_memory_kept():
            entered.set()
            leave.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    assert entered.wait(10)
    with freed_memory_kept():
        pass
    assert len(library.calls) == 2
    leave.set()
    thread.join()
    assert library.calls[2:] == [(-3, back), (-1, 1234), (0,)]


def test_an_error_sets_it_back(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "1234")
    with pytest.raises(ZeroDivisionError), freed_memory_kept():
        _ = 1 / 0
    assert library.calls[-1] == (0,)


@pytest.mark.parametrize("value", [None, "", "many", "4294967296", "9" * 30])
def test_nothing_is_set_where_dask_has_not(
    library: Library, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("MALLOC_TRIM_THRESHOLD_", raising=False)
    if value is not None:
        monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", value)
    with freed_memory_kept():
        pass
    assert not library.calls
