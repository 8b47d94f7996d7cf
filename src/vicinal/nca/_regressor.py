"""Regression by soft neighbours under a learned metric."""

from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import of_unscaled
from vicinal.base.monitor import Monitor
from vicinal.base.validation import check_sample_weight, validate_data
from vicinal.nca._data import RegressionData
from vicinal.nca._fit import Run
from vicinal.nca._initialization import candidate_starts
from vicinal.nca._model_selection import scaled_by_loss, scaled_starts
from vicinal.nca._selecting import SelectingMetric
from vicinal.nca._trials import Trial, target_objective, target_trials
from vicinal.neighborhood import (
    NeighborWeights,
    average,
    effective_n_threads,
    single_threaded_blas,
)
from vicinal.objectives import TargetObjective
from vicinal.solvers import Solution


class NCARegressor(RegressorMixin, SelectingMetric):
    """Neighbourhood components analysis for continuous targets, and its prediction.

    Point i picks j as its neighbour with probability p_ij ∝ exp(−‖A x_i − A x_j‖²). The
    map is learned so that neighbours have targets like the point's own (section 5 of
    [1]_); the prediction is the neighbours' mean, Σ_j p_j y_j.

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of the map; None is the number of features.
    objective : {"squared-error", "soft-match"}, default="squared-error"
        "squared-error" minimises the leave-one-out squared error of the prediction, as
        :class:`vicinal.classic.MLKR` does. "soft-match" maximises
        Σ_ij p_ij exp(−(y_i − y_j)² / (2 w²)), the agreement of neighbours' targets
        (section 5 of [1]_); outlying targets cost no more than others.
    width : float or "auto", default="auto"
        w: how far apart two targets are that still agree. "auto" is a third of the
        standard deviation of y.
    init : {"auto", "pca", "whiten", "identity", "random"} or array-like, \
default="auto"
        The map to start from. "auto" is "pca" where that reduces the dimension, else
        "identity"; with alpha="auto" also tried is the same, stretched along the
        direction of a linear fit.
    alpha : float or "auto", default="auto"
        λ of the penalty n · λ · ‖A‖². "auto" holds out a fifth of the rows (of at most
        1,000; several times where rows are few), learns a short path of maps from a
        strong penalty to none, six iterations each, and takes the start and the
        penalty that predict those rows best. The final fit then makes no more
        iterations than that, and the scale of the map is the one with the least
        leave-one-out error.
    solver, batch_size, n_references, warm_start, max_iter, tol, callback, \
verbose, random_state, n_jobs
        As for :class:`vicinal.NCA`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        The learned map A.
    effective_neighbors_ : ndarray of shape (n_samples,)
        Each training point's effective number of neighbours, the perplexity of p_i. NaN
        for rows of weight 0, and, after a stochastic fit, for all but a random part
        of the rows.
    alpha_ : float
        With alpha="auto": the penalty that was chosen; infinity where no learned map
        predicted better than the start, which is then kept.
    init_ : str
        With alpha="auto": the start that was chosen; ", scaled up" where all points
        would look alike to each other at the scale that predicts best without learning.
    n_iter_ : int
        The optimiser's iterations.
    objective_curve_ : ndarray of shape (n_iter_ + 1,)
        The objective at the start and after each iteration.

    See Also
    --------
    vicinal.classic.MLKR : The map alone.
    vicinal.NCAClassifier : The same for classes.

    Notes
    -----
    Cost: as of :class:`vicinal.NCAClassifier`; predicting m rows takes O(mnd).

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
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SelectingMetric._parameter_constraints,
        "objective": [StrOptions({"soft-match", "squared-error"})],
        "width": [Interval(Real, 0, None, closed="neither"), StrOptions({"auto"})],
    }

    def __init__(
        self,
        n_components: int | None = None,
        *,
        objective: str = "squared-error",
        width: float | str = "auto",
        init: str | ArrayLike = "auto",
        solver: str = "auto",
        batch_size: int | str = "auto",
        n_references: int | str = "auto",
        alpha: float | str = "auto",
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
        with self._unchanged_on_error(), single_threaded_blas():
            data = self._validated(X, y, sample_weight)
            run = self._prepared(data)
            solution = self._optimize(run)
            if self.alpha == "auto":
                # The penalty has shrunk the map: the scale that predicts best is wider.
                best = scaled_by_loss(self._judge(data), solution.components)
                solution = replace(solution, components=best)
            self._finish(run, solution)
        self._warn_unless_learned(solution)
        return self

    def _validated(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> RegressionData:
        """Return the rows that count, with targets in units of their deviation."""
        points, targets = validate_data(
            self, X, y, dtype=FLOATS, y_numeric=True, ensure_min_samples=2
        )
        weights = check_sample_weight(sample_weight, points)
        targets = targets.astype(np.float64)
        kept = weights > 0
        if not kept.all():
            points, targets, weights = points[kept], targets[kept], weights[kept]
        if len(points) < 2:
            raise ValueError("Fewer than two rows have a weight above 0.")
        middle, unit = _location_and_unit(targets, weights)
        scaled = (targets - middle) / unit
        return RegressionData(points, scaled, weights, middle, unit, kept, (X, y))

    def _prepared(self, data: RegressionData) -> Run:
        """Return what to maximise, how, and from where."""
        selected = self._select(data)
        alpha = float(self.alpha) if selected is None else selected.alpha
        width = self._width(data)
        objective = target_objective(data, self.objective, width, self.n_jobs)
        optimizer = self._make_optimizer(data.X, None, alpha)
        if selected is None:
            d, how = self.n_components, optimizer.preconditioner
            start = self._start(objective, None, d, how)
        else:
            start = self._selected_start(data, selected)
        attributes = {} if selected is None else selected.attributes
        return Run(data, objective, optimizer, start, attributes)

    def _finish(self, run: Run, reached: Solution | Monitor) -> None:
        """Make the estimator fitted with the map that was reached."""
        data, A = run.data, reached.components
        perplexities = np.full(len(data.kept), np.nan, dtype=data.X.dtype)
        perplexities[data.kept] = run.objective.effective_neighbors(
            A, run.optimizer.queries(run.objective)
        )
        found = {**run.attributes, "effective_neighbors_": perplexities}
        self._store(reached, {**found, **self._attributes_of(data, A)})
        if self.objective == "squared-error":
            # Squares of huge targets are infinite, and those of tiny ones 0.
            with np.errstate(over="ignore", under="ignore"):
                self.objective_curve_ *= np.square(data.unit)

    def _width(self, data: RegressionData) -> float:
        """Return the width of soft matches, in units of the targets' deviation."""
        return 1 / 3 if isinstance(self.width, str) else self.width / data.unit

    def _trials(self, data: RegressionData) -> list[Trial[RegressionData]]:
        return target_trials(data, self.objective, self._width(data), self.n_jobs)

    def _candidates(self, data: RegressionData) -> dict[str, FloatArray]:
        """Return the starts to try, by name, each at the scale that suits it."""
        if self._is_warm(data.X):
            return {"warm": self.components_}
        starts = candidate_starts(
            self.init,
            data.X,
            None,
            self.n_components,
            check_random_state(self.random_state),
            data.targets,
            data.weights,
            effective_n_threads(self.n_jobs),
        )
        if not isinstance(self.init, str):
            return starts
        judge = self._judge(data)
        return scaled_starts(judge, starts)

    def _judge(self, data: RegressionData) -> TargetObjective:
        """Return the squared error, whatever is optimised: it is what predicts."""
        return target_objective(data, "squared-error", 1.0, self.n_jobs)

    def _attributes_of(
        self, data: RegressionData, components: FloatArray
    ) -> dict[str, Any]:
        """Return the fitted attributes that follow from a map."""
        dtype = data.X.dtype
        A = of_unscaled(components, 1.0, dtype)
        return {
            "components_": A,
            "_points": data.X @ A.T,
            "_targets": data.targets.astype(dtype)[:, None],
            "_middle": data.middle,
            "_unit": data.unit,
            "_weights": NeighborWeights.build(
                data.weights, np.ones(len(data.X)), dtype
            ),
        }

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
        means = average(queries, self._points, self._targets, self._weights, n_threads)
        return self._middle + self._unit * means[:, 0].astype(np.float64)


def _location_and_unit(targets: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Return the mean and the deviation of the targets; 1 where they do not vary.

    Raises
    ------
    ValueError
        Where the targets are so large that their differences overflow.
    """
    size = float(np.abs(targets).max()) or 1.0
    if size > np.finfo(np.float64).max / 4:
        raise ValueError(
            "y has values too large to compute with: their differences overflow. "
            "Scale the targets."
        )
    # In units of the largest, so that squares neither overflow nor vanish.
    relative = targets / size
    middle = float(np.average(relative, weights=weights))
    spread = float(np.sqrt(np.average((relative - middle) ** 2, weights=weights)))
    unit = size * spread
    return size * middle, unit if spread > np.finfo(float).eps and unit > 0 else 1.0
