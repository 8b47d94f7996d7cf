"""metric-learn's module `mlkr`."""

from typing import Any, Self

from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._shared import TOL, MetricLearnNames


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
