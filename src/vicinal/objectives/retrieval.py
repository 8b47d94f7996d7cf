"""The objective of retrieval: queries that should find the documents they want."""

from copy import copy
from typing import Literal, Self, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood import (
    back_project,
    effective_n_threads,
    project,
    soft_neighbors,
)
from vicinal.objectives.base import sample_indices
from vicinal.objectives.gaussian_documents import GaussianDocuments

Side: TypeAlias = Literal["query", "both", "two"]


class RetrievalObjective:
    """How probably queries pick the documents that are relevant to them, under maps.

    Query q picks document j with p_qj ∝ exp(−‖u_q − v_j‖² / 2T), which for vectors of
    length 1 is the softmax of their cosines over T. The value is the sum over the
    queries of Σ_j w_qj log p_qj, with weights w_qj of the relevant documents that sum
    to 1 for each query: eq. 8 of Neighbourhood Components Analysis, normalised for
    each query; of one relevant document it is known as InfoNCE.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_features)
        The queries' vectors, float32 or float64.
    documents : ndarray of shape (n_documents, n_features)
        The documents' vectors, of the same type.
    weights : csr_array of shape (n_queries, n_documents)
        w_qj; each row sums to 1.
    temperature : float
        T.
    side : {"query", "both", "two"}
        What is mapped: the queries alone (u = A q, v = x), both by one map, or each by
        its own.
    unit_length : bool
        Whether mapped vectors are scaled to length 1, where documents are mapped; a
        query's length does not change its ranking.
    n_jobs : int or None, default=None
        Threads.

    See Also
    --------
    vicinal.adapters.RetrievalAdapter : Maximises it.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from vicinal.objectives import RetrievalObjective
    >>> documents = np.eye(3)
    >>> objective = RetrievalObjective(
    ...     documents[:2], documents, csr_array(np.eye(2, 3)),
    ...     temperature=0.5, side="query", unit_length=True,
    ... )
    >>> value, gradient = objective.value_and_gradient(np.eye(3))
    >>> gradient.shape
    (3, 3)
    """

    def __init__(
        self,
        queries: FloatArray,
        documents: FloatArray,
        weights: csr_array,
        *,
        temperature: float,
        side: Side,
        unit_length: bool,
        n_jobs: int | None = None,
    ) -> None:
        self.queries = queries
        self.documents = documents
        self.weights = weights.astype(queries.dtype)
        self.temperature = temperature
        self.side: Side = side
        self.unit_length = unit_length
        self.n_threads = effective_n_threads(n_jobs)
        self._gaussian: GaussianDocuments | None = None

    @property
    def has_closed_form(self) -> bool:
        """Whether there is a `closed_form`: queries alone are mapped, by cosines."""
        return self.side == "query" and self.unit_length

    def closed_form(self, alpha: float) -> FloatArray:
        """Return the map that is best if the documents are one Gaussian cloud.

        Parameters
        ----------
        alpha : float
            The penalty on leaving the identity, for each query.

        Returns
        -------
        ndarray of shape (n_features, n_features)
        """
        if self._gaussian is None:
            self._gaussian = GaussianDocuments.of(
                self.queries, self.documents, self.weights, self.n_threads
            )
        return self._gaussian.solve(alpha, self.temperature)

    @property
    def n_queries(self) -> int:
        """How many queries the value sums over."""
        return len(self.queries)

    def value_and_gradient(self, components: FloatArray) -> tuple[float, FloatArray]:
        """Evaluate at the maps, in O(D n_queries n_documents).

        Parameters
        ----------
        components : ndarray of shape (n_components, n_features), or two of them
            The map; for side "two" the queries' and the documents'.

        Returns
        -------
        value : float
            A sum over the queries, not a mean.
        gradient : ndarray of the shape of `components`
            Its derivative.
        """
        terms, slope_u, slope_v = self._slopes(components, with_slopes=True)
        for_queries = back_project(slope_u, self.queries, self.n_threads)
        if self.side == "query":
            return float(terms.sum()), for_queries
        for_documents = back_project(slope_v, self.documents, self.n_threads)
        if self.side == "two":
            return float(terms.sum()), np.stack([for_queries, for_documents])
        return float(terms.sum()), for_queries + for_documents

    def terms(self, components: FloatArray) -> FloatArray:
        """Return Σ_j w_qj log p_qj of each query; parameters as for the value."""
        return self._slopes(components, with_slopes=False)[0]

    def subset(self, rows: IntArray, columns: IntArray | None = None) -> Self:
        """Return the objective of some queries, which pick from some documents.

        Parameters
        ----------
        rows : ndarray of int
            The queries.
        columns : ndarray of int or None, default=None
            The documents besides those that are relevant to these queries; None is
            all, which are not copied.

        Returns
        -------
        RetrievalObjective
        """
        other = copy(self)
        other._gaussian = None
        other.queries = self.queries[rows]
        other.weights = weights = self.weights[rows]
        if columns is not None:
            kept = np.union1d(weights.indices, columns)
            other.documents = self.documents[kept]
            positions = np.searchsorted(kept, weights.indices)
            other.weights = csr_array(
                (weights.data, positions, weights.indptr), (len(rows), len(kept))
            )
        return other

    def images(self, components: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Return the queries and documents, mapped; None leaves them as they are."""
        if components is None:
            return self.queries, self.documents
        A = np.asarray(components).astype(self.queries.dtype)
        map_of_queries, map_of_documents = (A[0], A[1]) if A.ndim == 3 else (A, A)
        return (
            self._image(self.queries, map_of_queries)[0],
            self._image(self.documents, map_of_documents, is_document=True)[0],
        )

    def _slopes(
        self, components: FloatArray, with_slopes: bool
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the terms, and the derivatives by A q and by the documents' images."""
        dtype, n = self.queries.dtype, len(self.queries)
        A = np.asarray(components).astype(dtype)
        map_of_queries, map_of_documents = (A[0], A[1]) if A.ndim == 3 else (A, A)
        U, length_u = self._image(self.queries, map_of_queries)
        V, length_v = self._image(self.documents, map_of_documents, is_document=True)
        # Relative to their middle, so that sums of squares lose few digits.
        scale, middle = dtype.type(np.sqrt(0.5 / self.temperature)), V.mean(axis=0)
        P, Z = scale * (U - middle), scale * (V - middle)
        mapped = with_slopes and self.side != "query"
        carried = np.hstack([P, np.ones((n, 1), dtype)]) if mapped else None
        found = soft_neighbors(P, Z, self.n_threads, carried)
        wanted = self.weights @ Z
        squares = np.einsum("ij,ij->i", P, P) - 2 * np.einsum("ij,ij->i", P, wanted)
        squares += self.weights @ np.einsum("ij,ij->i", Z, Z)
        terms: FloatArray = -squares.astype(np.float64) - found.log_sums
        if not with_slopes:
            return terms, U, V
        factor = 2 * scale
        slope_u = _through_length(U, length_u, factor * (wanted - found.means))
        if not mapped:
            return terms, slope_u, V
        gained = self.weights.T @ P - found.received[:, :-1]
        share = self.weights.sum(axis=0) - found.received[:, -1]
        slope_v = factor * (gained - share[:, None] * Z)
        return terms, slope_u, _through_length(V, length_v, slope_v)

    def _image(
        self, X: FloatArray, A: FloatArray, is_document: bool = False
    ) -> tuple[FloatArray, FloatArray | None]:
        """Return the vectors' images, and their lengths where these were divided by."""
        if is_document and self.side == "query":
            return X, None
        Z = project(X, A, self.n_threads)
        if self.side == "query" or not self.unit_length:
            return Z, None
        length = lengths(Z)
        return Z / length, length


def _through_length(
    image: FloatArray, length: FloatArray | None, slope: FloatArray
) -> FloatArray:
    """Return the derivative by A x, given that by its image A x / ‖A x‖."""
    if length is None:
        return slope
    along = np.einsum("ij,ij->i", image, slope)[:, None]
    return (slope - along * image) / length


def lengths(Z: FloatArray) -> FloatArray:
    """Return ‖z_i‖ as a column, at least the smallest normal number."""
    norms = np.sqrt(np.einsum("ij,ij->i", Z, Z))[:, None]
    return np.maximum(norms, np.finfo(Z.dtype).tiny)


def draw_batch(
    objective: RetrievalObjective, batch_size: int, n_candidates: int, rng: Generator
) -> RetrievalObjective:
    """Return random queries with their documents and random others as candidates."""
    rows = sample_indices(rng, len(objective.queries), batch_size)
    columns = sample_indices(rng, len(objective.documents), n_candidates)
    return objective.subset(rows, columns)
