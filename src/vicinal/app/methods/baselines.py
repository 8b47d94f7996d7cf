"""Scalers that go before a metric, and the baselines that learn none.

A one-hot encoded column of k values makes k features that vary together. Scaled one by
one, they weigh as much as k features; whitened, as k - 1. `CategoryScaler` and
`Whitening` give such a group the weight of one feature.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity
from sklearn.preprocessing import StandardScaler

from vicinal.base.selection import majority, nearest_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vicinal._typing import FloatArray


def one_hot_groups(X: FloatArray) -> list[slice]:
    """Find adjacent columns of zeros and ones that sum to one in every row.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Without missing values.

    Returns
    -------
    list of slice
        Disjoint groups of two columns or more, from left to right.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.app.methods.baselines import one_hot_groups
    >>> one_hot_groups(np.array([[7.0, 1, 0, 0], [8, 0, 0, 1], [9, 0, 1, 0]]))
    [slice(1, 4, None)]
    """
    n, n_features = X.shape
    binary = ((X == 0) | (X == 1)).all(axis=0)
    counts = np.full(n_features, n + 1)
    counts[binary] = X[:, binary].sum(axis=0, dtype=np.float64)
    # The columns of a group contain n ones together, which few ranges of columns do.
    ends = np.concatenate([[0], np.cumsum(counts)])
    groups, start = [], 0
    while start < n_features:
        stop = int(np.searchsorted(ends, ends[start] + n))
        if (
            0 < counts[start] <= n
            and start + 2 <= stop <= n_features
            and ends[stop] == ends[start] + n
            and (X[:, start:stop].sum(axis=1) == 1).all()
        ):
            groups.append(slice(start, stop))
            start = stop
        else:
            start += 1
    return groups


class CategoryScaler(StandardScaler):
    """Standardize features; the features of one category share one unit.

    Each feature is divided by its standard deviation. The variances of a category's
    features sum to one, so that any two categories are equally far apart and the
    column weighs as much as a numeric one.
    """

    def fit(self, X: FloatArray, y: Any = None) -> Self:
        """Learn the means and the scales."""
        super().fit(X, y)
        for group in one_hot_groups(X):
            # 1 if the category is constant in these rows.
            self.scale_[group] = np.sqrt(self.var_[group].sum()) or 1.0
        return self


class AutoScaler(TransformerMixin, BaseEstimator):
    """Scale features by their own standard deviations, or all by a common one.

    The scale with the better leave-one-out k-NN prediction of the training rows is
    used, and the features' own standard deviations in case of a tie. Standardizing
    suits measurements in different units. It does not suit pixels: it amplifies those
    at the border, which hardly vary.

    Parameters
    ----------
    task : {"classification", "regression"}
        The kind of target.
    n_neighbors : int, default=3
        The k of k-NN.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
        A row x becomes ``(x - mean_) / scale_``.
    standardized_ : bool
        Whether the features' own standard deviations were chosen.
    """

    def __init__(self, task: str, n_neighbors: int = 3) -> None:
        self.task = task
        self.n_neighbors = n_neighbors

    def fit(self, X: FloatArray, y: NDArray[Any]) -> Self:
        """Learn the means and both scales, and choose one."""
        scaler = CategoryScaler().fit(X)
        self.mean_, own = scaler.mean_, scaler.scale_
        # The root mean square keeps the size of distances.
        common = np.full_like(own, float(np.sqrt(np.mean(scaler.var_))) or 1.0)
        own_score, common_score = (
            leave_one_out((X - self.mean_) / scale, y, self.task, self.n_neighbors)
            for scale in (own, common)
        )
        self.standardized_ = bool(own_score >= common_score)
        self.scale_ = own if self.standardized_ else common
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the scaled rows, in their dtype."""
        return ((X - self.mean_) / self.scale_).astype(X.dtype, copy=False)


def leave_one_out(
    Z: FloatArray,
    y: NDArray[Any],
    task: str,
    n_neighbors: int = 3,
    max_queries: int = 2000,
    max_rows: int = 20_000,
) -> float:
    """Return the leave-one-out score of k-NN.

    Parameters
    ----------
    Z : ndarray of shape (n_rows, n_components)
        Mapped rows.
    y : ndarray of shape (n_rows,)
        Their labels.
    task : {"classification", "regression"}
        The kind of labels.
    n_neighbors : int, default=3
        The k of k-NN.
    max_queries : int, default=2000
        The score is over a random sample if there are more rows. Of 2,000 rows, its
        standard error is one percent.
    max_rows : int, default=20_000
        The neighbors are searched among a random sample if there are more rows.

    Returns
    -------
    float
        The accuracy of the majority vote, with ties broken by the nearest neighbors;
        or R² of the neighbors' mean.
    """
    rng = np.random.default_rng(0)
    if len(Z) > max_rows:
        sample = np.sort(rng.choice(len(Z), max_rows, replace=False))
        Z, y = Z[sample], y[sample]
    n = len(Z)
    rows = np.arange(n)
    if n > max_queries:
        rows = np.sort(rng.choice(n, max_queries, replace=False))
    k = min(n_neighbors, n - 1)
    others = y[nearest_points(Z[rows], Z, k, own=rows)[0]]
    if task == "regression":
        error = np.square(others.mean(axis=1) - y[rows]).sum()
        return float(1 - error / np.square(y[rows] - y[rows].mean()).sum())
    return float((majority(others) == y[rows]).mean())


class Whitening(TransformerMixin, BaseEstimator):
    """Whiten numeric features and keep those of categories as they are.

    Whitened, a category of k values would weigh as much as k - 1 numbers. Directions
    without variance are dropped, because whitening would amplify rounding errors.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The whitening map of the numeric features, followed by the categories.
    """

    def fit(self, X: FloatArray, _y: Any = None) -> Self:
        """Learn the whitening map of rows scaled by `CategoryScaler`."""
        numeric = np.ones(X.shape[1], dtype=bool)
        # Scaled, the features of a category have two values each, in place of 0 and 1.
        low, size = X.min(axis=0), np.ptp(X, axis=0)
        for group in one_hot_groups((X - low) / np.where(size > 0, size, 1)):
            numeric[group] = False
        others, categories = X[:, numeric], np.flatnonzero(~numeric)
        rank = 0
        if others.size:
            rank = int(np.linalg.matrix_rank(others - others.mean(axis=0)))
        self.components_ = np.zeros((rank + categories.size, X.shape[1]))
        self.components_[rank + np.arange(categories.size), categories] = 1
        if rank:
            pca = PCA(rank, whiten=True, svd_solver="full").fit(others)
            scaled = pca.components_ / np.sqrt(pca.explained_variance_)[:, None]
            self.components_[:rank, numeric] = scaled
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the whitened rows, in their dtype."""
        return X @ self.components_.T.astype(X.dtype)


class _DensityMetric(TransformerMixin, BaseEstimator):
    """A density with the linear map of the metric that it implies."""

    components_: FloatArray

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the mapped rows."""
        return X @ self.components_.T

    def score(self, X: FloatArray, _y: Any = None) -> float:
        """Return the mean log-density of the rows."""
        return float(self.score_samples(X).mean())


class KernelDensityMetric(_DensityMetric):
    """scikit-learn's `KernelDensity` with a cross-validated bandwidth."""

    def fit(self, X: FloatArray, _y: Any = None, max_rows: int = 2000) -> Self:
        """Choose one bandwidth for all directions, from 0.03 to 5 by factors of √2.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            The rows.
        max_rows : int, default=2000
            Of more rows, a sample chooses the bandwidth h, and h falls with the number
            of rows n as n^(-1 / (n_features + 4)) (Scott's rule).
        """
        n, d = X.shape
        sample = X
        if n > max_rows:
            sample = X[np.random.default_rng(0).choice(n, max_rows, replace=False)]
        # One leaf: with its usual tree, KernelDensity is wrong where densities are low.
        exact = KernelDensity(leaf_size=n)
        folds = KFold(min(5, len(sample)), shuffle=True, random_state=0)
        bandwidths = {"bandwidth": 10.0 ** np.arange(-1.5, 0.76, 0.15)}
        search = GridSearchCV(exact, bandwidths, cv=folds).fit(sample)
        shrinkage = (len(sample) / n) ** (1 / (d + 4))
        bandwidth = shrinkage * search.best_params_["bandwidth"]
        self.density_ = KernelDensity(bandwidth=bandwidth, leaf_size=n).fit(X)
        self.components_ = np.eye(d) / self.density_.bandwidth_
        return self

    def score_samples(self, X: FloatArray) -> FloatArray:
        """Return the log-density of each row."""
        densities: FloatArray = self.density_.score_samples(X)
        return densities


class GaussianMetric(_DensityMetric):
    """One Gaussian, with the shrunk covariance of Ledoit and Wolf."""

    def fit(self, X: FloatArray, _y: Any = None) -> Self:
        """Estimate the mean and the covariance."""
        self.density_ = LedoitWolf().fit(X)
        root = np.linalg.cholesky(self.density_.covariance_)
        self.components_ = solve_triangular(root, np.eye(len(root)), lower=True)
        return self

    def score_samples(self, X: FloatArray) -> FloatArray:
        """Return the log-density of each row."""
        squared = ((X - self.density_.location_) @ self.components_.T) ** 2
        constant = np.log(np.diag(self.components_)).sum()
        constant -= X.shape[1] / 2 * np.log(2 * np.pi)
        densities: FloatArray = constant - squared.sum(axis=1) / 2
        return densities
