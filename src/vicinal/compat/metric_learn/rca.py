"""metric-learn's module `rca`: from chunks, and from labels."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vicinal import classic
from vicinal._typing import IntArray
from vicinal.compat.metric_learn._shared import DEPRECATED, MetricLearnNames
from vicinal.compat.metric_learn.constraints import Constraints


class RCA(MetricLearnNames, classic.RCA):
    """`vicinal.classic.RCA` with metric-learn's parameters.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of the map.
    preprocessor : array-like or callable, default=None
        The points, where X is an array of indices.

    See Also
    --------
    vicinal.classic.RCA : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> chunks = metric_learn.Constraints(y).chunks(20, random_state=0)
    >>> metric_learn.RCA().fit(X, chunks).get_mahalanobis_matrix().shape
    (4, 4)
    """

    def __init__(
        self, n_components: int | None = None, preprocessor: Any = None
    ) -> None:
        self.n_components = n_components
        self.preprocessor = preprocessor

    def fit(self, X: ArrayLike, chunks: ArrayLike) -> Self:
        """Learn from points, or their indices, and the chunk of each, or -1."""
        points = self._given_points(X)
        codes = np.asarray(chunks)
        sizes = np.unique(codes[codes != -1], return_counts=True)[1]
        # As metric-learn does, without shrinkage, where the covariance has an inverse.
        enough = int((sizes - 1).sum()) >= int(np.shape(points)[1])
        with self._as_ours(shrinkage=0.0 if enough else "auto"):
            return super().fit(points, chunks)

    def _warn_of_classes(self, y: Any) -> None:
        """Say nothing: what is given here are chunks, and -1 is none of them."""


class RCA_Supervised(RCA):  # noqa: N801
    """RCA from labels, by random chunks.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of the map.
    n_chunks, chunk_size : int, default=100 and 2
        The chunks to draw.
    preprocessor : array-like or callable, default=None
        The points, where X is an array of indices.
    random_state : int, RandomState or None, default=None
        For the chunks.
    num_chunks : int
        The old name of n_chunks.

    See Also
    --------
    vicinal.classic.RCA : Takes labels as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.RCA_Supervised(n_chunks=30, random_state=0).fit(X, y)
    >>> model.get_mahalanobis_matrix().shape
    (4, 4)
    """

    def __init__(
        self,
        n_components: int | None = None,
        n_chunks: int = 100,
        chunk_size: int = 2,
        preprocessor: Any = None,
        random_state: Any = None,
        num_chunks: Any = DEPRECATED,
    ) -> None:
        super().__init__(n_components, preprocessor)
        self.n_chunks = n_chunks
        self.chunk_size = chunk_size
        self.random_state = random_state
        self.num_chunks = num_chunks

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and labels."""
        n_chunks = self._renamed("num_chunks", "n_chunks")
        self._check_points(self._given_points(X))
        chunks: IntArray = Constraints(y).chunks(
            n_chunks, self.chunk_size, random_state=self.random_state
        )
        return super().fit(X, chunks)
