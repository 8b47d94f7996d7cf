"""Regression by soft neighbours under a learned metric."""

from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.monitor import Monitor
from vicinal.nca._fit import GradientFittedMetric
from vicinal.nca._stochastic import queries_of_all
from vicinal.neighborhood import NeighborWeights, average, effective_n_threads
from vicinal.objectives import TargetObjective
from vicinal.solvers import Solution


class NCARegressor(RegressorMixin, GradientFittedMetric):
    """Neighbourhood components analysis for continuous targets, and its prediction.

    Point i picks j as its neighbour with probability p_ij ∝ exp(−‖A x_i − A x_j‖²). The
    map is learned so that neighbours have targets like the point's own (section 5 of
    [1]_); the prediction is the neighbours' mean, Σ_j p_j y_j.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of the map; None is the number of features.
    objective : {"soft-match", "squared-error"}, default="soft-match"
        "soft-match" maximises Σ_ij p_ij exp(−(y_i − y_j)² / (2 w²)), the agreement of
        neighbours' targets; outlying targets cost no more than others. "squared-error"
        minimises the leave-one-out squared error of the prediction, as
        :class:`vicinal.classic.MLKR` does.
    width : float or "auto", default="auto"
        w: how far apart two targets are that still agree. "auto" is a third of the
        standard deviation of y.
    init : {"auto", "pca", "whiten", "identity", "random"} or array-like, \
default="auto"
        The map to start from. "auto" is "pca" where that reduces the dimension, else
        "identity".
    solver, batch_size, n_references, alpha, warm_start, max_iter, tol, callback, \
verbose, random_state, n_jobs
        As for :class:`vicinal.NCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A.
    effective_neighbors_ : ndarray of shape (n_samples,)
        How many neighbours each training point listens to: the perplexity of p_i. NaN
        for rows of weight 0, and, after a stochastic climb, for all but a random part
        of the rows.
    n_iter_ : int
        The optimiser's iterations.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration.

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

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GradientFittedMetric._parameter_constraints,
        "objective": [StrOptions({"soft-match", "squared-error"})],
        "width": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        objective: str = "soft-match",
        width: float | str = "auto",
        init: str | ArrayLike = "auto",
        solver: str = "auto",
        batch_size: int | str = "auto",
        n_references: int | str = "auto",
        alpha: float = 0.0,
        warm_start: bool = False,
        max_iter: int = 50,
        tol: float = 1e-5,
        callback: Callable[[FloatArray, int], object] | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.objective = objective
        self.width = width
        self.init = init
        self.solver = solver
        self.batch_size = batch_size
        self.n_references = n_references
        self.alpha = alpha
        self.warm_start = warm_start
        self.max_iter = max_iter
        self.tol = tol
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How many equal points each row stands for.

        Returns
        -------
        self
        """
        with self._unchanged_on_error():
            points, targets = validate_data(
                self, X, y, dtype=FLOATS, y_numeric=True, ensure_min_samples=2
            )
            weights = _check_sample_weight(
                sample_weight, points, dtype=np.float64, ensure_non_negative=True
            )
            targets = targets.astype(np.float64)
            kept = weights > 0
            if not kept.all():
                points, targets, weights = points[kept], targets[kept], weights[kept]
            if len(points) < 2:
                raise ValueError("Fewer than two rows have a weight above 0.")
            # In units of their own spread: neither the solver's tolerances nor float32
            # should see what unit the user has chosen.
            middle = float(np.average(targets, weights=weights))
            unit = float(np.sqrt(np.average((targets - middle) ** 2, weights=weights)))
            unit = unit if unit > 0 else 1.0
            scaled = (targets - middle) / unit
            objective = TargetObjective(
                points,
                scaled,
                self.objective,
                width=1 / 3 if isinstance(self.width, str) else self.width / unit,
                sample_weight=weights,
                n_jobs=self.n_jobs,
            )

            def state(components: FloatArray) -> dict[str, Any]:
                A = components.astype(points.dtype)
                n = len(points)
                return {
                    "components_": A,
                    "_points": points @ A.T,
                    "_targets": scaled.astype(points.dtype)[:, None],
                    "_middle": middle,
                    "_unit": unit,
                    "_masses": NeighborWeights.build(weights, np.ones(n), points.dtype),
                }

            def keep(reached: Solution | Monitor) -> None:
                A = reached.components
                seen = np.full(len(kept), np.nan, dtype=points.dtype)
                queries = None
                if preconditioner is not None:
                    rng = np.random.default_rng(self._seed())
                    queries = queries_of_all(objective, rng)
                seen[kept] = objective.effective_neighbors(A, queries)
                self._store(reached, {**state(A), "effective_neighbors_": seen})
                if self.objective == "squared-error":
                    self.objective_curve_ *= unit**2

            preconditioner = self._preconditioner(points, None)
            start = self._start(points, None, self.n_components, preconditioner)
            solution = self._optimize(
                objective, start, (X, y), state, keep, preconditioner=preconditioner
            )
            keep(solution)
        self._warn_unless_converged(solution)
        return self

    def predict(self, X: ArrayLike) -> FloatArray:
        """Return the mean target of each point's soft neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New points.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        queries = self._queries(X)
        n_threads = effective_n_threads(self.n_jobs)
        means = average(queries, self._points, self._targets, self._masses, n_threads)
        return self._middle + self._unit * means[:, 0].astype(np.float64)
