"""Soak: many fits in one process on many threads; a large file through the command.

The first counts what a process holds after each round of fits, and compares maps and
BLAS's threads with those of the beginning. The second writes a table piece by piece,
gives it to ``vicinal transform``, and watches that process. The rows repeat, and the
table is compressed: twenty gigabytes of text take less than one of disk.
"""

import gzip
import os
import subprocess
import sys
import tempfile
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_info

from benchmarks.hostile.files import PROGRAM
from benchmarks.hostile.threads import MODELS

N_THREADS = 8
# What a process may grow by, after the first rounds.
_GROWTH = 1.05
# Of the rows of a piece, so many repeat so few, which gzip finds again; the others are
# its own: a file that is compressed a hundredfold is refused, as made to fill a memory.
_ROWS, _REPEATED, _DIFFERENT = 200_000, 190_000, 200


def soak(n_fits: int, gigabytes: float) -> int:
    """Run both, print what was measured, and return the exit code."""
    held = _fits(n_fits)
    flat = _transform(gigabytes)
    return 0 if held and flat else 1


def _resident(process: int | str = "self") -> float:
    """Return how many megabytes of memory a process holds."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _fits(n_fits: int) -> bool:
    """Fit models over and over on eight threads."""
    X = np.random.default_rng(0).normal(size=(90, 4)) + (np.arange(90) % 3)[:, None]
    y = np.arange(90) % 3

    def fit(k: int) -> Any:
        return clone(MODELS[k % len(MODELS)]).fit(X, y).components_

    warnings.simplefilter("ignore")
    expected = [fit(k) for k in range(len(MODELS))]
    before = [one["num_threads"] for one in threadpool_info()]
    sizes, different, done = [], 0, 0
    size = max(len(MODELS), n_fits // 10)
    while done < n_fits:
        with ThreadPoolExecutor(N_THREADS) as pool:
            for k, found in enumerate(pool.map(fit, range(size))):
                different += not np.array_equal(found, expected[k % len(MODELS)])
        done += size
        sizes.append(_resident())
    after = [one["num_threads"] for one in threadpool_info()]
    growth = sizes[-1] / sizes[min(1, len(sizes) - 1)]
    print(f"{done} fits on {N_THREADS} threads: {different} other maps; BLAS {before} "
          f"before, {after} after; {sizes[0]:.0f} MB after the first tenth, "
          f"{sizes[-1]:.0f} MB in the end ({growth:.3f} of two tenths)")  # fmt: skip
    return different == 0 and before == after and growth <= _GROWTH


def _transform(gigabytes: float) -> bool:
    """Map a table that is larger than memory need be, and watch what is held."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rng = np.random.default_rng(0)
        X = rng.normal(size=(_DIFFERENT + _ROWS - _REPEATED, 10))
        header = ",".join(f"c{j}" for j in range(10)) + ",y\n"
        rows = [
            ",".join(f"{value:.6f}" for value in row) + f",{k % 2}\n"
            for k, row in enumerate(X)
        ]
        (folder / "a.csv").write_text(header + "".join(rows[:_DIFFERENT]))
        repeated = "".join(rows[:_DIFFERENT]) * (_REPEATED // _DIFFERENT)
        lines = "".join([*rows[_DIFFERENT:], repeated])
        fit = [
            "fit",
            "a.csv",
            "--target",
            "y",
            "--method",
            "pca",
            "-o",
            "m.safetensors",
        ]
        subprocess.run(  # noqa: S603  our own command
            [sys.executable, "-c", PROGRAM, *fit],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        n_pieces = max(3, round(gigabytes * 1e9 / len(lines)))
        # Compressed pieces, one after another, are the whole compressed.
        piece = gzip.compress(lines.encode())
        with (folder / "b.csv.gz").open("wb") as file:
            file.write(gzip.compress(header.encode()))
            for _ in range(n_pieces):
                file.write(piece)
        sizes = []
        began = time.monotonic()
        arguments = ["transform", "m.safetensors", "b.csv.gz", "-o", "o.parquet"]
        with subprocess.Popen(  # noqa: S603  our own command
            [sys.executable, "-c", PROGRAM, *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            while process.poll() is None:
                sizes.append(_resident(process.pid))
                time.sleep(0.2)
            said = process.stdout.read() if process.stdout else ""
        whole = f"{n_pieces * _ROWS:,} rows" in said and process.returncode == 0
        # After a third the libraries are loaded and the first pieces are through.
        third, last = max(sizes[: len(sizes) // 3 or 1]), max(sizes)
        print(f"transform of {n_pieces * len(lines) / 1e9:.2f} GB in "
              f"{time.monotonic() - began:.0f} s: {third:.0f} MB in the first third, "
              f"{last:.0f} MB at most; {said.strip()}")  # fmt: skip
        return whole and last <= _GROWTH * third + 20
