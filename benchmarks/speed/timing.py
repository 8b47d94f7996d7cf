"""How times and memory are taken: the same way for us and for the peer."""

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path


def seconds(function: Callable[[], object], repeats: int) -> float:
    """Return the least time of several calls, after one that does not count.

    The least, because other work on the machine only ever adds.
    """
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_megabytes(function: Callable[[], object], warm: bool = True) -> float:
    """Return the most memory that a call holds beyond what was there before."""
    if warm:  # what is compiled or cached once is not the call's own
        function()
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def process_peak_megabytes() -> float:
    """Return the most memory that this process has held.

    Not `getrusage`, whose number begins with that of the process it was started by.
    """
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    return float(next(line for line in status if "VmHWM" in line).split()[1]) / 1e3


def table(header: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
