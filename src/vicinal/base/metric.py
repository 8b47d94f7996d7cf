"""What every learned linear metric can do once it is fitted."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.advice import advised
from vicinal.base.validation import validate_data


@dataclass(frozen=True, eq=False)  # hashable, as scikit-learn wants a metric to be
class LearnedMetric:
    """A distance between two vectors, for `metric=` arguments; it can be pickled.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        The map A; the distance is ‖A u − A v‖.
    """

    components: FloatArray

    def __call__(self, u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
        """Return the distance between u and v, or its square."""
        # As floats: unsigned integers would wrap around.
        difference = np.asarray(u, dtype=float) - np.asarray(v, dtype=float)
        if difference.shape != self.components.shape[1:]:
            raise ValueError(
                f"Expected two vectors of {self.components.shape[1]} features, got "
                f"shapes {np.shape(u)} and {np.shape(v)}."
            )
        image = self.components @ difference
        distance = float(image @ image)
        return distance if squared else float(np.sqrt(distance))


def unscale_components(
    components: FloatArray, unit: FloatArray | float, dtype: Any
) -> FloatArray:
    """Convert components fitted on X / unit to components for X, of a type."""
    with np.errstate(over="ignore", divide="ignore"):
        components = (components / unit).astype(dtype)
    if not np.isfinite(components).all():
        raise ValueError(
            "X has values too small to compute with: the map's entries would overflow. "
            "Scale the data."
        )
    return components


of_unscaled = unscale_components


@contextmanager
def unchanged_on_error(
    estimator: Any, unless: Callable[[], bool] = lambda: False
) -> Iterator[None]:
    """Take back what validation has noted of the data when an error comes.

    Nothing else is touched: scikit-learn's callbacks keep things of their own there.

    Parameters
    ----------
    estimator : object
        Whose fit this is; it keeps what it has learned only when all is done.
    unless : callable
        Asked when the error has come: whether something was kept all the same.
    """
    noted = ("n_features_in_", "feature_names_in_")
    before = {name: vars(estimator)[name] for name in noted if name in vars(estimator)}
    try:
        yield
    except BaseException as error:
        if not unless():
            for name in noted:
                vars(estimator).pop(name, None)
            vars(estimator).update(before)
        if (
            isinstance(error, ValueError | TypeError)
            and (better := advised(estimator, error)) is not None
        ):
            raise better from error
        raise


class LinearMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the estimators that learn a linear map A, kept in `components_`.

    The learned distance is ‖A u − A v‖, the Mahalanobis distance with matrix AᵀA.
    """

    components_: FloatArray
    # The formats of sparse X that the method can learn from.
    _accept_sparse: ClassVar[list[str] | bool] = False

    def transform(self, X: ArrayLike) -> FloatArray:
        """Map the points to where the learned distance is the Euclidean one.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points; sparse where fit takes sparse ones.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            X Aᵀ, float32 if X is.
        """
        check_is_fitted(self)
        points: FloatArray = validate_data(
            self, X, reset=False, dtype=FLOATS, accept_sparse=self._accept_sparse
        )
        return points @ self.components_.astype(points.dtype, copy=False).T

    def get_mahalanobis_matrix(self) -> FloatArray:
        """Return AᵀA, of shape (n_features, n_features)."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    def get_metric(self) -> LearnedMetric:
        """Return the distance as a function of two vectors.

        It serves the `metric=` arguments that call a function for each pair; where
        there are many points, it is far faster to `transform` them and use the
        Euclidean metric.
        """
        check_is_fitted(self)
        return LearnedMetric(self.components_.copy())

    def pair_distance(self, pairs: ArrayLike) -> FloatArray:
        """Return the learned distance between the two points of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            The pairs of points.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The distances.
        """
        check_is_fitted(self)
        points: FloatArray = check_array(
            pairs, dtype=FLOATS, allow_nd=True, ensure_2d=False, input_name="pairs"
        )
        n_features = self.components_.shape[1]
        if points.ndim != 3 or points.shape[1:] != (2, n_features):
            raise ValueError(
                f"pairs must have shape (n_pairs, 2, {n_features}), got {points.shape}."
            )
        images = (points[:, 0] - points[:, 1]) @ self.components_.astype(points.dtype).T
        return np.sqrt(np.einsum("ij,ij->i", images, images))

    def pair_score(self, pairs: ArrayLike) -> FloatArray:
        """Return minus the distance of each pair: the more alike, the higher.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features)
            The pairs of points.

        Returns
        -------
        ndarray of shape (n_pairs,)
            The scores, as `sklearn.metrics.roc_auc_score` wants them.
        """
        return -self.pair_distance(pairs)

    @contextmanager
    def _unchanged_on_error(self) -> Iterator[None]:
        """Take back what validation has noted, unless a map was kept."""
        components = getattr(self, "components_", None)
        with unchanged_on_error(
            self, lambda: getattr(self, "components_", None) is not components
        ):
            yield

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        tags.input_tags.sparse = bool(self._accept_sparse)
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]
