"""Options that are more than a word or a number: times, shapes, threads."""

import os
import re

__all__ = ["check_task", "seconds_of", "shape_of", "threads_of"]

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(text: str) -> float | None:
    """Read a span of time, like ``60s``; None for no limit.

    Raises
    ------
    ValueError
        When it cannot be read, or is not positive.
    """
    if text.strip().lower() == "none":
        return None
    found = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text.lower())
    if found is None or found[2] not in _UNITS or not float(found[1]):
        raise ValueError(f"--time-budget {text!r} is no time; write it like 60s or 5m.")
    return float(found[1]) * _UNITS[found[2]]


def shape_of(text: str) -> tuple[int, int]:
    """Read the height and width of an image, like ``28x28``.

    Raises
    ------
    ValueError
        When it cannot be read.
    """
    found = re.fullmatch(r"([1-9]\d{0,4})[x×,]([1-9]\d{0,4})", text.strip().lower())
    if found is None:
        raise ValueError(f"--image-shape {text!r} is no shape; write it like 28x28.")
    return int(found[1]), int(found[2])


def threads_of(jobs: int | None) -> int | None:
    """Return how many threads to use: as many as asked for, but no more than cores.

    Results are the same for any number.

    Raises
    ------
    ValueError
        When the number makes no sense.
    """
    if jobs is None or jobs == -1:
        return jobs
    if jobs < 1:
        raise ValueError(
            f"--jobs is 1 or more threads, or -1 for all cores; not {jobs}."
        )
    return min(jobs, os.cpu_count() or 1)


def check_task(task: str | None) -> None:
    """Raise ValueError where a task is asked for that there is not."""
    if task not in (None, "classification", "regression"):
        raise ValueError(f"--task is classification or regression, not {task!r}.")
