"""The graphical lasso, one block of features that hang together at a time."""

import warnings

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import warn_caller

SPARSITY = 0.01
LARGEST_BLOCK = 200


def blocks_of(P: FloatArray, sparsity: float) -> IntArray:
    """Return a number for each feature: that of its block.

    Features are in one block where a path of entries |P_ij| > λ leads from one to the
    other. The blocks of the solution are the same.
    """
    linked = csr_array(np.abs(P) > sparsity)
    labels: IntArray = connected_components(linked, directed=False)[1]
    return labels


def sparsity_for_blocks(P: FloatArray) -> float:
    """Return 0.01, or the least λ, to 5 %, without blocks of more than 200 features."""

    def largest(sparsity: float) -> int:
        return int(np.bincount(blocks_of(P, sparsity)).max())

    if largest(SPARSITY) <= LARGEST_BLOCK:
        return SPARSITY
    low = SPARSITY
    high = float(np.abs(P - np.diag(np.diagonal(P))).max())
    while high > 1.05 * low:
        middle = float(np.sqrt(low * high))
        if largest(middle) <= LARGEST_BLOCK:
            high = middle
        else:
            low = middle
    return high


def sparse_inverse(
    P: FloatArray, sparsity: float, max_iter: int, tol: float
) -> tuple[FloatArray, int]:
    """Return the M of least Tr(P M) − log det M + λ Σ_{i≠j} |M_ij|, and iterations.

    Parameters
    ----------
    P : ndarray of shape (n_features, n_features)
        Symmetric and positive definite.
    sparsity : float
        λ.
    max_iter, tol
        As for :func:`sklearn.covariance.graphical_lasso`.
    """
    from sklearn.covariance import graphical_lasso  # slow to import

    if sparsity == 0:
        inverse = np.linalg.inv(P)
        return (inverse + inverse.T) / 2, 1
    labels = blocks_of(P, sparsity)
    sizes = np.bincount(labels)
    M = np.diag(1 / np.diagonal(P))
    most, behind = 1, False
    for block in np.flatnonzero(sizes > 1):
        rows = np.flatnonzero(labels == block)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, part, n_iter = graphical_lasso(
                P[np.ix_(rows, rows)],
                alpha=sparsity,
                max_iter=max_iter,
                tol=tol * len(rows),
                enet_tol=1e-6,
                return_n_iter=True,
            )
        M[np.ix_(rows, rows)] = (part + part.T) / 2
        most, behind = max(most, n_iter), behind or n_iter >= max_iter
    if behind:
        warn_caller(
            f"SDML's graphical lasso did not converge in {max_iter} iterations; raise "
            "max_iter, tol or sparsity.",
            ConvergenceWarning,
        )
    return M, most
