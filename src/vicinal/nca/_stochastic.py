"""Stochastic optimization: preconditioned steps on mini-batches, then the scale.

A mini-batch is sparser than the data, so that the scale which suits its neighborhoods
is too small for the whole. Directions are learned from mini-batches; the scale is set
at the end, by some points' terms with sums over all points.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from numpy.random import Generator
from scipy.optimize import OptimizeResult
from scipy.sparse import issparse

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import class_means, deviations, within_class_residuals
from vicinal.nca._scale import fitted_scale, queries_of_all, to_perplexity
from vicinal.objectives import MinibatchSampler
from vicinal.objectives.base import PairObjective, sample_indices
from vicinal.optimize import (
    OnIteration,
    Stochastic,
    TakeSteps,
    solution,
    take_steps,
    typical_entry,
)

# Below this many features nothing is gained by leaving some directions out; above
# this many, a covariance costs more than it gives.
_MANY_FEATURES, _TOO_MANY_FEATURES = 100, 2000
_KEPT_VARIANCE = 0.95
# The reduced rows are a copy: no larger than this, and at most half of the data.
_MAX_COPY_BYTES = 2**29
# So is the sample of the rows.
_SAMPLE_BYTES = 2**25
# What is added to each variance before one divides by it, as part of their mean.
_RIDGE = 1e-3


@dataclass(frozen=True)
class Preconditioner:
    """Coordinates x ↦ (xᵀ projection) whitening, in which to take stochastic steps.

    Attributes
    ----------
    rows : ndarray of int
        The sample that the coordinates come from.
    projection : ndarray of shape (n_features, n_kept) or None
        The leading principal directions, where they do as well as all features.
    whitening : ndarray of shape (n_kept, n_kept) or (n_features,)
        Gives the points of a class unit covariance, nearly; or, for diagonal maps and
        where features are very many, each feature unit variance.
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
            The points, of which a sample is looked at.
        codes : ndarray of shape (n_samples,) or None
            Their classes; None where there are none.
        n_components : int
            The rows of the map; no fewer directions are kept.
        diagonal : bool
            Whether the map is diagonal.
        rng : Generator
            Draws the sample.
        all_directions : bool, default=False
            Leave none out, as these points do not speak for all there will be.
        """
        rows = sample_rows(X, rng)
        if issparse(X):  # a unit for each feature would make rare ones loud
            return cls(rows, None, np.ones(X.shape[1]))
        points: FloatArray = X[rows]
        labels = np.zeros(len(rows), dtype=int) if codes is None else codes[rows]
        if diagonal or X.shape[1] > _TOO_MANY_FEATURES:
            _, units = _in_units(within_class_residuals(points, labels), points)
            return cls(rows, None, 1 / units)
        projection = None
        many = X.shape[1] > _MANY_FEATURES and not all_directions
        if codes is not None and many:
            projection = _useful(points, labels, n_components, len(X), rng)
        if projection is not None:
            points = points @ projection
        return cls(rows, projection, _whitening(points, labels))

    def start(self, A: FloatArray) -> FloatArray:
        """Return a map of the features as one of the coordinates."""
        projected = A if self.projection is None else A @ self.projection
        if self.whitening.ndim == 1:
            return projected / self.whitening
        return np.linalg.solve(self.whitening, projected.T).T

    def unwhitening(self, A: FloatArray) -> FloatArray:
        """Return a map of the coordinates as one of the projected points."""
        return A * self.whitening if self.whitening.ndim == 1 else A @ self.whitening.T

    def back(self, A: FloatArray) -> FloatArray:
        """Return a map of the coordinates as one of the features."""
        projected = self.unwhitening(A)
        return projected if self.projection is None else projected @ self.projection.T


def sample_rows(X: FloatArray, rng: Generator) -> IntArray:
    """Return the rows of a sample that is large enough for a covariance."""
    n, D = X.shape
    return np.sort(rng.choice(n, sample_size(n, D, X.dtype.itemsize), replace=False))


def sample_size(n: int, n_features: int, itemsize: int) -> int:
    """Return how many of n rows are enough for a covariance, in moderate memory."""
    most = max(1000, _SAMPLE_BYTES // (n_features * itemsize))
    return min(n, max(5000, 10 * n_features), most)


def _useful(
    X: FloatArray, codes: IntArray, n_components: int, n: int, rng: Generator
) -> FloatArray | None:
    """Return the principal directions that do as well as all features, or None.

    "As well" is put to the test: a linear discriminant learned from half of the sample
    must be no worse on the other half, within a standard error.
    """
    # Halves at random: every other row may well be of the same class.
    order = rng.permutation(len(X))
    X, codes = X[order], codes[order]
    centered = X - X.mean(axis=0)
    # Squares of very large or small numbers would leave float32.
    centered /= max(float(np.abs(centered).max()), np.finfo(X.dtype).tiny)
    variances, axes = np.linalg.eigh((centered.T @ centered).astype(np.float64))
    variances = np.maximum(variances[::-1], 0)
    kept = np.cumsum(variances) / max(variances.sum(), np.finfo(float).tiny)
    k = int(np.searchsorted(kept, _KEPT_VARIANCE)) + 1
    k = max(k, 2 * n_components)
    if 2 * k > X.shape[1] or n * k * X.itemsize > _MAX_COPY_BYTES:
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
    """Return how well a linear discriminant of every other point does on the rest.

    Features are in units of their own: raw ones would hide small features behind the
    ridge, and make any directions look as good as all.
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
    """Return what whitens the points of a class, with features in their own units."""
    residuals, units = _in_units(within_class_residuals(X, codes), X)
    variances, axes = np.linalg.eigh(residuals.T @ residuals / len(X))
    # In these units the mean is the share of features that vary at all.
    floored = np.maximum(variances, 0) + _RIDGE * max(variances.mean(), 1e-6)
    whitening: FloatArray = (axes / np.sqrt(floored)) / units[:, None]
    return whitening


def _in_units(
    residuals: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return residuals in units of each feature's standard deviation, and these.

    Where that is a matter of rounding, there are no residuals, and the unit is 1, or
    larger for large numbers, whose rounding is large.
    """
    found = deviations(residuals, points)
    sizes = np.maximum(np.abs(points).max(axis=0), 1.0)
    units = np.where(found > 0, found, sizes)
    return np.where(found > 0, residuals / units, 0.0), units


BATCH_SIZE, N_REFERENCES = 2048, 2048
"""A part's queries and references, at its largest."""
STEPS = 12, 25
"""Steps in an iteration: where a surrogate comes first, and where there is none."""
WARMUP_FRACTION = 0.4
"""Where there is a surrogate to begin with: its part of the iterations."""

# How many times smaller parts may be: for the surrogate, and where there is none.
_SHRINKAGE = 4, 2

# The largest step, in units of the map's typical entry: while the map finds its place,
# and once it has.
_WARMUP_STEP, _FINAL_STEP = 0.3, 0.1


@dataclass(frozen=True)
class StochasticOptimizer:
    """Maximises an objective by steps on random parts of the data.

    Parameters
    ----------
    preconditioner : Preconditioner
        The coordinates to take the steps in.
    batch_size, n_references : int or None
        The size of a part; None is what suits most data.
    max_iter : int
        Iterations, of `steps` steps each.
    alpha : float
        The penalty, for each point.
    seed : int
        For all that is drawn.
    step : float, default=1.0
        Makes all steps shorter.
    warmup_fraction : float, default=0.4
        Where there is a surrogate to begin with: its part of the iterations.
    pool : slice or None, default=None
        The rows whose terms count; None is all.
    steps : tuple of two int, default=(12, 25)
        Steps in an iteration: where a surrogate comes first, and where there is none.
    largest : tuple of two int, default=(2048, 2048)
        Queries and references of a part where they are not given, at its largest.
    take : callable, default=take_steps
        Takes an iteration's steps.
    """

    preconditioner: Preconditioner
    batch_size: int | None
    n_references: int | None
    max_iter: int
    alpha: float
    seed: int
    step: float = 1.0
    warmup_fraction: float = WARMUP_FRACTION
    pool: slice | None = None
    steps: tuple[int, int] = STEPS
    largest: tuple[int, int] = BATCH_SIZE, N_REFERENCES
    take: TakeSteps = take_steps

    def maximize(
        self, objective: PairObjective, start: FloatArray, on_iteration: OnIteration
    ) -> OptimizeResult:
        """Maximise the objective from a start; see `vicinal.optimize.Solver`.

        f's slopes vanish where a point is far from all of its class, and its scale
        runs away where data are thin. So g goes first, and then f turns the map while
        its size is held.
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
    def is_stochastic(self) -> bool:
        """Whether iterations see random parts of the data."""
        return True

    def describe(self, n_features: int) -> str:
        """Return how it goes about it, for `verbose`."""
        projection = self.preconditioner.projection
        kept = n_features if projection is None else projection.shape[1]
        return f"solver stochastic, in {kept} of {n_features} directions"

    def queries(self, objective: PairObjective) -> IntArray:
        """Return the points whose neighbours are counted in the end."""
        return queries_of_all(objective, np.random.default_rng(self.seed))

    def rescaled(self, objective: PairObjective, A: FloatArray) -> FloatArray:
        """Return a map of the features with the scale that suits all of the data.

        For maps from the middle of a fit, which have the scale of a part.
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
        """Return the solvers, and what each is to maximise."""
        surrogate = objective.warmup_surrogate()
        solver = partial(Stochastic, take=self.take)
        largest = _WARMUP_STEP * self.step
        if surrogate is None:
            only = solver(self.max_iter, self.seed, self.steps[1], largest)
            return [(only, self._batches(objective, smaller=_SHRINKAGE[1]))]
        n_first = int(self.warmup_fraction * self.max_iter)
        first = solver(n_first, self.seed, self.steps[0], largest)
        second = solver(
            self.max_iter - n_first,
            self.seed + 1,
            self.steps[0],
            _FINAL_STEP * self.step,
            # A penalty keeps the size by itself.
            size_held=not self.alpha,
        )
        phases = [
            (first, self._batches(*surrogate, smaller=_SHRINKAGE[0])),
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
        """Return the map scaled so that in a mini-batch points see a few neighbours."""
        objective = batches.objective
        rows = sample_indices(rng, objective.n_rows, batches.n_references)
        within = self.preconditioner.unwhitening(A)
        scaled = to_perplexity(objective.subset(rows), within, rng)
        return A * (typical_entry(scaled) / typical_entry(within))

    def _fit_scale(
        self, objective: PairObjective, A: FloatArray, rng: Generator
    ) -> FloatArray:
        """Return the map with the scale that suits all of the data best."""
        in_basis = self.preconditioner.unwhitening(A)
        return fitted_scale(objective, in_basis, rng, self.alpha) * A


def part_size(
    n: int, batch_size: int | None, n_references: int | None, in_two_phases: bool
) -> tuple[float, float]:
    """Return how many pairs and rows a step evaluates, on average over a fit."""

    def size(smaller: int) -> tuple[int, int]:
        m = min(n, n_references or N_REFERENCES // smaller)
        return m * min(m, batch_size or BATCH_SIZE // smaller), m

    if not in_two_phases:
        return size(_SHRINKAGE[1])
    (first, rows), (second, more_rows) = size(_SHRINKAGE[0]), size(1)
    return (
        WARMUP_FRACTION * first + (1 - WARMUP_FRACTION) * second,
        WARMUP_FRACTION * rows + (1 - WARMUP_FRACTION) * more_rows,
    )
