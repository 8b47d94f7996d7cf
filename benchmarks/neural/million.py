"""One epoch over a million rows of 50 columns: time and memory."""

import resource
import time

import numpy as np

from vicinal.neural import NeuralNCAClassifier


def run(n: int) -> None:
    """Print the time of an epoch, of predicting 1,000 rows, and the memory held."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 50), dtype=np.float32)
    y = (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    model = NeuralNCAClassifier(max_iter=1, verbose=1, random_state=0)
    model.fit(X[1000:], y[1000:])
    fitted = time.perf_counter()
    score = model.score(X[:1000], y[:1000])
    done = time.perf_counter()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{n:,} rows × 50 (they take {X.nbytes / 1e6:.0f} MB): fit with one epoch "
        f"{fitted - began:.0f} s, prediction of 1,000 rows {done - fitted:.1f} s "
        f"({100 * score:.1f} % right), {(most - before) / 1e3:.0f} MB beyond the data"
    )
