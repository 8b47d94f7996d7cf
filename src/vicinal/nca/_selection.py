"""Initial map and penalty: by the parameters, or by predictions of held-out rows."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import say
from vicinal.base.selection import enough_components, ordered_by_size
from vicinal.nca._initialization import (
    FROM_THE_DATA,
    best_loss_scale,
    candidate_diagonals,
    candidate_starts,
    data_unit,
    diagonal_start,
    initial_components,
    rescale_init,
    scaled_starts,
)
from vicinal.nca._problems import Fold, Problem
from vicinal.nca._schedules import anneal
from vicinal.nca._stochastic import Preconditioner
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives.base import PairObjective, sample_indices
from vicinal.optimize import Ridge, maximize

PENALTIES = (1.0, 0.1, 0.01, 0.0)
"""Grid of penalties λ‖A‖² per point, at the size of the start."""
SELECTION_ITERATIONS = 6
"""Number of iterations for each penalty, and of the final fit."""
N_ERRORS = 0.5
"""The strongest penalty within this many standard errors of the best is selected. These
three constants were chosen by `benchmarks.defaults`."""


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
        if not is_diagonal(est):
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
    if est is not None and est.verbose:
        for (init, penalty), loss in means.items():
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
        square = is_diagonal(est) and len(A) == A.shape[1]
        return {"warm": np.diag(A).copy() if square else A}
    if is_diagonal(est):
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


def is_diagonal(est: Any) -> bool:
    """Return whether the map has one weight for each feature."""
    return getattr(est, "form", "full") == "diagonal"


def seed_of(est: Any) -> int:
    """Draw a seed from the estimator's random_state."""
    return int(check_random_state(est.random_state).randint(2**31 - 1))
