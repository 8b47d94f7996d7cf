"""Early stopping: hold some points out, and keep the map that suits them best."""

from collections.abc import Callable
from typing import Any

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.solvers.base import OnIteration, Solution


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
    from sklearn.model_selection import train_test_split  # slow to import

    sizes = np.bincount(codes)
    held = max(int(np.ceil(fraction * len(codes))), len(sizes))
    if sizes.min() < 2 or len(codes) - held < len(sizes):
        raise ValueError(
            "early_stopping=True holds out some rows of each class, and the rarest "
            f"class has {sizes.min()} of {len(codes)}; lower validation_fraction, drop "
            "classes of one row, or turn early_stopping off."
        )
    train, test = train_test_split(
        np.arange(len(codes)), test_size=held, stratify=codes, random_state=random_state
    )
    return np.sort(train), np.sort(test)


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

    def best(self, solution: Solution) -> Solution:
        """Return the solution with the best map in place of the last."""
        return Solution(
            self._best, solution.n_iter, solution.curve, solution.converged,
            f"best held-out score after {self._best_iteration} iterations",
        )  # fmt: skip
