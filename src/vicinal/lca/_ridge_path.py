"""The default ridge: EM along a path of ridges, judged by held-out points.

"cv" fits EM anew for each ridge and fold. Here EM goes on from ridge to ridge, from
wide kernels to narrow ones, a few steps each, and a few hundred held-out points judge.
All points here are in the units of `Scaler`, and so are the ridges.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from vicinal._typing import FloatArray
from vicinal.lca._background import (
    LEAST_RIDGE,
    Background,
    mixed,
    mixture_weight,
)
from vicinal.lca._data import ScaledData, Scaler, covariance_of
from vicinal.lca._density import ProductDensity
from vicinal.lca._e_step import Kernel, expectation
from vicinal.lca._em import Model, objective
from vicinal.lca._gaussian_split import ProductModel
from vicinal.lca._m_step import CovarianceModel, Form, Full
from vicinal.lca._regularization import folds

RIDGES = (1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4, LEAST_RIDGE)
"""What may be tried, in units of the features' variances."""
FIRST = (2, 5, 7)
"""The numbers of those that are tried first."""
STREAM_RIDGE = 1e-3
"""What `partial_fit` takes, which has no points to hold out."""
# At each ridge EM makes so many steps, or fewer once a step gains less than this.
MOST_STEPS, LEAST_GAIN = 6, 0.02
# Fewer points than this are not split into folds.
FEWEST = 10
# Of ridges that are equal within this, in nats, the smallest is taken: the least change
# to what the paper maximises.
SAME = 0.02
# Held-out points that are enough, and points that the path is learned from at most.
ENOUGH_HELD_OUT, MOST_POINTS = 100, 2500


@dataclass(eq=False)
class Fold:
    """Points to learn from, points to judge by, and where EM is on the path."""

    U: FloatArray
    held_out: FloatArray
    covariance: FloatArray
    pinned: FloatArray
    n_threads: int
    background: Background = field(init=False)
    log_means: FloatArray = field(init=False)
    kernel: Kernel = field(init=False)

    def __post_init__(self) -> None:
        self.background = Background.fit(self.U, self.covariance + np.diag(self.pinned))
        self.gaussian = self.background.log_density_of(self.held_out)

    def run(self, model: Model, C: FloatArray) -> FloatArray:
        """Make a few steps of EM from a local scatter; return the last one."""
        before = -np.inf
        for _ in range(MOST_STEPS):
            self.kernel = model.fit(C)
            seen = expectation(self.U, self.kernel, self.n_threads)
            C, self.log_means = seen.C, seen.log_means
            height = objective(seen.log_means, self.kernel)
            if height - before < LEAST_GAIN:
                break
            before = height
        return C

    def scores(self) -> tuple[float, float]:
        """Return the mean log-density of held-out points under the present kernel.

        First with the least weight of the Gaussian, which bounds what a single point
        far from all kernels can cost, then with the best.
        """
        n, d = self.U.shape
        density = ProductDensity(
            Scaler(np.zeros(d), np.ones(d), np.zeros(d, bool)), self.kernel, self.U, 0.0
        )
        loo = density.of_log_means(self.log_means, self.U, self.n_threads)
        best = mixture_weight(loo, self.background.loo_scores)
        parzen = density.log_density_of(self.held_out, self.n_threads)
        first, second = (
            float(mixed(parzen, self.gaussian, weight).mean())
            for weight in (1 / (n + 2), best)
        )
        return first, second


def folds_of(data: ScaledData, cv: Any, seed: Any) -> list[Fold]:
    """Return as many folds as it takes to hold out enough points."""
    U = data.U
    if len(U) > MOST_POINTS:
        rows = np.random.RandomState(0).choice(len(U), MOST_POINTS, replace=False)
        U = U[rows]
    found: list[Fold] = []
    n_held_out = 0
    for _, judges in folds(U, cv, seed):
        if n_held_out >= ENOUGH_HELD_OUT:
            break
        n_held_out += len(judges)
        known = np.delete(U, judges, axis=0)
        found.append(
            Fold(
                known,
                U[judges],
                covariance_of(known, data.n_threads),
                data.pinned_in(known),
                data.n_threads,
            )
        )
    return found


class RidgePath:
    """EM along the ridges, in all folds side by side.

    Parameters
    ----------
    parts : list of Fold
        The folds.
    form : Form
        The covariance's.
    """

    def __init__(self, parts: list[Fold], form: Form) -> None:
        self.parts = parts
        self.form = form
        # By the ridge's number: where EM has come to in each fold, and the mean scores.
        self.scatters: dict[int, list[FloatArray]] = {}
        self.scores: dict[int, tuple[float, float]] = {}

    def score(self, k: int) -> float:
        """Return the held-out score at the k-th ridge; −inf beyond the ends."""
        if not 0 <= k < len(RIDGES):
            return -np.inf
        if k not in self.scores:
            before = max((j for j in self.scatters if j < k), default=None)
            scatters, scores = [], []
            for number, part in enumerate(self.parts):
                C = part.covariance if before is None else self.scatters[before][number]
                model = CovarianceModel(self.form, RIDGES[k] + part.pinned)
                scatters.append(part.run(model, C))
                scores.append(part.scores())
            self.scatters[k] = scatters
            first, second = np.mean(scores, axis=0)
            self.scores[k] = float(first), float(second)
        return self.scores[k][0]

    def best(self) -> int:
        """Return the number of the best ridge: few are tried, then what is between."""
        peak = ascend(self.score, max(FIRST, key=self.score))
        enough = self.score(peak) - SAME
        return max(k for k, (score, _) in self.scores.items() if score >= enough)


class Choice(NamedTuple):
    """A ridge, and where EM with it has come to on the path."""

    ridge: float
    local_scatter: FloatArray | None
    """C_L, the folds' mean; None where the points are too few for a path."""
    split: bool = True
    """Whether a Gaussian part helps."""


def choose_ridge(data: ScaledData, form: Form, cv: Any, seed: Any) -> Choice:
    """Return the best ridge of LCA's covariance.

    Parameters
    ----------
    data : ScaledData
        The points.
    form : Form
        The covariance's.
    cv, seed
        As for `folds`.
    """
    if len(data.U) < FEWEST:
        return Choice(RIDGES[0], None)
    path = RidgePath(folds_of(data, cv, seed), form)
    best = path.best()
    return Choice(RIDGES[best], np.mean(path.scatters[best], axis=0))


def choose_split(
    data: ScaledData, n_gaussian: int | None, cv: Any, seed: Any
) -> Choice:
    """Return the best ridge of LCA-Gauss' local covariance, and whether to split.

    Parameters
    ----------
    data, cv, seed
        As for `choose_ridge`.
    n_gaussian : int or None
        How many directions are Gaussian. Where it is None, the split that EM finds is
        compared with no Gaussian direction at all, which is LCA.
    """
    if len(data.U) < FEWEST:
        return Choice(RIDGES[0], None)
    parts = folds_of(data, cv, seed)
    path = RidgePath(parts, Full())
    plain = path.best()
    tried: dict[int, tuple[float, FloatArray]] = {}

    def score(k: int) -> float:
        if path.score(k) == -np.inf:
            return -np.inf
        if k not in tried:
            scores, scatters = [], []
            for part, C in zip(parts, path.scatters[k], strict=True):
                ridge_global = part.background.ridge + part.pinned
                model = ProductModel.build(
                    part.covariance, ridge_global, RIDGES[k] + part.pinned, n_gaussian
                )
                scatters.append(part.run(model, C))
                scores.append(part.scores()[1])
            tried[k] = float(np.mean(scores)), np.mean(scatters, axis=0)
        return tried[k][0]

    best = ascend(score, plain)
    split = n_gaussian is not None or score(best) >= path.scores[plain][1] - SAME
    if split:
        return Choice(RIDGES[best], tried[best][1])
    return Choice(RIDGES[plain], np.mean(path.scatters[plain], axis=0), split=False)


def ascend(score: Callable[[int], float], start: int) -> int:
    """Return the number next to which no other has a higher score."""
    k = start
    for step in (1, -1):
        while score(k + step) > score(k):
            k += step
    return k
