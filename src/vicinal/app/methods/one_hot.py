"""Columns of zeros and ones that are one category: found, scaled, and whitened beside.

One of k values in a one-hot column makes k features that vary together. Scaled one by
one, they weigh as k features; whitened, as k - 1, however little they say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from vicinal._typing import FloatArray

__all__ = ["BesideCategories", "CategoryScaler", "one_hot_groups", "whitening"]

# Rows that show that a column holds other numbers, before all are looked at.
_FEW = 64


def one_hot_groups(X: FloatArray) -> list[slice]:
    """Find neighbouring columns of zeros and ones that sum to one in every row.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Without missing values.

    Returns
    -------
    list of slice
        Each of two columns or more, from left to right; they do not overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.baselines import one_hot_groups
    >>> one_hot_groups(np.array([[7.0, 1, 0, 0], [8, 0, 0, 1], [9, 0, 1, 0]]))
    [slice(1, 4, None)]
    """
    n, n_features = X.shape
    binary = _are_binary(X[:_FEW])
    (candidates,) = np.nonzero(binary)
    binary[candidates] = _are_binary(X[:, candidates])
    counts = np.where(binary, 0, n + 1)
    (candidates,) = np.nonzero(binary)
    counts[candidates] = X[:, candidates].sum(axis=0, dtype=np.float64)
    # A group's columns have n ones together: few stretches do.
    ends = np.concatenate([[0], np.cumsum(counts)])
    groups, start = [], 0
    while start < n_features:
        stop = int(np.searchsorted(ends, ends[start] + n))
        filled = binary[start] and counts[start] > 0
        if (
            filled
            and stop >= start + 2
            and stop <= n_features
            and ends[stop] == ends[start] + n
            and (X[:, start:stop].sum(axis=1) == 1).all()
        ):
            groups.append(slice(start, stop))
            start = stop
        else:
            start += 1
    return groups


def _are_binary(X: FloatArray) -> Any:
    return ((X == 0) | (X == 1)).all(axis=0)


class CategoryScaler(StandardScaler):
    """Standardise features; those of one category together.

    Each feature is divided by its standard deviation. The features of a category share
    one unit, in which their variances sum to one: rows of two different categories are
    as far apart whichever these are, and the column weighs as much as a number does.
    """

    def fit(self, X: FloatArray, y: Any = None) -> Self:
        """Learn the means and the scales."""
        super().fit(X, y)
        for group in one_hot_groups(X):
            # Constant in these rows, all others of the group being zero.
            self.scale_[group] = np.sqrt(self.var_[group].sum()) or 1.0
        return self


class BesideCategories(TransformerMixin, BaseEstimator):
    """Whiten features, and leave those of categories beside them as they are.

    Parameters
    ----------
    groups : list of slice
        The features of each category, scaled by `CategoryScaler`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map: first the principal components of the other features, in their
        standard deviations, as many as they have directions; then the categories'.
    """

    def __init__(self, groups: list[slice]) -> None:
        self.groups = groups

    def fit(self, X: FloatArray, _y: Any = None) -> Self:
        """Whiten all features that are no category's."""
        inside = np.zeros(X.shape[1], dtype=bool)
        for group in self.groups:
            inside[group] = True
        identity = np.eye(X.shape[1])
        others = whitening(X[:, ~inside]) @ identity[~inside]
        self.components_ = np.concatenate([others, identity[inside]])
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the rows, whitened; float32 if they are."""
        return X @ self.components_.T.astype(X.dtype)


def whitening(X: FloatArray) -> FloatArray:
    """Return the directions in which rows vary, in units of their deviation there."""
    if not X.shape[1] or not (rank := int(np.linalg.matrix_rank(X - X.mean(axis=0)))):
        return np.empty((0, X.shape[1]))
    pca = PCA(rank, whiten=True, svd_solver="full").fit(X)
    return pca.components_ / np.sqrt(pca.explained_variance_)[:, None]
