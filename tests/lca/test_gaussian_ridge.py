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


def test_the_covariance_is_that_of_maximum_likelihood() -> None:
    """From few points, one more or less in the denominator moves the best ridge."""
    X = np.random.default_rng(0).normal(size=(9, 2)) * [1, 5]
    parts = list(folds(X, 3, 0))

    def score(ridge: float) -> float:
        total = 0.0
        for learn, judge in parts:
            centered = X[learn] - X[learn].mean(axis=0)
            C = centered.T @ centered / len(learn) + ridge * np.eye(2)
            gaps = X[judge] - X[learn].mean(axis=0)
            squares = np.einsum("ij,jk,ik->i", gaps, np.linalg.inv(C), gaps)
            total -= np.linalg.slogdet(C)[1] + squares.mean()
        return total / len(parts)

    expected = best_ridge(score, mean_variance(X))[0]
    assert best_gaussian_ridge(X, 3, 0) == pytest.approx(expected, rel=1e-6)
