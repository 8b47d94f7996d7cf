"""Bregman projections: a matrix that keeps bounds on the lengths of vectors.

Nothing here knows of classes or rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dger

from vicinal._typing import FloatArray
from vicinal.neighborhood.parallel import blocks

# So many are projected onto with M out of sight: the large products are then of
# matrices, and the vectors that are worked on one by one are as short as this.
CONSTRAINTS_PER_BLOCK = 64


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
    """Minimise Tr(M) − log det(M) under bounds of vᵀMv, with slack.

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
    M = np.eye(differences.shape[1])
    xi = bounds.astype(np.float64)
    multipliers = np.zeros(len(xi))
    dual = 0.0
    curve, converged = [dual], False
    for n_round in range(1, max_iter + 1):
        before = multipliers.copy()
        for part in blocks(slice(0, len(xi)), CONSTRAINTS_PER_BLOCK):
            V = differences[part]
            MV = M @ V.T
            gram = np.asfortranarray(V @ MV)
            steps, gained = _project_block(
                gram.copy(order="F"), sign[part], xi[part], multipliers[part], gamma
            )
            dual += gained
            # M⁻¹ loses Σ step v vᵀ; so, by Woodbury's identity, this is M's gain.
            inner = np.linalg.solve(
                np.eye(len(V)) - steps[:, None] * gram, np.diag(steps)
            )
            M += MV @ (inner + inner.T) @ (MV.T / 2)
        curve.append(dual)
        on_round(n_round, dual)
        change = np.abs(multipliers - before).sum()
        size = np.linalg.norm(multipliers) + np.linalg.norm(before)
        if change <= tol * size:
            converged = True
            break
    return Projected((M + M.T) / 2, multipliers, curve, converged)


def _project_block(
    gram: FloatArray,
    sign: FloatArray,
    xi: FloatArray,
    multipliers: FloatArray,
    gamma: float,
) -> tuple[FloatArray, float]:
    """Project onto a few constraints in turn, knowing only their vᵀMw.

    Parameters
    ----------
    gram : ndarray of shape (n_pairs, n_pairs), Fortran-ordered
        vᵀMw for all pairs of these vectors; it is overwritten.
    sign, xi, multipliers : ndarray of shape (n_pairs,)
        δ, ξ and λ; the last two are brought up to date.
    gamma : float
        γ.

    Returns
    -------
    steps : ndarray of shape (n_pairs,)
        What M⁻¹ loses along each v vᵀ.
    gained : float
        How far the dual objective has risen.
    """
    steps = np.zeros(len(xi))
    share, gained = gamma / (gamma + 1), 0.0
    for c, (delta, slack, multiplier) in enumerate(
        zip(sign.tolist(), xi.tolist(), multipliers.tolist(), strict=True)
    ):
        p = float(gram[c, c])
        alpha = min(multiplier, delta * share * (1 / p - 1 / slack))
        if alpha == 0.0:
            continue
        step = delta * alpha
        steps[c] = step
        multipliers[c] = multiplier - alpha
        gained += math.log1p(-step * p) + gamma * math.log1p(step * slack / gamma)
        xi[c] = gamma * slack / (gamma + step * slack)
        column = gram[:, c].copy()
        gram = dger(step / (1 - step * p), column, column, a=gram, overwrite_a=1)
    return steps, gained
