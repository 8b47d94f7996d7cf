"""Freed memory stays with a task while it runs, and goes back when it ends."""

import os
import platform
import subprocess
import sys

import pytest

pytest.importorskip("distributed")

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


pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="a setting of glibc"
)


def faults_of(program: str, threshold: str) -> list[int]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MALLOC_TRIM_THRESHOLD_": threshold},
    )
    return [int(one) for one in done.stdout.split()]


def test_pages_are_kept_inside_alone() -> None:
    before, inside, after = faults_of(PROGRAM, "65536")
    # Two megabytes are 512 pages.
    assert before > 50 * 500
    assert inside < 3 * 512
    assert after > 50 * 500


def test_an_error_sets_it_back() -> None:
    spoilt = PROGRAM.replace(
        "    inside = faults()", "    inside = faults()\n    raise ZeroDivisionError"
    ).replace(
        "with freed",
        "from contextlib import suppress\nwith suppress(ZeroDivisionError), freed",
    )
    _, inside, after = faults_of(spoilt, "65536")
    assert inside < 3 * 512
    assert after > 50 * 500


@pytest.mark.parametrize("value", ["", "many", "4294967296"])
def test_nothing_is_set_where_dask_has_not(value: str) -> None:
    before, inside, after = faults_of(PROGRAM, value)
    assert before == pytest.approx(inside, abs=600)
    assert before == pytest.approx(after, abs=600)
