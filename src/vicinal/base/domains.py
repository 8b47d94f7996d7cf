"""Two domains with one set of features: checked, standardised, brought together."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, unique_labels

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import of_unscaled
from vicinal.base.row_space import centered
from vicinal.base.validation import validate_data


@dataclass(frozen=True)
class Domain:
    """Labelled rows, sorted by class, and how they are standardised.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows as they were given.
    codes : ndarray of shape (n_samples,)
        Their classes, ascending.
    origin, scale : ndarray of shape (n_features,)
        What is taken away from the features, and what they are then divided by.
    """

    X: FloatArray
    codes: IntArray
    origin: NDArray[np.float64]
    scale: NDArray[np.float64]

    @classmethod
    def build(cls, X: FloatArray, codes: IntArray) -> "Domain":
        """Sort the rows by class; nothing is standardised."""
        order = np.argsort(codes, kind="stable")
        n_features = X.shape[1]
        return cls(X[order], codes[order], np.zeros(n_features), np.ones(n_features))

    def without_rows(self) -> "Domain":
        """Return a domain that is standardised in the same way and has no rows."""
        return replace(self, X=self.X[:0], codes=self.codes[:0])

    def standardized(self) -> "Domain":
        """Return the domain with mean 0 and standard deviation 1."""
        points, origin, unit = centered(self.X)
        means = origin + points.mean(axis=0, dtype=np.float64) * float(unit)
        scale = points.std(axis=0, dtype=np.float64) * float(unit)
        scale[~self.varying()] = 1
        return Domain(self.X, self.codes, means, scale)

    def varying(self) -> NDArray[np.bool_]:
        """Return which features are not constant."""
        different: NDArray[np.bool_] = (self.X[:1] != self.X).any(axis=0)
        return different

    def points(self, kept: NDArray[np.bool_]) -> FloatArray:
        """Return the standardised rows with some of their features."""
        return ((self.X[:, kept] - self.origin[kept]) / self.scale[kept]).astype(
            self.X.dtype
        )

    def map_of(
        self, directions: NDArray[np.float64], kept: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        """Return the map and the offset that take rows, as given, along directions."""
        dtype = self.X.dtype
        components = np.zeros((len(directions), self.X.shape[1]), dtype=dtype)
        components[:, kept] = of_unscaled(directions, self.scale[kept], dtype)
        return components, -(components @ self.origin).astype(dtype)


def source_of(
    estimator: Any,
    y: NDArray[Any],
    X_source: ArrayLike | None,
    y_source: ArrayLike | None,
) -> tuple[FloatArray, NDArray[Any]] | None:
    """Return the checked source of an estimator that has seen the target; or None.

    The labels of the two domains are of one kind, and otherwise any.
    """
    if X_source is None and y_source is None:
        return None
    if X_source is None or y_source is None:
        raise ValueError("X_source and y_source go together: give both, or neither.")
    # Not by validate_data, whose messages would speak of X and y.
    points = check_array(
        X_source, dtype=FLOATS, ensure_min_samples=2, input_name="X_source",
        estimator=estimator,
    )  # fmt: skip
    labels = column_or_1d(
        check_array(y_source, dtype=None, ensure_2d=False, input_name="y_source"),
        warn=True,
    )
    check_consistent_length(points, labels)
    check_classification_targets(labels)
    if points.shape[1] != estimator.n_features_in_:
        raise ValueError(
            f"X has {estimator.n_features_in_} features, but X_source has "
            f"{points.shape[1]}: both domains must have the same features, in the same "
            "order."
        )
    validate_data(estimator, X_source, reset=False, skip_check_array=True)  # the names
    unique_labels(y, labels)  # which refuses to mix texts with numbers
    return points, labels
