"""Schedules of a fit: dimensionality annealing and early stopping."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vicinal._typing import FloatArray, IntArray
from vicinal.nca._problems import Problem
from vicinal.optimize import ConjugateGradient, Objective, OnIteration, Ridge, maximize

ANNEALED = ("magnitude", "data-variance", "projected-variance")


@dataclass(frozen=True)
class Annealing:
    """Schedule of dimensionality annealing (thesis, algorithm 3.2).

    A row of the map is removed after its penalty λ has been raised several times, and
    the other rows have adapted to each raise.

    Parameters
    ----------
    measure : {"magnitude", "data-variance", "projected-variance"}, \
default="magnitude"
        Criterion for the row to remove next: the smallest norm, or the row along which
        the data, or the mapped points, vary least.
    delta : float or None, default=None
        Δλ, by which λ of eq. 3.26 rises, in units of the objective per squared entry
        of the map. None balances the gradient at each raise, or a hundredth of the
        objective if that is more, and so does not depend on the unit of the data.
    n_raises : int, default=5
        P, the number of raises before a row is removed.
    n_steps : int, default=3
        Iterations of conjugate gradients after each raise.

    See Also
    --------
    vicinal.NCA : Takes it as `anneal`.

    Examples
    --------
    The author's program raises λ a hundred times by 0.01.

    >>> from sklearn.datasets import load_iris
    >>> from vicinal import NCA
    >>> from vicinal.nca import Annealing
    >>> X, y = load_iris(return_X_y=True)
    >>> slowly = Annealing(delta=0.01, n_raises=100, n_steps=1)
    >>> NCA(2, anneal=slowly, max_iter=200).fit(X, y).components_.shape
    (2, 4)
    """

    measure: str = "magnitude"
    delta: float | None = None
    n_raises: int = 5
    n_steps: int = 3


def anneal(
    objective: Objective,
    start: FloatArray,
    n_components: int | None,
    X: FloatArray,
    how: bool | str | Annealing = True,
    unit: float = 1.0,
) -> FloatArray:
    """Remove the rows of a map one by one (thesis, algorithm 3.2).

    The penalty λ of a row is raised in steps. After each raise, a few iterations of
    conjugate gradients adapt the other rows. Then the row is removed.

    Parameters
    ----------
    objective : Objective
        Objective to maximize.
    start : ndarray of shape (n_rows, n_features)
        Map of full rank, or with more rows than n_components.
    n_components : int
        Number of rows to keep.
    X : ndarray of shape (n_samples, n_features)
        The points, for the measures of variance.
    how : Annealing, or True or the name of its measure
        The schedule.
    unit : float, default=1.0
        Unit of the map's entries, as for `vicinal.optimize.maximize`.

    Returns
    -------
    ndarray of shape (n_components, n_features)
    """
    if n_components is None or n_components >= X.shape[1]:
        raise ValueError(
            f"anneal={how!r} reduces {X.shape[1]} dimensions: give a smaller "
            "n_components."
        )
    if len(start) < n_components:
        raise ValueError(
            f"init has {len(start)} rows, fewer than n_components={n_components}."
        )
    A: FloatArray = np.asarray(start, dtype=np.float64)
    if not isinstance(how, Annealing):
        how = Annealing(how if isinstance(how, str) else "magnitude")
    solver = ConjugateGradient(max_iter=how.n_steps, tol=0.0)
    while len(A) > n_components:
        row = least_row(X, how.measure, A)
        for raised in range(1, how.n_raises + 1):
            penalty = np.zeros(len(A))
            size = np.linalg.norm(A[row])
            if how.delta is not None:
                penalty[row] = raised * how.delta
            elif size > 0:
                value, gradient = objective.value_and_gradient(A)
                # Δλ balances the gradient of the objective or, at a maximum, one
                # percent of it.
                pull = np.linalg.norm(gradient[row]) / (2 * size)
                penalty[row] = raised * max(pull, 0.01 * abs(value) / size**2)
            A = maximize(Ridge(objective, penalty), A, solver=solver, unit=unit).x
        A = np.delete(A, row, axis=0)
    return A


def least_row(X: FloatArray, measure: str, A: FloatArray) -> int:
    """Return the row of the map to anneal next (thesis, after algorithm 3.2)."""
    if measure == "projected-variance":
        return int(np.argmin((X @ A.T).var(axis=0)))
    if measure == "data-variance":
        directions = A / np.maximum(np.linalg.norm(A, axis=1, keepdims=True), 1e-300)
        return int(np.argmin((X @ directions.T).var(axis=0)))
    return int(np.argmin(np.linalg.norm(A, axis=1)))


def held_out_part(est: Any, problem: Problem) -> tuple[Problem, Problem]:
    """Return the rows to learn from, and the rows that stop the fit."""
    train, held = hold_out(problem.codes, est.validation_fraction, est.random_state)
    return problem.part(train), problem.part(held)


def hold_out(
    codes: IntArray, fraction: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Return training rows and held-out rows, stratified by class.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        The classes.
    fraction : float
        Share of held-out rows.
    random_state : int, RandomState or None
        Seed.
    """
    sizes = np.bincount(codes)
    if sizes.min() < 2:
        raise ValueError(
            "early_stopping=True holds out some rows of each class and learns from the "
            f"others, and the rarest class has {sizes.min()} of {len(codes)} rows; "
            "drop classes of one row, or turn early_stopping off."
        )
    rng = check_random_state(random_state)
    shares = np.clip(np.rint(fraction * sizes).astype(int), 1, sizes - 1)
    held = np.concatenate(
        [
            rng.permutation(np.flatnonzero(codes == c))[:share]
            for c, share in enumerate(shares)
        ]
    )
    return np.setdiff1d(np.arange(len(codes)), held), np.sort(held)


def held_out_accuracy(
    learned: Problem,
    held: Problem,
    components: FloatArray,
    n_queries: int = 1000,
    n_points: int = 10_000,
) -> float:
    """Return the 5-NN accuracy of held-out points under a map, at a bounded cost.

    Larger data than n_queries and n_points are subsampled at regular intervals.
    """
    from sklearn.neighbors import KNeighborsClassifier  # slow to import

    step = -(-len(learned.X) // n_points)
    points, codes = learned.X[::step], np.asarray(learned.codes)[::step]
    every = -(-len(held.X) // n_queries)
    queries, truth = held.X[::every], np.asarray(held.codes)[::every]
    A = components.astype(points.dtype)

    def mapped(X: FloatArray) -> FloatArray:
        return X * A if A.ndim == 1 else X @ A.T

    knn = KNeighborsClassifier(min(5, len(points))).fit(mapped(points), codes)
    return float(knn.score(mapped(queries), truth))


def held_out_score(
    est: Any, train: Problem, held: Problem, objective: Any
) -> Callable[[FloatArray], float]:
    """Return a function that scores a map on held-out rows by the objective.

    If that is None, since maps have the scale of a mini-batch, it is 5-NN accuracy.
    """
    if objective is None:
        return partial(held_out_accuracy, train, held)

    def score(A: FloatArray) -> float:
        proba = objective.class_probabilities(A, held.X)
        p = proba[np.arange(len(held.X)), held.codes].astype(np.float64)
        if est.objective == "log":
            p = np.log(np.maximum(p, np.finfo(held.X.dtype).tiny))
        return float(np.average(p, weights=held.weights))

    return score


class EarlyStopping:
    """Early stopping on a held-out score (thesis, 3.3.1).

    Parameters
    ----------
    score : callable
        Returns the held-out score of a map.
    patience : int
        Number of iterations without a new best score before the fit stops.
    start : ndarray
        The initial map.
    """

    def __init__(
        self, score: Callable[[FloatArray], float], patience: int, start: FloatArray
    ) -> None:
        self._score = score
        self._patience = patience
        self.best = start
        self._best_iteration = 0
        self.curve = [score(start)]

    def watch(self, on_iteration: OnIteration) -> OnIteration:
        """Wrap the function that is called after each iteration."""

        def watched(components: FloatArray, curve: list[float]) -> bool:
            stop = on_iteration(components, curve)
            score = self._score(components)
            if score > max(self.curve):
                self.best, self._best_iteration = components, len(self.curve)
            self.curve.append(score)
            waited = len(self.curve) - 1 - self._best_iteration
            return stop or waited >= self._patience

        return watched
