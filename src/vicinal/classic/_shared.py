"""Parts that several of the classic methods share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.optimize import OptimizeResult
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array
from sklearn.utils._param_validation import Interval, StrOptions

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import RowSpace, mean, span_of
from vicinal.base.metric import Monitor, say, unscale_components, warn_caller
from vicinal.base.selection import (
    checked_n_components,
    held_out,
    majority,
    nearest_points,
    sample_of_classes,
)
from vicinal.nca import STARTS, initial_components
from vicinal.neighborhood import effective_n_threads
from vicinal.optimize import LBFGS, Objective

at_least_one = Interval(Integral, 1, None, closed="left")
GRADIENT_CONSTRAINTS: dict[str, Any] = {
    "n_components": [at_least_one, None],
    "init": [StrOptions(set(STARTS)), "array-like"],
    "max_iter": [at_least_one],
    "tol": [Interval(Real, 0, None, closed="left")],
    "callback": [callable, None],
    "verbose": ["verbose"],
    "random_state": ["random_state"],
    "n_jobs": [Integral, None],
}


def scattered_span(X: FloatArray) -> RowSpace:
    """Return the rows in coordinates of their span; raise if all rows are equal."""
    span = span_of(X)
    if not span.coordinates.any():
        raise ValueError("All rows of X are equal: there is no scatter to look at.")
    return span


def cholesky_of_scatter(scatter: FloatArray, advice: str) -> FloatArray:
    """Return the lower triangular L of S = LLᵀ.

    Raises
    ------
    ValueError
        If S is numerically singular. The message ends with the advice.
    """
    try:
        factor: FloatArray = linalg.cholesky(scatter, lower=True)
        # L_ii² / S_ii is the share of a feature that the others do not explain.
        unexplained = np.diagonal(factor) ** 2 / np.diagonal(scatter)
        singular = bool(unexplained.min() < len(scatter) * 1e-14)
    except linalg.LinAlgError:
        singular = True
    if singular:
        raise ValueError(
            "The scatter within the classes has no inverse: there are too few rows, or "
            f"features that follow from others. {advice}"
        )
    return factor


def held_out_hits(
    X: FloatArray,
    codes: IntArray,
    learn: Callable[[FloatArray, IntArray], Sequence[FloatArray]],
    random_state: RandomState | None = None,
) -> NDArray[np.bool_]:
    """Return which held-out rows 3-NN classifies correctly under several maps.

    Of up to 1,500 rows, stratified by class, a third is held out three times, or once
    with more than 200 features or 20 classes, for which a fit is slow.

    Parameters
    ----------
    X, codes
        The points and their classes.
    learn : callable
        Returns the maps' components for points and their classes. If it raises
        ValueError, as for too few rows, the fold is skipped.
    random_state : RandomState or None, default=None
        For the sample and the folds; None draws the same each time.

    Returns
    -------
    ndarray of bool of shape (n_maps + 1, n_rows)
        The last candidate is the points without a map. If no fold could be
        fitted, the shape is (1, 0).
    """
    rng = RandomState(0) if random_state is None else random_state
    sample = sample_of_classes(codes, 1_500, rng)
    points, codes = X[sample], codes[sample]
    points = points - mean(points).astype(X.dtype)
    single_fold = points.shape[1] > 200 or bool(codes.max() >= 20)
    n_threads = effective_n_threads(None)
    hits = []
    for held in held_out(codes, rng, 3):
        try:
            maps = learn(points[~held], codes[~held])
        except ValueError:
            continue
        mapped = [(points[held] @ A.T, points[~held] @ A.T) for A in maps]
        nearest = [
            nearest_points(queries, known, n_threads=n_threads)[0]
            for queries, known in [*mapped, (points[held], points[~held])]
        ]
        hits.append(majority(codes[~held][np.stack(nearest)]) == codes[held])
        if single_fold:
            break
    return np.concatenate(hits, axis=1) if hits else np.zeros((1, 0), dtype=bool)


class PriorSpace:
    """Coordinates of points in which a prior metric is the Euclidean one.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_features)
        All points.
    prior : {"identity", "covariance"} or array-like of shape (n_features, n_features)
        The identity; the inverse of the Ledoit-Wolf covariance; or a symmetric
        positive definite matrix.

    Attributes
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        The coordinates in float64. With more features than points and the identity,
        they are those of the span of the points.
    span : RowSpace or None
        The span of the points, if it is used.
    root : ndarray or None
        R with R Rᵀ = the prior; None for the identity.
    """

    def __init__(self, points: FloatArray, prior: str | ArrayLike = "identity") -> None:
        self.points: FloatArray = points.astype(np.float64, copy=False)
        self.span: RowSpace | None = None
        self.root: FloatArray | None = None
        n, n_features = points.shape
        if not isinstance(prior, str):
            self.root = _root_of_matrix(prior, n_features)
        elif prior == "covariance":
            from sklearn.covariance import ledoit_wolf  # slow to import

            values, vectors = np.linalg.eigh(ledoit_wolf(self.points)[0])
            if values[0] > 0:  # otherwise all rows are equal
                self.root = vectors / np.sqrt(values)
        elif n_features > n:
            self.span = span_of(self.points)
            self.points = self.span.coordinates * self.span.unit
        if self.root is not None:
            self.points = self.points @ self.root

    def to_features(self, A: FloatArray) -> FloatArray:
        """Convert a map of coordinates to a map of the features.

        The result is Λ^½ Lᵀ of M = L Λ Lᵀ, with the largest eigenvalue first.
        """
        if self.root is not None:
            A = A @ self.root.T
        _, sizes, axes = np.linalg.svd(A, full_matrices=False)
        if self.span is not None:
            axes = self.span.basis_to_features(axes.T)
        return sizes[:, None] * axes


def _root_of_matrix(prior: ArrayLike, n_features: int) -> FloatArray:
    matrix = check_array(prior, dtype=np.float64, input_name="prior")
    if matrix.shape != (n_features, n_features):
        raise ValueError(
            f"prior must have shape ({n_features}, {n_features}), a row and a column "
            f"for each feature; got {matrix.shape}."
        )
    size = np.abs(matrix).max()
    symmetric = np.allclose(matrix, matrix.T, rtol=0, atol=1e-8 * size)
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    if not symmetric or values[0] <= 1e-12 * size:
        raise linalg.LinAlgError("prior must be symmetric and positive definite.")
    return vectors * np.sqrt(values)


def minus_logdet_divergence(A: FloatArray) -> tuple[float, FloatArray]:
    """Return −(Tr(M) − log det(M) − d) for M = AᵀA, and its gradient.

    A singular A has the lowest float as its value, so that a line search turns back.
    """
    log_det = np.linalg.slogdet(A)[1]
    if not np.isfinite(log_det):
        return float(np.finfo(np.float64).min), np.zeros_like(A)
    value = len(A) + 2 * log_det - np.square(A).sum()
    return float(value), 2 * (np.linalg.inv(A).T - A)


def unit_span(X: FloatArray) -> RowSpace:
    """Return the rows in coordinates of their span, with a mean square length of 1.

    The first steps of the solvers assume data of about this size.
    """
    span = scattered_span(X)
    size = float(np.sqrt(np.square(span.coordinates).sum(axis=1).mean()))
    return replace(span, coordinates=span.coordinates / size, unit=span.unit * size)


def initial_map(
    estimator: Any,
    span: RowSpace,
    codes: IntArray,
    gradient: Callable[[FloatArray], FloatArray],
    random_state: RandomState,
) -> FloatArray:
    """Return the initial map in coordinates; a named one is scaled to the best value.

    Parameters
    ----------
    estimator : LMNN or MCML
        Its `init` and `n_components` are used.
    span : RowSpace
        The points.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0.
    gradient : callable
        Returns the gradient of the objective at a map. The objective is concave in
        AᵀA, so that its slope along the multiples of a map changes sign at most once.
    random_state : RandomState
        For init="random", and for the randomized PCA of large data.
    """
    init, d = estimator.init, estimator.n_components
    if not isinstance(init, str):
        given = check_array(init, dtype=np.float64, input_name="init")
        if given.shape[1] != span.n_features or (d is not None and len(given) != d):
            rows = "n_components" if d is None else d
            raise ValueError(
                f"init must have shape ({rows}, {span.n_features}), got {given.shape}."
            )
        basis = span.basis_to_features(np.eye(span.n_coordinates))
        return span.unit * (given @ basis.T)
    shape = len(codes), span.n_features
    d = checked_n_components(d, span.n_coordinates, f"X of shape {shape} allows")
    A = initial_components(init, span.coordinates, codes, d, random_state)

    def rises(exponent: float) -> bool:
        """Return whether a larger multiple of the map is better than this one."""
        return float((gradient(2.0**exponent * A) * A).sum()) > 0

    up = rises(0)
    step = 2.0 if up else -2.0
    for end in step * np.arange(1, 21):
        if rises(end) != up:
            break
    else:
        return A  # no best scale
    low, high = sorted((end - step, end))
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (middle, high) if rises(middle) else (low, middle)
    return 2.0 ** ((low + high) / 2) * A


def fit_map(
    estimator: Any,
    X: FloatArray,
    codes: IntArray,
    span: RowSpace,
    objective: Any,
    start: FloatArray,
    solver: Any = None,
) -> None:
    """Maximize the objective from a start, and set the fitted attributes.

    Parameters
    ----------
    estimator : LMNN or MCML
        Its `max_iter`, `tol`, `verbose` and `callback` are used.
    X, codes : ndarray
        The training data, for scikit-learn's callbacks.
    span : RowSpace
        The coordinates in which the objective is given.
    objective : Objective
        Objective to maximize.
    start : ndarray of shape (n_components, n_coordinates)
        Initial map.
    solver : Solver or None, default=None
        None is L-BFGS.
    """

    def attributes_of(A: FloatArray) -> dict[str, Any]:
        rows = span.to_features(A.T)
        return {"components_": unscale_components(rows, span.unit, X.dtype)}

    solver = solver or LBFGS(estimator.max_iter, estimator.tol)
    monitor = Monitor(estimator, X, codes, start, attributes_of)
    with monitor.running():
        result = solver.maximize(objective, start, monitor)
    vars(estimator).update(attributes_of(result.x))
    set_solution(estimator, result)


def maximize(estimator: Any, objective: Objective, start: FloatArray) -> OptimizeResult:
    """Maximize by L-BFGS with the estimator's max_iter, tol and verbose."""

    def report(_: FloatArray, curve: list[float]) -> bool:
        if estimator.verbose:
            say(estimator, f"{len(curve) - 1:>10} {curve[-1]:>16.6e}")
        return False

    return LBFGS(estimator.max_iter, estimator.tol).maximize(objective, start, report)


def set_solution(estimator: Any, solution: OptimizeResult) -> None:
    """Set n_iter_ and objective_curve_; warn if the solver did not converge."""
    estimator.n_iter_ = max(1, solution.nit)
    estimator.objective_curve_ = np.array(solution.curve)
    if solution.reason in ("max_iter", "not_finite"):
        warn_caller(
            f"{type(estimator).__name__} did not converge in {solution.nit} "
            "iterations; raise max_iter or tol.",
            ConvergenceWarning,
        )
