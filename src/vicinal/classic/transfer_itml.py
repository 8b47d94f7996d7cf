"""Information-theoretic metric learning across two domains."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from vicinal._typing import FLOATS
from vicinal.base.linalg import source_of
from vicinal.base.metric import (
    LinearMetric,
    encoded,
    init_like,
    validate_data,
)
from vicinal.classic.itml import ITML, learn_from_drawn_pairs
from vicinal.neighborhood import single_threaded_blas


class TransferITML(LinearMetric):
    """Information-theoretic metric learning for transfer.

    ITML with pairs of one point of the target domain, which has few labeled rows, and
    one of the source domain, which has many [1]_. Points of the same class become near
    across the domains, others stay apart (section 6 of [2]_). A nearest-neighbor
    classifier for the target can then use the rows of both domains.

    Parameters
    ----------
    gamma : float, default=1.0
        The price of slack. There are too few target rows to choose it automatically.
    prior, n_constraints, max_iter, tol, verbose, random_state
        As for :class:`vicinal.classic.ITML`; all classes of both domains count for
        n_constraints="auto", and all rows for prior="covariance".

    Attributes
    ----------
    components_, bounds_, gamma_, n_iter_, objective_curve_
        As for :class:`vicinal.classic.ITML`.
    n_features_in_, feature_names_in_
        As for :class:`vicinal.classic.ITML`.

    See Also
    --------
    vicinal.classic.ITML : Learns from one domain.
    vicinal.TransferLDG : One eigenproblem for two domains.

    Notes
    -----
    The domains often differ mainly in location and scale: standardize each one
    separately first, as in [2]_.

    Cost: as of :class:`vicinal.classic.ITML` with a given gamma.

    References
    ----------
    .. [1] Saenko, Kulis, Fritz, Darrell. Adapting Visual Category Models to New
       Domains. European Conference on Computer Vision, 2010.
    .. [2] Parrish, Gupta. Dimensionality Reduction by Local Discriminative Gaussians.
       International Conference on Machine Learning, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from vicinal.classic import TransferITML
    >>> rng = np.random.default_rng(0)
    >>> y_source, y = np.arange(200) % 2, np.arange(8) % 2
    >>> X_source = rng.normal(size=(200, 5)) + 3 * y_source[:, None] * np.eye(5)[0]
    >>> X = rng.normal(size=(8, 5)) + 3 * y[:, None] * np.eye(5)[0]
    >>> X[:, 1] += 4  # the domains differ in this feature
    >>> model = TransferITML(random_state=0).fit(
    ...     X, y, X_source=X_source, y_source=y_source
    ... )
    >>> M = model.get_mahalanobis_matrix()
    >>> bool(M[1, 1] < M[0, 0])
    True
    """

    _requires_y: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ITML._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither")],
    }

    __init__ = init_like(ITML, without=("bounds", "preprocessor"), gamma=1.0)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        X_source: ArrayLike | None = None,
        y_source: ArrayLike | None = None,
    ) -> Self:
        """Fit the metric.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points of the target domain.
        y : array-like of shape (n_samples,)
            Their classes.
        X_source : array-like of shape (n_source, n_features) or None, default=None
            The points of the source domain. None is
            :class:`vicinal.classic.ITML` on the target domain.
        y_source : array-like of shape (n_source,) or None, default=None
            Their classes. At least one must be a class of the target; others only
            appear in dissimilar pairs.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points, labels = validate_data(
                self, X, y, dtype=FLOATS, ensure_min_samples=1
            )
            given = source_of(self, labels, X_source, y_source)
            if given is None:
                learn_from_drawn_pairs(self, points, encoded(self, labels)[1])
            else:
                source, source_labels = given
                _, codes = encoded(self, np.concatenate([labels, source_labels]))
                codes, source_codes = np.split(codes, [len(labels)])
                if not np.isin(codes, source_codes).any():
                    raise ValueError("No class has rows in both X and X_source.")
                learn_from_drawn_pairs(self, points, codes, source, source_codes)
        return self
