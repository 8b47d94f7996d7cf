"""The queries' map in closed form, with the documents taken as one Gaussian cloud.

Where the documents' inner products with a query u are as those with a normal
distribution of mean μ and covariance Σ, log Σ_j exp(⟨u, x_j⟩ / T) is
⟨u, μ⟩ / T + uᵀΣu / (2T²) and a constant. The objective is then quadratic in the map A:
with C the mean of q qᵀ, and M that of (w − μ) qᵀ for a query's mean relevant document
w, it is largest where Σ A C / T² + 2α A = M / T + 2α I, which the eigenvectors of Σ and
C solve entry by entry. Another penalty or temperature costs a few products of D×D
matrices.
"""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray
from vicinal.neighborhood import back_project
from vicinal.objectives.base import sample_indices

# Documents whose covariance stands for that of all.
_MOST_DOCUMENTS = 20_000


@dataclass(frozen=True)
class GaussianDocuments:
    """What the closed form needs to know of queries and documents.

    Attributes
    ----------
    spread, document_axes : ndarray
        Eigenvalues and eigenvectors of the documents' covariance Σ.
    power, query_axes : ndarray
        Those of C, the mean of q qᵀ.
    identity, pull : ndarray of shape (n_features, n_features)
        The identity, and M, between the two bases.
    """

    spread: FloatArray
    document_axes: FloatArray
    power: FloatArray
    query_axes: FloatArray
    identity: FloatArray
    pull: FloatArray

    @classmethod
    def of(
        cls, Q: FloatArray, X: FloatArray, weights: csr_array, n_threads: int
    ) -> "GaussianDocuments":
        """Measure queries and documents; weights of relevance sum to 1 for a query."""
        rows = sample_indices(np.random.default_rng(0), len(X), _MOST_DOCUMENTS)
        middle = X[rows].mean(axis=0)
        sample = X[rows] - middle
        covariance = back_project(sample, sample, n_threads)
        spread, document_axes = np.linalg.eigh(covariance.astype(np.float64))
        moment = back_project(Q, Q, n_threads)
        power, query_axes = np.linalg.eigh(moment.astype(np.float64))
        wanted = weights @ X - middle
        pull = back_project(wanted, Q, n_threads).astype(np.float64) / len(Q)
        return cls(
            np.maximum(spread, 0) / len(sample),
            document_axes,
            np.maximum(power, 0) / len(Q),
            query_axes,
            document_axes.T @ query_axes,
            document_axes.T @ pull @ query_axes,
        )

    def solve(self, alpha: float, temperature: float) -> FloatArray:
        """Return the map for a penalty, for each query, and a temperature."""
        curvature = np.outer(self.spread, self.power) / temperature**2 + 2 * alpha
        right = self.pull / temperature + 2 * alpha * self.identity
        # Along what neither the data nor the penalty decide, nothing is changed.
        decided = curvature > np.finfo(float).eps * curvature.max()
        inner = np.where(
            decided, right / np.where(decided, curvature, 1), self.identity
        )
        solved: FloatArray = self.document_axes @ inner @ self.query_axes.T
        return solved
