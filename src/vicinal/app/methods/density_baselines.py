"""Two densities to measure LCA against, with the metric that each of them implies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.covariance import LedoitWolf
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KernelDensity

if TYPE_CHECKING:
    from vicinal._typing import FloatArray

__all__ = ["GaussianMetric", "KernelDensityMetric"]

# In standard deviations, since the features are standardised.
_BANDWIDTHS = 10.0 ** np.arange(-1.5, 0.76, 0.15)


class KernelDensityMetric(TransformerMixin, BaseEstimator):
    """scikit-learn's `KernelDensity` at its best cross-validated bandwidth."""

    def fit(self, X: FloatArray, _y: Any = None) -> Self:
        """Choose the bandwidth, the same for every direction."""
        # One leaf: with its usual tree, KernelDensity is wrong where densities are low.
        exact = KernelDensity(leaf_size=len(X))
        folds = KFold(min(5, len(X)), shuffle=True, random_state=0)
        search = GridSearchCV(exact, {"bandwidth": _BANDWIDTHS}, cv=folds).fit(X)
        self.density_: KernelDensity = search.best_estimator_
        self.components_ = np.eye(X.shape[1]) / self.density_.bandwidth_
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the rows in units of the bandwidth."""
        return X @ self.components_.T

    def score_samples(self, X: FloatArray) -> FloatArray:
        """Return the log-density of each row."""
        densities: FloatArray = self.density_.score_samples(X)
        return densities

    def score(self, X: FloatArray, _y: Any = None) -> float:
        """Return the mean log-density of the rows."""
        return float(self.score_samples(X).mean())


class GaussianMetric(TransformerMixin, BaseEstimator):
    """One Gaussian for all rows, its covariance shrunk after Ledoit and Wolf."""

    def fit(self, X: FloatArray, _y: Any = None) -> Self:
        """Estimate the mean and the covariance."""
        self.density_ = LedoitWolf().fit(X)
        root = np.linalg.cholesky(self.density_.covariance_)
        self.components_ = solve_triangular(root, np.eye(len(root)), lower=True)
        return self

    def transform(self, X: FloatArray) -> FloatArray:
        """Return the rows in coordinates where the Gaussian is round."""
        return X @ self.components_.T

    def score_samples(self, X: FloatArray) -> FloatArray:
        """Return the log-density of each row."""
        squared = ((X - self.density_.location_) @ self.components_.T) ** 2
        constant = np.log(np.diag(self.components_)).sum()
        constant -= X.shape[1] / 2 * np.log(2 * np.pi)
        densities: FloatArray = constant - squared.sum(axis=1) / 2
        return densities

    def score(self, X: FloatArray, _y: Any = None) -> float:
        """Return the mean log-density of the rows."""
        return float(self.score_samples(X).mean())
