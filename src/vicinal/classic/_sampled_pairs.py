"""Random pairs of rows, of one class or of two."""

import numpy as np
from numpy.random import RandomState

from vicinal._typing import IntArray

# 20 for each pair of classes are as many from 10 and from 23 classes on.
FEWEST_CONSTRAINTS, MOST_CONSTRAINTS = 2_000, 10_000
# With many features fewer, but not below the second number: an iteration multiplies
# each pair with a square matrix.
AFFORDABLE, FEWEST_AFFORDABLE = 2.5e8, 1_000


def number_of_pairs(
    n_constraints: int | str, n_classes: int, n_coordinates: int
) -> int:
    """Return how many pairs to draw of one class, and as many of two."""
    if not isinstance(n_constraints, str):
        return n_constraints // 2
    wanted = max(20 * n_classes**2, FEWEST_CONSTRAINTS)
    affordable = max(int(AFFORDABLE / n_coordinates**2), FEWEST_AFFORDABLE)
    return min(wanted, MOST_CONSTRAINTS, affordable) // 2


def random_pairs(
    codes: IntArray,
    other: IntArray | None,
    n_pairs: int,
    alike: bool,
    random_state: RandomState,
) -> tuple[IntArray, IntArray]:
    """Draw pairs of rows, all such pairs equally likely, with replacement.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Classes of the rows that the first of each pair is drawn from.
    other : ndarray of shape (n_others,) or None
        Classes of the rows that the second is drawn from; None is the same rows, and
        then no row is paired with itself.
    n_pairs : int
        How many.
    alike : bool
        Whether the two shall be of one class, or else of two.
    random_state : RandomState
        Where chance comes from.

    Returns
    -------
    first, second : ndarray of shape (n_pairs,)
        Rows; both empty where there is no such pair.
    """
    second = codes if other is None else other
    order = np.argsort(second, kind="stable")
    n_classes = max(codes.max(), second.max()) + 1
    sizes = np.bincount(second, minlength=n_classes)
    starts = np.cumsum(sizes) - sizes
    # A row's number in its class, so that the draw can begin after it.
    position = np.zeros(len(codes), dtype=np.intp)
    itself = 0
    if other is None:
        position[order] = np.arange(len(order)) - starts[second[order]] + 1
        itself = 1
    start, size = starts[codes], sizes[codes]
    partners = size - itself if alike else len(second) - size
    partners = np.maximum(partners, 0)
    if not partners.any():
        nobody = np.empty(0, dtype=np.intp)
        return nobody, nobody
    rows = random_state.choice(len(codes), size=n_pairs, p=partners / partners.sum())
    drawn = (random_state.random_sample(n_pairs) * partners[rows]).astype(np.intp)
    if alike:
        within = (position[rows] + drawn) % size[rows]
        return rows, order[start[rows] + within]
    return rows, order[(start[rows] + size[rows] + drawn) % len(second)]
