"""Fit a map: choose start, penalty and solver, maximize the objective, store the map.

All estimators of this folder use these functions; `est` is the estimator.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray
from vicinal.base.metric import Monitor, validate_data, warn_caller
from vicinal.nca._initialization import (
    best_loss_scale,
    data_unit,
    first_map,
    is_diagonal,
    is_warm,
    queries_of_all,
    seed_of,
)
from vicinal.nca._problems import ClassProblem, Problem
from vicinal.nca._schedules import EarlyStopping, held_out_accuracy, hold_out
from vicinal.nca._selection import (
    SELECTION_ITERATIONS,
    Selected,
    best_of_starts,
    select,
    selected_start,
)
from vicinal.nca._stochastic import Preconditioner, StochasticOptimizer
from vicinal.objectives import TruncatedNCA
from vicinal.objectives.base import PairObjective
from vicinal.optimize import Refreshed, Ridge, maximize, solution

STOCHASTIC_FROM = 10_000, 7_000
"""Number of rows from which solver="auto" is stochastic: for "expected" and
"class-density", and for other objectives. An iteration then costs as much as an
evaluation over all pairs."""


def learn(
    est: Any, problem: Problem, make_run: "Callable[..., Run] | None" = None
) -> OptimizeResult:
    """Learn a map, and set the fitted attributes.

    Parameters
    ----------
    est : estimator
        The estimator, for its parameters.
    problem : Problem
        Validated rows and labels.
    make_run : callable or None, default=None
        Factory with the arguments of `Run`; None is `Run`.

    Returns
    -------
    OptimizeResult
    """
    train, held = problem, None
    if getattr(est, "early_stopping", False):
        rows, others = hold_out(
            problem.codes, est.validation_fraction, est.random_state
        )
        train, held = problem.part(rows), problem.part(others)
    selected = select(est, train) if est.alpha == "auto" else None
    alpha = float(est.alpha) if selected is None else selected.alpha
    objective = make_objective(est, train)
    unit = 1 / data_unit(train.X, train.weights)
    optimizer = make_optimizer(est, train, alpha)
    if selected is not None:
        start = selected_start(est, problem, selected)
    else:
        several = getattr(est, "n_init", 1) > 1 and not is_warm(est, problem.X)
        start = (
            best_of_starts(est, train, alpha, unit)
            if several
            else first_map(est, train, objective, optimizer, alpha, unit)
        )
    stopper = None
    if held is not None:
        stopper = EarlyStopping(
            _held_out_score(est, train, held, objective, optimizer),
            est.n_iter_no_change,
            start,
        )
    run = (make_run or Run)(est, problem, objective, optimizer, selected, stopper)
    optimizer = run.optimizer
    stochastic = isinstance(optimizer, StochasticOptimizer)
    monitor = Monitor(
        est,
        *problem.given,
        start,
        lambda A: est._attributes_of(problem, A),
        _description(est, optimizer, problem.X.shape[1]) if est.verbose else "",
        stochastic,
    )
    watch = monitor if stopper is None else stopper.watch(monitor)
    solve = optimizer.maximize if optimizer else exact_solver(est, objective, unit)
    target: Any = objective
    if optimizer is None and alpha:
        target = Ridge(objective, alpha * objective.n_points)
    try:
        with monitor:
            result = solve(target, start, watch)
    except KeyboardInterrupt:
        if est.warm_start and monitor.n_iter:  # keep the current map
            A = monitor.components
            if stochastic:
                A = optimizer.rescaled(objective, A)
            run.finish(OptimizeResult(x=A, nit=monitor.n_iter, curve=monitor.curve))
        raise
    if problem.targets is not None and est.alpha == "auto":
        # The penalty shrinks the map; the scale that predicts best is larger.
        result.x = best_loss_scale(problem.scale_objective(), result.x)
    if selected is not None and result.reason == "max_iter" and result.nit:
        message = "as many iterations as were judged on held-out rows"
        result.update(reason="converged", success=True, message=message)
    run.finish(result)
    return result


@dataclass(frozen=True)
class Run:
    """One optimization of an estimator's map."""

    est: Any
    problem: Problem
    objective: PairObjective
    optimizer: Any
    selected: Selected | None = None
    stopper: EarlyStopping | None = None

    def finish(self, result: OptimizeResult) -> None:
        """Set all fitted attributes."""
        est, problem, objective, A = self.est, self.problem, self.objective, result.x
        found: dict[str, Any] = {}
        if self.selected is not None:
            found = {"init_": self.selected.init, "alpha_": self.selected.alpha}
        if self.stopper is not None:
            objective, A = make_objective(est, problem), self.stopper.best
            objective.refresh(A)
            if isinstance(self.optimizer, StochasticOptimizer):
                A = self.optimizer.rescaled(objective, A)
            found["validation_curve_"] = np.array(self.stopper.curve)
        perplexities = np.full(len(problem.kept), np.nan, dtype=problem.X.dtype)
        queries = None
        if self.optimizer is not None:  # not a solver over all pairs
            rng = np.random.default_rng(self.optimizer.seed)
            queries = queries_of_all(objective, rng)
        perplexities[problem.kept] = objective.effective_neighbors(A, queries)
        if isinstance(objective, TruncatedNCA):
            found["truncated_mass_"] = objective.lost_mass(A)
        store(
            est,
            {
                **found,
                "effective_neighbors_": perplexities,
                **est._attributes_of(problem, A),
                "n_iter_": result.nit,
                "objective_curve_": np.array(result.curve) * problem.curve_unit,
            },
        )


def map_queries(est: Any, X: ArrayLike) -> FloatArray:
    """Validate new points, and map them to the space of the training points."""
    check_is_fitted(est)
    points = validate_data(
        est, X, reset=False, dtype=FLOATS, accept_sparse=est._accept_sparse
    )
    A = est.components_
    points = points.astype(A.dtype, copy=False)
    if est._offset is not None:
        points = points - est._offset
    mapped: FloatArray = points @ A.T
    return mapped


def store(est: Any, attributes: dict[str, Any]) -> None:
    """Replace the fitted attributes of an estimator."""
    for name in est._optional_attributes:
        vars(est).pop(name, None)
    vars(est).update(attributes)


def map_attributes(
    est: Any,
    problem: Problem,
    components: FloatArray,
) -> dict[str, Any]:
    """Return the fitted attributes of a map, or of the diagonal of a map."""
    dtype = problem.X.dtype
    if components.ndim == 2:
        if problem.basis is not None:
            components = components @ problem.basis.T
            if est.n_components is None:  # as many rows as features
                components = problem.basis @ components
        return {"components_": components.astype(dtype)}
    # The sign of a weight does not change distances.
    weights = np.abs(components).astype(dtype)
    return {"components_": np.diag(weights), "feature_weights_": weights}


def make_objective(est: Any, problem: Problem) -> PairObjective:
    """Return the objective, with truncated sums if `n_neighbors` is set."""
    n_neighbors = getattr(est, "n_neighbors", "all")
    if n_neighbors == "all":
        return problem.objective()
    assert isinstance(problem, ClassProblem)  # noqa: S101  for mypy
    objective = TruncatedNCA(
        problem.X,
        problem.codes,
        problem.loss,
        n_neighbors=n_neighbors,
        seed=seed_of(est),
        sample_weight=problem.weights,
        class_prior=problem.prior,
        n_jobs=est.n_jobs,
    )
    if objective.lists_too_long:
        warn_caller(
            f"n_neighbors={n_neighbors} lists {n_neighbors * objective.n_rows:.1e} "
            "neighbors, more than fit in memory; sums run over all pairs. Lower "
            "n_neighbors, or use solver='stochastic'."
        )
    return objective


# --- optimization


@dataclass(frozen=True)
class NoOptimization:
    """Optimizer that keeps the start, because no learned map predicts better.

    The search for the scale of the start counts as one iteration.
    """

    seed: int
    alpha = None

    def describe(self, _: int) -> str:
        """Return a line for `verbose`."""
        return "no learned map predicts better than the start, which is kept"

    def maximize(
        self, objective: PairObjective, start: FloatArray, callback: Any
    ) -> OptimizeResult:
        """Return the start."""
        queries = queries_of_all(objective, np.random.default_rng(self.seed))
        terms = objective.terms(start, queries).astype(np.float64)
        mean = float(np.average(terms, weights=objective.counts[queries]))
        curve = [mean * objective.n_points] * 2
        callback(start, curve)
        return solution(start, 1, curve, "converged", self.describe(0))


def make_optimizer(est: Any, problem: Problem, alpha: float) -> Any:
    """Return the optimizer for `solver` and the size of the data.

    None is a solver of `vicinal.optimize` over all pairs, or over lists of neighbors.
    """
    if np.isinf(alpha):
        return NoOptimization(seed_of(est))
    n, D = problem.X.shape
    if est.solver == "auto":
        two_phases = problem.loss in ("expected", "class-density")
        needs_pairs = getattr(est, "n_neighbors", "all") != "all"
        needs_pairs |= bool(getattr(est, "anneal", False))
        if needs_pairs or n < STOCHASTIC_FROM[0 if two_phases else 1]:
            return None
    elif est.solver != "stochastic":
        return None
    seed = seed_of(est)
    d = int(est.n_components) if isinstance(est.n_components, Integral) else D
    preconditioner = Preconditioner.find(
        problem.X, problem.codes, d, is_diagonal(est), np.random.default_rng(seed)
    )
    return StochasticOptimizer(
        preconditioner, *part_sizes(est, n), est.max_iter, alpha, seed
    )


def _description(est: Any, optimizer: Any, n_features: int) -> str:
    """Return a description of the optimization for `verbose`."""
    if optimizer is not None:
        description: str = optimizer.describe(n_features)
        return description
    if est.solver == "auto":
        return "solver lbfgs"
    known = isinstance(est.solver, str)
    return f"solver {est.solver if known else type(est.solver).__name__}"


def exact_solver(
    est: Any, objective: PairObjective, unit: float
) -> Callable[..., OptimizeResult]:
    """Return `vicinal.optimize.maximize` with the estimator's settings."""
    solver = "lbfgs" if est.solver == "auto" else est.solver
    how = {"solver": solver, "max_iter": est.max_iter, "tol": est.tol, "unit": unit}
    if est.alpha == "auto":  # each map was judged after this number of iterations
        how["max_iter"] = min(SELECTION_ITERATIONS, est.max_iter)
    if isinstance(objective, TruncatedNCA) and objective.may_truncate:
        refresh, is_stale = objective.refresh, objective.is_stale
        return Refreshed(refresh, is_stale, how, objective.list_lifetime).maximize
    return partial(maximize, **how)


def part_sizes(est: Any, n: int) -> tuple[int | None, int | None]:
    """Return the numbers of queries and references of a step; None is "auto"."""
    references = n if est.n_references == "all" else est.n_references
    return (
        None if isinstance(est.batch_size, str) else est.batch_size,
        None if isinstance(references, str) else references,
    )


# --- early stopping, messages


def _held_out_score(
    est: Any, train: Problem, held: Problem, objective: Any, optimizer: Any
) -> Any:
    """Return a function that scores a map on held-out rows."""
    if isinstance(optimizer, StochasticOptimizer):
        return lambda A: held_out_accuracy(train, held, A)

    def score(A: FloatArray) -> float:
        proba = objective.class_probabilities(A, held.X)
        p = proba[np.arange(len(held.X)), held.codes].astype(np.float64)
        if est.objective == "log":
            p = np.log(np.maximum(p, np.finfo(held.X.dtype).tiny))
        return float(np.average(p, weights=held.weights))

    return score


def warn_unless_learned(est: Any, result: OptimizeResult) -> None:
    """Warn if the fit did not converge or learned nothing."""
    if result.success:
        return
    begun, ended = result.curve[0], result.curve[-1]
    # A smaller gain, relative to the objective, is rounding error.
    gained = abs(ended - begun) > 1e-9 * max(abs(begun), abs(ended))
    if result.reason == "max_iter":
        advice = (
            f"did not converge in {result.nit} iterations ({result.message}); raise "
            "max_iter or tol, or standardise X."
        )
    elif gained:
        advice = (
            f"stopped after {result.nit} iterations, before it converged "
            f"({result.message}). The map is the best that was found; more iterations "
            "would not change it. Standardise X, raise alpha, or use float64."
        )
    else:
        advice = (
            "has learned nothing: no step from the start raises the objective "
            f"({result.message}). The map is the start. Standardise X, or give another "
            "init."
        )
    warn_caller(f"{type(est).__name__} {advice}", ConvergenceWarning)


def check_diagonal(est: Any, n_features: int) -> None:
    """Raise ValueError if a diagonal map is to reduce the dimension."""
    if est.n_components not in (None, n_features):
        raise ValueError(
            "form='diagonal' keeps all features: n_components must be None, not "
            f"{est.n_components!r}."
        )
    if getattr(est, "anneal", False):
        raise ValueError("form='diagonal' keeps all features: use anneal=False.")
