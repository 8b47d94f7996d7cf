"""The objective of retrieval, its gradient, and its maximum in closed form."""

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._regression import Regression
from vicinal.neighborhood import (
    back_project,
    effective_n_threads,
    project,
    soft_neighbors,
)
from vicinal.objectives.nca import sample_indices
from vicinal.optimize import Ridge

# Documents in a sample that represents all of them; see "Large collections" in
# docs/adapters.md.
N_SAMPLED_DOCUMENTS = 20_000


class RetrievalObjective:
    """Log-probability that queries pick their relevant documents, under linear maps.

    Query q picks document j with p_qj ∝ exp(−‖u_q − v_j‖² / 2T), for vectors of length
    1 the softmax of cosines over T. The value is Σ_q s_q Σ_j w_qj log p_qj with weights
    w_qj of the relevant documents that sum to 1 for each query: eq. 8 of Neighbourhood
    Components Analysis, normalized for each query. With one relevant document per
    query it is InfoNCE.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_features)
        Query vectors, float32 or float64.
    documents : ndarray of shape (n_documents, n_document_features)
        Document vectors of the same dtype.
    weights : csr_array of shape (n_queries, n_documents)
        w_qj; each row sums to 1.
    sample_weight : ndarray of shape (n_queries,) or None, default=None
        s_q; None is 1.
    temperature : float, default=1.0
        T.
    side : {"query", "both", "two"}, default="query"
        Mapped vectors: the queries (u = A q, v = x), both by the same map, or each by
        its own map.
    unit_length : bool, default=False
        Whether mapped vectors are scaled to length 1 if documents are mapped. With
        side "query" they are not, since the length of a query does not change its
        ranking.
    n_jobs : int or None, default=None
        Number of threads.
    """

    def __init__(
        self,
        queries: FloatArray,
        documents: FloatArray,
        weights: csr_array,
        *,
        sample_weight: FloatArray | None = None,
        temperature: float = 1.0,
        side: str = "query",
        unit_length: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.queries = queries
        self.documents = documents
        self.weights = weights.astype(queries.dtype)
        if sample_weight is None:
            sample_weight = np.ones(len(queries))
        self.sample_weight = sample_weight
        self.temperature = temperature
        self.side = side
        self.unit_length = unit_length
        self.n_jobs = n_jobs
        self.n_threads = effective_n_threads(n_jobs)

    def subset(
        self, rows: IntArray, columns: IntArray | None = None
    ) -> "RetrievalObjective":
        """Return the objective of some queries and candidate documents.

        Parameters
        ----------
        rows : ndarray of int
            Queries.
        columns : ndarray of int or None, default=None
            Candidates besides the documents relevant to these queries; None keeps all
            documents without a copy.
        """
        part = copy(self)
        for name in ("_gaussian", "regression"):  # they depend on the queries
            part.__dict__.pop(name, None)
        part.queries, part.weights = self.queries[rows], self.weights[rows]
        part.sample_weight = self.sample_weight[rows]
        if columns is not None:
            W = part.weights
            kept = np.union1d(W.indices, columns)
            part.documents = self.documents[kept]
            # Faster than weights[:, kept], which takes time for all documents.
            entries = (W.data, np.searchsorted(kept, W.indices), W.indptr)
            part.weights = csr_array(entries, (len(rows), len(kept)))
        return part

    def sample(
        self, batch_size: int, n_candidates: int, rng: Generator
    ) -> "RetrievalObjective":
        """Return the objective of random queries and random candidate documents."""
        rows = sample_indices(rng, len(self.queries), batch_size)
        columns = sample_indices(rng, len(self.documents), n_candidates)
        return self.subset(rows, columns)

    def mapped(
        self, components: FloatArray
    ) -> list[tuple[FloatArray, FloatArray | None]]:
        """Return mapped queries and documents, each with the lengths divided by."""
        A = np.asarray(components).astype(self.queries.dtype)
        maps = A if A.ndim == 3 else (A, None if self.side == "query" else A)
        images: list[tuple[FloatArray, FloatArray | None]] = []
        for X, B in zip((self.queries, self.documents), maps, strict=True):
            Z, length = X if B is None else project(X, B, self.n_threads), None
            if self.unit_length and self.side != "query":
                norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))[:, None]
                length = np.maximum(norms, np.finfo(Z.dtype).tiny)
                Z = Z / length
            images.append((Z, length))
        return images

    def terms(self, components: FloatArray) -> FloatArray:
        """Return s_q Σ_j w_qj log p_qj for each query."""
        (U, _), (V, _) = self.mapped(components)
        _, P, Z = self._scaled(U, V)
        log_sums = soft_neighbors(P, Z, self.n_threads).log_sums
        return self._terms(P, Z, self.weights @ Z, log_sums)

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Return the sum of the terms and its gradient, in O(D n_queries n_documents).

        Parameters
        ----------
        components : ndarray of shape (n_components, n_features), or two of them
            The map; for side "two" those of the queries and of the documents.
        """
        (U, length_U), (V, length_V) = self.mapped(components)
        scale, P, Z = self._scaled(U, V)
        maps_documents = self.side != "query"
        mass = self.sample_weight.astype(P.dtype)[:, None]
        carried = np.hstack([mass * P, mass]) if maps_documents else None
        found = soft_neighbors(P, Z, self.n_threads, carried)
        wanted = self.weights @ Z
        value = float(self._terms(P, Z, wanted, found.log_sums).sum())
        grad_U = _through_length(U, length_U, 2 * scale * mass * (wanted - found.means))
        gradient = back_project(grad_U, self.queries, self.n_threads)
        if not maps_documents:
            return value, gradient
        attraction = self.weights.T @ (mass * P) - found.received[:, :-1]
        excess = self.weights.T @ mass[:, 0] - found.received[:, -1]
        grad_V = 2 * scale * (attraction - excess[:, None] * Z)
        grad_V = _through_length(V, length_V, grad_V)
        of_documents = back_project(grad_V, self.documents, self.n_threads)
        if self.side == "two":
            return value, np.stack([gradient, of_documents])
        return value, gradient + of_documents

    def _scaled(
        self, U: FloatArray, V: FloatArray
    ) -> tuple[Any, FloatArray, FloatArray]:
        """Return 1 / √2T, and the points times it, centered to lose few digits."""
        scale, center = U.dtype.type(np.sqrt(0.5 / self.temperature)), V.mean(axis=0)
        return scale, scale * (U - center), scale * (V - center)

    def _terms(
        self, P: FloatArray, Z: FloatArray, wanted: FloatArray, log_sums: FloatArray
    ) -> FloatArray:
        """Return −Σ_j w_qj ‖p_q − z_j‖² − log Σ_j exp(−‖p_q − z_j‖²), times s_q."""
        squares = np.einsum("ij,ij->i", P, P) - 2 * np.einsum("ij,ij->i", P, wanted)
        squares += self.weights @ np.einsum("ij,ij->i", Z, Z)
        terms: FloatArray = -squares.astype(np.float64) - log_sums
        return self.sample_weight * terms

    @cached_property
    def regression(self) -> Regression:
        """Closed forms from queries to the means of their relevant documents."""
        weighted = self.sample_weight.astype(self.queries.dtype)[:, None] * self.queries
        return Regression(
            back_project(weighted, self.queries, self.n_threads).astype(np.float64),
            back_project(
                weighted, self.weights @ self.documents, self.n_threads
            ).astype(np.float64),
        )

    def closed_form(self, alpha: float, center: FloatArray) -> FloatArray:
        """Return the best map of the queries if the documents form one Gaussian cloud.

        It is for side "query" and vectors of length 1.
        For documents of mean μ and covariance Σ, log Σ_j exp(⟨u, x_j⟩ / T) is
        ⟨u, μ⟩ / T + uᵀΣu / 2T² and a constant. The objective is then quadratic in A.
        With C the mean of q qᵀ, and M the mean of (w − μ) qᵀ for the mean relevant
        document w of a query, the maximum solves Σ A C / T² + 2α A = M / T + 2α A₀,
        entry by entry between the eigenvectors of Σ and C. A₀ is the center.
        """
        spread, document_axes, power, query_axes, M = self._gaussian
        kept = document_axes.T @ center @ query_axes
        curvature = np.outer(spread, power) / self.temperature**2 + 2 * alpha
        right = M / self.temperature + 2 * alpha * kept
        # Directions that neither the data nor the penalty determine stay unchanged.
        determined = curvature > np.finfo(float).eps * curvature.max()
        inner = np.where(determined, right / np.where(determined, curvature, 1), kept)
        solved: FloatArray = document_axes @ inner @ query_axes.T
        return solved

    @cached_property
    def _gaussian(self) -> tuple[FloatArray, ...]:
        """Return eigenvalues and -vectors of Σ and C, and M between the two bases."""
        Q, X, n_threads = self.queries, self.documents, self.n_threads
        rng = np.random.default_rng(0)
        sample = X[sample_indices(rng, len(X), N_SAMPLED_DOCUMENTS)]
        center = sample.mean(axis=0)
        sample = sample - center
        covariance = back_project(sample, sample, n_threads)
        spread, document_axes = np.linalg.eigh(covariance.astype(np.float64))
        weighted = self.sample_weight.astype(Q.dtype)[:, None] * Q
        moment = back_project(weighted, Q, n_threads)
        power, query_axes = np.linalg.eigh(moment.astype(np.float64))
        M = back_project(self.weights @ X - center, weighted, n_threads)
        M = M.astype(np.float64) / len(Q)
        return (
            np.maximum(spread, 0) / len(sample),
            document_axes,
            np.maximum(power, 0) / len(Q),
            query_axes,
            document_axes.T @ M @ query_axes,
        )


@dataclass(frozen=True)
class MiniBatches:
    """Mini-batches of the penalized objective.

    Parameters
    ----------
    objective : RetrievalObjective
        Objective of all queries.
    alpha : float
        Penalty per query.
    center : ndarray
        Maps that cost no penalty.
    batch_size, n_candidates : int
        Number of queries and of random documents in a batch.
    """

    objective: RetrievalObjective
    alpha: float
    center: FloatArray
    batch_size: int
    n_candidates: int

    def draw(self, rng: Generator) -> Ridge:
        """Return the penalized objective of a random batch."""
        batch = self.objective.sample(self.batch_size, self.n_candidates, rng)
        return Ridge(batch, self.alpha * len(batch.queries), self.center)


def _through_length(
    image: FloatArray, length: FloatArray | None, gradient: FloatArray
) -> FloatArray:
    """Return the gradient by A x, given the gradient by A x / ‖A x‖."""
    if length is None:
        return gradient
    along = np.einsum("ij,ij->i", image, gradient)[:, None]
    projected: FloatArray = (gradient - along * image) / length
    return projected
