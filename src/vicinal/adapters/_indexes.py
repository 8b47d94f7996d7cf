"""Adapters inside indexes of other libraries: FAISS, usearch, PyNNDescent.

Each function makes an index that takes queries as they come from the encoder.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vicinal._typing import FloatArray, IntArray
from vicinal.adapters._adapter import RetrievalAdapter

# usearch's graph loses up to a seventh of the neighbours when several threads build one
# of few documents; looking at all of so few takes about a millisecond a query.
_EXACT_BELOW = 10_000


@dataclass(frozen=True)
class AdaptedIndex:
    """An index of documents that takes queries as they come from the encoder.

    Attributes
    ----------
    adapter : RetrievalAdapter
        Maps the queries.
    index : object
        The other library's index, of mapped documents.

    See Also
    --------
    vicinal.adapters.usearch_index : Makes one.
    vicinal.adapters.pynndescent_index : Makes one.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, usearch_index
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> index = usearch_index(adapter, vectors)
    >>> positions, distances = index.query(vectors[:2], k=3)
    >>> positions.shape
    (2, 3)
    """

    adapter: RetrievalAdapter
    index: Any
    _search: Callable[[FloatArray, int], tuple[IntArray, FloatArray]]

    def query(self, queries: ArrayLike, k: int = 10) -> tuple[IntArray, FloatArray]:
        """Return each query's k nearest documents, among many only about.

        Parameters
        ----------
        queries : array-like of shape (n_queries, n_features)
            As they come from the encoder.
        k : int, default=10
            How many.

        Returns
        -------
        positions : ndarray of shape (n_queries, k)
            Of the documents, the nearest first.
        distances : ndarray of shape (n_queries, k)
            1 − cosine; under the Euclidean metric the library's own distance.
        """
        return self._search(_single(self.adapter.transform_queries(queries)), k)


def faiss_index(adapter: RetrievalAdapter, index: Any) -> Any:
    """Put the queries' map in front of a FAISS index that has the documents.

    Parameters
    ----------
    adapter : RetrievalAdapter
        Fitted.
    index : faiss.Index
        Has the documents: as they are with side "query", so that an index that exists
        stays as it is; ``adapter.transform_documents(documents)`` otherwise. By inner
        product or L2 under the cosine, by L2 under the Euclidean metric.

    Returns
    -------
    faiss.IndexPreTransform
        Its `search` takes queries as they come from the encoder. Its `add` would map
        documents as if they were queries: add to `index` itself.

    Raises
    ------
    ImportError
        When faiss is missing: ``pip install 'vicinal[ann]'``.

    See Also
    --------
    vicinal.adapters.usearch_index : Builds an index of another library.

    Examples
    --------
    >>> import faiss
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, faiss_index
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> documents = faiss.IndexFlatL2(4)
    >>> documents.add(vectors)
    >>> distances, positions = faiss_index(adapter, documents).search(vectors[:2], 3)
    >>> positions.shape
    (2, 3)
    """
    faiss = _library("faiss")
    A = _single(adapter.query_components_)
    d, n_features = A.shape
    if index.d != d:
        raise ValueError(f"The index has {index.d} dimensions, and the map {d}.")
    linear = faiss.LinearTransform(n_features, d, False)
    faiss.copy_array_to_vector(A.ravel(), linear.A)
    linear.is_trained = True
    steps = [linear]
    if adapter.metric_ == "cosine":
        steps.append(faiss.NormalizationTransform(d, 2.0))
    folded = faiss.IndexPreTransform(index)
    for step in reversed(steps):
        folded.prepend_transform(step)
    # Python must not free what the new index points to.
    folded.referenced_objects = [index, *steps]
    return folded


def usearch_index(adapter: RetrievalAdapter, documents: ArrayLike) -> AdaptedIndex:
    """Index documents with usearch; fewer than 10,000 are searched exactly.

    Parameters
    ----------
    adapter : RetrievalAdapter
        Fitted.
    documents : array-like of shape (n_documents, n_features)
        As they come from the encoder.

    Returns
    -------
    AdaptedIndex
        Keys are positions of documents.

    Raises
    ------
    ImportError
        When usearch is missing: ``pip install 'vicinal[ann]'``.

    See Also
    --------
    vicinal.adapters.faiss_index : Puts the map in front of an index that exists.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, usearch_index
    >>> vectors = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    >>> pairs = [(i, i + 1) for i in range(29)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> index = usearch_index(adapter, vectors)
    >>> index.query(vectors[:2], k=3)[0].shape
    (2, 3)
    """
    index_module = _library("usearch.index")
    V = _single(adapter.transform_documents(documents))
    metric = "cos" if adapter.metric_ == "cosine" else "l2sq"
    index = index_module.Index(ndim=V.shape[1], metric=metric, dtype="f32")
    index.add(np.arange(len(V)), V)
    exact = len(V) < _EXACT_BELOW

    def search(U: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
        found = index.search(U, k, exact=exact)
        shape = (len(U), -1)
        return (
            np.asarray(found.keys).astype(np.intp).reshape(shape),
            np.asarray(found.distances).reshape(shape),
        )

    return AdaptedIndex(adapter, index, search)


def pynndescent_index(
    adapter: RetrievalAdapter, documents: ArrayLike, *, random_state: Any = None
) -> AdaptedIndex:
    """Index documents with PyNNDescent.

    Parameters
    ----------
    adapter : RetrievalAdapter
        Fitted.
    documents : array-like of shape (n_documents, n_features)
        As they come from the encoder.
    random_state : int, RandomState or None, default=None
        For the index.

    Returns
    -------
    AdaptedIndex
        Built; the first search takes no longer than others.

    Raises
    ------
    ImportError
        When pynndescent is missing: ``pip install 'vicinal[ann]'``.

    See Also
    --------
    vicinal.adapters.usearch_index : Takes another library.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.adapters import RetrievalAdapter, pynndescent_index
    >>> vectors = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    >>> pairs = [(i, i + 1) for i in range(299)]
    >>> adapter = RetrievalAdapter(alpha=0.1).fit(vectors[:-1], vectors, pairs)
    >>> index = pynndescent_index(adapter, vectors, random_state=0)
    >>> index.query(vectors[:2], k=3)[0].shape
    (2, 3)
    """
    library = _library("pynndescent")
    V = _single(adapter.transform_documents(documents))
    metric = "cosine" if adapter.metric_ == "cosine" else "euclidean"
    index = library.NNDescent(V, metric=metric, random_state=random_state)
    index.prepare()

    def search(U: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
        positions, distances = index.query(U, k=k)
        return positions.astype(np.intp), distances

    return AdaptedIndex(adapter, index, search)


def _single(vectors: FloatArray) -> FloatArray:
    return np.ascontiguousarray(vectors, dtype=np.float32)


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f"This needs {name.partition('.')[0]}: pip install 'vicinal[ann]'."
        ) from error
