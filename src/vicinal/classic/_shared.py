"""Parts that several of the classic methods share."""

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.optimize import OptimizeResult
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import RowSpace, centered, span_of
from vicinal.base.metric import LinearMetric, labeled, warn_caller
from vicinal.base.selection import held_out, majority, nearest_points, sample_of_classes
from vicinal.neighborhood import effective_n_threads, single_threaded_blas
from vicinal.optimize import LBFGS, Objective


class SupervisedMetric(LinearMetric):
    """Base class of linear metrics that learn from points and their classes."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the map.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        y : array-like of shape (n_samples,)
            Their classes, at least two.

        Returns
        -------
        self
        """
        with self._unchanged_on_error(), single_threaded_blas():
            points, _, codes = labeled(self, X, y)
            self._learn(points, codes)
        return self

    @abstractmethod
    def _learn(self, X: FloatArray, codes: IntArray) -> None:
        """Learn from validated points and their classes, integers from 0."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


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
    *,
    prepare: Callable[[FloatArray], FloatArray] = lambda X: centered(X).points,
    max_rows: int = 1_500,
    single_fold: bool | None = None,
    random_state: RandomState | None = None,
) -> NDArray[np.bool_]:
    """Return which held-out rows 3-NN classifies correctly under several maps.

    Parameters
    ----------
    X, codes
        The points and their classes.
    learn : callable
        Returns the maps' components for points and their classes. If it raises
        ValueError, as for too few rows, the fold is skipped.
    prepare : callable
        Applied to the sampled points before all else; by default it centers them.
    max_rows : int, default=1_500
        Size of the sample, stratified by class.
    single_fold : bool or None, default=None
        Whether one of the three folds is enough. None is True for more than 200
        features or 20 classes, for which a fit is slow.
    random_state : RandomState or None, default=None
        For the sample and the folds; None draws the same each time.

    Returns
    -------
    ndarray of bool of shape (n_maps + 1, n_rows)
        The last candidate is the prepared points without a map. If no fold could be
        fitted, the shape is (1, 0).
    """
    rng = RandomState(0) if random_state is None else random_state
    sample = sample_of_classes(codes, max_rows, rng)
    points, codes = prepare(X[sample]), codes[sample]
    if single_fold is None:
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
    rows : ndarray of shape (n_points, n_coordinates)
        The points, or with more features than points and the identity their
        coordinates in `span`; rows of it are arguments of `coordinates`.
    span : RowSpace or None
        The span of the points, if it is used.
    root : ndarray or None
        R with R Rᵀ = the prior; None for the identity.
    unit : float
        Unit of the coordinates, in which no square overflows.
    metric_unit : float
        Unit of a metric near the prior: that of the data for "covariance", which was
        estimated in it, else 1.
    """

    def __init__(self, points: FloatArray, prior: str | ArrayLike = "identity") -> None:
        n, n_features = points.shape
        named = prior if isinstance(prior, str) else "matrix"
        self.rows, self.metric_unit = points, 1.0
        self.span: RowSpace | None = None
        self.root: FloatArray | None = None
        if named == "identity" and n_features > n:
            self.span = span_of(points.astype(np.float64))
            self.rows, self.unit = self.span.coordinates, self.span.unit
            return
        self.unit = float(np.abs(points).max()) or 1.0
        if named == "matrix":
            self.root = _root_of_matrix(prior, n_features)
        elif named == "covariance":
            from sklearn.covariance import ledoit_wolf  # slow to import

            self.metric_unit = self.unit
            covariance = ledoit_wolf(points.astype(np.float64) / self.unit)[0]
            values, vectors = np.linalg.eigh(covariance)
            if values[0] > 0:  # otherwise all rows are equal
                self.root = vectors / np.sqrt(values)

    @property
    def n_coordinates(self) -> int:
        """Number of coordinates."""
        return self.rows.shape[1]

    def coordinates(self, rows: FloatArray) -> FloatArray:
        """Return coordinates of some of the `rows`, in float64."""
        if self.span is not None:
            return rows
        scaled = rows.astype(np.float64) / self.unit
        return scaled if self.root is None else scaled @ self.root

    def to_features(self, A: FloatArray) -> FloatArray:
        """Convert a map of coordinates to a map of the features, in units of `unit`.

        The result is Λ^½ Lᵀ of M = L Λ Lᵀ, with the largest eigenvalue first.
        """
        if self.span is None and self.root is not None:
            A = A @ self.root.T
        _, sizes, axes = np.linalg.svd(A, full_matrices=False)
        if self.span is not None:
            axes = self.span.basis_to_features(axes.T)
        rows: FloatArray = sizes[:, None] * axes
        return rows


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
        raise ValueError("prior must be symmetric and positive definite.")
    root: FloatArray = vectors * np.sqrt(values)
    return root


def minus_logdet_divergence(A: FloatArray) -> tuple[float, FloatArray]:
    """Return −(Tr(M) − log det(M) − d) for M = AᵀA, and its gradient.

    A singular A has the lowest float as its value, so that a line search turns back.
    """
    log_det = np.linalg.slogdet(A)[1]
    if not np.isfinite(log_det):
        return float(np.finfo(np.float64).min), np.zeros_like(A)
    value = len(A) + 2 * log_det - np.square(A).sum()
    return float(value), 2 * (np.linalg.inv(A).T - A)


def maximize(estimator: Any, objective: Objective, start: FloatArray) -> OptimizeResult:
    """Maximize by L-BFGS with the estimator's max_iter, tol and verbose."""

    def report(_: FloatArray, curve: list[float]) -> bool:
        if estimator.verbose:
            name = type(estimator).__name__
            sys.stdout.write(f"[{name}] {len(curve) - 1:>10} {curve[-1]:>16.6e}\n")
            sys.stdout.flush()
        return False

    solver = LBFGS(max_iter=estimator.max_iter, tol=estimator.tol)
    return solver.maximize(objective, start, report)


def set_solution(
    estimator: Any, solution: OptimizeResult, remedy: str = "Raise tol"
) -> None:
    """Set n_iter_ and objective_curve_; warn if the solver did not converge."""
    estimator.n_iter_ = max(1, solution.nit)
    estimator.objective_curve_ = np.array(solution.curve)
    if solution.success:
        return
    name, n_iter = type(estimator).__name__, solution.nit
    if n_iter >= estimator.max_iter:
        message = f"did not converge in {n_iter} iterations; raise max_iter or tol."
    else:
        message = (
            f"could not go on after {n_iter} iterations ({solution.message}); the "
            f"metric is the best it found. {remedy}."
        )
    warn_caller(f"{name} {message}", ConvergenceWarning)
