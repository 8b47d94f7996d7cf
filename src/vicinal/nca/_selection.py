"""Start and penalty for alpha="auto": by predictions of held-out rows."""

from dataclasses import dataclass
from functools import partial
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
    best_loss_scale,
    candidate_diagonals,
    candidate_starts,
    data_unit,
    first_map,
    last_map,
    rescale_init,
    scaled_starts,
    seed_of,
)
from vicinal.nca._problems import Fold, Problem
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives.nca import sample_indices
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
    warm = last_map(est, problem.X)
    if warm is not None and hasattr(est, "alpha_"):
        # The map was learned from the rows that would judge it.
        alpha = alpha_max(warm) if np.isinf(est.alpha_) else est.alpha_
        return Selected("warm", alpha, warm)
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
        and warm is None
        and not est.anneal
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

    mean = partial(np.average, weights=weights)
    means = {key: mean(values) for key, values in losses.items()}
    if est is not None and est.verbose:
        for (init, penalty), loss in means.items():
            say(est, f"held-out loss {loss:.4f}: init {init}, penalty {penalty:g}")
    best = min(means, key=means.__getitem__)
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
    warm = last_map(est, X)
    if warm is not None:
        return {"warm": warm}
    if est.form == "diagonal":
        starts = candidate_diagonals(init, X)
    elif d == "auto" or est.anneal:
        unit = 1 / data_unit(X, problem.weights)
        A = first_map(est, problem, problem.objective(), None, 0.0, unit)
        starts = {"full rank" if d == "auto" else "annealed": A}
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
    rng = np.random.default_rng(seed_of(est))
    shape = next(iter(starts.values())).shape
    for k in range(1, est.n_init):
        starts[f"random {k}"] = rng.standard_normal(shape)
    if not isinstance(init, str) and len(starts) == 1:
        return starts
    return scaled_starts(problem.scale_objective(), starts)


def best_of_starts(est: Any, problem: Problem, alpha: float, unit: float) -> FloatArray:
    """Return the map, of those learned from `n_init` starts, with the least loss.

    The loss of a held-out row is −log p_i for objective "log", and 1 − p_i otherwise.
    The first start is kept unless another is better by more than a standard error. With
    too few rows to hold out any, the objective decides.
    """
    plain = problem.objective()

    def negative_objective(A: FloatArray) -> FloatArray:
        return np.array([-plain.value_and_gradient(A)[0]])

    folds = problem.folds() or [Fold(problem, negative_objective, np.ones(1))]
    seed = seed_of(est)
    parts: list[FloatArray] = []
    maps: list[FloatArray] = []
    for fold in folds:
        objective = fold.problem.objective()
        starts = _several_starts(est, fold.problem, objective, alpha, unit, seed)
        penalized = Ridge(objective, alpha * objective.n_points)
        how = {"max_iter": est.max_iter, "tol": est.tol, "unit": unit}
        learned = [maximize(penalized, A, **how).x for A in starts]
        parts.append(np.array([fold.losses(A) for A in learned]))
        maps = maps or learned
    losses = np.hstack(parts)
    if est.objective != "log":
        losses = 1 - np.exp(-losses)
    weights = np.concatenate([fold.weights for fold in folds])
    means = np.average(losses, axis=1, weights=weights)
    if est.verbose:
        say(est, f"held-out losses of {est.n_init} starts: {np.round(means, 4)}")
    best = int(np.argmin(means))
    gains = losses[0] - losses[best]
    variance = np.average((gains - means[0] + means[best]) ** 2, weights=weights)
    if means[0] - means[best] > np.sqrt(variance / weights.sum()):
        return maps[best]
    return first_map(est, problem, plain, None, alpha, unit)


def _several_starts(
    est: Any, problem: Problem, objective: Any, alpha: float, unit: float, seed: int
) -> list[FloatArray]:
    """Return the start of `init`, for "auto" the other named ones, and random ones."""
    names = [est.init]
    reduced = est.n_components == "auto" or est.anneal or issparse(problem.X)
    if isinstance(est.init, str) and est.init == "auto" and not reduced:
        names += (
            ["whiten"] if est.form == "diagonal" else ["lda", "rca", "pca", "whiten"]
        )
    starts = [
        first_map(
            clone(est).set_params(init=name), problem, objective, None, alpha, unit
        )
        for name in names[: est.n_init]
    ]
    rng = np.random.default_rng(seed)
    for _ in range(est.n_init - len(starts)):
        A = rng.standard_normal(starts[0].shape)
        starts.append(rescale_init(objective, A, rng, is_auto=True))
    return starts


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
