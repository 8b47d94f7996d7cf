"""metric-learn's module `lfda`."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._shared import MetricLearnNames


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
        ours = {"n_neighbors": k, "embedding": self.embedding_type, "alpha": 1e-6}
        with self._as_ours(**ours):
            return super().fit(points, y)
