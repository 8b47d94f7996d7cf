"""Nearest neighbor search: one interface with exact and approximate backends.

Every index has `build(X)` and `query(Q, k)`. Distances have the same meaning in all
backends: the Euclidean distance, or 1 − cosine.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal, Protocol, Self, TypeAlias

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.utils import check_array

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.neighborhood.threads import (
    N_PARTITIONS,
    blocks,
    effective_n_threads,
    map_in_order,
)

__all__ = ["ExactIndex", "FaissIndex", "KNNIndex", "PynndescentIndex", "UsearchIndex"]

Metric: TypeAlias = Literal["euclidean", "cosine"]


class KNNIndex(Protocol):
    """A search for the nearest neighbors of points.

    See Also
    --------
    vicinal.neighbors.ExactIndex : Compares each query with all points.
    vicinal.neighbors.UsearchIndex : Approximate search among many points.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neighbors import ExactIndex, KNNIndex
    >>> index: KNNIndex = ExactIndex().build(np.eye(3))
    >>> index.query([[0.9, 0.1, 0.0]], k=2)[0]
    array([[0, 1]])
    """

    def build(self, X: ArrayLike) -> Self:
        """Index the rows of X.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Points to search.

        Returns
        -------
        KNNIndex
            The index itself.
        """

    def query(self, Q: ArrayLike, k: int = 10) -> tuple[IntArray, FloatArray]:
        """Find the nearest points of each query.

        Parameters
        ----------
        Q : array-like of shape (n_queries, n_features)
            Queries.
        k : int, default=10
            Number of neighbors.

        Returns
        -------
        positions : ndarray of shape (n_queries, k)
            Rows of X, nearest first; −1 if fewer than k points are found.
        distances : ndarray of shape (n_queries, k)
            Euclidean distances or 1 − cosine; inf if fewer than k points are found.
        """


class ExactIndex:
    """Exact search by brute force, in blocks of queries.

    Parameters
    ----------
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance to search by.
    n_jobs : int or None, default=None
        Number of threads; None uses the threads that BLAS would use.

    See Also
    --------
    vicinal.neighbors.UsearchIndex : Faster and approximate.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neighbors import ExactIndex
    >>> index = ExactIndex(metric="cosine").build(np.eye(3))
    >>> positions, distances = index.query([[3.0, 4.0, 0.0]], k=2)
    >>> positions, distances.round(3)
    (array([[1, 0]]), array([[0.2, 0.4]]))
    """

    def __init__(self, metric: Metric = "euclidean", n_jobs: int | None = None) -> None:
        self.metric = metric
        self.n_jobs = n_jobs

    def build(self, X: ArrayLike) -> Self:
        """Keep the rows of X; see :meth:`KNNIndex.build`."""
        points: FloatArray = check_array(X, dtype=FLOATS)
        # Centered points keep more digits of small distances.
        self._center = 0.0 if self.metric == "cosine" else points.mean(axis=0)
        self._points = (
            _normalize(points) if self.metric == "cosine" else points - self._center
        )
        return self

    def query(self, Q: ArrayLike, k: int = 10) -> tuple[IntArray, FloatArray]:
        """Find the nearest points of each query; see :meth:`KNNIndex.query`."""
        X, n_threads = self._points, effective_n_threads(self.n_jobs)
        queries: FloatArray = check_array(Q, dtype=X.dtype)
        k_found = min(k, len(X))
        if self.metric == "cosine":
            found, scores = nearest(
                _normalize(queries), X, k_found, inner_product=True, n_threads=n_threads
            )
            return _pad(found, 1 - scores, k)
        queries = queries - self._center
        positions = np.empty((len(queries), k_found), dtype=np.intp)
        distances = np.empty(positions.shape, dtype=X.dtype)
        # Rounding errors of a score are at most (n_features + 2) eps |x| (|q| + |x|).
        sizes = np.linalg.norm(X, axis=1)
        slack = (X.shape[1] + 2) * np.finfo(X.dtype).eps * sizes

        def rank(rows: slice, block: FloatArray) -> None:
            for r, row in enumerate(block, start=rows.start):
                q = queries[r]
                error = slack * (np.linalg.norm(q) + sizes)
                # At least k_found points have scores above this one.
                least = np.partition(row - error, -k_found)[-k_found]
                candidates = np.flatnonzero(row + error >= least)
                exact = np.linalg.norm(X[candidates] - q, axis=1)
                order = np.argsort(exact, kind="stable")[:k_found]
                positions[r], distances[r] = candidates[order], exact[order]

        for_each_block(queries, X, rank, inner_product=False, n_threads=n_threads)
        return _pad(positions, distances, k)


class FaissIndex:
    """Search by an index of FAISS, in float32.

    Parameters
    ----------
    index : faiss.Index or None, default=None
        Index to fill, or one that already contains the points and needs no `build`.
        None builds a flat index, which is exact. Under the cosine, its vectors have
        length 1 and it compares inner products or L2 distances.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance to search by.

    See Also
    --------
    vicinal.adapters.to_faiss : Puts the map of an adapter in front of a FAISS index.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neighbors import FaissIndex
    >>> index = FaissIndex(metric="cosine").build(np.eye(3))
    >>> index.query([[3.0, 4.0, 0.0]], k=2)[0]
    array([[1, 0]])
    """

    def __init__(self, index: Any = None, metric: Metric = "euclidean") -> None:
        self.index = index
        self.metric = metric

    def build(self, X: ArrayLike) -> Self:
        """Train the index if it needs to be, and add X; see :meth:`KNNIndex.build`."""
        faiss = import_extra("faiss", "ann")
        vectors = self._vectors(X)
        if self.index is None:
            flat = faiss.IndexFlatIP if self.metric == "cosine" else faiss.IndexFlatL2
            self.index = flat(vectors.shape[1])
        if not self.index.is_trained:
            self.index.train(vectors)
        self.index.add(vectors)
        return self

    def query(self, Q: ArrayLike, k: int = 10) -> tuple[IntArray, FloatArray]:
        """Find the nearest points of each query; see :meth:`KNNIndex.query`."""
        faiss = import_extra("faiss", "ann")
        is_product = self.index.metric_type == faiss.METRIC_INNER_PRODUCT
        if is_product and self.metric == "euclidean":
            raise ValueError(
                "A FAISS index of inner products cannot search by Euclidean distance; "
                "use an L2 index or metric='cosine'."
            )
        found, positions = self.index.search(self._vectors(Q), k)
        if is_product:
            distances = 1 - found
        elif self.metric == "cosine":  # ‖u − v‖² = 2 (1 − cos) for unit vectors
            distances = found / 2
        else:
            distances = np.sqrt(np.maximum(found, 0))
        return _pad(positions, distances, k)

    def _vectors(self, X: ArrayLike) -> FloatArray:
        vectors: FloatArray = check_array(X, dtype=np.float32, order="C")
        return _normalize(vectors) if self.metric == "cosine" else vectors


class UsearchIndex:
    """Approximate search by a graph of usearch (HNSW), in float32.

    Parameters
    ----------
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance to search by.
    exact_below : int, default=10000
        Fewer points are compared exactly. A graph of few points loses up to a seventh
        of the neighbors if several threads build it, and exact search among 10,000
        points takes about a millisecond per query.
    expansion_add : int, default=128
        Candidates that usearch keeps while it builds the graph.
    expansion_search : int, default=64
        Candidates that usearch keeps while it searches the graph.

    See Also
    --------
    vicinal.neighbors.ExactIndex : Exact search.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neighbors import UsearchIndex
    >>> index = UsearchIndex().build(np.eye(3))
    >>> index.query([[0.9, 0.1, 0.0]], k=2)[0]
    array([[0, 1]])
    """

    def __init__(
        self,
        metric: Metric = "euclidean",
        *,
        exact_below: int = 10_000,
        expansion_add: int = 128,
        expansion_search: int = 64,
    ) -> None:
        self.metric = metric
        self.exact_below = exact_below
        self.expansion_add = expansion_add
        self.expansion_search = expansion_search

    def build(self, X: ArrayLike) -> Self:
        """Index the rows of X; see :meth:`KNNIndex.build`."""
        points: FloatArray = check_array(X, dtype=FLOATS)
        library = import_extra("usearch.index", "ann")
        self.index = library.Index(
            ndim=points.shape[1],
            metric="cos" if self.metric == "cosine" else "l2sq",
            dtype="f32",
            expansion_add=self.expansion_add,
            expansion_search=self.expansion_search,
        )
        # Centered points keep more digits of small distances in float32.
        self._center = 0.0 if self.metric == "cosine" else points.mean(axis=0)
        return self.add(points)

    def add(self, X: ArrayLike) -> Self:
        """Add more rows, numbered from the current number of rows on.

        Parameters
        ----------
        X : array-like of shape (n_points, n_features)
            Points to add.

        Returns
        -------
        UsearchIndex
            The index itself.
        """
        vectors = _float32(X, self._center)
        n = len(self.index)
        self.index.add(np.arange(n, n + len(vectors)), vectors)
        return self

    def query(self, Q: ArrayLike, k: int = 10) -> tuple[IntArray, FloatArray]:
        """Find the nearest points of each query; see :meth:`KNNIndex.query`."""
        vectors = _float32(Q, self._center)
        n = len(self.index)
        found = self.index.search(vectors, min(k, n), exact=n < self.exact_below)
        shape = (len(vectors), -1)
        with np.errstate(invalid="ignore"):  # missing neighbors are signaling NaN
            distances = np.asarray(found.distances, dtype=np.float64).reshape(shape)
        if self.metric == "euclidean":
            distances = np.sqrt(np.maximum(distances, 0))
        positions = np.asarray(found.keys).astype(np.intp).reshape(shape)
        return _pad(positions, distances, k)


class PynndescentIndex:
    """Approximate search by PyNNDescent, in float32.

    Parameters
    ----------
    metric : {"euclidean", "cosine"}, default="euclidean"
        Distance to search by.
    random_state : int, RandomState instance or None, default=None
        Seed of the index.

    See Also
    --------
    vicinal.neighbors.UsearchIndex : Compiles nothing at its first use.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.neighbors import PynndescentIndex
    >>> X = np.random.default_rng(0).normal(size=(300, 4))
    >>> PynndescentIndex(random_state=0).build(X).query(X[:2], k=3)[0].shape
    (2, 3)
    """

    def __init__(self, metric: Metric = "euclidean", random_state: Any = None) -> None:
        self.metric = metric
        self.random_state = random_state

    def build(self, X: ArrayLike) -> Self:
        """Index the rows of X; see :meth:`KNNIndex.build`."""
        library = import_extra("pynndescent", "ann")
        points: FloatArray = check_array(X, dtype=FLOATS)
        self._center = 0.0 if self.metric == "cosine" else points.mean(axis=0)
        self.index = library.NNDescent(
            _float32(points, self._center),
            metric=self.metric,
            random_state=self.random_state,
        )
        self.index.prepare()
        return self

    def query(self, Q: ArrayLike, k: int = 10) -> tuple[IntArray, FloatArray]:
        """Find the nearest points of each query; see :meth:`KNNIndex.query`."""
        positions, distances = self.index.query(_float32(Q, self._center), k=k)
        return _pad(positions, distances, k)


def nearest(
    Q: FloatArray, X: FloatArray, k: int, *, inner_product: bool, n_threads: int
) -> tuple[IntArray, FloatArray]:
    """Return the k points with the highest scores for each query, and the scores.

    Scores are ⟨q, x⟩, or ⟨q, x⟩ − ½‖x‖², which ranks as minus the distance does. Of
    equal scores, the first point comes first.
    """
    positions = np.empty((len(Q), k), dtype=np.intp)
    scores = np.empty((len(Q), k), dtype=X.dtype)

    def select(rows: slice, block: FloatArray) -> None:
        for r, row in enumerate(block, start=rows.start):
            # Candidates reach the k-th score; a stable sort keeps the first of equals.
            candidates = np.flatnonzero(row >= row[np.argpartition(row, -k)[-k]])
            order = np.argsort(-row[candidates], kind="stable")[:k]
            positions[r] = candidates[order]
            scores[r] = row[positions[r]]

    for_each_block(Q, X, select, inner_product=inner_product, n_threads=n_threads)
    return positions, scores


def for_each_block(
    Q: FloatArray,
    X: FloatArray,
    use: Callable[[slice, FloatArray], None],
    *,
    inner_product: bool,
    n_threads: int,
) -> None:
    """Call `use` with the scores of each block of queries; see `nearest`.

    A block of each of the partitions fits scikit-learn's `working_memory`. Blocks
    exceed the cache because their scores are read only once or twice.
    """
    bytes_per_row = len(X) * X.itemsize
    budget = sklearn.get_config()["working_memory"] * 2**20 / N_PARTITIONS
    size = min(len(Q), max(1, int(budget // bytes_per_row)))
    offsets = 0 if inner_product else np.einsum("ij,ij->i", X, X) / -2

    def score(rows: slice) -> None:
        block = Q[rows] @ X.T
        if not inner_product:
            np.add(block, offsets, out=block)
        use(rows, block)

    for _ in map_in_order(score, blocks(slice(0, len(Q)), size), n_threads):
        pass


def import_extra(module: str, extra: str) -> Any:
    """Import a module of an optional dependency, or name the extra to install."""
    try:
        return import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise ImportError(
            f"This needs {library}: pip install 'vicinal[{extra}]'."
        ) from error


def _normalize(X: FloatArray) -> FloatArray:
    """Scale rows to length 1; rows of zeros stay."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1)


def _float32(X: ArrayLike, center: FloatArray | float) -> FloatArray:
    vectors = check_array(X, dtype=FLOATS) - center
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _pad(
    positions: IntArray, distances: FloatArray, k: int
) -> tuple[IntArray, FloatArray]:
    """Widen to k columns and mark missing neighbors with −1 and inf."""
    missing = ((0, 0), (0, k - positions.shape[1]))
    positions = np.pad(positions.astype(np.intp), missing, constant_values=-1)
    distances = np.pad(distances, missing, constant_values=np.inf)
    nobody = (positions < 0) | ~np.isfinite(distances)
    return np.where(nobody, -1, positions), np.where(nobody, np.inf, distances)
