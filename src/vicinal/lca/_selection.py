"""The choice of the ridge alpha="auto" by held-out log-likelihood.

EM runs along a path of ridges, from wide kernels to narrow ones, with a few steps each.
"""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray
from vicinal.base.selection import climb
from vicinal.lca.data import ScaledData, Scaler, covariance_of
from vicinal.lca.density import (
    LEAST_RIDGE,
    Background,
    ParzenDensity,
    mix,
    mixture_weight,
)
from vicinal.lca.em import CovarianceMStep, EMResult, Form, MStep, exact_em

RIDGES = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, LEAST_RIDGE)
"""The path, in units of the features' variances."""
SMALL_GAIN = 0.02
"""Nats per point that do not matter (`benchmarks.defaults.densities`)."""


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
        self, m_step: MStep, C: FloatArray, max_iter: int = 5
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
        result = exact_em(
            m_step,
            self.U,
            EMResult(m_step.fit(C), C),
            max_iter=max_iter,
            tol=SMALL_GAIN,
            n_threads=self.n_threads,
        )
        n, d = self.U.shape
        units = Scaler(np.zeros(d), np.ones(d), np.zeros(d, bool))
        density = ParzenDensity(units=units, kernel=result.kernel, U=self.U)
        loo = density.normalized(result.log_means, self.U, self.n_threads)
        best = mixture_weight(loo, self.background.loo_scores)
        parzen = density.kernel_log_density(self.held_out, self.n_threads)
        gaussian = self.background.log_density(self.held_out)
        scores = [mix(parzen, gaussian, w).mean() for w in (1 / (n + 2), best)]
        return result.local_scatter, np.array(scores)


class RidgePath:
    """EM along `RIDGES`, in all folds side by side.

    Parameters
    ----------
    data : ScaledData
        The points.
    form : Form
        The form of the covariance.
    cv : int, splitter, iterable or None
        As for scikit-learn; a number of folds, five if it is None, is shuffled.
    seed : int, RandomState or None
        The seed of the shuffle.
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
        from sklearn.model_selection import KFold, check_cv  # slow to import

        U = data.U
        if len(U) > max_points:
            rng = RandomState(0)
            U = U[rng.choice(len(U), max_points, replace=False)]
        if cv is None or isinstance(cv, Integral):
            seed = seed if isinstance(seed, Integral) else 0
            cv = KFold(min(int(cv or 5), len(U)), shuffle=True, random_state=seed)
        parts = [rows for _, rows in check_cv(cv).split(U)]
        enough = np.cumsum([len(rows) for rows in parts]) >= n_held_out
        self.folds = [
            Fold(np.delete(U, rows, axis=0), U[rows], data)
            for rows in parts[: 1 + int(np.argmax([*enough, True]))]
        ]
        self.form = form
        self.scatters: dict[int, list[FloatArray]] = {}
        """By the index of the ridge: the local scatter that EM reached in each fold."""
        self.scores: dict[int, FloatArray] = {}
        """By the index of the ridge: the mean scores of `Fold.run`."""

    def score(self, k: int) -> float:
        """Return the held-out score at the k-th ridge."""
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
        peak = climb(self.score, len(RIDGES), starts=(2, 5, 7))
        enough = self.score(peak) - SMALL_GAIN
        return max(k for k, scores in self.scores.items() if scores[0] >= enough)


def choose_ridge(
    data: ScaledData, form: Form, cv: Any, seed: Any
) -> tuple[float, FloatArray | None]:
    """Return the best ridge of LCA, and C_L at the end of its path.

    Parameters
    ----------
    data, form, cv, seed
        As for `RidgePath`.
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
        As for `RidgePath`.
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
        path.score(k)
        found = [
            fold.run(make_m_step(fold, RIDGES[k]), C)
            for fold, C in zip(path.folds, path.scatters[k], strict=True)
        ]
        mean_score = float(np.mean([scores[1] for _, scores in found]))
        tried[k] = mean_score, np.mean([C for C, _ in found], axis=0)
        return mean_score

    best = climb(score, len(RIDGES), starts=(plain,))
    if forced or tried[best][0] >= path.scores[plain][1] - SMALL_GAIN:
        return RIDGES[best], tried[best][1], True
    return RIDGES[plain], np.mean(path.scatters[plain], axis=0), False
