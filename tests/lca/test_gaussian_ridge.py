"""The ridge of a Gaussian is that of the maximum-likelihood covariance."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from vicinal.lca._selection import (
    best_gaussian_ridge,
    best_ridge,
    folds,
    mean_variance,
)


@pytest.mark.parametrize("seed", range(4))
def test_no_ridge_nearby_is_better_on_rows_held_out(seed: int) -> None:
    """With few rows, n and n − 1 in the denominator call for other ridges."""
    X = np.random.default_rng(seed).normal(size=(8, 3))

    def naive(ridge: float) -> float:
        scores = []
        for learn, judge in folds(X, 4, 0):
            known = X[learn]
            moved = known - known.mean(axis=0)
            covariance = moved.T @ moved / len(known) + ridge * np.eye(3)
            gaussian = multivariate_normal(known.mean(axis=0), covariance)
            scores.append(gaussian.logpdf(X[judge]).mean())
        return float(np.mean(scores))

    expected = best_ridge(naive, mean_variance(X))[0]
    assert best_gaussian_ridge(X, 4, 0) == pytest.approx(expected)
