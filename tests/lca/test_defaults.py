"""LCA and LCAGauss, all defaults, are no worse than KernelDensity and one Gaussian."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.neighbors import KernelDensity

from benchmarks.defaults.densities import gaussian, made, measure, parzen

AWKWARD = (
    "constant and two-valued",
    "one-hot with rare levels",
    "collinear, float32",
    "duplicated rows",
    "heavy-tailed",
    "tiny and huge scales",
    "fewer rows than columns",
    "few rows",
    "noise, 300 × 10",
    "nearly Gaussian, 1,000 × 20",
    "circles and noise",
    "copies: every row twice, d = 4",
    "copies: every row twice, d = 10",
    "copies: drawn with replacement, d = 10",
    "a grid of 5 × 5 × 5",
    "every other row is 0",
)


def test_the_peer_is_scikit_learns() -> None:
    X = load_iris().data
    peer = KernelDensity(bandwidth=0.3).fit(X[::2]).score_samples(X[1::2]).mean()
    assert parzen(X[::2], X[1::2], 0.3) == pytest.approx(peer)
    assert gaussian(X[::2], X[1::2]) > peer - 5


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_defaults_do_not_hurt() -> None:
    tables = {name: X for name, X in made(1) if name in AWKWARD}
    assert len(tables) == len(AWKWARD)
    tables |= {"iris": load_iris().data, "wine": load_wine().data}
    worse = [row for row in measure(tables, n_splits=2, seed=5) if row.hurts]
    assert not worse, "\n".join(
        f"{row.estimator} on {row.table}: {np.round(row.differences, 2)}"
        for row in worse
    )
