"""The Mahalanobis distance of the points' own covariance."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context

from vicinal._typing import FLOATS
from vicinal.base.linalg import orthonormal, spread
from vicinal.base.metric import LinearMetric, validate_data
from vicinal.base.selection import checked_n_components
from vicinal.classic._shared import at_least_one
from vicinal.neighborhood import single_threaded_blas


@dataclass(eq=False, repr=False)
class Covariance(LinearMetric):
    """The whitening map: the Mahalanobis distance of the points' covariance.

    M is the inverse of the covariance, or its pseudo-inverse [1]_: the mapped points
    have unit covariance. It needs no labels and is a baseline for supervised metrics.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components, those of the largest variance; None is the rank of the
        covariance.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The map: principal directions, each divided by the standard deviation along it,
        with the largest deviation first. float32 if X is.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.classic.RCA : Whitens the scatter within groups.

    Notes
    -----
    Cost: O(nD²) and an eigenproblem of min(n, D).

    References
    ----------
    .. [1] Mahalanobis. On the Generalized Distance in Statistics. Proceedings of the
       National Institute of Sciences of India, 1936.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.classic import Covariance
    >>> X, _ = load_iris(return_X_y=True)
    >>> Z = Covariance().fit(X).transform(X)
    >>> bool(np.allclose(np.cov(Z.T), np.eye(4)))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, None],
    }

    n_components: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : None
            Not used.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points = validate_data(self, X, dtype=FLOATS, ensure_min_samples=2)
            total = spread(points)
            if not len(total.variances):
                raise ValueError("All rows of X are equal: there is no covariance.")
            rank = len(total.variances)
            d = checked_n_components(
                self.n_components, rank, f"the {rank} directions that X varies in"
            )
            # The covariance of a sample: divided by n - 1.
            white = total.whitening() * np.sqrt((len(points) - 1) / len(points))
            if rank < points.shape[1]:  # project on the span of the points
                units = np.where(np.isfinite(total.units), total.units, 0.0)
                varying = orthonormal(units[:, None] * total.axes)
                white = varying @ (varying.T @ white)
            # The eigenvectors of M = W Wᵀ are the principal directions.
            U, sizes, _ = np.linalg.svd(white, full_matrices=False)
            rows = (U * sizes).T[::-1][:d]
            self.components_ = rows.astype(points.dtype)
        return self
