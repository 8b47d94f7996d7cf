"""What the estimators that climb an objective share: parameters, solver, result."""

import warnings
from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import LinearMetric
from vicinal.base.monitor import CallbackSupportMixin, Monitor
from vicinal.nca._initialization import FROM_THE_DATA, STARTS, initial_components
from vicinal.nca._preconditioner import Preconditioner
from vicinal.nca._stochastic import STEPS, StochasticOptimizer, part_size
from vicinal.neighborhood import single_threaded_blas
from vicinal.objectives import Penalized, TruncatedNCA
from vicinal.objectives.base import PairObjective
from vicinal.solvers import SOLVERS, Objective, Solution
from vicinal.solvers.base import OnIteration, Solver
from vicinal.solvers.refreshed import Refreshed

at_least_one = Interval(Integral, 1, None, closed="left")
at_least_zero = Interval(Real, 0, None, closed="left")


class GradientFittedMetric(CallbackSupportMixin, LinearMetric):
    """Base of the estimators that maximise an objective over linear maps."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [at_least_one, None],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "solver": [StrOptions({"auto", "stochastic", *SOLVERS})],
        "batch_size": [at_least_one, StrOptions({"auto"})],
        "n_references": [at_least_one, StrOptions({"auto", "all"})],
        "alpha": [at_least_zero],
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
    alpha: float
    warm_start: bool
    max_iter: int
    tol: float
    callback: Callable[[FloatArray, int], object] | None
    verbose: int
    random_state: int | np.random.RandomState | None
    n_jobs: int | None
    n_iter_: int
    objective_curve_: FloatArray

    def _preconditioner(
        self, X: FloatArray, codes: IntArray | None, diagonal: bool = False
    ) -> Preconditioner | None:
        """Return the coordinates of a stochastic climb; None where it is exact."""
        n, D = X.shape
        d = self.n_components if isinstance(self.n_components, Integral) else D
        if self._chosen_solver(n, D, int(d)) != "stochastic":
            return None
        rng = np.random.default_rng(self._seed())
        return Preconditioner.find(X, codes, int(d), diagonal, rng)

    def _chosen_solver(self, n: int, D: int, d: int) -> str:
        """Return the name of the solver; "auto" is the one that costs less."""
        if self.solver != "auto":
            return self.solver
        exact = _nanoseconds(n**2, n, D, d)
        part = part_size(n, *self._part_sizes(n), in_two_phases=self._in_two_phases)
        # Small blocks are slower for each pair, and a step has a cost of its own.
        parts = STEPS * (1.5 * _nanoseconds(*part, D, d) + 1e6)
        return "stochastic" if parts < exact else "lbfgs"

    @property
    def _in_two_phases(self) -> bool:
        """Whether a stochastic climb begins with an easier objective."""
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
        X: FloatArray,
        codes: IntArray | None,
        n_components: int | None,
        preconditioner: Preconditioner | None = None,
    ) -> FloatArray:
        """Return the map of the last fit with warm_start, or else what init says.

        Where there is a frame, its sample of the rows decides, not all of them.
        """
        if self._is_warm(X):
            return self.components_
        random_state = check_random_state(self.random_state)
        if preconditioner is None:
            return initial_components(self.init, X, codes, n_components, random_state)
        points = X[preconditioner.rows]
        labels = codes
        if codes is not None:
            labels = np.unique(codes[preconditioner.rows], return_inverse=True)[1]
        projection = preconditioner.projection
        from_data = isinstance(self.init, str) and self.init in FROM_THE_DATA
        if projection is None or n_components is None or not from_data:
            return initial_components(
                self.init, points, labels, n_components, random_state
            )
        within = initial_components(
            self.init, points @ projection, labels, n_components, random_state
        )
        return within @ projection.T

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

    def _optimize(
        self,
        objective: PairObjective,
        start: FloatArray,
        data: tuple[Any, Any],
        state: Callable[[FloatArray], dict[str, Any]],
        keep: Callable[[Solution | Monitor], None],
        watch: Callable[[OnIteration], OnIteration] | None = None,
        preconditioner: Preconditioner | None = None,
    ) -> Solution:
        """Hand objective and start to the solver, and return what it found.

        Parameters
        ----------
        objective : PairObjective
            What to climb, without the penalty.
        start : ndarray of shape (n_components, n_features) or (n_features,)
            The first map, or the diagonal of a diagonal one.
        data : tuple
            X and y as the user gave them, for callbacks.
        state : callable
            The fitted attributes that follow from a map, for callbacks.
        keep : callable
            Makes the estimator fitted; called here after Ctrl-C with warm_start.
        watch : callable, optional
            Wraps what is called after each iteration.
        frame : Preconditioner, optional
            The coordinates of a stochastic climb.
        """
        climb, how = self._way(objective, preconditioner)
        monitor = Monitor(self, *data, start, state, how, preconditioner is not None)
        on_iteration: OnIteration = monitor if watch is None else watch(monitor)
        try:
            # For the whole climb: threads that BLAS has woken for the optimiser's own
            # small products would spin on the cores that the engine needs.
            with single_threaded_blas(), monitor:
                solution = climb(start, on_iteration)
        except KeyboardInterrupt:
            if self.warm_start and monitor.n_iter:
                if preconditioner is not None:
                    parts = self._parts(preconditioner, len(objective.X))
                    monitor.components = parts.rescaled(objective, monitor.components)
                keep(monitor)
            raise
        return solution

    def _way(
        self, objective: PairObjective, preconditioner: Preconditioner | None
    ) -> tuple[Callable[[FloatArray, OnIteration], Solution], str]:
        """Return how to climb from a start, and how in words."""
        n, D = objective.X.shape
        if preconditioner is not None:
            stochastic = self._parts(preconditioner, n)
            kept = (
                D
                if preconditioner.projection is None
                else preconditioner.projection.shape[1]
            )
            how = f"{STEPS} random parts an iteration, {kept} of {D} directions"
            return partial(stochastic.maximize, objective), f"solver stochastic: {how}"
        to_climb: Objective = objective
        if self.alpha:
            to_climb = Penalized(objective, self.alpha * objective.n_points)
        name = "lbfgs" if self.solver == "auto" else self.solver
        make = partial(SOLVERS[name], max_iter=self.max_iter, tol=self.tol)
        solver: Solver = make()
        if isinstance(objective, TruncatedNCA) and objective.may_truncate:
            solver = Refreshed(
                objective.refresh,
                objective.is_stale,
                SOLVERS[name],
                self.max_iter,
                self.tol,
                objective.longest_round,
            )
        return partial(solver.maximize, to_climb), f"solver {name}"

    def _parts(self, preconditioner: Preconditioner, n: int) -> StochasticOptimizer:
        """Return the climb by random parts of so many rows."""
        return StochasticOptimizer(
            preconditioner,
            *self._part_sizes(n),
            self.max_iter,
            self.alpha,
            self._seed(),
        )

    def _warn_unless_converged(self, solution: Solution) -> None:
        """Warn; to be called by fit itself, so that the warning names its caller."""
        if not solution.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {solution.n_iter} "
                f"iterations ({solution.message}); raise max_iter or tol, or "
                "standardise X.",
                ConvergenceWarning,
                stacklevel=4,  # past this, fit, and scikit-learn's wrapper of fit
            )

    def _queries(self, X: ArrayLike) -> FloatArray:
        """Validate new points and map them to where the training points are."""
        check_is_fitted(self)
        points: FloatArray = validate_data(self, X, reset=False, dtype=FLOATS)
        return points.astype(self.components_.dtype, copy=False) @ self.components_.T

    def _store(self, reached: Solution | Monitor, attributes: dict[str, Any]) -> None:
        """Make the estimator fitted, all at once."""
        for name in self._optional_attributes:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)
        self.n_iter_ = reached.n_iter
        self.objective_curve_ = np.array(reached.curve)


def _nanoseconds(n_pairs: float, n_rows: float, D: int, d: int) -> float:
    """Return about how long an evaluation takes: over pairs, and mapping the rows."""
    return n_pairs * (2 + 0.1 * d) + n_rows * D * d * 0.1
