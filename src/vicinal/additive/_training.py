"""Training of one additive map on random neighborhoods, with early stopping."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from vicinal._typing import FloatArray, IntArray
from vicinal.maps import Additive, ColumnWeights, Map
from vicinal.neighborhood import NeighborWeights, average, effective_n_threads
from vicinal.objectives import MinibatchSampler, NCAObjective, TargetObjective
from vicinal.objectives.nca import PairObjective, sample_indices
from vicinal.optimize import Stochastic, typical_entry

# Held-out rows that score an iteration, and training rows that vote for them, in an
# iteration and for the scale of the points: a few steps' worth of pairs.
MAX_JUDGES, MAX_REFERENCES = 500, (2000, 20_000)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to learn from.

    Attributes
    ----------
    X : ndarray of float32 of shape (n_rows, n_encoded)
        Encoded rows.
    targets : ndarray of shape (n_rows, n_targets)
        Indicators of the classes, or standardized targets.
    codes : ndarray of shape (n_rows,) or None
        Classes; None for a regression.
    weights : ndarray of shape (n_rows,)
        Positive weights.
    """

    X: FloatArray
    targets: FloatArray
    codes: IntArray | None
    weights: FloatArray

    def objective(self, rows: IntArray, form: Map, n_jobs: int | None) -> PairObjective:
        """Return the objective of some rows."""
        how: dict[str, Any] = {
            "sample_weight": self.weights[rows],
            "n_jobs": n_jobs,
            "form": form,
            "plain": True,
            "check_input": False,
        }
        if self.codes is None:
            kind = "squared-error"
            return TargetObjective(self.X[rows], self.targets[rows, 0], kind, **how)
        codes = np.unique(self.codes[rows], return_inverse=True)[1]
        return NCAObjective(self.X[rows], codes, "log", **how)


@dataclass(frozen=True, eq=False)
class Member:
    """A trained map, as one of several whose votes are averaged.

    Attributes
    ----------
    parameters : ndarray of float64
        Parameters of the map, scaled by the calibrated temperature.
    points : ndarray of shape (n_samples, n_components)
        Points of the training rows.
    held : ndarray of bool of shape (n_samples,)
        Rows that the map has not learned from.
    """

    parameters: FloatArray
    points: FloatArray
    held: NDArray[np.bool_]


class Judge:
    """Loss of the held-out rows, from the votes of training rows.

    Parameters
    ----------
    rows : TrainingRows
        All rows.
    learned, held : ndarray of int
        Rows that vote, and rows to predict.
    form : Map
        The map.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(
        self,
        rows: TrainingRows,
        learned: IntArray,
        held: IntArray,
        form: Map,
        n_jobs: int | None,
    ) -> None:
        self._form, self._n_threads = form, effective_n_threads(n_jobs)
        self._learned, self._held = rows.X[learned], rows.X[held]
        weights = rows.weights[learned]
        self._weights = NeighborWeights.build(
            weights, np.ones_like(weights), rows.X.dtype
        )
        self._targets, self._truth = rows.targets[learned], rows.targets[held]
        self._of_numbers, self._held_weights = rows.codes is None, rows.weights[held]

    def loss(self, parameters: FloatArray) -> float:
        """Return the mean log loss or squared error."""
        return self._loss(self._points(parameters))

    def temperature(self, parameters: FloatArray) -> float:
        """Return the factor of the points with the least loss."""
        both = self._points(parameters)
        found = minimize_scalar(
            lambda power: self._loss(both, 2.0**power),
            bounds=(-1, 1),
            options={"xatol": 0.05},
        )
        return float(2.0**found.x)

    def _points(self, parameters: FloatArray) -> list[FloatArray]:
        return [
            self._form.project(X, parameters.astype(X.dtype), self._n_threads)
            for X in (self._held, self._learned)
        ]

    def _loss(self, both: list[FloatArray], factor: float = 1.0) -> float:
        queries, points = (one * one.dtype.type(factor) for one in both)
        votes = average(
            *(queries, points, self._targets, self._weights, self._n_threads),
            plain=True,
        ).astype(np.float64)
        if self._of_numbers:
            losses = np.square(votes - self._truth)[:, 0]
        else:  # bounded, so that no single row dominates
            losses = -np.log(np.maximum((votes * self._truth).sum(axis=1), 1e-4))
        return float(np.average(losses, weights=self._held_weights))


def train(
    est: Any,
    form: Any,
    rows: TrainingRows,
    start: FloatArray,
    basis: FloatArray,
    held: NDArray[np.bool_],
    seed: int,
    on_iteration: Callable[[FloatArray, list[float]], bool],
) -> tuple[FloatArray, list[float]]:
    """Learn the parameters of a map.

    Adam takes steps on random neighborhoods. After each iteration, held-out rows are
    predicted by the others; the parameters with the least loss are kept, and scaled by
    the temperature with the least loss.

    Parameters
    ----------
    est : TableNCA
        Settings of the training.
    form : Map
        The map.
    rows : TrainingRows
        The rows.
    start, basis : ndarray of shape (n_parameters,)
        Initial parameters, and their units.
    held : ndarray of bool of shape (n_rows,)
        Rows that are held out.
    seed : int
        Seed of the draws.
    on_iteration : callable
        Called with the parameters and the curve; True stops.

    Returns
    -------
    parameters : ndarray of shape (n_parameters,)
    curve : list of float
        Mean objective of each iteration, per row.
    """
    rng = np.random.default_rng([seed, 1])
    learned, judges = np.flatnonzero(~held), np.flatnonzero(held)
    judges = judges[sample_indices(rng, len(judges), MAX_JUDGES)]
    voters = [
        learned[sample_indices(rng, len(learned), most)] for most in MAX_REFERENCES
    ]
    judge, last_judge = (
        Judge(rows, few, judges, form, est.n_jobs) if held.any() else None
        for few in voters
    )
    best, best_iteration = start, 0
    best_loss = np.inf if judge is None else judge.loss(start)

    def watch(parameters: FloatArray, curve: list[float]) -> bool:
        nonlocal best, best_loss, best_iteration
        iteration = len(curve) - 1
        reached = parameters * basis
        loss = -float(iteration)  # without held-out rows, the last is the best
        if judge is not None:
            loss = judge.loss(reached)
        if loss < best_loss:
            best, best_loss, best_iteration = reached, loss, iteration
        stop = on_iteration(reached, curve)
        return stop or iteration - best_iteration >= est.n_iter_no_change

    batches = MinibatchSampler(
        rows.objective(learned, form, est.n_jobs),
        est.batch_size,
        est.batch_size + est.n_references,
        basis=basis,
    )
    first_step = est.learning_rate / typical_entry(start / basis)
    solver = Stochastic(est.max_iter, seed, est._steps, first_step)
    curve = solver.maximize(batches, start / basis, watch).curve
    if last_judge is not None:
        best = form.scaled(best, last_judge.temperature(best))
    return best, curve


def initial_parameters(
    form: Additive | ColumnWeights,
    rows: TrainingRows,
    learned: IntArray,
    level_columns: IntArray,
    n_columns: int,
    frequency_scale: float,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Return initial parameters of a map, and their units.

    Lines and levels start at random, and larger for columns that explain the targets;
    waves start at zero. The unit of the waves is smaller, so that curves bend only as
    far as the data ask for it. A step adds up over the columns, so that the units of
    wide tables are smaller, too. Weights of columns start equal.
    """
    if isinstance(form, ColumnWeights):
        # Standardized columns are then at distances of about 4.
        weights = np.full(form.size, 3 / np.sqrt(form.size))
        return weights, weights
    start, basis = np.zeros(form.size), np.ones(form.size)
    curves, levels, frequencies = form.parts(start)
    drawn = learned[sample_indices(rng, len(learned), MAX_REFERENCES[1])]
    explained = explained_shares(rows, drawn, form.n_numbers)
    explained += LEAST_SHARE * explained.mean() + np.finfo(float).eps
    sizes = np.sqrt(explained / explained.mean() / n_columns)[:, None]
    of_numbers, of_levels = sizes[: form.n_numbers], sizes[level_columns]
    curves[0] = rng.normal(size=curves[0].shape) * of_numbers
    levels[:] = rng.normal(size=levels.shape) * of_levels
    frequencies[:] = np.abs(rng.normal(size=frequencies.shape)) * frequency_scale
    units, step = form.parts(basis), min(1.0, np.sqrt(WIDE / n_columns))
    units.curves[0], units.curves[1:] = step * of_numbers, WAVE_UNIT * step * of_numbers
    units.levels[:] = step * of_levels
    units.frequencies[:] = FREQUENCY_UNIT
    return start, basis


# Chosen on the tuning tables of `python -m benchmarks.tables`: sizes of waves and of
# changes of frequencies, the part of the mean share that any column has, and the number
# of columns of a wide table.
WAVE_UNIT, FREQUENCY_UNIT, LEAST_SHARE, WIDE = 0.2, 0.2, 0.3, 16


def explained_shares(rows: TrainingRows, drawn: IntArray, n_numbers: int) -> FloatArray:
    """Return the share of the targets' variance that each column of X explains alone.

    A number explains it by x or by x², whichever is better; levels by their means.
    Shares that are expected by chance are subtracted.
    """
    X, weights = rows.X[drawn].astype(np.float64), rows.weights[drawn]
    targets = rows.targets[drawn]
    T = targets - np.average(targets, axis=0, weights=weights)
    total, n = max(float(weights @ np.square(T).sum(axis=1)), 1e-300), weights.sum()
    found = np.zeros(X.shape[1])
    for c in range(X.shape[1]):
        if c < n_numbers:
            for power in (1, 2):
                x = X[:, c] ** power
                x -= np.average(x, weights=weights)
                spread = max(float(weights @ np.square(x)), 1e-300)
                share = np.square((weights * x) @ T).sum() / spread / total - 1 / n
                found[c] = max(found[c], share)
        else:
            codes = np.unique(X[:, c], return_inverse=True)[1]
            mass = np.bincount(codes, weights=weights)
            sums = [np.bincount(codes, weights=weights * t) for t in T.T]
            share = (np.square(sums) / mass).sum() / total - (len(mass) - 1) / n
            found[c] = max(0.0, share)
    return found
