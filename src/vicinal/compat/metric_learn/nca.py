"""metric-learn's module `nca`."""

from typing import Any, Self

from numpy.typing import ArrayLike

from vicinal import nca
from vicinal.compat.metric_learn._shared import TOL, MetricLearnNames


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
