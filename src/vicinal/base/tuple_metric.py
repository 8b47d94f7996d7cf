"""What metrics that learn from labels or from tuples have in common."""

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import LinearMetric, labeled, warn_caller
from vicinal.base.tuples import NAMES, Preprocessor, Tuples, are_tuples, check_tuples
from vicinal.neighborhood import single_threaded_blas

__all__ = ["TupleMetric", "of_tuples"]


def of_tuples(estimator: "TupleMetric") -> bool:
    """Return True, unless the estimator has learned from labels: then an error.

    For `available_if`: predictions are of tuples, and points with labels have none.
    """
    if getattr(estimator, "learned_from_", None) != "labels":
        return True
    name, what = type(estimator).__name__, NAMES[estimator._tuple_size]
    raise AttributeError(
        f"This {name} was fitted to points with labels. It predicts for {what}, once "
        f"it is fitted to {what}: see {name}.fit."
    )


class TupleMetric(LinearMetric):
    """Base of linear metrics that learn from labels, or from tuples of points.

    The shape says which: X of two dimensions is points, and y their labels; X of three
    is tuples, and so is X of two where the estimator has a `preprocessor`.
    """

    _tuple_size: ClassVar[int]
    # Whether contradictory and degenerate tuples are errors.
    _strict: ClassVar[bool] = True
    preprocessor: Preprocessor | None
    learned_from_: str

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the map, from labels or from tuples.

        Parameters
        ----------
        X : array-like
            Points of shape (n_samples, n_features); or tuples of points, of shape
            (n_tuples, size, n_features); or with `preprocessor` tuples of indices, of
            shape (n_tuples, size).
        y : array-like of shape (n_samples,) or (n_tuples,), or None, default=None
            The points' classes, two at least; or of pairs, 1 where the two are alike
            and -1 where they are not. Triplets and quadruplets have none.

        Returns
        -------
        self
        """
        return self._fit(X, y)

    def _fit(self, X: Any, y: Any, **how: Any) -> Self:
        with self._unchanged_on_error(), single_threaded_blas():
            if not are_tuples(X, self.preprocessor):
                if any(value is not None for value in how.values()):
                    raise ValueError(
                        f"{' and '.join(how)} go with {NAMES[self._tuple_size]}, not "
                        "with points and labels."
                    )
                points, _, codes = labeled(self, X, y)
                self._warn_of_indices(X, y)
                self._learn_labels(points, codes)
                self.learned_from_ = "labels"
                for name in ("threshold_", "classes_"):  # of an earlier fit to pairs
                    self.__dict__.pop(name, None)
            else:
                tuples = check_tuples(X, self._tuple_size, self.preprocessor)
                self._fit_tuples(tuples, y, **how)
                self.learned_from_ = NAMES[self._tuple_size]
                self.n_features_in_ = tuples.points.shape[1]
                self.__dict__.pop("feature_names_in_", None)
        return self

    @abstractmethod
    def _learn_labels(self, X: FloatArray, codes: IntArray) -> None:
        """Learn from checked points and their classes, as integers from 0."""

    @abstractmethod
    def _fit_tuples(self, tuples: Tuples, y: Any, **how: Any) -> None:
        """Check what comes with the tuples, and learn from them."""

    def _tuples(self, X: ArrayLike, size: int | None = None) -> Tuples:
        """Return tuples to say something about, as wide as those that were learned."""
        check_is_fitted(self)
        width = self.components_.shape[1]
        return check_tuples(X, size or self._tuple_size, self.preprocessor, width)

    def pair_distance(self, pairs: ArrayLike) -> FloatArray:
        """Return the learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            The pairs of points, or with `preprocessor` of indices.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The distances.
        """
        check_is_fitted(self)
        if self.preprocessor is None:
            return super().pair_distance(pairs)
        return self._tuples(pairs, 2).lengths(self.components_, 0, 1)

    def _warn_of_indices(self, X: Any, y: Any) -> None:
        """Warn where what was read as points looks like pairs of indices."""
        given = np.asarray(X)
        if given.dtype.kind not in "iu" or given.shape[1] != self._tuple_size:
            return
        if np.isin(check_array(y, ensure_2d=False, dtype=None), (-1, 1)).all():
            name = NAMES[self._tuple_size]
            warn_caller(
                f"X of shape {given.shape} and y of 1 and -1 are read as points with "
                f"labels. For {name} of indices, give {type(self).__name__} the points:"
                " preprocessor=X."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.preprocessor is None
        return tags
