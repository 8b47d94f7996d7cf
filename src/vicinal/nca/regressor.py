"""Regression by soft neighbors under a learned metric."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from vicinal._typing import FloatArray
from vicinal.base.metric import CallbackSupportMixin, LinearMetric
from vicinal.nca._initialization import convert_rows
from vicinal.nca._problems import RegressionProblem
from vicinal.nca.nca import (
    GRADIENT_CONSTRAINTS,
    NCA,
    learn,
    map_queries,
    warn_unless_learned,
)
from vicinal.neighborhood import (
    NeighborWeights,
    average,
    effective_n_threads,
    single_threaded_blas,
)


@dataclass(eq=False, repr=False)
class NCARegressor(RegressorMixin, CallbackSupportMixin, LinearMetric):
    """Neighborhood components analysis for regression.

    Point i picks j as its neighbor with probability p_ij ∝ exp(−‖A x_i − A x_j‖²). The
    map is learned so that neighbors have similar targets (section 5 of [1]_). The
    prediction is the mean target of the soft neighbors, Σ_j p_j y_j.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of the map; None is the number of features.
    objective : {"squared-error", "soft-match"}, default="squared-error"
        "squared-error" minimizes the leave-one-out squared error of the prediction, as
        :class:`vicinal.classic.MLKR` does. "soft-match" maximizes
        Σ_ij p_ij exp(−(y_i − y_j)² / (2 w²)), the agreement of neighbors' targets
        (section 5 of [1]_); it is robust to outliers of the targets.
    width : float or "auto", default="auto"
        w, the scale on which targets agree. "auto" is a third of the standard
        deviation of y.
    init : {"auto", "pca", "whiten", "identity", "random"} or array-like, \
default="auto"
        Initial map. "auto" is "pca" if that reduces the dimension, otherwise
        "identity"; with alpha="auto", the same map stretched along the direction of a
        linear fit is also tried.
    alpha : float or "auto", default="auto"
        λ of the penalty n · λ · ‖A‖². "auto" holds out a fifth of the rows (of at most
        1,000; several times if there are few rows), fits a short path of maps from a
        strong penalty to none, six iterations each, and selects the start and the
        penalty that predict those rows best. The final fit is then limited to the same
        number of iterations, and the map is scaled to the least leave-one-out error.
    solver, batch_size, n_references, warm_start, max_iter, tol, callback, \
verbose, random_state, n_jobs
        As for :class:`vicinal.NCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A.
    effective_neighbors_ : ndarray of shape (n_samples,)
        Effective number of neighbors of each training point, the perplexity of p_i.
        NaN for rows of weight 0 and, after a stochastic fit, for all but a random
        sample of the rows.
    alpha_ : float
        Selected penalty, with alpha="auto"; infinity if no learned map predicted
        better than the start, which is then kept.
    init_ : str
        Selected start, with alpha="auto"; it ends in ", scaled up" if all points look
        alike at the scale that predicts best without learning.
    n_iter_ : int
        Number of iterations of the optimizer.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration.

    See Also
    --------
    vicinal.classic.MLKR : The same with objective="squared-error" alone.
    vicinal.NCAClassifier : Soft neighbors for classes.

    Notes
    -----
    Cost: as for :class:`vicinal.NCAClassifier`; prediction of m rows takes O(mnd).

    References
    ----------
    .. [1] Goldberger, Roweis, Hinton, Salakhutdinov. Neighbourhood Components
       Analysis. Advances in Neural Information Processing Systems 17, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal import NCARegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 5))
    >>> y = np.sin(2 * X[:, 0])             # four of the features say nothing
    >>> model = NCARegressor(max_iter=200).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.9)
    True
    >>> int(np.abs(model.components_).sum(axis=0).argmax())
    0
    """

    _optional_attributes: ClassVar[tuple[str, ...]] = ("alpha_", "init_")
    # Settings of `NCA` that do not apply.
    form, n_init, n_neighbors = "full", 1, "all"
    anneal = early_stopping = False
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GRADIENT_CONSTRAINTS,
        "objective": [
            StrOptions({"soft-match", "squared-error"}),
            HasMethods(["prepare", "weigh"]),
        ],
        "width": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    n_components: int | None = None
    _: KW_ONLY
    objective: Any = "squared-error"
    width: float | str = "auto"
    init: str | ArrayLike = "auto"
    solver: Any = "auto"
    batch_size: int | str = "auto"
    n_references: int | str = "auto"
    alpha: float | str = "auto"
    warm_start: bool = False
    max_iter: int = 50
    tol: float = 1e-5
    callback: Callable[[FloatArray, int], object] | None = None
    verbose: int = 0
    random_state: int | np.random.RandomState | None = None
    n_jobs: int | None = None

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Number of equal points that each row represents.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            problem = RegressionProblem.validate(self, X, y, sample_weight)
            result = learn(self, convert_rows(self, problem))
        warn_unless_learned(self, result)
        return self

    def _attributes_of(
        self, problem: RegressionProblem, components: FloatArray
    ) -> dict[str, Any]:
        """Return the fitted attributes of a map."""
        dtype = problem.X.dtype
        A = NCA._attributes_of(self, problem, components)["components_"]
        return {
            "components_": A,
            "_offset": problem.offset,
            "_points": problem.mapped(A),
            "_targets": problem.targets.astype(dtype)[:, None],
            "_middle": problem.middle,
            "_unit": problem.unit,
            "_weights": NeighborWeights.build(
                problem.weights, np.ones(len(problem.X)), dtype
            ),
        }

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the mean target of each point's soft neighbors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        queries = map_queries(self, X)
        n_threads = effective_n_threads(self.n_jobs)
        means = average(queries, self._points, self._targets, self._weights, n_threads)
        return self._middle + self._unit * means[:, 0].astype(np.float64)
