"""metric-learn's module `lmnn`."""

from typing import Any, Self

from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._shared import DEPRECATED, TOL, MetricLearnNames


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
