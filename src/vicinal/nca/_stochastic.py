"""Stochastic optimization: preconditioned steps on mini-batches, then the scale.

A mini-batch is sparser than the data, so that the scale of its neighborhoods is too
small for all data. Directions are learned from mini-batches; the scale is set at the
end, from the terms of some points with sums over all points. `StochasticGradient` is
the thesis's own form.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator
from scipy.optimize import OptimizeResult
from scipy.sparse import issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import class_means, deviations, within_class_residuals
from vicinal.nca._initialization import (
    fitted_scale,
    queries_of_all,
    seed_of,
    to_perplexity,
)
from vicinal.nca._problems import Problem
from vicinal.objectives import MinibatchSampler
from vicinal.objectives.nca import PairObjective, sample_indices
from vicinal.optimize import (
    Objective,
    OnIteration,
    Place,
    Reparametrized,
    Stochastic,
    TakeSteps,
    natural_step,
    solution,
    take_steps,
    typical_entry,
)

# Ridge added to each variance, relative to the mean variance.
_RIDGE = 1e-3


@dataclass(frozen=True)
class Preconditioner:
    """Coordinates x ↦ (xᵀ projection) whitening for stochastic steps.

    Attributes
    ----------
    rows : ndarray of int
        Sample of rows from which the coordinates are computed.
    projection : ndarray of shape (n_features, n_kept) or None
        Leading principal directions, if they predict as well as all features.
    whitening : ndarray of shape (n_kept, n_kept) or (n_features,)
        Whitens the points within the classes approximately; or, for diagonal maps
        and for very many features, scales each feature to unit variance.
    """

    rows: IntArray
    projection: FloatArray | None
    whitening: FloatArray

    @classmethod
    def find(
        cls,
        X: FloatArray,
        codes: IntArray | None,
        n_components: int,
        diagonal: bool,
        rng: Generator,
        all_directions: bool = False,
    ) -> Self:
        """Find the coordinates.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The points, of which a sample is used.
        codes : ndarray of shape (n_samples,) or None
            Class codes; None if there are no classes.
        n_components : int
            Number of rows of the map; at least as many directions are kept.
        diagonal : bool
            Whether the map is diagonal.
        rng : Generator
            Draws the sample.
        all_directions : bool, default=False
            Keep all directions, because the points may not represent future data.
        """
        rows = sample_rows(X, rng)
        if issparse(X):  # scaling each feature would amplify rare ones
            return cls(rows, None, np.ones(X.shape[1]))
        points: FloatArray = X[rows]
        labels = np.zeros(len(rows), dtype=int) if codes is None else codes[rows]
        if diagonal or X.shape[1] > 2000:  # a covariance would not pay
            _, units = _in_units(within_class_residuals(points, labels), points)
            return cls(rows, None, 1 / units)
        projection = None
        # With fewer features, reducing the dimension does not pay.
        many = X.shape[1] > 100 and not all_directions
        if codes is not None and many:
            projection = _useful(points, labels, n_components, len(X), rng)
        if projection is not None:
            points = points @ projection
        return cls(rows, projection, _whitening(points, labels))

    def start(self, A: FloatArray) -> FloatArray:
        """Convert a map of the features to a map of the coordinates."""
        projected = A if self.projection is None else A @ self.projection
        if self.whitening.ndim == 1:
            return projected / self.whitening
        return np.linalg.solve(self.whitening, projected.T).T

    def unwhitening(self, A: FloatArray) -> FloatArray:
        """Convert a map of the coordinates to a map of the projected points."""
        return A * self.whitening if self.whitening.ndim == 1 else A @ self.whitening.T

    def back(self, A: FloatArray) -> FloatArray:
        """Convert a map of the coordinates to a map of the features."""
        projected = self.unwhitening(A)
        return projected if self.projection is None else projected @ self.projection.T


def sample_rows(X: FloatArray, rng: Generator) -> IntArray:
    """Return a sample of rows that is large enough for a covariance."""
    n, D = X.shape
    return np.sort(rng.choice(n, sample_size(n, D, X.dtype.itemsize), replace=False))


def sample_size(n: int, n_features: int, itemsize: int) -> int:
    """Return the number of rows for a covariance, in moderate memory."""
    most = max(1000, 2**25 // (n_features * itemsize))
    return min(n, max(5000, 10 * n_features), most)


def _useful(
    X: FloatArray,
    codes: IntArray,
    n_components: int,
    n: int,
    rng: Generator,
    kept_variance: float = 0.95,
    most_bytes: int = 2**29,
) -> FloatArray | None:
    """Return the principal directions that predict as well as all features, or None.

    They must be at most half of the features, and the reduced rows, a copy, must fit
    into `most_bytes`.
    The criterion is the accuracy of a linear discriminant that is fitted on half of the
    sample: on the other half, it must be within a standard error.
    """
    # Random halves: every other row might be of the same class.
    order = rng.permutation(len(X))
    X, codes = X[order], codes[order]
    centered = X - X.mean(axis=0)
    # Squares of very large or small numbers would overflow or underflow float32.
    centered /= max(float(np.abs(centered).max()), float(np.finfo(X.dtype).tiny))
    variances, axes = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    variances = np.maximum(variances[::-1], 0)
    kept = np.cumsum(variances) / max(variances.sum(), np.finfo(float).tiny)
    k = int(np.searchsorted(kept, kept_variance)) + 1
    k = max(k, 2 * n_components)
    if 2 * k > X.shape[1] or n * k * X.itemsize > most_bytes:
        return None
    projection: FloatArray = axes[:, ::-1][:, :k].astype(X.dtype)
    accuracy = _held_out_accuracy(centered, codes)
    error = np.sqrt(accuracy * (1 - accuracy) / (len(X) / 2))
    return (
        projection
        if _held_out_accuracy(centered @ projection, codes) >= accuracy - error
        else None
    )


def _held_out_accuracy(X: FloatArray, codes: IntArray) -> float:
    """Return the accuracy of a linear discriminant, fitted on every other point.

    Features are standardized: otherwise, the ridge would hide small features, and any
    directions would seem as good as all features.
    """
    learn, judge = X[::2].astype(np.float64), X[1::2]
    labels = codes[::2]
    n_classes = codes.max() + 1
    sizes = np.bincount(labels, minlength=n_classes)
    means = np.zeros((n_classes, X.shape[1]))
    known = class_means(learn, labels)
    means[: len(known)] = known
    residuals, units = _in_units(learn - means[labels], learn)
    means, judge = means / units, judge / units
    within = residuals.T @ residuals / len(learn)
    within[np.diag_indices_from(within)] += _RIDGE
    weights = np.linalg.solve(within, means.T)
    offsets = np.log(np.maximum(sizes, 1e-9)) - 0.5 * np.sum(means.T * weights, axis=0)
    return float(((judge @ weights + offsets).argmax(axis=1) == codes[1::2]).mean())


def _whitening(X: FloatArray, codes: IntArray) -> FloatArray:
    """Return the within-class whitening of the points, with standardized features."""
    residuals, units = _in_units(within_class_residuals(X, codes), X)
    variances, axes = np.linalg.eigh(residuals.T @ residuals / len(X))
    # In these units, the mean is the share of features that are not constant.
    floored = np.maximum(variances, 0) + _RIDGE * max(variances.mean(), 1e-6)
    whitening: FloatArray = (axes / np.sqrt(floored)) / units[:, None]
    return whitening


def _in_units(
    residuals: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return residuals divided by each feature's standard deviation, and the units.

    If the deviation is within rounding error, the residuals are 0 and the unit is 1, or
    the largest absolute value if that is larger.
    """
    found = deviations(residuals, points)
    sizes = np.maximum(np.abs(points).max(axis=0), 1.0)
    units = np.where(found > 0, found, sizes)
    return np.where(found > 0, residuals / units, 0.0), units


BATCH_SIZE, N_REFERENCES = 2048, 2048
"""Maximum numbers of queries and references in a mini-batch."""


@dataclass(frozen=True)
class StochasticOptimizer:
    """Optimizer that takes steps on random mini-batches of the data.

    Parameters
    ----------
    preconditioner : Preconditioner
        Coordinates in which steps are taken.
    batch_size, n_references : int or None
        Size of a mini-batch; None chooses it automatically.
    max_iter : int
        Number of iterations, of `steps` steps each.
    alpha : float
        Penalty per point.
    seed : int
        Seed of the random numbers.
    step : float, default=1.0
        Factor of all step sizes.
    largest_steps : tuple of two float, default=(0.3, 0.1)
        Largest step, in units of the map's typical entry: of the first phase, and of
        the second.
    shrinkage : tuple of two int, default=(4, 2)
        Factor by which mini-batches are smaller: for the surrogate, and without one.
    warmup_fraction : float, default=0.4
        Share of the iterations that maximize the surrogate, if there is one.
    pool : slice or None, default=None
        Rows that can be queries; None is all.
    steps : tuple of two int, default=(12, 25)
        Number of steps in an iteration: with a surrogate, and without.
    largest : tuple of two int, default=(2048, 2048)
        Maximum numbers of queries and references, if they are not given.
    take : callable, default=take_steps
        Takes the steps of an iteration.
    """

    preconditioner: Preconditioner
    batch_size: int | None
    n_references: int | None
    max_iter: int
    alpha: float
    seed: int
    step: float = 1.0
    largest_steps: tuple[float, float] = 0.3, 0.1
    shrinkage: tuple[int, int] = 4, 2
    warmup_fraction: float = 0.4
    pool: slice | None = None
    steps: tuple[int, int] = 12, 25
    largest: tuple[int, int] = BATCH_SIZE, N_REFERENCES
    take: TakeSteps = take_steps
    chooses_unit: ClassVar[bool] = True

    @classmethod
    def build(cls, est: Any, problem: Problem, alpha: float) -> Self:
        """Return the optimizer for an estimator's parameters."""
        n, D = problem.X.shape
        seed = seed_of(est)
        d = int(est.n_components) if isinstance(est.n_components, Integral) else D
        rng = np.random.default_rng(seed)
        preconditioner = Preconditioner.find(
            problem.X, problem.codes, d, est.form == "diagonal", rng
        )
        return cls(preconditioner, *part_sizes(est, n), est.max_iter, alpha, seed)

    def maximize(
        self, objective: PairObjective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start; see `vicinal.optimize.Solver`.

        The gradient of f vanishes for points far from all of their class, and its scale
        diverges for sparse data. Therefore g is maximized first; then f, with the size
        of the map fixed.
        """
        rng = np.random.default_rng(self.seed)
        if self.preconditioner.projection is not None:
            objective = objective.in_basis(self.preconditioner.projection)
        curve: list[float] = []
        stopped = False

        def watch(components: FloatArray, latest: list[float]) -> bool:
            nonlocal stopped
            curve.extend(latest[-1:] if curve else latest)
            stopped = on_iteration(self.preconditioner.back(components), curve)
            return stopped

        A = self.preconditioner.start(start)
        for solver, batches in self._phases(objective):
            A = self._set_perplexity(batches, A, rng)
            reached = solver.maximize(batches, A, watch)
            A = reached.x
            if stopped or not reached.success:
                break
        if reached.success:
            A = self._fit_scale(objective, A, rng)
        curve = curve or reached.curve
        components, n_iter = self.preconditioner.back(A), len(curve) - 1
        return solution(components, n_iter, curve, reached.reason, reached.message)

    @property
    def description(self) -> str:
        """Description for `verbose`."""
        projection, whitening = (
            self.preconditioner.projection,
            self.preconditioner.whitening,
        )
        n_features, kept = (
            (len(whitening),) * 2 if projection is None else projection.shape
        )
        return f"stochastic, in {kept} of {n_features} directions"

    def rescaled(self, objective: PairObjective, A: FloatArray) -> FloatArray:
        """Return a map of the features with the best scale for all data.

        Maps during a fit have the scale of a mini-batch.
        """
        rng = np.random.default_rng(self.seed)
        if self.preconditioner.projection is not None:
            objective = objective.in_basis(self.preconditioner.projection)
        before = self.preconditioner.start(A)
        sized = self._set_perplexity(self._batches(objective), before, rng)
        after = self._fit_scale(objective, sized, rng)
        return A * (typical_entry(after) / typical_entry(before))

    def _phases(
        self, objective: PairObjective
    ) -> list[tuple[Stochastic, MinibatchSampler]]:
        """Return the solvers, each with its objective."""
        surrogate = objective.warmup_surrogate()
        solver = partial(Stochastic, take=self.take)
        largest = self.largest_steps[0] * self.step
        if surrogate is None:
            only = solver(self.max_iter, self.seed, self.steps[1], largest)
            return [(only, self._batches(objective, smaller=self.shrinkage[1]))]
        n_first = int(self.warmup_fraction * self.max_iter)
        first = solver(n_first, self.seed, self.steps[0], largest)
        second = solver(
            self.max_iter - n_first,
            self.seed + 1,
            self.steps[0],
            self.largest_steps[1] * self.step,
            # A penalty limits the size by itself.
            size_held=not self.alpha,
        )
        phases = [
            (first, self._batches(*surrogate, smaller=self.shrinkage[0])),
            (second, self._batches(objective)),
        ]
        return [(solver, parts) for solver, parts in phases if solver.max_iter]

    def _batches(
        self,
        objective: PairObjective,
        report: Callable[[FloatArray], FloatArray] = np.asarray,
        smaller: int = 1,
    ) -> MinibatchSampler:
        return MinibatchSampler(
            objective,
            self.batch_size or self.largest[0] // smaller,
            self.n_references or self.largest[1] // smaller,
            self.alpha,
            self.preconditioner.whitening,
            report,
            None if self.pool is None else objective.positions(self.pool),
        )

    def _set_perplexity(
        self, batches: MinibatchSampler, A: FloatArray, rng: Generator
    ) -> FloatArray:
        """Return the map, scaled to a perplexity of a few points in a mini-batch."""
        objective = batches.objective
        rows = sample_indices(rng, objective.n_rows, batches.n_references)
        within = self.preconditioner.unwhitening(A)
        scaled = to_perplexity(objective.subset(rows), within, rng)
        return A * (typical_entry(scaled) / typical_entry(within))

    def _fit_scale(
        self, objective: PairObjective, A: FloatArray, rng: Generator
    ) -> FloatArray:
        """Return the map with the best scale for all data."""
        in_basis = self.preconditioner.unwhitening(A)
        return fitted_scale(objective, in_basis, rng, self.alpha) * A


def part_sizes(est: Any, n: int) -> tuple[int | None, int | None]:
    """Return the numbers of queries and references of a step; None is "auto"."""
    references = n if est.n_references == "all" else est.n_references
    return (
        None if isinstance(est.batch_size, str) else est.batch_size,
        None if isinstance(references, str) else references,
    )


@dataclass(frozen=True)
class NoOptimization:
    """Solver that keeps the start, because no learned map predicts better.

    The search for the scale of the start counts as one iteration.
    """

    seed: int
    alpha = None
    description = "none: no learned map predicts better than the start, which is kept"
    chooses_unit: ClassVar[bool] = True

    def maximize(
        self, objective: PairObjective, start: FloatArray, callback: Any
    ) -> OptimizeResult:
        """Return the start."""
        queries = queries_of_all(objective, np.random.default_rng(self.seed))
        terms = objective.terms(start, queries).astype(np.float64)
        mean = float(np.average(terms, weights=objective.counts[queries]))
        curve = [mean * objective.n_points] * 2
        callback(start, curve)
        return solution(start, 1, curve, "converged", self.description)


@dataclass(frozen=True)
class StochasticGradient:
    """Stochastic gradient ascent with η = η_0 / (t + t_0) in step t (thesis, 3.3.1).

    A step follows the mean gradient of a few random points, each compared with all
    points; an iteration is a pass over the data. η_0 is fixed, and t_0 is found by an
    exponential search on held-out rows: a tenth of the rows judges one pass over the
    others. `solver="stochastic"` needs fewer passes, and has no such search.

    Parameters
    ----------
    max_iter : int, default=20
        Number of passes; all of them are done.
    batch_size : int, default=50
        Number of points in a step.
    eta_0 : float, default=300.0
        η_0, in units of the step size that moves the start by its own length.
    t_0 : float or None, default=None
        t_0. None searches among eleven values at which the first step is between
        1/640 and 1.6 times as long as the start, each half of the next.
    seed : int, default=0
        Seed of the order of the points, and of the held-out rows.

    See Also
    --------
    vicinal.NCA : Takes it as `solver`; "decay" has the same rule for all points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal import NCA
    >>> from vicinal.nca import StochasticGradient
    >>> X, y = load_iris(return_X_y=True)
    >>> nca = NCA(2, solver=StochasticGradient(max_iter=10)).fit(X, y)
    >>> nca.n_iter_
    10
    """

    max_iter: int = 20
    batch_size: int = 50
    eta_0: float = 300.0
    t_0: float | None = None
    seed: int = 0

    def maximize(
        self, objective: Objective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximize the objective from a start; see `vicinal.optimize.Solver`."""
        if isinstance(objective, Reparametrized) and objective.basis.ndim == 0:
            unit = float(objective.basis)  # steps do not depend on it
            found = self.maximize(
                objective.objective,
                unit * start,
                lambda A, c: on_iteration(A / unit, c),
            )
            found.x = found.x / unit
            return found
        if not isinstance(objective, PairObjective):
            raise TypeError(
                "StochasticGradient needs the terms of single points; use alpha=0."
            )
        A: FloatArray = start.astype(np.float64)
        value, gradient = objective.value_and_gradient(A)
        curve = [value]
        if not gradient.any():
            return solution(A, 0, curve, "converged", "the gradient is zero")
        mean = gradient.astype(np.float64) / objective.n_rows
        eta_0 = self.eta_0 * natural_step(Place(A, value, mean))
        t = self._search(objective, A, eta_0) if self.t_0 is None else self.t_0
        rng = np.random.default_rng(self.seed)
        for iteration in range(self.max_iter):
            A, terms = self._one_pass(objective, A, eta_0, t, rng)
            if not np.isfinite(A).all():
                message = "a step was too long; raise t_0"
                return solution(start, iteration, curve, "not_finite", message)
            t += -(-objective.n_rows // self.batch_size)
            curve.append(float(terms.mean()) * objective.n_rows)
            if on_iteration(A.copy(), curve):
                message = "stopped by a callback"
                return solution(A, iteration + 1, curve, "callback", message)
        return solution(A, self.max_iter, curve, "converged", "all passes are done")

    def _one_pass(
        self,
        objective: PairObjective,
        A: FloatArray,
        eta_0: float,
        t: float,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the map after a step for each batch, and the terms before each."""
        order: IntArray = rng.permutation(objective.n_rows)
        seen = []
        for first in range(0, len(order), self.batch_size):
            batch = np.sort(order[first : first + self.batch_size])
            try:
                terms, gradient = objective.terms_and_gradient(A, batch)
            except ValueError:  # distances overflow: a step was too long
                return np.full_like(A, np.nan), np.empty(0)
            A = A + eta_0 / t * gradient.astype(np.float64) / len(batch)
            seen.append(terms.astype(np.float64))
            t += 1
        return A, np.concatenate(seen)

    def _search(self, objective: PairObjective, A: FloatArray, eta_0: float) -> float:
        """Return the t_0 after whose first pass held-out rows are predicted best."""
        rows = np.random.default_rng(self.seed).permutation(objective.n_rows)
        n_held = max(1, objective.n_rows // 10)
        held, others = np.sort(rows[:n_held]), np.sort(rows[n_held:])
        train = objective.subset(others)

        def score(t_0: float) -> float:
            rng = np.random.default_rng(self.seed)
            reached = self._one_pass(train, A, eta_0, t_0, rng)[0]
            if not np.isfinite(reached).all():
                return -np.inf
            return float(objective.terms(reached, held).astype(np.float64).mean())

        return max((self.eta_0 / 1.6 * 2.0**k for k in range(11)), key=score)
