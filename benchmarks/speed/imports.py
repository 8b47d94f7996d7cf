"""Time to import: vicinal's estimator against scikit-learn's neighbours."""

import subprocess
import sys
import time

import numpy as np

STATEMENTS = ["import sklearn.neighbors", "from vicinal import NCA"]


def main(quick: bool) -> None:
    """Print both times and their ratio; fresh processes in turn."""
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for turn in range(4 if quick else 12):
        for statement in STATEMENTS:
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", statement], check=True)  # noqa: S603
            if turn:  # the first reads the files from the disk
                times[statement].append(time.perf_counter() - start)
    peer, ours = (float(np.median(times[statement])) for statement in STATEMENTS)
    print(f"{STATEMENTS[0]}: {peer:.2f} s; {STATEMENTS[1]}: {ours:.2f} s")
    print(f"ratio {ours / peer:.2f}")
