"""Maximally collapsing metric learning."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state

from vicinal._typing import FloatArray
from vicinal.base.metric import (
    CallbackSupportMixin,
    LinearMetric,
    labeled,
)
from vicinal.classic._shared import (
    GRADIENT_CONSTRAINTS,
    fit_map,
    initial_map,
    unit_span,
)
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import MCMLObjective


@dataclass(eq=False, repr=False)
class MCML(CallbackSupportMixin, LinearMetric):
    """Maximally collapsing metric learning.

    Learns a linear map under which the neighbor distributions
    p_ij ∝ exp(−‖A x_i − A x_j‖²) are closest to the ideal distributions, in which each
    class is collapsed to one point, infinitely far from all others [1]_. The ideal
    distribution is uniform over the other points of the class. The loss is the sum of
    the divergences,

        −Σ_i Σ_{j ≠ i, c_j = c_i} log p_ij / (N_c − 1).

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of the map. None is the number of features or, with more
        features than rows, the dimension of the span of the centered rows.
    init : {"auto", "pca", "lda", "rca", "whiten", "identity", "random"} or \
array-like, default="auto"
        Initial map, as for :class:`vicinal.NCA`; a named one is scaled to maximize
        the objective. An array has shape (n_components, n_features).
    max_iter : int, default=50
        Maximum number of iterations of L-BFGS.
    tol : float, default=1e-5
        Stop if an iteration gains less than this, relative to the objective.
    callback : callable or None, default=None
        Called after each iteration with the flattened map and the iteration number,
        starting from 1; raising StopIteration ends the fit. The map is that of the
        centered, scaled rows.
    verbose : int, default=0
        If positive, print a line for each iteration.
    random_state : int, RandomState or None, default=None
        Seed for init="random", and for the randomized PCA of large data.
    n_jobs : int or None, default=None
        Number of threads. None uses as many as BLAS would; −1 uses all cores. The
        result does not depend on it.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A; float32 if X is.
    n_iter_ : int
        Number of iterations, at least 1.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    vicinal.NCA : Allows classes of several clusters.

    Notes
    -----
    The objective is convex in M = AᵀA. The set of all M is also convex, unless its rank
    is bounded: with n_components=None, the optimum does not depend on the start. [1]_
    projects M onto that set after each step. Here, L-BFGS optimizes the factor A, which
    does not need an eigendecomposition. With fewer components, the problem is not
    convex, and the start matters. An iteration costs O(n²), without an n×n array.

    A class of several clusters cannot collapse without the points in between; use NCA
    or LMNN for such data.

    Cost: O(n²d + nDd) for each evaluation, in blocks of rows.

    References
    ----------
    .. [1] Globerson, Roweis. Metric Learning by Collapsing Classes. Advances in Neural
       Information Processing Systems 18, 2005.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from vicinal.classic import MCML
    >>> X, y = load_wine(return_X_y=True)
    >>> learned = MCML(n_components=2, max_iter=500)
    >>> model = make_pipeline(StandardScaler(), learned, KNeighborsClassifier(3))
    >>> bool(cross_val_score(model, X, y).mean() > 0.95)
    True
    """

    _requires_y: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {**GRADIENT_CONSTRAINTS}

    n_components: int | None = None
    _: KW_ONLY
    init: str | ArrayLike = "auto"
    max_iter: int = 50
    tol: float = 1e-5
    callback: Callable[[FloatArray, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Class labels; at least two classes.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points, _, codes = labeled(self, X, y)
            if np.bincount(codes).max() < 2:
                raise ValueError(
                    "MCML needs a class of two rows at least: otherwise there is "
                    "nothing to collapse."
                )
            random_state = check_random_state(self.random_state)
            span = unit_span(points)
            objective = MCMLObjective(span.coordinates, codes, n_jobs=self.n_jobs)
            # The terms of up to 512 points scale the start.
            some = np.sort(random_state.permutation(len(points))[:512])
            start = initial_map(
                self,
                span,
                codes,
                lambda A: objective.terms_and_gradient(A, some)[1],
                random_state,
            )
            fit_map(self, points, codes, span, objective, start)
        return self
