"""Initial maps (thesis, section 3.3.2) and their scale.

The size of A is the only bandwidth of p_ij ∝ exp(−‖A x_i − A x_j‖²). Gradients vanish
if all points are equally near, or if only the nearest neighbor has any weight.
"""

from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
import sklearn
from numpy.random import Generator, RandomState
from numpy.typing import ArrayLike
from scipy.linalg import eigh
from scipy.optimize import brentq, minimize_scalar
from scipy.sparse import csr_array, issparse
from sklearn.base import clone
from sklearn.utils import check_array, check_random_state

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import (
    covariance,
    discriminant_rows,
    mean,
    relevant_components,
    spread,
    within_class_residuals,
)
from vicinal.base.metric import warn_caller
from vicinal.base.selection import enough_components, ordered_by_size
from vicinal.nca._problems import Problem
from vicinal.nca._schedules import anneal
from vicinal.neighborhood import effective_n_threads
from vicinal.objectives.nca import PairObjective, sample_indices
from vicinal.optimize import Ridge, power_of_two

FROM_THE_DATA = ("auto", "pca", "lda", "rca", "whiten")
STARTS = (*FROM_THE_DATA, "identity", "random", "small-random")
SPARSE_STARTS = ("auto", "pca", "identity", "random", "small-random")


def initial_components(
    init: str | ArrayLike,
    X: FloatArray,
    codes: IntArray | None,
    n_components: int | None,
    random_state: RandomState,
    n_threads: int = 1,
    unit: float = 1.0,
) -> FloatArray:
    """Return the initial map.

    Parameters
    ----------
    init : str or array-like of shape (n_components, n_features)
        A name in `STARTS`, or the map itself.
    X : ndarray of shape (n_samples, n_features)
        The points.
    codes : ndarray of shape (n_samples,) or None
        Class codes from 0; None if there are no classes. "lda" and "rca" require
        them.
    n_components : int or None
        Number of rows of the map; None is the number of rows of `init`, or the number
        of features.
    random_state : RandomState
        Random numbers for "random", and for the randomized PCA of large data.
    n_threads : int, default=1
        Number of threads; the result is bitwise identical for any number.
    unit : float, default=1.0
        Unit of the map's entries. "auto" multiplies starts of a fixed size by it.

    Returns
    -------
    ndarray of shape (n_components, n_features)
    """
    if not isinstance(init, str):
        return _given(init, X.shape[1], n_components)
    n, n_features = X.shape
    d = n_components or n_features
    if d > n_features:
        raise ValueError(
            f"n_components={d} is more than the {n_features} features of X; choose at "
            f"most {n_features}, or None for all."
        )
    is_auto = init == "auto"
    plain = "pca" if d < min(n, n_features) else "identity"
    if is_auto:
        # As scikit-learn's NCA, whose LDA needs more points than classes.
        n_classes = 0 if codes is None else int(codes.max()) + 1
        discriminant = d <= min(n_features, n_classes - 1) and n > n_classes
        init = "lda" if discriminant and not issparse(X) else plain
    start: FloatArray
    if is_auto and init == "lda" and codes is not None:
        # Classes weighted by size, and whitened.
        within = spread(X, codes, n_threads=n_threads)
        if len(within.variances):  # some class has points that differ
            return discriminant_rows(X, codes, within, d)
        init = plain
    if init in ("lda", "rca"):
        return _from_classes(init, X, codes, d, n_threads)
    if init in ("random", "small-random"):
        size = 1.0 if init == "random" else 0.01
        return size * random_state.standard_normal(size=(d, n_features))
    if init == "whiten":
        return _whiten(X, d, n_threads)
    # Lanczos, for sparse X, cannot find all directions.
    if init == "identity" or (issparse(X) and d >= min(n, n_features)):
        start = np.eye(d, n_features)
    else:
        start = _pca(X, d, random_state, n_threads)
    # The size of these two is fixed in scikit-learn; here it follows the unit of X.
    return unit * start if is_auto else start


def _from_classes(
    init: str, X: FloatArray, codes: IntArray | None, d: int, n_threads: int
) -> FloatArray:
    """Return "lda" or "rca".

    In eq. 3.16 and 3.17 of the thesis, classes have equal weights and rows unit length.
    """
    if codes is None:
        raise ValueError(f"init={init!r} needs classes; use 'pca' or 'whiten' here.")
    if init == "rca":
        return relevant_components(X, codes, d, n_threads=n_threads)
    within = spread(X, codes, n_threads=n_threads)
    if not len(within.variances):
        raise ValueError(
            "init='lda' finds no direction: no class has points that differ; use "
            "init='pca' or 'identity'."
        )
    rows = discriminant_rows(X, codes, within, d, class_weight="equal")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _whiten(X: FloatArray, d: int, n_threads: int) -> FloatArray:
    """Return S^(−1/2), or at low rank the principal components, of unit variance."""
    total = spread(X, n_threads=n_threads)
    if d == X.shape[1]:
        return total.inverse_root()
    rows = total.whitening().T[::-1][:d]
    return np.pad(rows, ((0, d - len(rows)), (0, 0)))


def candidate_starts(
    init: str | ArrayLike,
    X: FloatArray,
    codes: IntArray | None,
    n_components: int | None,
    random_state: RandomState,
    targets: FloatArray | None = None,
    weights: FloatArray | None = None,
    n_threads: int = 1,
) -> dict[str, FloatArray]:
    """Return the starts, by name, that "auto" compares by their predictions.

    Parameters
    ----------
    init, X, codes, n_components, random_state
        As for `initial_components`; if `init` is not "auto", it is the only start.
    targets : ndarray of shape (n_samples,) or None, default=None
        Targets of a regression, if there are no classes.
    weights : ndarray of shape (n_samples,) or None, default=None
        Number of points that each row represents; None is one.
    n_threads : int, default=1
        As for `initial_components`.

    Returns
    -------
    dict of str to ndarray of shape (n_components, n_features)
    """
    made = partial(initial_components, random_state=random_state, n_threads=n_threads)
    if not isinstance(init, str) or init != "auto":
        name = init if isinstance(init, str) else "given"
        return {name: made(init, X, codes, n_components)}
    n, n_features = X.shape
    d = n_components or n_features
    plain = "pca" if d < min(n_features, n) else "identity"
    starts = {plain: made(plain, X, codes, d)}
    if codes is not None and not issparse(X):
        # With few rows per feature, their covariance is mostly noise.
        n_points = n if weights is None else float(weights.sum())
        shrinkage = float(np.clip(n_features / n_points, 1e-3, 1.0))
        starts["rca"] = relevant_components(X, codes, d, shrinkage, weights, n_threads)
    if targets is not None:
        starts["linear"] = _linear(X, targets, starts[plain], weights, n_threads)
    return starts


def diagonal_start(
    init: str | ArrayLike, X: FloatArray, unit: float = 1.0
) -> FloatArray:
    """Return the diagonal of the initial map.

    Parameters
    ----------
    init : str or array-like of shape (n_features,)
        "auto", "identity", "whiten", or the diagonal itself.
    X : ndarray of shape (n_samples, n_features)
        The points.
    unit : float, default=1.0
        As for `initial_components`.
    """
    n_features = X.shape[1]
    if isinstance(init, str):
        if init in ("auto", "identity"):
            return np.ones(n_features) * (unit if init == "auto" else 1.0)
        if init == "whiten":
            deviation = X.std(axis=0, dtype=np.float64)
            return 1 / np.where(deviation > 0, deviation, 1.0)
        raise ValueError(
            f"init={init!r} mixes features; with form='diagonal' use 'auto', "
            "'identity', 'whiten' or an array of shape (n_features,)."
        )
    given = np.asarray(init, dtype=np.float64)
    if given.shape != (n_features,) or not np.isfinite(given).all():
        raise ValueError(
            f"With form='diagonal' init must be {n_features} finite numbers, got "
            f"an array of shape {given.shape}."
        )
    return given


def candidate_diagonals(init: str | ArrayLike, X: FloatArray) -> dict[str, FloatArray]:
    """Return the diagonals, by name, that "auto" compares by their predictions."""
    if not isinstance(init, str):
        return {"given": diagonal_start(init, X)}
    names = ("identity", "whiten") if init == "auto" else (init,)
    return {name: diagonal_start(name, X) for name in names}


def _given(init: ArrayLike, n_features: int, n_components: int | None) -> FloatArray:
    components: Any = check_array(init, dtype=np.float64, input_name="init", copy=True)
    if components.shape[1] != n_features:
        raise ValueError(
            f"init has {components.shape[1]} columns, but X has {n_features} features."
        )
    if components.shape[0] > n_features:
        raise ValueError(
            f"init has {components.shape[0]} rows, more than the {n_features} features "
            "of X."
        )
    if n_components is not None and n_components != components.shape[0]:
        raise ValueError(
            f"init has {components.shape[0]} rows, but n_components={n_components}."
        )
    return components


def _pca(
    X: FloatArray, d: int, random_state: RandomState, n_threads: int
) -> FloatArray:
    """Return the leading eigenvectors of S (eq. 3.15), with scikit-learn's signs."""
    n, n_features = X.shape
    if issparse(X) or min(n, n_features) > 2000:  # a full decomposition is slow
        from sklearn.decomposition import PCA

        solver = "arpack" if issparse(X) else "auto"
        points = csr_array(X) if issparse(X) else X
        pca = PCA(d, svd_solver=solver, random_state=random_state)
        # If all rows are equal, the explained variance ratio is 0/0.
        with np.errstate(divide="ignore", invalid="ignore"):
            components: FloatArray = pca.fit(points).components_
        return components
    X = X / power_of_two(float(np.abs(X).max()) or 1.0)  # for the same digits
    if n < n_features:
        rows = np.linalg.svd(X - mean(X), full_matrices=n < d)[2][:d]
    else:
        C, units = covariance(X, n_threads=n_threads)
        C *= np.multiply.outer(units, units)
        span = (n_features - d, n_features - 1)
        rows = eigh(C, subset_by_index=span, overwrite_a=True)[1].T[::-1]
    largest = rows[np.arange(d), np.abs(rows).argmax(axis=1)]
    return rows * np.where(largest < 0, -1.0, 1.0)[:, None]


def _linear(
    X: FloatArray,
    targets: FloatArray,
    start: FloatArray,
    weights: FloatArray | None = None,
    n_threads: int = 1,
    stretch: float = 10.0,
) -> FloatArray:
    """Return a start, stretched along the direction of a ridge regression of y.

    At low rank, that direction replaces the last row.
    """
    n_points = len(X) if weights is None else float(weights.sum())
    residuals = within_class_residuals(X, None, weights)
    total = spread(X, None, weights, n_threads)
    axes = total.axes / total.units[:, None]  # coordinates with the given variances
    centered = within_class_residuals(targets[:, None], None, weights)[:, 0]
    slopes = (residuals @ axes).T @ centered / len(X)
    direction = axes @ (slopes / (total.variances + X.shape[1] / n_points))
    size = np.linalg.norm(start @ direction)
    norm = np.linalg.norm(direction)
    if not (size > 0 and norm > 0):
        return start
    direction = direction / norm
    if len(start) == X.shape[1]:
        return start + (stretch - 1) * np.outer(start @ direction, direction)
    row = stretch * np.linalg.norm(start[0]) * direction
    return np.vstack([start[:-1], row])


def check_sparse_settings(estimator: Any, X: Any) -> None:
    """Raise an error, before any work, if a setting would make sparse X dense."""
    if not issparse(X):
        return
    n, n_features = X.shape
    if estimator.form == "diagonal":
        raise ValueError(
            "form='diagonal' would make sparse X dense; use form='full' with a small "
            "n_components, or X.toarray()."
        )
    init = estimator.init
    if isinstance(init, str) and init not in SPARSE_STARTS:
        raise ValueError(
            f"init={init!r} would make sparse X dense; use one of "
            f"{', '.join(map(repr, SPARSE_STARTS))}, or an array."
        )
    d = estimator.n_components
    rows = n_features if d is None or isinstance(d, str) else d
    needed = 8 * rows * (n + n_features) / 2**20
    allowed = sklearn.get_config()["working_memory"]
    if needed > allowed:
        raise ValueError(
            f"n_components={d!r} on sparse X of {n} rows and {n_features} features "
            f"would need {needed:.0f} MiB for mapped points and map, more than "
            f"scikit-learn's working_memory ({allowed} MiB). Give a smaller "
            "n_components."
        )


DENSE_SIZE = 2**22
"""Number of entries (32 MiB) up to which sparse rows are made dense for init="auto"."""


def convert_rows(est: Any, problem: Any) -> Any:
    """Return the problem with the rows in the form that the fit works on.

    Small sparse rows become dense, since more starts are known for those. With a
    penalty, the best map lies in the span of the rows; if there are fewer points than
    features, it is learned there.
    """
    X, d = problem.X, est.n_components
    is_auto = isinstance(est.init, str) and est.init == "auto"
    if not is_auto or last_map(est, X) is not None:
        return problem
    if issparse(X) and X.shape[0] * X.shape[1] <= DENSE_SIZE:
        X = X.toarray()
        problem = replace(problem, X=X)
    if issparse(X):
        if est.alpha == "auto":
            warn_caller(
                f"Sparse X of {X.shape[0]:,} rows and {X.shape[1]:,} features: the "
                "start is PCA, and is not compared with those for dense rows. Give "
                "init='pca' to confirm, or X.toarray()."
            )
        return problem
    is_wide = problem.weights.sum() < X.shape[1]
    other = est.form == "diagonal" or est.anneal
    if est.alpha != "auto" or other or not is_wide:
        return problem
    spanned = problem.in_span()
    enough = int(d) if isinstance(d, Integral) else 1
    return spanned if spanned.X.shape[1] >= enough else problem


# --- the start of an estimator


def first_map(
    est: Any,
    problem: Problem,
    objective: PairObjective,
    solver: Any,
    alpha: float,
    unit: float,
) -> FloatArray:
    """Return the initial map for the estimator's parameters.

    Parameters
    ----------
    est : estimator
        The estimator.
    problem : Problem
        The rows.
    objective : PairObjective
        Their objective, which determines the scale.
    solver : object
        If it is a `StochasticOptimizer`, a sample of the rows determines the start.
    alpha : float
        Penalty per point, for annealing.
    unit : float
        Unit of the map's entries.
    """
    last = last_map(est, problem.X)
    if last is not None:
        return last
    X, codes, d = problem.X, problem.codes, est.n_components
    if d == "auto":
        return shortened(est, problem)
    basis = getattr(solver, "preconditioner", None)
    named = isinstance(est.init, str)
    make = partial(
        initial_components,
        est.init,
        random_state=check_random_state(est.random_state),
        n_threads=effective_n_threads(est.n_jobs),
    )
    if est.form == "diagonal":
        start = diagonal_start(est.init, X, unit)
    elif basis is None:
        start = make(X, codes, None if est.anneal else d, unit=unit)
    else:
        X = X[basis.rows]
        if codes is not None:
            codes = np.unique(codes[basis.rows], return_inverse=True)[1]
        projection = basis.projection
        if projection is None or d is None or not (named and est.init in FROM_THE_DATA):
            return make(X, codes, d)
        return make(X @ projection, codes, d) @ projection.T
    if basis is None and named and (est.anneal or est.init != "small-random"):
        rng = np.random.default_rng(seed_of(est))
        start = rescale_init(objective, start, rng, is_auto=est.init == "auto")
    if not est.anneal:
        return start
    penalized = Ridge(objective, alpha * objective.n_points)
    return anneal(penalized, start, d, X, est.anneal, unit)


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


def last_map(est: Any, X: Any) -> FloatArray | None:
    """Return the map of the last fit to continue from, or its diagonal; or None."""
    if not (est.warm_start and hasattr(est, "components_")):
        return None
    A: FloatArray = est.components_
    if A.shape[1] != X.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but the map to start from "
            f"(warm_start=True) has {A.shape[1]}."
        )
    if est.form != "diagonal":
        return A
    return np.diag(A).copy() if len(A) == A.shape[1] else None


def seed_of(est: Any) -> int:
    """Draw a seed from the estimator's random_state."""
    return int(check_random_state(est.random_state).randint(2**31 - 1))


# --- scale

# Number of points whose perplexity is measured.
_N_QUERIES = 512
# Maximum number of pairs of an evaluation on all data, and minimum number of queries.
_PAIRS, _MIN_QUERIES = 2**25, 128
# A variance below this, relative to the largest squared value, is rounding error.
_ROUNDING = 1e-28


def data_unit(X: Any, counts: FloatArray) -> float:
    """Return the unit of the data: a power of two, 1 for standardized data.

    It is the root mean variance of the features that vary, without outliers, and scales
    with X. If all rows are equal, it is 1, or the size of the rows if that is larger,
    since rounding may make them differ. At most about 2,500 rows are used.
    """
    step = -(-X.shape[0] // 2500)
    X, counts = X[::step], counts[::step]
    if issparse(X):  # not inspected row by row: outliers are not excluded
        X = X.astype(np.float64)
        largest = float(np.abs(X.data).max(initial=0))
        means = X.T @ counts / counts.sum()
        variances = X.power(2).T @ counts / counts.sum() - np.square(means)
    else:
        X, counts = without_outliers(X.astype(np.float64), counts)
        largest = float(np.abs(X).max(initial=0))
        Z = X - counts @ X / counts.sum()
        variances = counts @ np.square(Z) / counts.sum()
    varying = variances[variances > _ROUNDING * largest**2]
    if len(varying):
        return power_of_two(np.sqrt(varying.mean()))
    return max(1.0, power_of_two(largest or 1.0))


def without_outliers(
    Z: FloatArray, counts: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return the points and their weights, without outliers.

    An outlier is a hundred times as far from the center as the median point.
    """
    center = np.median(Z[:: max(1, len(Z) // _N_QUERIES)], axis=0)
    distances = np.square(Z - center).sum(axis=1)
    middle = np.median(distances)
    near = distances <= np.square(100.0) * middle
    return (Z[near], counts[near]) if middle > 0 and not near.all() else (Z, counts)


def typical_distance(objective: PairObjective, A: FloatArray) -> float:
    """Return the root mean square distance of mapped points from their mean.

    Outliers are excluded. The result is 0 if the points differ by no more than the
    rounding error.
    """
    X = objective.X
    mapped = (X * A if A.ndim == 1 else X @ A.T.astype(X.dtype)).astype(np.float64)
    Z, counts = without_outliers(mapped, objective.row_counts)
    square = np.square(Z - counts @ Z / counts.sum()).sum(axis=1)
    distance = float(np.sqrt(np.average(square, weights=counts)))
    return distance if distance > np.sqrt(_ROUNDING) * np.abs(Z).max() else 0.0


def perplexity(objective: PairObjective, A: FloatArray, queries: IntArray) -> float:
    """Return the median perplexity of the points at A."""
    seen = objective.effective_neighbors(A, queries)
    known = np.flatnonzero(~np.isnan(seen))
    counts = objective.row_counts[known]
    order = np.argsort(seen[known])
    half = np.searchsorted(np.cumsum(counts[order]), counts.sum() / 2)
    return float(seen[known][order[half]])


def to_perplexity(
    objective: PairObjective,
    A: FloatArray,
    rng: Generator,
    n_neighbors: float = 10,
) -> FloatArray:
    """Return the map, scaled to a median perplexity of n_neighbors.

    Parameters
    ----------
    objective : PairObjective
        Objective with the points.
    A : ndarray of shape (n_components, n_features) or (n_features,)
        The map, or the diagonal of a diagonal one.
    rng : Generator
        Draws the queries.
    n_neighbors : float, default=10
        Target perplexity; at most half of the points.

    Returns
    -------
    ndarray of the shape of A
        A itself if no scale has this perplexity: a map of zeros, or equal points.
    """
    queries = sample_indices(rng, objective.n_rows, _N_QUERIES)
    few = min(n_neighbors, float(objective.row_counts.sum()) / 2)
    distance = typical_distance(objective, A)
    if not (distance > 0 and np.isfinite(distance)):
        return A
    unit = power_of_two(distance)  # for the same digits in any unit
    A, distance = A / unit, distance / unit

    def excess(log_scale: float) -> float:
        return np.log(perplexity(objective, np.exp(log_scale) * A, queries) / few)

    low = -np.log(distance)
    if excess(low) <= 0:  # few points, all near
        return float(np.exp(low)) * A
    for high in low + np.log(2) * np.arange(1, 24):
        if excess(high) <= 0:
            root = brentq(excess, low, high, xtol=0.02)
            # To one percent, since the search amplifies rounding errors.
            middle = -np.log(distance)
            return float(np.exp(middle + np.round(root - middle, 2))) * A
        low = high
    return A * unit


def rescale_init(
    objective: PairObjective, A: FloatArray, rng: Generator, is_auto: bool
) -> FloatArray:
    """Return the map, rescaled if its perplexity is too small or too large.

    Parameters
    ----------
    objective, A, rng
        As for `to_perplexity`.
    is_auto : bool
        Whether `init` is "auto". If so, the perplexity should be at least 3; otherwise,
        it is sufficient that gradients do not vanish.
    """
    if not np.any(A):
        return A
    queries = sample_indices(rng, objective.n_rows, _N_QUERIES)
    with np.errstate(over="ignore"):
        try:
            seen = perplexity(objective, A, queries)
        except ValueError:  # distances overflow under this map
            seen = 1.0
    others = float(objective.row_counts.sum()) - 1
    blind = 1 + 1e-6  # only the nearest neighbor has any weight
    fewest = max(blind, min(3.0, others / 4)) if is_auto else blind
    if fewest <= seen <= max(0.99 * others, others - 1):  # not all points alike
        return A
    return to_perplexity(objective, A, rng)


def fitted_scale(
    objective: PairObjective,
    A: FloatArray,
    rng: Generator,
    alpha: float = 0.0,
    squared_size: float | None = None,
) -> float:
    """Return the factor by which to multiply a map for the best scale on all data.

    For f, it is the best scale for g. Under f's own best scale, each point would have
    only its nearest neighbor, and the NCA rule would be as noisy as 1-NN.

    Parameters
    ----------
    objective : PairObjective
        Objective on all data.
    A : ndarray of shape (n_components, n_features) or (n_features,)
        The map, or the diagonal of a diagonal one.
    rng : Generator
        Draws the queries.
    alpha : float, default=0.0
        Penalty per point.
    squared_size : float or None, default=None
        ‖A‖² in the penalty; None is that of A.
    """
    surrogate = objective.warmup_surrogate()
    if surrogate is not None and not alpha:
        objective = surrogate[0]
    queries = queries_of_all(objective, rng)
    counts = objective.counts[queries]
    size = squared_size or 0.0
    if alpha and squared_size is None:
        size = float(np.square(A).sum())

    def loss(log_scale: float) -> float:
        factor = np.exp(log_scale)
        terms = objective.terms(factor * A, queries).astype(np.float64)
        penalty = alpha * float(factor) ** 2 * size
        return penalty - float(np.average(terms, weights=counts))

    found = minimize_scalar(
        loss, bounds=(-4, 4), method="bounded", options={"xatol": 0.05}
    )
    return float(np.exp(found.x)) if found.fun < loss(0) else 1.0


def queries_of_all(objective: PairObjective, rng: Generator) -> IntArray:
    """Return random queries for an evaluation against all data at a moderate cost."""
    return objective.sample_queries(rng, max(_MIN_QUERIES, _PAIRS // objective.n_rows))


def best_loss_scale(objective: PairObjective, A: FloatArray) -> FloatArray:
    """Return the map at the scale with the best leave-one-out terms.

    For f, it is the best scale for g, since f's own best scale is that of the nearest
    neighbor alone.
    """
    surrogate = objective.warmup_surrogate()
    judged = objective if surrogate is None else surrogate[0]
    distance = typical_distance(objective, A)
    if not (distance > 0 and np.isfinite(distance)):
        return A
    unit = power_of_two(distance)  # for the same digits in any unit
    A, distance = A / unit, distance / unit
    queries = sample_indices(np.random.default_rng(0), objective.n_rows, 1000)
    counts = judged.counts[queries]

    # A floor of log-probabilities, so that no outlier decides; not for custom losses.
    floor = -20.0 if isinstance(getattr(judged, "kind", "log"), str) else -np.inf

    def loss(log_scale: float) -> float:
        terms = judged.terms(np.exp(log_scale) * A, queries).astype(np.float64)
        return -float(np.average(np.maximum(terms, floor), weights=counts))

    # From a quarter to 32 times the inverse distance, with a precision of 5 %.
    middle = -np.log(distance)
    grid = middle + np.log(2) * np.arange(-2, 6)
    losses = [loss(x) for x in grid]
    k = int(np.argmin(losses))
    around = (grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)])
    found = minimize_scalar(
        loss, bounds=around, method="bounded", options={"xatol": 0.05}
    )
    best = found.x if found.fun < losses[k] else grid[k]
    # To one percent, since the search amplifies rounding errors.
    return float(np.exp(middle + np.round(best - middle, 2))) * A


def scaled_starts(
    objective: PairObjective, starts: dict[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return starts, by name, each at the scale with the best leave-one-out terms.

    If all points look alike at that scale, the losses are moderate, but the gradient
    vanishes. The same start is then added at a scale at which points have several
    neighbors.
    """
    found = {}
    rng = np.random.default_rng(0)
    queries = sample_indices(rng, objective.n_rows, 1000)
    others = float(objective.row_counts.sum()) - 1
    for name, A in starts.items():
        found[name] = best_loss_scale(objective, A)
        if perplexity(objective, found[name], queries) > 0.5 * others:
            found[f"{name}, scaled up"] = to_perplexity(objective, found[name], rng)
    return found
