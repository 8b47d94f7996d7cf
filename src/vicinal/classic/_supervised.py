"""What the metrics that learn from classes have in common: their fit."""

from abc import abstractmethod
from typing import Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import LearnsFromClasses, LinearMetric, labeled
from vicinal.neighborhood import single_threaded_blas


class SupervisedMetric(LearnsFromClasses, LinearMetric):
    """Base of linear metrics that learn from points and their classes."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their classes, two at least.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points, _, codes = labeled(self, X, y)
            self._learn(points, codes)
        return self

    @abstractmethod
    def _learn(self, X: FloatArray, codes: IntArray) -> None:
        """Learn from checked points and their classes, as integers from 0."""
