"""The command: its help, a report of digits, and a file too large for its budget."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.speed.timing import table

BUDGET = 60


def main(quick: bool) -> None:
    """Print seconds, and what the runs say of themselves."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        helps = [_run(folder, "--help")[0] for _ in range(6)]
        # The first reads the files from the disk.
        rows.append(["--help", "0.5 s", f"{np.median(helps[1:]):.2f} s"])
        page = Path(folder, "page.html")
        taken, said = _run(folder, "compare", "digits", "--report", str(page))
        rows.append(["compare digits --report", "60 s", f"{taken:.0f} s"])
        rows.append(["its report", "6 MB", f"{page.stat().st_size / 1e6:.2f} MB"])
        lines = [*said.splitlines()[-2:]]
        if not quick:
            data = _many_rows(Path(folder, "many.csv"))
            taken, said = _run(
                folder, "compare", data, "--target", "kind", "--report", str(page)
            )
            rows.append(
                ["compare, 100,000 × 50, --report", f"{BUDGET} s", f"{taken:.0f} s"]
            )
            lines += [*said.splitlines()[-4:]]
    print(table(["", "asked", "taken"], rows))
    print("\n" + "\n".join(lines))


def _run(folder: str, *arguments: str) -> tuple[float, str]:
    """Return the seconds of a run in a fresh process, and what it printed."""
    # As on the first day: nothing that Numba has compiled is kept from before.
    cache = tempfile.mkdtemp(dir=folder)
    start = time.perf_counter()
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", "from vicinal.cli import main; main()", *arguments],
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONIOENCODING": "utf-8"},
        check=True,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    return time.perf_counter() - start, done.stdout


def _many_rows(path: Path) -> str:
    import polars as pl

    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 100_000)
    X = 0.3 * rng.normal(size=(5, 50))[y] + rng.normal(size=(y.size, 50))
    X *= rng.uniform(0.5, 20, 50)
    columns = {f"f{i}": column for i, column in enumerate(X.T)}
    pl.DataFrame({**columns, "kind": y}).write_csv(path)
    return str(path)
