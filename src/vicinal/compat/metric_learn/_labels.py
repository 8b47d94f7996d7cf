"""metric-learn's estimators that learn from points with labels, chunks or nothing."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vicinal import classic, nca
from vicinal._typing import IntArray
from vicinal.compat.metric_learn._shared import DEPRECATED, MetricLearnNames
from vicinal.compat.metric_learn.constraints import Constraints

# What a tolerance of None is.
TOL = 1e-5


class NCA(MetricLearnNames, nca.NCA):
    """`vicinal.NCA` with metric-learn's parameters.

    Parameters
    ----------
    init, n_components, max_iter, tol, verbose, random_state
        As for :class:`vicinal.NCA`; a tol of None is 1e-5.
    preprocessor : array-like or callable, default=None
        The points, where X is an array of indices.

    See Also
    --------
    vicinal.NCA : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.NCA(max_iter=500, n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        init: str | ArrayLike = "auto",
        n_components: int | None = None,
        max_iter: int = 100,
        tol: float | None = None,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            init=init,
            max_iter=max_iter,
            verbose=verbose,
            random_state=random_state,
        )
        self.tol = tol  # type: ignore[assignment]
        self.preprocessor = preprocessor

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and labels."""
        with self._as_ours(tol=TOL if self.tol is None else self.tol):
            return super().fit(self._given_points(X), y)


class MLKR(MetricLearnNames, classic.MLKR):
    """`vicinal.classic.MLKR` with metric-learn's parameters, and without a penalty.

    Parameters
    ----------
    n_components, init, tol, max_iter, verbose, random_state
        As for :class:`vicinal.classic.MLKR`; a tol of None is 1e-5.
    preprocessor : array-like or callable, default=None
        The points, where X is an array of indices.

    See Also
    --------
    vicinal.classic.MLKR : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.MLKR(n_components=2, max_iter=500).fit(X, y.astype(float))
    >>> model.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        init: str | ArrayLike = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        verbose: bool = False,
        preprocessor: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            init=init,
            alpha=0.0,
            max_iter=max_iter,
            verbose=verbose,
            random_state=random_state,
        )
        self.tol = tol  # type: ignore[assignment]
        self.preprocessor = preprocessor

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and numbers."""
        with self._as_ours(tol=TOL if self.tol is None else self.tol):
            return super().fit(self._given_points(X), y)


class LFDA(MetricLearnNames, classic.LFDA):
    """`vicinal.classic.LFDA` with metric-learn's parameters.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of the map.
    k : int or None, default=None
        Which neighbour sets a point's scale; None is 7, or the features less one.
    embedding_type : {"weighted", "orthonormalized", "plain"}, default="weighted"
        As `embedding` of :class:`vicinal.classic.LFDA`.
    preprocessor : array-like or callable, default=None
        The points, where X is an array of indices.

    See Also
    --------
    vicinal.classic.LFDA : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.LFDA(n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        k: int | None = None,
        embedding_type: str = "weighted",
        preprocessor: Any = None,
    ) -> None:
        self.n_components = n_components
        self.k = k
        self.embedding_type = embedding_type
        self.preprocessor = preprocessor

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and labels."""
        points = self._given_points(X)
        k = self.k
        if k is None:
            k = max(1, min(7, int(np.shape(points)[1]) - 1))
        ours = {"n_neighbors": k, "embedding": self.embedding_type, "reg": 1e-6}
        with self._as_ours(**ours):
            return super().fit(points, y)


class LMNN(MetricLearnNames, classic.LMNN):
    """`vicinal.classic.LMNN` with metric-learn's parameters.

    Parameters
    ----------
    init, n_neighbors, max_iter, regularization, verbose, n_components, random_state
        As for :class:`vicinal.classic.LMNN`.
    min_iter, learn_rate
        Without effect: the steps find their own length.
    convergence_tol : float, default=1e-3
        Values above 1e-5 stand for 1e-5, which is another measure here.
    preprocessor : array-like or callable, default=None
        The points, where X is an array of indices.
    k : int
        The old name of n_neighbors.

    See Also
    --------
    vicinal.classic.LMNN : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> model = metric_learn.LMNN(max_iter=500, n_components=2).fit(X, y)
    >>> model.transform(X).shape
    (150, 2)
    """

    def __init__(
        self,
        init: str | ArrayLike = "auto",
        n_neighbors: int = 3,
        min_iter: int = 50,
        max_iter: int = 1000,
        learn_rate: float = 1e-7,
        regularization: float = 0.5,
        convergence_tol: float = 1e-3,
        verbose: bool = False,
        preprocessor: Any = None,
        n_components: int | None = None,
        random_state: Any = None,
        k: Any = DEPRECATED,
    ) -> None:
        super().__init__(
            n_neighbors,
            n_components=n_components,
            init=init,
            regularization=regularization,
            max_iter=max_iter,
            verbose=verbose,
            random_state=random_state,
        )
        self.min_iter = min_iter
        self.learn_rate = learn_rate
        self.convergence_tol = convergence_tol
        self.preprocessor = preprocessor
        self.k = k

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn from points, or their indices, and labels."""
        self._ignored(min_iter=50, learn_rate=1e-7)
        n_neighbors = self._renamed("k", "n_neighbors")
        tol = min(self.convergence_tol, TOL)
        with self._as_ours(tol=tol, n_neighbors=n_neighbors):
            return super().fit(self._given_points(X), y)


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


class Covariance(MetricLearnNames, classic.Covariance):
    """`vicinal.classic.Covariance` with metric-learn's parameters.

    Parameters
    ----------
    preprocessor : array-like or callable, default=None
        The points, where X is an array of indices.

    See Also
    --------
    vicinal.classic.Covariance : The same in vicinal's own names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> metric_learn.Covariance().fit(X).get_mahalanobis_matrix().shape
    (4, 4)
    """

    n_components = None

    def __init__(self, preprocessor: Any = None) -> None:
        self.preprocessor = preprocessor

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Learn from points, or their indices."""
        return super().fit(self._given_points(X), y)
