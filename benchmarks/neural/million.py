"""One epoch over a million rows of 50 columns: time and memory."""

import resource
import time
from typing import Any

import numpy as np

from vicinal.neural import NeuralNCAClassifier


def run(n: int) -> None:
    """Print the time of an epoch, of the rest of the fit, of a prediction; and memory.

    One thread computes; its processor time is what a core of its own would take.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 50), dtype=np.float32)
    y = (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] > 0).astype(int)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    marks = [time.process_time()]

    def mark(_training: Any = None, _epoch: int = 0) -> None:
        marks.append(time.process_time())

    model = NeuralNCAClassifier(max_iter=1, callback=mark, random_state=0)
    model.fit(X[1000:], y[1000:])
    mark()
    score = model.score(X[:1000], y[:1000])
    mark()
    epoch, rest, prediction = np.diff(marks)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"{n:,} rows × 50 (they take {X.nbytes / 1e6:.0f} MB): reading and one epoch "
        f"{epoch:.0f} s, points of all rows, temperature and neighbours {rest:.0f} s, "
        f"prediction of 1,000 rows {prediction:.1f} s ({100 * score:.1f} % right); "
        f"{(most - before) / 1e3:.0f} MB beyond the data at most"
    )
