"""Fit a map: choose start, penalty and solver, maximize the objective, store the map.

All estimators of this folder use these functions; `est` is the estimator.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import OptimizeResult
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from vicinal._typing import FLOATS, FloatArray, IntArray
from vicinal.base.metric import Monitor, unscale_components, validate_data, warn_caller
from vicinal.base.selection import enough_components, ordered_by_size
from vicinal.nca._initialization import (
    FROM_THE_DATA,
    best_loss_scale,
    candidate_diagonals,
    candidate_starts,
    data_unit,
    diagonal_start,
    initial_components,
    queries_of_all,
    rescale_init,
    scaled_starts,
)
from vicinal.nca._problems import ClassProblem, Fold, Problem
from vicinal.nca._schedules import EarlyStopping, anneal, held_out_accuracy, hold_out
from vicinal.nca._stochastic import Preconditioner, StochasticOptimizer
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives import TruncatedNCA
from vicinal.objectives.base import PairObjective, sample_indices
from vicinal.optimize import Refreshed, Ridge, maximize, solution

PENALTIES = (1.0, 0.1, 0.01, 0.0)
"""Grid of penalties λ‖A‖² per point, at the size of the start."""
SELECTION_ITERATIONS = 6
"""Number of iterations for each penalty, and of the final fit."""
STOCHASTIC_FROM = 10_000, 7_000
"""Number of rows from which solver="auto" is stochastic: for "expected" and
"class-density", and for other objectives. An iteration then costs as much as an
evaluation over all pairs."""
N_ERRORS = 0.5
"""The strongest penalty within this many standard errors of the best is selected. These
three constants were chosen by `benchmarks.defaults`."""


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
    optimizer = make_optimizer(est, train, alpha, unit)
    if selected is None:
        start = first_map(est, train, objective, optimizer, alpha, unit)
    else:
        start = selected_start(est, problem, selected)
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
        optimizer.describe(problem.X.shape[1]),
        stochastic,
    )
    watch = monitor if stopper is None else stopper.watch(monitor)
    try:
        with monitor:
            result = optimizer.maximize(objective, start, watch)
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
    run.finish(result)
    return result


@dataclass(frozen=True)
class Selected:
    """Start and penalty with the best predictions of held-out rows.

    Attributes
    ----------
    init : str
        Name of the start.
    alpha : float
        λ per point; infinity if no learned map is better than the start.
    components : ndarray
        The best map.
    """

    init: str
    alpha: float
    components: FloatArray


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
        if not isinstance(self.optimizer, ExactOptimizer):
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


def map_attributes(components: FloatArray, dtype: Any) -> dict[str, Any]:
    """Return the fitted attributes of a map, or of the diagonal of a map."""
    if components.ndim == 2:
        return {"components_": unscale_components(components, 1.0, dtype)}
    # The sign of a weight does not change distances.
    weights = unscale_components(np.abs(components), 1.0, dtype)
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
class ExactOptimizer:
    """Optimizer with sums over all pairs, or over lists of neighbors.

    Parameters
    ----------
    solver : str or Solver
        A name in `vicinal.optimize.SOLVERS`, or a solver.
    max_iter, tol : int, float
        Limits of a solver that is given by name.
    alpha : float
        Penalty per point.
    unit : float
        Unit of the map's entries.
    planned : bool, default=False
        Whether reaching max_iter is expected.
    """

    solver: Any
    max_iter: int
    tol: float
    alpha: float
    unit: float
    planned: bool = False

    def describe(self, _: int) -> str:
        """Return a line for `verbose`."""
        known = isinstance(self.solver, str)
        return f"solver {self.solver if known else type(self.solver).__name__}"

    def maximize(
        self, objective: PairObjective, start: FloatArray, callback: Any
    ) -> OptimizeResult:
        """Maximize from a start; see `vicinal.optimize.Solver`."""
        how: dict[str, Any] = {
            "solver": self.solver,
            "unit": self.unit,
            "max_iter": self.max_iter,
            "tol": self.tol,
        }
        target = objective
        if self.alpha:
            target = Ridge(objective, self.alpha * objective.n_points)  # type: ignore[assignment]
        if isinstance(objective, TruncatedNCA) and objective.may_truncate:
            rounds = Refreshed(
                objective.refresh, objective.is_stale, how, objective.list_lifetime
            )
            result = rounds.maximize(target, start, callback)
        else:
            result = maximize(target, start, callback=callback, **how)
        if self.planned and result.get("reason") == "max_iter" and result.nit:
            result.update(
                reason="converged",
                success=True,
                message="as many iterations as were judged on the rows held out",
            )
        return result


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


def make_optimizer(est: Any, problem: Problem, alpha: float, unit: float) -> Any:
    """Return the optimizer for `solver` and the size of the data."""
    if np.isinf(alpha):
        return NoOptimization(seed_of(est))
    solver = est.solver
    n, D = problem.X.shape
    if isinstance(solver, str) and solver == "auto":
        exact = getattr(est, "n_neighbors", "all") != "all"
        exact |= bool(getattr(est, "anneal", False))
        two_phases = problem.loss in ("expected", "class-density")
        few = n < STOCHASTIC_FROM[0 if two_phases else 1]
        solver = "lbfgs" if exact or few else "stochastic"
    if not isinstance(solver, str) or solver != "stochastic":
        # Each map of the path was judged after this number of iterations.
        planned = est.alpha == "auto"
        max_iter = min(SELECTION_ITERATIONS, est.max_iter) if planned else est.max_iter
        return ExactOptimizer(solver, max_iter, est.tol, alpha, unit, planned)
    seed = seed_of(est)
    d = int(est.n_components) if isinstance(est.n_components, Integral) else D
    preconditioner = Preconditioner.find(
        problem.X, problem.codes, d, _is_diagonal(est), np.random.default_rng(seed)
    )
    return StochasticOptimizer(
        preconditioner, *part_sizes(est, n), est.max_iter, alpha, seed
    )


def part_sizes(est: Any, n: int) -> tuple[int | None, int | None]:
    """Return the numbers of queries and references of a step; None is "auto"."""
    references = n if est.n_references == "all" else est.n_references
    return (
        None if isinstance(est.batch_size, str) else est.batch_size,
        None if isinstance(references, str) else references,
    )


# --- initialization


def first_map(
    est: Any,
    problem: Problem,
    objective: PairObjective,
    optimizer: Any,
    alpha: float,
    unit: float,
) -> FloatArray:
    """Return the initial map for the estimator's parameters."""
    X, codes, d = problem.X, problem.codes, est.n_components
    if is_warm(est, X):
        if not _is_diagonal(est):
            return est.components_
        if len(est.components_) == X.shape[1]:
            return np.diag(est.components_).copy()
    if d == "auto":
        return shortened(est, problem)
    if getattr(est, "anneal", False):
        return annealed(est, problem, objective, alpha, unit)
    basis = getattr(optimizer, "preconditioner", None)
    if getattr(est, "form", "full") == "diagonal":
        start = diagonal_start(est.init, X, unit)
    elif basis is None:
        start = start_of(est, X, codes, d, unit)
    else:
        return start_from_sample(est, problem, basis)
    if basis is not None or not isinstance(est.init, str):
        return start
    rng = np.random.default_rng(seed_of(est))
    return rescale_init(objective, start, rng, is_auto=est.init == "auto")


def start_from_sample(est: Any, problem: Problem, basis: Preconditioner) -> FloatArray:
    """Return the start for `init`, from the preconditioner's sample of the rows."""
    points, labels, d = problem.X[basis.rows], problem.codes, est.n_components
    if labels is not None:
        labels = np.unique(labels[basis.rows], return_inverse=True)[1]
    from_data = isinstance(est.init, str) and est.init in FROM_THE_DATA
    if basis.projection is None or d is None or not from_data:
        return start_of(est, points, labels, d)
    within = start_of(est, points @ basis.projection, labels, d)
    return within @ basis.projection.T


def start_of(
    est: Any, X: Any, codes: IntArray | None, d: int | None, unit: float = 1.0
) -> FloatArray:
    """Return the start for `init`."""
    random_state = check_random_state(est.random_state)
    threads = effective_n_threads(est.n_jobs)
    return initial_components(est.init, X, codes, d, random_state, threads, unit)


def shortened(est: Any, problem: Problem) -> FloatArray:
    """Return the rows of a map of full rank that n_components="auto" keeps."""
    full = clone(est).set_params(
        n_components=None, callback=None, verbose=0, warm_start=False,
        early_stopping=False,
    )  # fmt: skip
    if est.objective == "class-density":
        full.set_params(class_prior=problem.prior)  # type: ignore[attr-defined]
    full.fit(problem.X, problem.codes, problem.weights)
    ordered = ordered_by_size(full.components_)
    return ordered[: enough_components(problem.X, problem.codes, ordered)]


def annealed(
    est: Any, problem: Problem, objective: PairObjective, alpha: float, unit: float
) -> FloatArray:
    """Return a map of n_components rows, annealed from a map of full rank."""
    X, d = problem.X, est.n_components
    if d is None or d >= X.shape[1]:
        raise ValueError(
            f"anneal={est.anneal!r} reduces {X.shape[1]} dimensions: give a smaller "
            "n_components."
        )
    full = start_of(est, X, problem.codes, None, unit)
    if isinstance(est.init, str):
        rng = np.random.default_rng(seed_of(est))
        full = rescale_init(objective, full, rng, is_auto=est.init == "auto")
    if len(full) < d:
        raise ValueError(f"init has {len(full)} rows, fewer than n_components={d}.")
    penalized = Ridge(objective, alpha * objective.n_points)
    return anneal(penalized, full, d, X, est.anneal, unit)


def is_warm(est: Any, X: Any) -> bool:
    """Return whether to continue from the map of the last fit."""
    if not (est.warm_start and hasattr(est, "components_")):
        return False
    if est.components_.shape[1] != X.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but the map to start from "
            f"(warm_start=True) has {est.components_.shape[1]}."
        )
    return True


# --- selection of start and penalty on held-out rows


def select(est: Any, problem: Problem) -> Selected:
    """Return the start and penalty that predict best."""
    if is_warm(est, problem.X) and hasattr(est, "alpha_"):
        # The map was learned from the rows that would judge it.
        A = est.components_
        alpha = alpha_max(A) if np.isinf(est.alpha_) else est.alpha_
        return Selected("warm", alpha, A)
    return try_penalties(est, problem)


def try_penalties(est: Any, problem: Problem) -> Selected:
    """Fit paths of penalties from each start, and score them on held-out rows."""
    folds = problem.folds()
    if not folds:  # too few rows: the first start with a moderate penalty
        name, A = next(iter(candidates(est, problem).items()))
        return Selected(name, 0.1 * alpha_max(A), A)
    d = est.n_components
    reduces = (
        not issparse(problem.X)
        and isinstance(d, Integral)
        and int(d) < problem.X.shape[1] <= 100
        and isinstance(est.init, str)
        and est.init == "auto"
        and not is_warm(est, problem.X)
        and not getattr(est, "anneal", False)
    )
    paths = []
    for fold in folds:
        starts = candidates(est, fold.problem)
        if reduces:  # a map of full rank has fewer local maxima
            full = clone(est).set_params(n_components=None)
            path = fit_path(full, fold, candidates(full, fold.problem))
            best = _choose([path], [fold])
            rows = ordered_by_size(best.components)[: int(d)]
            starts["reduced"] = best_loss_scale(fold.problem.objective(), rows)
        paths.append(fit_path(est, fold, starts))
    return _choose(paths, folds, est)


Path = dict[tuple[str, float], tuple[float, FloatArray, FloatArray]]


def fit_path(est: Any, fold: Fold, starts: dict[str, FloatArray]) -> Path:
    """Return {(init, penalty): (alpha, map, held-out losses)}, strongest first."""
    objective = fold.problem.objective()
    unit = 1 / data_unit(fold.problem.X, fold.problem.weights)
    found: Path = {}
    for init, A in starts.items():
        found[init, np.inf] = np.inf, A, fold.losses(A)
        strongest = alpha_max(A)
        for penalty in PENALTIES:
            alpha = penalty * strongest
            penalized = Ridge(objective, alpha * objective.n_points)
            max_iter = min(SELECTION_ITERATIONS, est.max_iter)
            A = maximize(  # noqa: PLW2901  each map starts from the one before
                penalized, A, unit=unit, max_iter=max_iter, tol=est.tol
            ).x
            found[init, penalty] = alpha, A, fold.losses(A)
    return found


def _choose(paths: list[Path], folds: list[Fold], est: Any = None) -> Selected:
    """Return the strongest penalty that is as good as the best, by the 1-SE rule."""
    weights = np.concatenate([fold.weights for fold in folds])
    losses = {
        key: np.concatenate([path[key][2] for path in paths])
        for key in paths[0]
        if all(key in path for path in paths)
    }

    def mean(values: FloatArray) -> float:
        found = float(np.average(values, weights=weights))
        return found if np.isfinite(found) else np.inf

    means = {key: mean(values) for key, values in losses.items()}
    for (init, penalty), loss in means.items():
        if est is not None:
            say(est, f"held-out loss {loss:.4f}: init {init}, penalty {penalty:g}")
    best = min(means, key=lambda key: means[key])
    for key in means:
        if key[0] != best[0]:
            continue
        excess = losses[key] - losses[best]
        error = np.sqrt(mean((excess - mean(excess)) ** 2) / weights.sum())
        if mean(excess) <= N_ERRORS * error:
            break
    alpha, A, _ = paths[0][key]
    return Selected(key[0], alpha, A)


def candidates(est: Any, problem: Problem) -> dict[str, FloatArray]:
    """Return the candidate starts, by name, each at its best scale."""
    X, d, init = problem.X, est.n_components, est.init
    if is_warm(est, X):
        A = est.components_
        square = _is_diagonal(est) and len(A) == A.shape[1]
        return {"warm": np.diag(A).copy() if square else A}
    if _is_diagonal(est):
        starts = candidate_diagonals(init, X)
    elif d == "auto":
        starts = {"full rank": shortened(est, problem)}
    elif getattr(est, "anneal", False):
        unit = 1 / data_unit(X, problem.weights)
        starts = {"annealed": annealed(est, problem, problem.objective(), 0.0, unit)}
    else:
        starts = candidate_starts(
            init,
            X,
            problem.codes,
            d,
            check_random_state(est.random_state),
            problem.targets,
            problem.weights,
            effective_n_threads(est.n_jobs),
        )
    if not isinstance(init, str):
        return starts
    return scaled_starts(problem.scale_objective(), starts)


def selected_start(est: Any, problem: Problem, selected: Selected) -> FloatArray:
    """Return the map to continue from; a kept start is recomputed from more rows."""
    computed = selected.init not in ("warm", "reduced", "given")
    if not (computed and np.isinf(selected.alpha)):
        return selected.components
    rows = sample_indices(np.random.default_rng(0), len(problem.X), 10_000)
    again = candidates(est, problem.subproblem(rows))
    return again.get(selected.init, selected.components)


def alpha_max(A: FloatArray) -> float:
    """Return the strongest penalty of the path for a start."""
    size = float(np.square(A).sum())
    return PENALTIES[0] / size if size > 0 else 0.0


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
    if result.get("success", True):
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


def say(est: Any, line: str) -> None:
    """Print a line if the estimator is verbose."""
    if est.verbose:
        sys.stdout.write(f"[{type(est).__name__}] {line}\n")
        sys.stdout.flush()


def check_diagonal(est: Any, n_features: int) -> None:
    """Raise ValueError if a diagonal map is to reduce the dimension."""
    diagonal = getattr(est, "form", "full") == "diagonal"
    if diagonal and est.n_components not in (None, n_features):
        raise ValueError(
            "form='diagonal' keeps all features: n_components must be None, not "
            f"{est.n_components!r}."
        )


def _is_diagonal(est: Any) -> bool:
    return getattr(est, "form", "full") == "diagonal"


def seed_of(est: Any) -> int:
    """Draw a seed from the estimator's random_state."""
    return int(check_random_state(est.random_state).randint(2**31 - 1))
