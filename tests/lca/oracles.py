"""LCA's sums, written naively: float64, n×n, no shortcut. Only for small n."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from vicinal._typing import FloatArray

LOG_2_PI = float(np.log(2 * np.pi))


def log_normals(
    x: FloatArray, means: FloatArray, covariance: FloatArray
) -> NDArray[np.float64]:
    """log N(x; x_j, Σ_j) for each j; Σ shared, or one for each."""
    each = np.broadcast_to(covariance, (len(means), *covariance.shape[-2:]))
    precisions, log_dets = np.linalg.inv(each), np.linalg.slogdet(each)[1]
    gaps = x - means
    squares = np.einsum("jk,jkl,jl->j", gaps, precisions, gaps)
    return -0.5 * (squares + log_dets + len(x) * LOG_2_PI)


def leave_one_out(X: FloatArray, covariance: FloatArray) -> NDArray[np.float64]:
    """Each point's log-density among the others (eq. 1); Σ shared, or one for each."""
    n = len(X)
    scores = np.empty(n)
    for i in range(n):
        others = np.arange(n) != i
        terms = log_normals(X[i], X, covariance)[others]
        scores[i] = logsumexp(terms) - np.log(n - 1)
    return scores


def log_density(
    Q: FloatArray, X: FloatArray, covariance: FloatArray
) -> NDArray[np.float64]:
    """The Parzen estimate at new points, over all n training points."""
    sums = [logsumexp(log_normals(q, X, covariance)) for q in Q]
    return np.array(sums) - np.log(len(X))


def local_covariance(X: FloatArray, precision: FloatArray) -> FloatArray:
    """Σ* of eq. 4, with λ of eq. 3 for a precision matrix, singular or not."""
    n, d = X.shape
    C = np.zeros((d, d))
    for i in range(n):
        x_ij = X[i] - X
        exponents = -0.5 * np.einsum("jk,kl,jl->j", x_ij, precision, x_ij)
        exponents[i] = -np.inf
        weights = np.exp(exponents - logsumexp(exponents))
        C += (weights[:, None] * x_ij).T @ x_ij
    return C / n


def subsampled_em(
    X: FloatArray, n_references: int, n_iter: int, rng: np.random.Generator
) -> FloatArray:
    """Σ of EM in which each point has its own random references (section 5.2).

    The second half of the iterations is averaged, since every one draws anew.
    """
    n, d = X.shape
    covariance, kept = np.cov(X.T, bias=True), []
    for _ in range(n_iter):
        C = np.zeros((d, d))
        for i in range(n):
            others = np.delete(np.arange(n), i)
            x_ij = X[i] - X[rng.choice(others, n_references, replace=False)]
            exponents = -0.5 * np.einsum(
                "jk,jk->j", x_ij @ np.linalg.inv(covariance), x_ij
            )
            weights = np.exp(exponents - logsumexp(exponents))
            C += (weights[:, None] * x_ij).T @ x_ij
        covariance = C / n
        kept.append(covariance)
    return np.mean(kept[n_iter // 2 :], axis=0)


def local_scatters(
    X: FloatArray, covariances: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Σ_i λ_ij and Σ_i λ_ij x_ij x_ijᵀ of each j, where each has a covariance."""
    n, d = X.shape
    weights, matrices = np.zeros(n), np.zeros((n, d, d))
    for i in range(n):
        terms = log_normals(X[i], X, covariances)
        terms[i] = -np.inf
        shares = np.exp(terms - logsumexp(terms))
        x_ij = X[i] - X
        weights += shares
        matrices += shares[:, None, None] * x_ij[:, :, None] * x_ij[:, None, :]
    return weights, matrices


def product_leave_one_out(
    X: FloatArray, B_G: FloatArray, B_L: FloatArray
) -> NDArray[np.float64]:
    """log p(x_i) of section 4, with the determinant to the power ½ and (2π)^(−d/2)."""
    n, d = X.shape
    mean = X.mean(axis=0)
    log_det = np.linalg.slogdet(B_G @ B_G.T + B_L @ B_L.T)[1] / 2
    scores = np.empty(n)
    for i in range(n):
        terms = [-0.5 * np.sum(((X[i] - X[j]) @ B_L) ** 2) for j in range(n) if j != i]
        gaussian = -0.5 * np.sum(((X[i] - mean) @ B_G) ** 2)
        scores[i] = gaussian + logsumexp(terms) - np.log(n - 1) + log_det
    return scores - d / 2 * LOG_2_PI


def proposition_1_cost(
    C_G: FloatArray, C_L: FloatArray, B_G: FloatArray, B_L: FloatArray
) -> float:
    """What proposition 1 minimises (eq. 6)."""
    return float(
        np.trace(B_G.T @ C_G @ B_G)
        + np.trace(B_L.T @ C_L @ B_L)
        - np.linalg.slogdet(B_G @ B_G.T + B_L @ B_L.T)[1]
    )
