from __future__ import annotations

import pytest

from vicinal.cli.options import check_task, seconds_of, shape_of, threads_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60), ("1.5m", 90), ("2 min", 120), ("1h", 3600), ("7", 7), ("none", None)],
)
def test_spans_of_time(text: str, seconds: float | None) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["28x28", "28X28", "28×28", "28,28"])
def test_shapes(text: str) -> None:
    assert shape_of(text) == (28, 28)


@pytest.mark.parametrize(
    ("jobs", "threads"), [(None, None), (-1, -1), (1, 1), (8, 8), (100_000, 8)]
)
def test_no_more_threads_than_cores(
    jobs: int | None, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    assert threads_of(jobs) == threads


@pytest.mark.parametrize("jobs", [0, -2])
def test_numbers_of_threads_that_make_no_sense(jobs: int) -> None:
    with pytest.raises(ValueError, match="--jobs is 1 or more threads, or -1"):
        threads_of(jobs)


def test_tasks() -> None:
    for task in (None, "classification", "regression"):
        check_task(task)
    with pytest.raises(ValueError, match="--task is classification or regression"):
        check_task("cooking")
