"""metric-learn's module `covariance`."""

from typing import Any, Self

from numpy.typing import ArrayLike

from vicinal import classic
from vicinal.compat.metric_learn._shared import MetricLearnNames


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
