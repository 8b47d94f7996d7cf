"""The choice of the ridge ν by held-out log-likelihood: "auto" and "cv".

"cv" fits EM anew for each ridge and fold. "auto" runs EM along a path of ridges, from
wide kernels to narrow ones, with a few steps each.
"""

import warnings
from collections.abc import Callable, Iterator
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from vicinal._typing import FloatArray, IntArray
from vicinal.lca.data import ScaledData, Scaler, covariance_of
from vicinal.lca.density import (
    LEAST_RIDGE,
    Background,
    ProductDensity,
    mix,
    mixture_weight,
)
from vicinal.lca.em import CovarianceMStep, Form, Kernel, MStep, expectation, objective

RIDGES = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, LEAST_RIDGE)
"""The path of "auto", in units of the features' variances."""
SMALL_GAIN = 0.02
"""Nats per point that do not matter to "auto" (`benchmarks.defaults.densities`)."""


def folds(X: FloatArray, cv: Any, seed: Any) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield training rows and held-out rows.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    cv : int, splitter, iterable or None
        As in scikit-learn, but rows are shuffled into a number of folds, since tables
        are often sorted. None is five folds.
    seed : int, RandomState or None
        The seed of the shuffle.
    """
    from sklearn.model_selection import KFold, check_cv  # slow to import

    if cv is None or isinstance(cv, Integral):
        if len(X) < 3:
            raise ValueError(f"Choosing by 'cv' needs at least 3 rows, got {len(X)}.")
        n_folds = min(5 if cv is None else int(cv), len(X))
        seed = int(seed) if isinstance(seed, Integral) else 0
        yield from KFold(n_folds, shuffle=True, random_state=seed).split(X)
    else:
        yield from check_cv(cv).split(X)


# "auto"


class Fold:
    """Training points and held-out points of the path, both scaled.

    Parameters
    ----------
    U, held_out : ndarray of shape (n_rows, n_features)
        The points.
    data : ScaledData
        All points.
    """

    def __init__(self, U: FloatArray, held_out: FloatArray, data: ScaledData) -> None:
        self.U, self.held_out, self.n_threads = U, held_out, data.n_threads
        self.covariance = covariance_of(U, data.n_threads)
        self.constant_ridge = data.constant_ridge(U)
        self.background = Background.fit(
            U, self.covariance + np.diag(self.constant_ridge)
        )

    def run(
        self, m_step: MStep, C: FloatArray, max_iter: int = 6
    ) -> tuple[FloatArray, FloatArray]:
        """Run a few steps of EM from a local scatter.

        Returns
        -------
        C : ndarray of shape (n_features, n_features)
            The last local scatter.
        scores : ndarray of shape (2,)
            The mean held-out log-density, with the least weight of the Gaussian
            background and with the best. The least weight bounds the loss from a
            single point far from all kernels.
        """
        before = -np.inf
        for _ in range(max_iter):
            kernel = m_step.fit(C)
            seen = expectation(self.U, kernel, self.n_threads)
            C, height = seen.C, objective(seen.log_means, kernel)
            if height - before < SMALL_GAIN:
                break
            before = height
        return C, self._scores(kernel, seen.log_means)

    def _scores(self, kernel: Kernel, log_means: FloatArray) -> FloatArray:
        n, d = self.U.shape
        units = Scaler(np.zeros(d), np.ones(d), np.zeros(d, bool))
        density = ProductDensity(units=units, kernel=kernel, U=self.U)
        loo = density.normalized(log_means, self.U, self.n_threads)
        best = mixture_weight(loo, self.background.loo_scores)
        parzen = density.kernel_log_density(self.held_out, self.n_threads)
        gaussian = self.background.log_density(self.held_out)
        return np.array([mix(parzen, gaussian, w).mean() for w in (1 / (n + 2), best)])


class RidgePath:
    """EM along `RIDGES`, in all folds side by side.

    Parameters
    ----------
    data : ScaledData
        The points.
    form : Form
        The form of the covariance.
    cv, seed
        As for `folds`.
    n_held_out : int, default=100
        Folds are used until this number of points is held out.
    max_points : int, default=2500
        A random sample of this size is used if there are more points.
    """

    def __init__(
        self,
        data: ScaledData,
        form: Form,
        cv: Any,
        seed: Any,
        n_held_out: int = 100,
        max_points: int = 2500,
    ) -> None:
        U = data.U
        if len(U) > max_points:
            rng = np.random.RandomState(0)
            U = U[rng.choice(len(U), max_points, replace=False)]
        self.folds: list[Fold] = []
        n = 0
        for _, rows in folds(U, cv, seed):
            if n >= n_held_out:
                break
            n += len(rows)
            self.folds.append(Fold(np.delete(U, rows, axis=0), U[rows], data))
        self.form = form
        self.scatters: dict[int, list[FloatArray]] = {}
        """By the index of the ridge: the local scatter that EM reached in each fold."""
        self.scores: dict[int, FloatArray] = {}
        """By the index of the ridge: the mean scores of `Fold.run`."""

    def score(self, k: int) -> float:
        """Return the held-out score at the k-th ridge; −inf beyond the ends."""
        if not 0 <= k < len(RIDGES):
            return -np.inf
        if k not in self.scores:
            before = max((j for j in self.scatters if j < k), default=None)
            found = []
            for i, fold in enumerate(self.folds):
                C = fold.covariance if before is None else self.scatters[before][i]
                ridge = RIDGES[k] + fold.constant_ridge
                found.append(fold.run(CovarianceMStep(self.form, ridge), C))
            self.scatters[k] = [C for C, _ in found]
            self.scores[k] = np.mean([scores for _, scores in found], axis=0)
        return float(self.scores[k][0])

    def best(self) -> int:
        """Return the index of the best ridge: three are tried, then their neighbors.

        Of ridges with about the same score, the smallest is taken: it changes the
        objective of the paper the least.
        """
        peak = ascend(self.score, max((2, 5, 7), key=self.score))
        enough = self.score(peak) - SMALL_GAIN
        return max(k for k, scores in self.scores.items() if scores[0] >= enough)


def choose_ridge(
    data: ScaledData, form: Form, cv: Any, seed: Any
) -> tuple[float, FloatArray | None]:
    """Return the best ridge of LCA, and C_L at the end of its path.

    Parameters
    ----------
    data : ScaledData
        The points.
    form : Form
        The form of the covariance.
    cv, seed
        As for `folds`.
    """
    if len(data.U) < 10:  # two points in each of five folds
        return RIDGES[0], None
    path = RidgePath(data, form, cv, seed)
    best = path.best()
    return RIDGES[best], np.mean(path.scatters[best], axis=0)


def choose_split_ridge(
    data: ScaledData,
    make_m_step: Callable[[Fold, float], MStep],
    cv: Any,
    seed: Any,
    *,
    forced: bool,
) -> tuple[float, FloatArray | None, bool]:
    """Return the best ridge of LCA-Gauss, C_L, and whether to split the space.

    Parameters
    ----------
    data, cv, seed
        As for `choose_ridge`.
    make_m_step : callable
        Returns the M-step of LCA-Gauss for a fold and a ridge.
    forced : bool
        Whether the number of Gaussian directions is given. Otherwise the split that EM
        finds is compared with LCA, which has none.
    """
    if len(data.U) < 10:
        return RIDGES[0], None, True
    path = RidgePath(data, Form("full"), cv, seed)
    plain = path.best()
    tried: dict[int, tuple[float, FloatArray]] = {}

    def score(k: int) -> float:
        if path.score(k) == -np.inf:
            return -np.inf
        if k not in tried:
            found = [
                fold.run(make_m_step(fold, RIDGES[k]), C)
                for fold, C in zip(path.folds, path.scatters[k], strict=True)
            ]
            mean_score = float(np.mean([scores[1] for _, scores in found]))
            tried[k] = mean_score, np.mean([C for C, _ in found], axis=0)
        return tried[k][0]

    best = ascend(score, plain)
    if forced or score(best) >= path.scores[plain][1] - SMALL_GAIN:
        return RIDGES[best], tried[best][1], True
    return RIDGES[plain], np.mean(path.scatters[plain], axis=0), False


def ascend(score: Callable[[int], float], start: int) -> int:
    """Return an index next to which no other has a higher score."""
    k = start
    for step in (1, -1):
        while score(k + step) > score(k):
            k += step
    return k


# "cv"


def mean_variance(X: FloatArray) -> float:
    """Return the mean variance of the features, or 1 if nothing varies."""
    return float(np.var(X, axis=0, dtype=np.float64).mean()) or 1.0


def best_ridge(score: Callable[[float], float], unit: float) -> tuple[float, float]:
    """Return the best ν and its score: decades are tried, then quarters of a decade.

    The kernel may collapse along a feature with few values, and held-out points reward
    that until one of them has a new value. The search therefore ends at 1e-3.

    Parameters
    ----------
    score : callable
        The held-out score at a ν.
    unit : float
        The mean variance of the features.
    """
    scores: dict[float, float] = {}
    for grid in (np.arange(0, -4, -1.0), np.array([0.5, 0.25, -0.25, -0.5])):
        center = max(scores, key=scores.__getitem__) if scores else unit
        scores |= {float(nu): score(float(nu)) for nu in center * 10**grid}
    best = max(scores, key=scores.__getitem__)
    return best, scores[best]


def best_ridge_of(estimator: Any, name: str, X: FloatArray) -> tuple[float, float]:
    """Return the best ν for a parameter of an estimator, and its score.

    Parameters
    ----------
    estimator : estimator with `cv` and `random_state`
        Clones of it are fitted to the folds.
    name : str
        The parameter.
    X : ndarray of shape (n_samples, n_features)
        The points.
    """
    from sklearn.model_selection import cross_val_score  # slow to import

    splits = list(folds(X, estimator.cv, estimator.random_state))
    candidate = clone(estimator)
    candidate.set_params(callback=None, verbose=0, warm_start=False)

    def score(ridge: float) -> float:
        candidate.set_params(**{name: ridge})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = cross_val_score(candidate, X, cv=splits, error_score="raise")
        return float(found.mean())

    return best_ridge(score, mean_variance(X))


def best_gaussian_ridge(X: FloatArray, cv: Any, seed: Any) -> float:
    """Return the ν with the best held-out likelihood of N(μ, cov + νI).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    cv, seed
        As for `folds`.
    """
    parts = []
    for train, test in folds(X, cv, seed):
        known = X[train].astype(np.float64)
        variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(known.T, bias=True)))
        squares = np.square((X[test] - known.mean(axis=0)) @ axes).mean(axis=0)
        parts.append((np.maximum(variances, 0), squares))

    def score(ridge: float) -> float:
        losses = [np.sum(np.log(v + ridge) + s / (v + ridge)) for v, s in parts]
        return -float(np.mean(losses))

    return best_ridge(score, mean_variance(X))[0]
