"""Pairs, triplets, quadruplets and chunklets, drawn fairly over the classes."""

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import IntArray

__all__ = [
    "chunklets_from_labels",
    "pairs_from_labels",
    "quadruplets_from_labels",
    "triplets_from_labels",
]

Seed = int | RandomState | None


def pairs_from_labels(
    y: ArrayLike, n_pairs: int = 1_000, *, random_state: Seed = None
) -> tuple[IntArray, IntArray]:
    """Draw pairs of rows, half of them of one class and half of two.

    Every class is as likely as any other, whatever its size. No pair comes twice; where
    there are too few of a kind, all that a long search finds are returned.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows.
    n_pairs : int, default=1_000
        How many, at most.
    random_state : int, RandomState or None, default=None
        Where chance comes from.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        Numbers of rows, in random order.
    labels : ndarray of shape (n_pairs,)
        1 for pairs of one class, -1 for others.

    See Also
    --------
    vicinal.classic.triplets_from_labels : Draws triplets.
    vicinal.classic.ITML : Learns from pairs.

    Examples
    --------
    >>> from vicinal.classic import pairs_from_labels
    >>> pairs, labels = pairs_from_labels(["a", "a", "b", "b"], 4, random_state=0)
    >>> sorted((*pair, label) for pair, label in zip(pairs.tolist(), labels.tolist()))
    [(0, 1, 1), (0, 2, -1), (0, 3, -1), (2, 3, 1)]
    """
    draw = _Draw.of(y, n_pairs, "n_pairs", random_state)
    near = draw.distinct(draw.alike, (n_pairs + 1) // 2)
    far = draw.distinct(draw.unlike, n_pairs // 2)
    pairs = np.concatenate([near, far])
    labels = np.repeat([1, -1], [len(near), len(far)])
    order = draw.random_state.permutation(len(pairs))
    return pairs[order], labels[order]


def triplets_from_labels(
    y: ArrayLike, n_triplets: int = 1_000, *, random_state: Seed = None
) -> IntArray:
    """Draw triplets of rows: two of one class, and one of another.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows, each as likely as any other of at least two rows.
    n_triplets : int, default=1_000
        How many, at most; none comes twice.
    random_state : int, RandomState or None, default=None
        Where chance comes from.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
        Numbers of rows: the first two are of one class, the third is of another.

    See Also
    --------
    vicinal.classic.nearest_triplets : Takes those of near points.
    vicinal.classic.SCML : Learns from triplets.

    Examples
    --------
    >>> from vicinal.classic import triplets_from_labels
    >>> triplets_from_labels([0, 0, 1], 10, random_state=0).tolist()
    [[1, 0, 2], [0, 1, 2]]
    """
    draw = _Draw.of(y, n_triplets, "n_triplets", random_state)

    def drawn(n: int) -> IntArray:
        near = draw.alike(n)
        return np.column_stack([near, draw.others(near[:, 0])])

    return draw.distinct(drawn, n_triplets)


def quadruplets_from_labels(
    y: ArrayLike, n_quadruplets: int = 1_000, *, random_state: Seed = None
) -> IntArray:
    """Draw quadruplets of rows: two of one class, and two of different classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows, each as likely as any other.
    n_quadruplets : int, default=1_000
        How many, at most; none comes twice.
    random_state : int, RandomState or None, default=None
        Where chance comes from.

    Returns
    -------
    ndarray of shape (n_quadruplets, 4)
        Numbers of rows: the first two are of one class, the last two are not.

    See Also
    --------
    vicinal.classic.LSML : Learns from quadruplets.

    Examples
    --------
    >>> from vicinal.classic import quadruplets_from_labels
    >>> quadruplets_from_labels([0, 0, 1, 1], 5, random_state=0).shape
    (5, 4)
    """
    draw = _Draw.of(y, n_quadruplets, "n_quadruplets", random_state)

    def drawn(n: int) -> IntArray:
        return np.column_stack([draw.alike(n), draw.unlike(n)])

    return draw.distinct(drawn, n_quadruplets)


def chunklets_from_labels(
    y: ArrayLike,
    n_chunklets: int = 100,
    *,
    chunklet_size: int = 2,
    random_state: Seed = None,
) -> IntArray:
    """Draw chunklets: small groups of rows of one class, of which no row is in two.

    The classes take turns, in random order, as long as they have rows left.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows.
    n_chunklets : int, default=100
        How many.
    chunklet_size : int, default=2
        Rows of each.
    random_state : int, RandomState or None, default=None
        Where chance comes from.

    Returns
    -------
    ndarray of shape (n_samples,)
        The chunklet of each row, from 0; -1 for rows in none.

    See Also
    --------
    vicinal.classic.RCA : Learns from chunklets.

    Examples
    --------
    >>> from vicinal.classic import chunklets_from_labels
    >>> chunklets_from_labels([0, 0, 0, 1, 1], 2, random_state=0).tolist()
    [-1, 1, 1, 0, 0]
    """
    if chunklet_size < 2:
        raise ValueError(f"chunklet_size must be at least 2; got {chunklet_size}.")
    codes = _codes(y)
    rng: RandomState = check_random_state(random_state)
    sizes = np.bincount(codes)
    most = int((sizes // chunklet_size).sum())
    if not 1 <= n_chunklets <= most:
        raise ValueError(
            f"n_chunklets={n_chunklets} is not possible: the classes have rows for 1 "
            f"to {most} chunklets of {chunklet_size}."
        )
    # A class's rows in random order, cut into chunklets; the r-th chunklets of all
    # classes, in random order, come before the (r+1)-th.
    rows = [rng.permutation(np.flatnonzero(codes == c)) for c in range(len(sizes))]
    turns = np.concatenate([np.arange(size // chunklet_size) for size in sizes])
    owners = np.repeat(np.arange(len(sizes)), sizes // chunklet_size)
    order = np.lexsort([rng.permutation(len(turns)), turns])[:n_chunklets]
    chunklets = np.full(len(codes), -1, dtype=np.intp)
    for number, (turn, owner) in enumerate(
        zip(turns[order], owners[order], strict=True)
    ):
        start = turn * chunklet_size
        chunklets[rows[owner][start : start + chunklet_size]] = number
    return chunklets


class _Draw:
    """Random rows by class."""

    def __init__(self, codes: IntArray, random_state: RandomState) -> None:
        self.codes = codes
        self.random_state = random_state
        self.sizes = np.bincount(codes)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.order = np.argsort(codes, kind="stable")

    @classmethod
    def of(cls, y: ArrayLike, n: int, name: str, random_state: Seed) -> "_Draw":
        if n < 1:
            raise ValueError(f"{name} must be at least 1; got {n}.")
        draw = cls(_codes(y), check_random_state(random_state))
        if draw.sizes.max() < 2:
            raise ValueError("No two rows that could be paired are of one class.")
        if len(draw.sizes) < 2:
            raise ValueError("All rows are of one class: no two could be told apart.")
        return draw

    def rows(self, classes: IntArray) -> IntArray:
        """Return a row of each class that is named."""
        places = self.random_state.random_sample(len(classes)) * self.sizes[classes]
        return self.order[self.starts[classes] + places.astype(np.intp)]

    def alike(self, n: int) -> IntArray:
        """Return pairs of different rows of one class."""
        able = np.flatnonzero(self.sizes > 1)
        classes = able[self.random_state.randint(len(able), size=n)]
        size = self.sizes[classes]
        first, step = (
            self.random_state.random_sample((2, n)) * [size, size - 1]
        ).astype(np.intp)
        second = (first + 1 + step) % size
        starts = self.starts[classes]
        return np.column_stack(
            [self.order[starts + first], self.order[starts + second]]
        )

    def others(self, rows: IntArray) -> IntArray:
        """Return for each row one of another class, each class as likely as another."""
        own = self.codes[rows]
        step = self.random_state.randint(len(self.sizes) - 1, size=len(rows))
        return self.rows((own + 1 + step) % len(self.sizes))

    def unlike(self, n: int) -> IntArray:
        """Return pairs of rows of two classes."""
        first = self.rows(self.random_state.randint(len(self.sizes), size=n))
        return np.column_stack([first, self.others(first)])

    def distinct(self, draw: Callable[[int], IntArray], n: int) -> IntArray:
        """Return up to n different ones of what is drawn; of pairs in any order."""
        found = draw(0)
        for _ in range(20):
            drawn = draw(max(n, 10))
            if drawn.shape[1] == 2:
                drawn = np.sort(drawn, axis=1)
            every = np.concatenate([found, drawn])
            found = every[np.sort(np.unique(every, axis=0, return_index=True)[1])]
            if len(found) >= n:
                break
        return found[:n]


def _codes(y: ArrayLike) -> IntArray:
    labels = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"))
    check_classification_targets(labels)
    codes: IntArray = np.unique(labels, return_inverse=True)[1]
    return codes
