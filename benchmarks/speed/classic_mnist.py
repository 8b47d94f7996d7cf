"""LMNN on all of MNIST: pixels as they are, and straightened digits.

The errors of Weinberger and Saul are of straightened digits, of which 164 principal
components are kept (scikit-learn's pull request 8602 says so). Every fit runs in a
process of its own, whose memory is that of the fit. Who tunes it judges by the last
10,000 training rows, which the fit then does not see::

    python -m benchmarks.speed.classic_mnist "the same, mini-batches" --held-out
"""

import argparse
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.speed.timing import process_peak_megabytes, table
from vicinal.datasets import load

N_HELD_OUT = 10_000
N_AXES = 164
BLOCK = 2_000


@dataclass(frozen=True)
class Fit:
    """How the rows are prepared, how many are learned from, and what LMNN is told."""

    straightened: bool
    parameters: dict[str, Any] = field(default_factory=dict)
    n_rows: int | None = None


FITS = {
    "10,000 rows, straightened, 164 axes": Fit(True, {}, 10_000),
    "the same, mini-batches": Fit(True, {"batch_size": 1_024}, 10_000),
    "60,000 rows, pixels → 100": Fit(False, {"n_components": 100, "max_iter": 30}),
    "60,000 rows, straightened → 60": Fit(True, {"n_components": 60, "max_iter": 20}),
    "60,000 rows, straightened, 164 axes": Fit(True),
}
# Those of fewer rows.
N_QUICK = 2
HEADER = [
    "", "s", "s of all cores", "iterations", "peak MB", "3-NN test error, %",
    "energy rule, %", "3-NN before, %",
]  # fmt: skip


def main(quick: bool) -> None:
    """Print times, memory and errors of LMNN on MNIST; with `quick` of 10,000 rows."""
    for name in list(FITS)[: N_QUICK if quick else None]:
        command = [sys.executable, "-m", __name__, name]
        subprocess.run(command, check=True)  # noqa: S603


def measure(name: str, held_out: bool) -> None:
    """Fit once and print a table of one line."""
    from vicinal.classic import LMNNClassifier

    warnings.simplefilter("ignore")
    (X, y), test = mnist_parts()
    if held_out:
        test = X[-N_HELD_OUT:], y[-N_HELD_OUT:]
        X, y = X[:-N_HELD_OUT], y[:-N_HELD_OUT]
    fit = FITS[name]
    X, y = X[: fit.n_rows], y[: fit.n_rows]
    start, worked = time.perf_counter(), time.process_time()
    if fit.straightened:
        X, test = straightened(X), (straightened(test[0]), test[1])
        middle, axes = X.mean(axis=0), principal_axes(X)
        X, test = (X - middle) @ axes, ((test[0] - middle) @ axes, test[1])
    model = LMNNClassifier(**fit.parameters, random_state=0).fit(X, y)
    taken, worked = time.perf_counter() - start, time.process_time() - worked
    peak = process_peak_megabytes()
    errors = [
        knn_error(model.components_, X, y, *test),
        100 * (1 - model.score(*test)),
        knn_error(np.eye(X.shape[1], dtype=X.dtype), X, y, *test),
    ]
    cells = [f"{taken:.0f}", f"{worked:.0f}", str(model.n_iter_), f"{peak:.0f}"]
    print(table(HEADER, [[name, *cells, *(f"{e:.2f}" for e in errors)]]), flush=True)


def mnist_parts() -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return training and test rows of MNIST, pixels from 0 to 1, and classes."""
    data = load("mnist")
    if data.is_test is None:
        raise ValueError("This copy of MNIST does not say which rows are the test's.")
    X = data.X.astype(np.float32, copy=False)
    X /= max(float(X.max()), 1.0)
    y = np.unique(data.y, return_inverse=True)[1]
    test = X[data.is_test], y[data.is_test]
    return (X[~data.is_test], y[~data.is_test]), test


def straightened(images: Any) -> Any:
    """Return the square images, as rows, upright and centred from left to right.

    Each line of pixels is moved along by as much as its distance from the middle times
    the slant, the covariance of the two coordinates over the variance of the upright
    one, all weighted by the ink.
    """
    return np.concatenate(
        [
            _straightened(images[start : start + BLOCK])
            for start in range(0, len(images), BLOCK)
        ]
    )


def _straightened(rows: Any) -> Any:
    size = round(np.sqrt(rows.shape[1]))
    images = rows.reshape(-1, size, size)
    places = np.arange(size, dtype=images.dtype)
    ink = np.maximum(images.sum(axis=(1, 2)), np.finfo(images.dtype).tiny)
    down = places - (images.sum(axis=2) @ places / ink)[:, None]
    middle = images.sum(axis=1) @ places / ink
    across = places - middle[:, None]
    both = np.einsum("nyx,ny,nx->n", images, down, across)
    upright = np.einsum("nyx,ny->n", images, np.square(down))
    slant = np.divide(both, upright, out=np.zeros_like(both), where=upright > 0)
    moves = slant[:, None] * down + (middle - (size - 1) / 2)[:, None]
    source = places + moves[:, :, None]
    left = np.floor(source)
    share = source - left
    padded = np.pad(images, ((0, 0), (0, 0), (1, 1)))
    # Without ink left and right of the image.
    first, second = (np.clip(left.astype(int) + step, 0, size + 1) for step in (1, 2))
    moved = (1 - share) * np.take_along_axis(padded, first, axis=2)
    moved += share * np.take_along_axis(padded, second, axis=2)
    return moved.reshape(rows.shape)


def principal_axes(X: Any) -> Any:
    """Return the leading principal axes, as columns."""
    vectors = np.linalg.eigh(np.cov(X, rowvar=False))[1]
    return vectors[:, ::-1][:, :N_AXES].astype(X.dtype)


def knn_error(A: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> float:
    """Return the percentage of test rows that 3-NN gets wrong under a map."""
    knn = KNeighborsClassifier(3).fit(X @ A.T, y)
    return 100 * (1 - float(knn.score(X_test @ A.T, y_test)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=list(FITS))
    parser.add_argument("--held-out", action="store_true")
    given = parser.parse_args()
    measure(given.name, given.held_out)
