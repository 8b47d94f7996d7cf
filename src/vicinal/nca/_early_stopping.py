"""Early stopping: hold some points out, and keep the map that suits them best."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import of_unscaled
from vicinal.nca._data import ClassificationData
from vicinal.solvers.base import OnIteration

# At most so many points are judged, by so many others.
N_JUDGES, N_LEARNED = 1000, 10_000


def hold_out(
    codes: IntArray, fraction: float, random_state: Any
) -> tuple[IntArray, IntArray]:
    """Return the rows to learn from and the rows to judge by, of each class its share.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        The classes.
    fraction : float
        How much to hold out.
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
    learned: ClassificationData, held: ClassificationData, components: FloatArray
) -> float:
    """Return the 5-NN accuracy of held-out points under a map, at a bounded cost.

    Of a large number of points every so-many-th is looked at.
    """
    from sklearn.neighbors import KNeighborsClassifier  # slow to import

    step = -(-len(learned.X) // N_LEARNED)
    points, codes = learned.X[::step], learned.codes[::step]
    every = -(-len(held.X) // N_JUDGES)
    queries, truth = held.X[::every], held.codes[::every]
    A = of_unscaled(components, 1.0, points.dtype)

    def mapped(X: FloatArray) -> FloatArray:
        return X * A if A.ndim == 1 else X @ A.T

    knn = KNeighborsClassifier(min(5, len(points))).fit(mapped(points), codes)
    return float(knn.score(mapped(queries), truth))


class EarlyStopping:
    """Watches the held-out score, and stops when it no longer rises (thesis, 3.3.1).

    Parameters
    ----------
    score : callable
        The held-out score of a map.
    patience : int
        How many iterations without a new best to wait for.
    start : ndarray
        The initial map.
    """

    def __init__(
        self, score: Callable[[FloatArray], float], patience: int, start: FloatArray
    ) -> None:
        self._score = score
        self._patience = patience
        self._best = start
        self._best_iteration = 0
        self.curve = [score(start)]

    def watch(self, on_iteration: OnIteration) -> OnIteration:
        """Wrap what is called after each iteration."""

        def watched(components: FloatArray, curve: list[float]) -> bool:
            stop = on_iteration(components, curve)
            score = self._score(components)
            if score > max(self.curve):
                self._best, self._best_iteration = components, len(self.curve)
            self.curve.append(score)
            waited = len(self.curve) - 1 - self._best_iteration
            return stop or waited >= self._patience

        return watched

    @property
    def best(self) -> FloatArray:
        """The map with the best held-out score."""
        return self._best
