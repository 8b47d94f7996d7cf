"""Start and penalty for alpha="auto": by predictions of held-out rows."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from vicinal._typing import FloatArray
from vicinal.base.metric import say
from vicinal.base.selection import ordered_by_size
from vicinal.nca._initialization import (
    annealed,
    best_loss_scale,
    candidate_diagonals,
    candidate_starts,
    data_unit,
    is_diagonal,
    is_warm,
    scaled_starts,
    shortened,
)
from vicinal.nca._problems import Fold, Problem
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives.base import sample_indices
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


def select(est: Any, problem: Problem) -> Selected:
    """Return the start and penalty that predict held-out rows best.

    Paths of penalties, from strong to none, are fitted from each candidate start.
    """
    if is_warm(est, problem.X) and hasattr(est, "alpha_"):
        # The map was learned from the rows that would judge it.
        A = est.components_
        alpha = alpha_max(A) if np.isinf(est.alpha_) else est.alpha_
        return Selected("warm", alpha, A)
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
