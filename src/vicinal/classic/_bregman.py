"""Bregman projections: a matrix that keeps bounds on the lengths of vectors.

Nothing here knows of classes or rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dsymv, dsyr

from vicinal._typing import FloatArray


@dataclass(frozen=True, eq=False)
class Projected:
    """The matrix that the projections ended at, and how they went.

    Attributes
    ----------
    M : ndarray of shape (n_features, n_features)
        The Mahalanobis matrix.
    multipliers : ndarray of shape (n_pairs,)
        λ of each constraint; M⁻¹ = I + Σ δ λ v vᵀ.
    curve : list of float
        The dual objective at the start and after each round; it never falls.
    converged : bool
        Whether the multipliers came to rest.
    """

    M: FloatArray
    multipliers: FloatArray
    curve: list[float]
    converged: bool


def project(
    differences: FloatArray,
    sign: FloatArray,
    bounds: FloatArray,
    gamma: float,
    max_iter: int,
    tol: float,
    on_round: Callable[[int, float], None],
) -> Projected:
    r"""Minimise Tr(M) − log det(M) under bounds of vᵀMv, with slack.

    min Tr(M) − log det(M) + γ Σ (ξ/b − log(ξ/b)) over M ≻ 0 and ξ > 0, such that
    vᵀMv ≤ ξ where the sign δ is 1 and vᵀMv ≥ ξ where it is −1: eq. 8 of the LDG paper,
    softened as by Davis et al. A round projects onto each constraint in turn, which
    is exact coordinate ascent on the dual, −log det(M) − γ Σ log(ξ/b).

    Davis et al. print the step as δ/2 (1/p − γ/ξ). The projection is δ γ/(γ+1)
    (1/p − 1/ξ), which is the same at γ = 1 only; it is what is done here.

    Parameters
    ----------
    differences : ndarray of shape (n_pairs, n_features)
        v, the difference of the two points of each pair, none of them 0.
    sign : ndarray of shape (n_pairs,)
        δ: 1 for pairs to be near, −1 for pairs to be far.
    bounds : ndarray of shape (n_pairs,)
        b, positive.
    gamma : float
        γ, the price of slack.
    max_iter, tol : int, float
        Stop after so many rounds, or when one changes the multipliers, relatively,
        by less.
    on_round : callable
        Called after each round with its number and the dual objective.
    """
    n_features = differences.shape[1]
    M = np.eye(n_features, order="F")  # only its lower triangle is kept up to date
    xi = bounds.astype(np.float64).tolist()
    delta = sign.astype(np.float64).tolist()
    multipliers = [0.0] * len(xi)
    share = gamma / (gamma + 1)
    dual = 0.0
    curve, converged = [dual], False
    for n_round in range(1, max_iter + 1):
        before = np.array(multipliers)
        for c, v in enumerate(differences):
            Mv = dsymv(1.0, M, v, lower=1)
            p = float(Mv @ v)
            step = min(multipliers[c], delta[c] * share * (1 / p - 1 / xi[c]))
            if step == 0.0:
                continue
            multipliers[c] -= step
            step *= delta[c]
            dual += math.log1p(-step * p) + gamma * math.log1p(step * xi[c] / gamma)
            xi[c] *= gamma / (gamma + step * xi[c])
            M = dsyr(step / (1 - step * p), Mv, lower=1, a=M, overwrite_a=1)
        curve.append(dual)
        on_round(n_round, dual)
        now = np.array(multipliers)
        change = np.abs(now - before).sum()
        if change <= tol * (np.linalg.norm(now) + np.linalg.norm(before)):
            converged = True
            break
    lower = np.tril(M)
    return Projected(lower + np.tril(M, -1).T, now, curve, converged)
