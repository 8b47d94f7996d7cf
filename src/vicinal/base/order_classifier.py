"""Triplets and quadruplets: which of two distances is the smaller one."""

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.metaestimators import available_if

from vicinal._typing import FloatArray, IntArray
from vicinal.base.tuple_metric import TupleMetric, of_tuples
from vicinal.base.tuples import NAMES, Tuples, check_distinct

__all__ = ["QuadrupletClassifier", "TripletClassifier"]


class OrderClassifier(TupleMetric):
    """Base of metrics that learn from tuples with a first distance below a second."""

    # The places of the two points that shall be near, and of the two to be farther.
    _near: ClassVar[tuple[int, int]]
    _far: ClassVar[tuple[int, int]]
    classes_: IntArray

    def _fit_tuples(self, tuples: Tuples, y: Any, **how: Any) -> None:
        name = NAMES[self._tuple_size]
        if y is not None and np.ndim(y) and not (np.asarray(y) == 1).all():
            raise ValueError(
                f"Expected {name} without y: in each of them, the order of the points "
                "tells which distance is the smaller one. Points with labels are X of "
                "two dimensions, without a preprocessor."
            )
        if self._strict:
            places = [(0, 1), (0, 2), (1, 2)] if self._tuple_size == 3 else [self._far]
            check_distinct(tuples, places)
        self._learn_tuples(tuples, **how)
        self.classes_ = np.array([-1, 1])

    def _learn_tuples(self, tuples: Tuples, **how: Any) -> None:
        """Learn from checked tuples."""
        raise NotImplementedError

    @available_if(of_tuples)
    def decision_function(self, tuples: ArrayLike) -> FloatArray:
        """Return how much farther the second two points are apart than the first two.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            Triplets (a, b, c), of which a and b should be nearer than a and c; or
            quadruplets (a, b, c, d), of which a and b should be nearer than c and d.
            Of points, or with `preprocessor` of indices.

        Returns
        -------
        ndarray of shape (n_tuples,)
            d(a, c) − d(a, b), or d(c, d) − d(a, b).
        """
        checked = self._tuples(tuples)
        far = checked.lengths(self.components_, *self._far)
        return far - checked.lengths(self.components_, *self._near)

    @available_if(of_tuples)
    def predict(self, tuples: ArrayLike) -> IntArray:
        """Return 1 for tuples that are in order under the metric, else -1.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_tuples,)
            1 where the first distance is the smaller one.
        """
        return np.where(self.decision_function(tuples) > 0, 1, -1)

    @available_if(of_tuples)
    def score(self, tuples: ArrayLike, y: ArrayLike | None = None) -> float:
        """Return the share of tuples that are in order under the metric.

        Parameters
        ----------
        tuples : array-like of shape (n_tuples, size, n_features) or (n_tuples, size)
            As for `decision_function`.
        y : array-like of shape (n_tuples,) or None, default=None
            1 where tuples are in order, -1 where they should not be; None is all 1.

        Returns
        -------
        float
            From 0 to 1.
        """
        predicted = self.predict(tuples)
        expected = np.ones(len(predicted)) if y is None else np.asarray(y)
        return float(np.mean(predicted == expected))


class TripletClassifier(OrderClassifier):
    """Base of metrics that learn from (a, b, c): a is nearer to b than to c."""

    _tuple_size = 3
    _near, _far = (0, 1), (0, 2)


class QuadrupletClassifier(OrderClassifier):
    """Base of metrics that learn from (a, b, c, d): a, b are nearer than c, d."""

    _tuple_size = 4
    _near, _far = (0, 1), (2, 3)
