"""The choice of a ridge ν by held-out log-likelihood."""

import warnings
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vicinal._typing import FloatArray, IntArray

# In units of the mean variance of the features: first decades, then what is between.
# A feature with few values lets the kernel collapse in its direction, and held-out
# points reward that until one of them has a value of its own: no further down.
DECADES = (1.0, 1e-1, 1e-2, 1e-3)
FINER = (10**0.5, 10**0.25, 10**-0.25, 10**-0.5)


def folds(X: FloatArray, cv: Any, seed: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the rows to learn from and the rows to judge by.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    cv : int, splitter or iterable
        As in scikit-learn; a number of folds is of shuffled rows, because rows are
        often sorted by what they are.
    seed : int, RandomState or None
        What is shuffled.
    """
    from sklearn.model_selection import KFold, check_cv  # only "cv" should wait for it

    if cv is None or isinstance(cv, Integral):
        if len(X) < 3:
            raise ValueError(f"Choosing by 'cv' needs at least 3 rows, got {len(X)}.")
        n_folds = min(5 if cv is None else int(cv), len(X))
        seed = int(seed) if isinstance(seed, Integral) else 0
        yield from KFold(n_folds, shuffle=True, random_state=seed).split(X)
    else:
        yield from check_cv(cv).split(X)


def mean_variance(X: FloatArray) -> float:
    """Return the mean of the features' variances, or 1 where nothing varies."""
    return float(np.var(X, axis=0, dtype=np.float64).mean()) or 1.0


def best_ridge(score: Callable[[float], float], unit: float) -> tuple[float, float]:
    """Return the best ν and its score; decades are tried, then quarters of them.

    Parameters
    ----------
    score : callable
        The held-out score at a ν.
    unit : float
        The mean variance of the features.
    """
    scores = {ridge: score(ridge) for ridge in (unit * step for step in DECADES)}
    coarse = max(scores, key=scores.__getitem__)
    scores |= {ridge: score(ridge) for ridge in (coarse * step for step in FINER)}
    best = max(scores, key=scores.__getitem__)
    return best, scores[best]


def best_ridge_of(estimator: Any, name: str, X: FloatArray) -> tuple[float, float]:
    """Return the best ν for one of an estimator's parameters, and its score.

    Parameters
    ----------
    estimator : estimator with `cv` and `random_state`
        Copies of it are fitted to the folds. They start anew at each ν, as the final
        fit does: where EM ends depends on where it starts.
    name : str
        The parameter.
    X : ndarray of shape (n_samples, n_features)
        The points.
    """
    copies = []
    for learn, judge in folds(X, estimator.cv, estimator.random_state):
        copy = type(estimator)(**estimator.get_params(deep=False))
        copy.set_params(callback=None, verbose=0, warm_start=False)
        copies.append((copy, X[learn], X[judge]))

    def score(ridge: float) -> float:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return float(
                np.mean(
                    [
                        copy.set_params(**{name: ridge}).fit(learn).score(judge)
                        for copy, learn, judge in copies
                    ]
                )
            )

    return best_ridge(score, mean_variance(X))


def best_gaussian_ridge(X: FloatArray, cv: Any, seed: Any) -> float:
    """Return the ν for which N(μ, cov + νI) suits held-out points best.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    cv, seed
        As for `folds`.
    """
    parts = []
    for learn, judge in folds(X, cv, seed):
        known = X[learn].astype(np.float64)
        mean = known.mean(axis=0)
        covariance = np.atleast_2d(np.cov(known.T, bias=True))
        variances, axes = np.linalg.eigh(covariance)
        squares = np.square((X[judge] - mean) @ axes).mean(axis=0)
        parts.append((np.maximum(variances, 0), squares))

    def score(ridge: float) -> float:
        return -float(
            np.mean([np.sum(np.log(v + ridge) + s / (v + ridge)) for v, s in parts])
        )

    return best_ridge(score, mean_variance(X))[0]
