"""What the estimators that maximise an objective share: start, optimiser, result."""

import sys
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.callers import warn_caller
from vicinal.base.metric import LinearMetric, of_unscaled
from vicinal.base.monitor import CallbackSupportMixin, Monitor
from vicinal.base.validation import validate_data
from vicinal.nca._early_stopping import EarlyStopping
from vicinal.nca._initialization import (
    FROM_THE_DATA,
    STARTS,
    diagonal_start,
    initial_components,
)
from vicinal.nca._model_selection import ITERATIONS
from vicinal.nca._optimizer import ExactOptimizer, KeptStart, Optimizer
from vicinal.nca._preconditioner import Preconditioner
from vicinal.nca._scale import data_unit, in_sight
from vicinal.nca._stochastic import STEPS, StochasticOptimizer, part_size
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives.base import PairObjective
from vicinal.solvers import SOLVERS, Solution
from vicinal.solvers.base import OnIteration

at_least_one = Interval(Integral, 1, None, closed="left")
at_least_zero = Interval(Real, 0, None, closed="left")
# A gain below this, relative to the objective, is a matter of rounding.
_NO_GAIN = 1e-9


@dataclass(frozen=True)
class Run:
    """One optimisation: what to maximise, how, and from where.

    Attributes
    ----------
    data : ClassificationData or RegressionData
        All rows that fit was given.
    objective : PairObjective
        What to maximise, without the penalty.
    optimizer : Optimizer
        How.
    start : ndarray of shape (n_components, n_features) or (n_features,)
        The first map, or the diagonal of a diagonal one.
    attributes : dict
        Fitted attributes that are known before.
    stopper : EarlyStopping or None
        Judges each iteration by rows that are held out.
    """

    data: Any
    objective: PairObjective
    optimizer: Optimizer
    start: FloatArray
    attributes: dict[str, Any]
    stopper: EarlyStopping | None = None


class GradientFittedMetric(CallbackSupportMixin, LinearMetric):
    """Base of the estimators that maximise an objective over linear maps."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, None],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "solver": [StrOptions({"auto", "stochastic", *SOLVERS})],
        "batch_size": [at_least_one, StrOptions({"auto"})],
        "n_references": [at_least_one, StrOptions({"auto", "all"})],
        "alpha": [at_least_zero, StrOptions({"auto"})],
        "warm_start": ["boolean"],
        "max_iter": [at_least_one],
        "tol": [at_least_zero],
        "callback": [callable, None],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }
    # Fitted attributes that only some settings give, and a refit must not leave.
    _optional_attributes: ClassVar[tuple[str, ...]] = ()
    n_components: Any
    init: str | ArrayLike
    solver: str
    batch_size: int | str
    n_references: int | str
    alpha: float | str
    warm_start: bool
    max_iter: int
    tol: float
    callback: Callable[[FloatArray, int], object] | None
    verbose: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    alpha_: float
    n_iter_: int
    objective_curve_: FloatArray

    def _make_optimizer(
        self, X: FloatArray, codes: IntArray | None, alpha: float
    ) -> Optimizer:
        """Return what maximises the objective: exactly, or by mini-batches."""
        if np.isinf(alpha):
            return KeptStart(self._seed())
        n, D = X.shape
        d = self.n_components if isinstance(self.n_components, Integral) else D
        solver = self._chosen_solver(n, D, int(d))
        if solver != "stochastic":
            # A path of maps was judged after so many iterations each: no more, now.
            short = self.alpha == "auto"
            max_iter = min(ITERATIONS, self.max_iter) if short else self.max_iter
            return ExactOptimizer(solver, max_iter, self.tol, alpha, short)
        seed = self._seed()
        preconditioner = Preconditioner.find(
            X, codes, int(d), self._is_diagonal, np.random.default_rng(seed)
        )
        return StochasticOptimizer(
            preconditioner, *self._part_sizes(n), self.max_iter, alpha, seed
        )

    def _chosen_solver(self, n: int, D: int, d: int) -> str:
        """Return the name of the solver; "auto" is the one that costs less."""
        if self.solver != "auto":
            return self.solver
        exact = _nanoseconds(n**2, n, D, d)
        part = part_size(n, *self._part_sizes(n), in_two_phases=self._in_two_phases)
        # Small blocks are slower for each pair, and a step has a cost of its own. Large
        # parts have fewer steps than are counted here: exact sums are worth more time.
        parts = STEPS[1] * (1.5 * _nanoseconds(*part, D, d) + 1e6)
        return "stochastic" if parts < exact else "lbfgs"

    @property
    def _in_two_phases(self) -> bool:
        """Whether mini-batches begin with a surrogate objective."""
        return False

    @property
    def _is_diagonal(self) -> bool:
        return False

    def _part_sizes(self, n: int) -> tuple[int | None, int | None]:
        """Return how many queries and references a step has; None is "auto"."""
        references = n if self.n_references == "all" else self.n_references
        return (
            None if isinstance(self.batch_size, str) else self.batch_size,
            None if isinstance(references, str) else references,
        )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _start(
        self,
        objective: PairObjective,
        codes: IntArray | None,
        n_components: int | None,
        preconditioner: Preconditioner | None = None,
    ) -> FloatArray:
        """Return the map of the last fit with warm_start, or else what init says.

        Where there is a preconditioner, its sample of the rows decides, not all of
        them. A start that is a name is scaled where points would not see each other.
        """
        X = objective.X
        if self._is_warm(X):
            return self.components_
        random_state = check_random_state(self.random_state)
        given = (n_components, random_state, effective_n_threads(self.n_jobs))
        if preconditioner is None:
            unit = data_unit(objective)
            start = initial_components(self.init, X, codes, *given, unit)
            if not isinstance(self.init, str):
                return start
            return self._in_sight(objective, start)
        points = X[preconditioner.rows]
        labels = codes
        if codes is not None:
            labels = np.unique(codes[preconditioner.rows], return_inverse=True)[1]
        projection = preconditioner.projection
        from_data = isinstance(self.init, str) and self.init in FROM_THE_DATA
        if projection is None or n_components is None or not from_data:
            return initial_components(self.init, points, labels, *given)
        within = initial_components(self.init, points @ projection, labels, *given)
        return within @ projection.T

    def _diagonal_start(
        self, objective: PairObjective, optimizer: Optimizer
    ) -> FloatArray:
        """Return weights of features: those of the last fit, or else what init says."""
        X = objective.X
        if self._is_warm(X) and len(self.components_) == X.shape[1]:
            return np.diag(self.components_).copy()
        start = diagonal_start(self.init, X, data_unit(objective))
        if not isinstance(self.init, str) or optimizer.is_stochastic:
            return start
        return self._in_sight(objective, start)

    def _check_diagonal(self, n_features: int) -> None:
        """Raise where a diagonal map is asked to reduce the dimension."""
        if self._is_diagonal and self.n_components not in (None, n_features):
            raise ValueError(
                "form='diagonal' keeps all features: n_components must be None, not "
                f"{self.n_components!r}."
            )

    def _in_sight(self, objective: PairObjective, start: FloatArray) -> FloatArray:
        """Return a start that has a name, scaled where points do not see each other."""
        rng = np.random.default_rng(self._seed())
        return in_sight(objective, start, rng, ours=self.init == "auto")

    def _is_warm(self, X: FloatArray) -> bool:
        """Return whether to go on from the map of the last fit."""
        if not (self.warm_start and hasattr(self, "components_")):
            return False
        if self.components_.shape[1] != X.shape[1]:
            raise ValueError(
                f"X has {X.shape[1]} features, but the map to start from "
                f"(warm_start=True) has {self.components_.shape[1]}."
            )
        return True

    @abstractmethod
    def _attributes_of(self, data: Any, components: FloatArray) -> dict[str, Any]:
        """Return the fitted attributes that follow from a map."""

    @abstractmethod
    def _finish(self, run: Run, reached: Solution | Monitor) -> None:
        """Make the estimator fitted with the map that was reached."""

    def _optimize(self, run: Run) -> Solution:
        """Maximise the objective from the start, watched by callbacks and `verbose`.

        After Ctrl-C, with warm_start, the map so far is kept.
        """
        objective, optimizer = run.objective, run.optimizer
        X, y = run.data.data
        monitor = Monitor(
            self,
            X,
            y,
            run.start,
            partial(self._attributes_of, run.data),
            optimizer.describe(objective.X.shape[1]),
            optimizer.is_stochastic,
        )
        on_iteration: OnIteration = monitor
        if run.stopper is not None:
            on_iteration = run.stopper.watch(monitor)
        try:
            with monitor:
                return optimizer.maximize(objective, run.start, on_iteration)
        except KeyboardInterrupt:
            if self.warm_start and monitor.n_iter:
                monitor.components = optimizer.rescaled(objective, monitor.components)
                self._finish(run, monitor)
            raise

    def _warn_unless_learned(self, solution: Solution) -> None:
        """Warn of what went wrong, if anything."""
        advice = _advice(solution)
        if advice is not None:
            warn_caller(f"{type(self).__name__} {advice}", ConvergenceWarning)

    def _queries(self, X: ArrayLike) -> FloatArray:
        """Validate new points and map them to where the training points are."""
        check_is_fitted(self)
        points: FloatArray = validate_data(
            self, X, reset=False, dtype=FLOATS, accept_sparse=self._accept_sparse
        )
        return points.astype(self.components_.dtype, copy=False) @ self.components_.T

    def _store(self, reached: Solution | Monitor, attributes: dict[str, Any]) -> None:
        """Make the estimator fitted, all at once."""
        for name in self._optional_attributes:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)
        self.n_iter_ = reached.n_iter
        self.objective_curve_ = np.array(reached.curve)

    def _say(self, line: str) -> None:
        if self.verbose:
            sys.stdout.write(f"[{type(self).__name__}] {line}\n")
            sys.stdout.flush()


def _advice(solution: Solution) -> str | None:
    """Return what went wrong in a fit and what helps; None where nothing did."""
    begun, ended = solution.curve[0], solution.curve[-1]
    gained = abs(ended - begun) > _NO_GAIN * max(abs(begun), abs(ended))
    if solution.reason == "max_iter":
        return (
            f"did not converge in {solution.n_iter} iterations ({solution.message}); "
            "raise max_iter or tol, or standardise X."
        )
    if solution.converged:
        return None
    if gained:
        return (
            f"stopped after {solution.n_iter} iterations, before it converged "
            f"({solution.message}). The map is the best that was found; more "
            "iterations would not change it. Standardise X, raise alpha, or use "
            "float64."
        )
    return (
        f"has learned nothing: no step from the start raises the objective "
        f"({solution.message}). The map is the start. Standardise X, or give another "
        "init."
    )


def _nanoseconds(n_pairs: float, n_rows: float, D: int, d: int) -> float:
    """Return about how long an evaluation takes: over pairs, and mapping the rows."""
    return n_pairs * (2 + 0.1 * d) + n_rows * D * d * 0.1


def attributes_of_map(dtype: Any, components: FloatArray) -> dict[str, Any]:
    """Return the fitted attributes that follow from a map, or from its diagonal."""
    if components.ndim == 2:
        return {"components_": of_unscaled(components, 1.0, dtype)}
    # The sign of a weight changes no distance.
    weights = of_unscaled(np.abs(components), 1.0, dtype)
    return {"components_": np.diag(weights), "feature_weights_": weights}
