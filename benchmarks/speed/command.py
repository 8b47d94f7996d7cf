"""The command: its help, a first comparison, and files too large for its budget."""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.speed.timing import table

BUDGET = 60
SEED = 11


def main(quick: bool) -> None:
    """Print seconds, and what the runs say of themselves."""
    with tempfile.TemporaryDirectory() as folder:
        _print(_everyday(Path(folder)))
        if not quick:
            for n, d in ((50_000, 30), (100_000, 50)):
                _print(_large(Path(folder), n, d))
                _print(_report_of_large(Path(folder), n, d))


def _print(rows: list[list[str]]) -> None:
    print(table(["", "asked", "got"], rows) + "\n", flush=True)


def _everyday(folder: Path) -> list[list[str]]:
    """Return rows on the help and on tables that come with scikit-learn."""
    warm = folder / "warm"
    helps = [_run(warm, "--help") for _ in range(6)]
    # The first reads files from the disk, and compiles for those after it.
    wines = [_run(warm, "compare", "wine") for _ in range(4)]
    page = folder / "page.html"
    digits = _run(folder / "cold", "compare", "digits", "--report", str(page))
    return [
        ["--help", "0.3 s", f"{np.median(helps[1:]):.2f} s"],
        ["compare wine, warm", "2.5 s", f"{np.median(wines[1:]):.1f} s"],
        ["compare digits --report, nothing compiled", "60 s", f"{digits:.0f} s"],
        ["its report", "6 MB", f"{page.stat().st_size / 1e6:.2f} MB"],
    ]


def _large(folder: Path, n: int, d: int) -> list[list[str]]:
    """Return rows on a made table of classes that 60 s are not enough for."""
    data, found = folder / "many.csv", folder / "many.json"
    X, y = _write(data, n, d)
    words = ["compare", str(data), "--target", "kind", "--json", str(found)]
    words += ["--time-budget", f"{BUDGET}s"]
    computing = _seconds_of_children()
    taken = _run(folder / "warm", *words)
    computing = _seconds_of_children() - computing
    result = json.loads(found.read_text(encoding="utf-8"))
    best = next(one for one in result["methods"] if one["name"] == result["best"])
    learned = [one["rows_learned"][0] for one in result["methods"]]
    whole = _on_all_rows(X, y, best["name"], result["test_size"])
    name = f"{n:,} × {d}"
    cut = "learned from" in " ".join(result["notes"])
    return [
        [f"compare, {name}", f"{BUDGET} s", f"{taken:.0f} s"],
        ["seconds of two cores in it", f"{2 * BUDGET}", f"{computing:.0f}"],
        ["of the budget, where rows were cut", "≥ 90 %", _part(taken, cut)],
        [
            f"rows that {best['name']}, the best, learned from",
            "≥ 20,000",
            f"{best['rows_learned'][0]:,}",
        ],
        ["rows that each method learned from, at least", "", f"{min(learned):,}"],
        [
            "its accuracy; on all training rows, without a limit",
            "within 1 point",
            f"{100 * best['mean']:.1f} %; {100 * whole:.1f} %",
        ],
        ["test rows", "", f"{result['test_rows'][0]:,}"],
        ["it says", "", result["verdict"]],
    ]


def _report_of_large(folder: Path, n: int, d: int) -> list[list[str]]:
    """Return rows on the same with a report, which has its part of the time."""
    data, page = folder / "many.csv", folder / "many.html"
    _write(data, n, d)
    words = ["compare", str(data), "--target", "kind", "--report", str(page)]
    taken = _run(folder / "warm", *words, "--time-budget", f"{BUDGET}s")
    return [
        [f"compare --report, {n:,} × {d}", f"{BUDGET} s", f"{taken:.0f} s"],
        ["its report", "3 MB", f"{page.stat().st_size / 1e6:.2f} MB"],
    ]


def _seconds_of_children() -> float:
    """Return what runs have computed so far: less than asked, on a busy machine."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _part(taken: float, cut: bool) -> str:
    return f"{100 * taken / BUDGET:.0f} %" if cut else "no rows were cut"


def _on_all_rows(X: Any, y: Any, name: str, test_size: float) -> float:
    """Return the score of a method that learns from all of the same training rows."""
    from vicinal.app.comparison.data import read_setting
    from vicinal.app.comparison.runs import run_method

    setting = read_setting(X, y, task="classification", test_size=test_size)
    train, test = next(iter(setting.splits(1)))
    return run_method(setting, setting.method(name), train, test).score


def _run(cache: Path, *arguments: str) -> float:
    """Return the seconds of a run in a fresh process, Python's start included."""
    start = time.perf_counter()
    subprocess.run(  # noqa: S603
        [sys.executable, "-c", "from vicinal.app.cli import main; main()", *arguments],
        env={
            **os.environ,
            "NUMBA_CACHE_DIR": str(cache),
            "PYTHONIOENCODING": "utf-8",
        },
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - start


def _write(path: Path, n: int, d: int) -> tuple[Any, Any]:
    """Write a table in which a third of the columns tell the classes apart."""
    import polars as pl

    X, y = make_classification(
        n, d, n_informative=d // 3, n_redundant=d // 5, n_classes=6,
        class_sep=1.0, random_state=SEED,
    )  # fmt: skip
    columns = {f"f{i}": column for i, column in enumerate(X.T)}
    pl.DataFrame({**columns, "kind": y}).write_csv(path)
    return X, y
