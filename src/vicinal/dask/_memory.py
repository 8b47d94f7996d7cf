"""Freed memory that a task's next step can use again.

Dask starts workers with a setting of the C library by which each freed array goes back
to the system at once. Steps that take and free a few megabytes each then spend a third
of their time on pages that are given back and asked for again.
"""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

SETTING = "MALLOC_TRIM_THRESHOLD_"
"""The variable by which Dask tells the C library; without it nothing is to be done."""
# Its other setting: above what size an array is taken from the system by itself.
_OTHER, _USUAL = "MALLOC_MMAP_THRESHOLD_", 2**17
# The numbers of both in glibc's malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
# What is kept at most, and the largest array that is taken from what is kept: the C
# library allows no more.
_KEPT, _LARGEST = 2**28, 2**25

_lock = threading.Lock()
_n_inside = 0


@contextmanager
def freed_memory_kept() -> Iterator[None]:
    """Keep freed memory for what comes next, and give it back to the system at the end.

    Holds for all threads of the process, until the last one that asked for it is done.
    Does nothing where freed memory is kept anyway, or the C library is another. A
    process that is forked meanwhile goes on keeping its own.
    """
    global _n_inside  # noqa: PLW0603  the C library's settings are of the process
    library, usual = _library(), _given(SETTING)
    if library is None or usual is None or usual >= _KEPT:
        yield
        return
    with _lock:
        _n_inside += 1
        if _n_inside == 1:
            library.mallopt(_MMAP_THRESHOLD, _LARGEST)
            library.mallopt(_TRIM_THRESHOLD, _KEPT)
    try:
        yield
    finally:
        with _lock:
            _n_inside -= 1
            if not _n_inside:
                library.mallopt(
                    _MMAP_THRESHOLD, min(_given(_OTHER) or _USUAL, _LARGEST)
                )
                library.mallopt(_TRIM_THRESHOLD, usual)
                library.malloc_trim(0)


@lru_cache
def _library() -> Any:
    """Return the C library if it is glibc, and None otherwise."""
    try:
        library = ctypes.CDLL(None)
        for name in ("gnu_get_libc_version", "mallopt", "malloc_trim"):
            getattr(library, name)
    except (OSError, TypeError, AttributeError):
        return None
    return library


def _given(name: str) -> int | None:
    """Return a setting of the C library by the environment, if it is a number."""
    value = os.environ.get(name, "")
    return int(value) if value.isdecimal() else None
