"""Pairs, triplets, quadruplets and chunklets of rows, drawn from labels."""

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from vicinal._typing import FloatArray, IntArray
from vicinal.base.selection import nearest_points
from vicinal.neighborhood import effective_n_threads

Seed = int | RandomState | None


def pairs_from_labels(
    y: ArrayLike, n_pairs: int = 1_000, *, random_state: Seed = None
) -> tuple[IntArray, IntArray]:
    """Draw pairs of rows, half of the same class and half of different classes.

    All classes are equally likely, whatever their size. The pairs are distinct; if
    there are too few of a kind, the result is shorter.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows.
    n_pairs : int, default=1_000
        Maximum number of pairs.
    random_state : int, RandomState or None, default=None
        Random number generator; pass an int for reproducible results.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2)
        Row indices, in random order.
    labels : ndarray of shape (n_pairs,)
        1 for pairs of the same class, -1 for others.

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
    sampler = _ClassSampler(y, n_pairs, "n_pairs", random_state)
    near = sampler.distinct(sampler.same_class, (n_pairs + 1) // 2)
    far = sampler.distinct(sampler.different_classes, n_pairs // 2)
    pairs = np.concatenate([near, far])
    labels = np.repeat([1, -1], [len(near), len(far)])
    order = sampler.random_state.permutation(len(pairs))
    return pairs[order], labels[order]


def triplets_from_labels(
    y: ArrayLike, n_triplets: int = 1_000, *, random_state: Seed = None
) -> IntArray:
    """Draw triplets of rows: two of the same class and one of another class.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows. All classes of at least two rows are equally likely.
    n_triplets : int, default=1_000
        Maximum number of triplets; they are distinct.
    random_state : int, RandomState or None, default=None
        Random number generator; pass an int for reproducible results.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
        Row indices: the first two are of the same class, the third is of another.

    See Also
    --------
    vicinal.classic.nearest_triplets : Triplets of near points.
    vicinal.classic.SCML : Learns from triplets.

    Examples
    --------
    >>> from vicinal.classic import triplets_from_labels
    >>> triplets_from_labels([0, 0, 1], 10, random_state=0).tolist()
    [[1, 0, 2], [0, 1, 2]]
    """
    sampler = _ClassSampler(y, n_triplets, "n_triplets", random_state)

    def draw(n: int) -> IntArray:
        near = sampler.same_class(n)
        return np.column_stack([near, sampler.others(near[:, 0])])

    return sampler.distinct(draw, n_triplets)


def quadruplets_from_labels(
    y: ArrayLike, n_quadruplets: int = 1_000, *, random_state: Seed = None
) -> IntArray:
    """Draw quadruplets of rows: two of the same class and two of different classes.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows; all classes are equally likely.
    n_quadruplets : int, default=1_000
        Maximum number of quadruplets; they are distinct.
    random_state : int, RandomState or None, default=None
        Random number generator; pass an int for reproducible results.

    Returns
    -------
    ndarray of shape (n_quadruplets, 4)
        Row indices: the first two are of the same class, the last two are not.

    See Also
    --------
    vicinal.classic.LSML : Learns from quadruplets.

    Examples
    --------
    >>> from vicinal.classic import quadruplets_from_labels
    >>> quadruplets_from_labels([0, 0, 1, 1], 5, random_state=0).shape
    (5, 4)
    """
    sampler = _ClassSampler(y, n_quadruplets, "n_quadruplets", random_state)

    def draw(n: int) -> IntArray:
        return np.column_stack([sampler.same_class(n), sampler.different_classes(n)])

    return sampler.distinct(draw, n_quadruplets)


def chunklets_from_labels(
    y: ArrayLike,
    n_chunklets: int = 100,
    *,
    chunklet_size: int = 2,
    random_state: Seed = None,
) -> IntArray:
    """Draw chunklets: disjoint small groups of rows of the same class.

    The classes take turns, in random order, as long as they have rows left.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The classes of the rows.
    n_chunklets : int, default=100
        Number of chunklets.
    chunklet_size : int, default=2
        Number of rows of each chunklet.
    random_state : int, RandomState or None, default=None
        Random number generator; pass an int for reproducible results.

    Returns
    -------
    ndarray of shape (n_samples,)
        The chunklet of each row, from 0; -1 for rows in no chunklet.

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
        raise ValueError(f"A chunk has at least 2 points; got {chunklet_size}.")
    codes = _codes(y)
    rng: RandomState = check_random_state(random_state)
    sizes = np.bincount(codes)
    per_class = sizes // chunklet_size
    if not 1 <= n_chunklets <= per_class.sum():
        raise ValueError(
            f"{n_chunklets} chunks of {chunklet_size} points are not possible: the "
            f"classes have rows for 1 to {per_class.sum()}."
        )
    # Each class is shuffled and cut into chunklets. The r-th chunklets of all classes,
    # in random order, come before the (r+1)-th.
    rows = [rng.permutation(np.flatnonzero(codes == c)) for c in range(len(sizes))]
    turns = np.concatenate([np.arange(n) for n in per_class])
    owners = np.repeat(np.arange(len(sizes)), per_class)
    order = np.lexsort([rng.permutation(len(turns)), turns])[:n_chunklets]
    chunklets = np.full(len(codes), -1, dtype=np.intp)
    for number, place in enumerate(order):
        start = turns[place] * chunklet_size
        chunklets[rows[owners[place]][start : start + chunklet_size]] = number
    return chunklets


def nearest_triplets(
    X: FloatArray, codes: IntArray, n_near: int, n_far: int
) -> IntArray:
    """Return all triplets of a point, a near one of its class, and one of another.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0.
    n_near, n_far : int
        Number of nearest points of the same class, and of all other classes, for each
        point; fewer if there are fewer. A class of one row has no triplets.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
        Row indices, ordered by class, then by the first of the three.

    See Also
    --------
    vicinal.classic.triplets_from_labels : Draws random triplets.

    Examples
    --------
    >>> import numpy as np
    >>> from vicinal.classic import nearest_triplets
    >>> X = np.array([[0.0], [1.0], [5.0], [6.0]])
    >>> nearest_triplets(X, np.array([0, 0, 1, 1]), n_near=1, n_far=1)
    array([[0, 1, 2],
           [1, 0, 2],
           [2, 3, 1],
           [3, 2, 1]])
    """
    found = [np.empty((0, 3), dtype=np.intp)]
    n_threads = effective_n_threads(None)
    for c in range(int(codes.max()) + 1):
        own, other = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
        k, m = min(n_near, len(own) - 1), min(n_far, len(other))
        if k < 1 or m < 1:
            continue
        itself = np.arange(len(own))
        near = nearest_points(X[own], X[own], k, own=itself, n_threads=n_threads)[0]
        far = nearest_points(X[own], X[other], m, n_threads=n_threads)[0]
        first, second = np.repeat(own, k * m), np.repeat(own[near].ravel(), m)
        third = np.repeat(other[far], k, axis=0).ravel()
        found.append(np.column_stack([first, second, third]))
    return np.concatenate(found)


def default_n_pairs(n_constraints: int | str, n_classes: int, n_features: int) -> int:
    """Return the number of pairs to draw of each kind, half of `n_constraints`.

    n_constraints="auto" is 20 c² for c classes, as in Davis et al., but at least 2,000
    and at most 10,000. An iteration multiplies each pair with a square matrix, so that
    "auto" is bounded by 2.5e8 / n_features², but not below 1,000.
    """
    if not isinstance(n_constraints, str):
        return n_constraints // 2
    wanted = min(max(20 * n_classes**2, 2_000), 10_000)
    return min(wanted, max(int(2.5e8 / n_features**2), 1_000)) // 2


def random_pairs(
    codes: IntArray,
    other: IntArray | None,
    n_pairs: int,
    same: bool,
    random_state: RandomState,
) -> tuple[IntArray, IntArray]:
    """Draw pairs of rows, all such pairs equally likely, with replacement.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Classes of the rows that the first of each pair is drawn from.
    other : ndarray of shape (n_others,) or None
        Classes of the rows that the second is drawn from. None is the same rows, and
        then no row is paired with itself.
    n_pairs : int
        Number of pairs.
    same : bool
        Whether the two rows are of the same class or of different classes.
    random_state : RandomState
        Random number generator.

    Returns
    -------
    first, second : ndarray of shape (n_pairs,)
        Row indices; both are empty if there is no such pair.
    """
    second = codes if other is None else other
    order = np.argsort(second, kind="stable")
    sizes = np.bincount(second, minlength=max(codes.max(), second.max()) + 1)
    starts = np.cumsum(sizes) - sizes
    start, size = starts[codes], sizes[codes]
    # The position after a row in its class: drawing begins there, to skip the row.
    after = np.zeros(len(codes), dtype=np.intp)
    if other is None:
        after[order] = np.arange(len(order)) - starts[second[order]] + 1
    partners = size - (other is None) if same else len(second) - size
    if not partners.any():
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    rows = random_state.choice(len(codes), size=n_pairs, p=partners / partners.sum())
    drawn = (random_state.random_sample(n_pairs) * partners[rows]).astype(np.intp)
    if same:
        return rows, order[start[rows] + (after[rows] + drawn) % size[rows]]
    return rows, order[(start[rows] + size[rows] + drawn) % len(second)]


class _ClassSampler:
    """Draws rows, with all classes equally likely."""

    def __init__(self, y: ArrayLike, n: int, name: str, random_state: Seed) -> None:
        if n < 1:
            raise ValueError(f"{name} must be at least 1; got {n}.")
        self.codes = _codes(y)
        self.random_state: RandomState = check_random_state(random_state)
        self.sizes = np.bincount(self.codes)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.order = np.argsort(self.codes, kind="stable")
        if self.sizes.max() < 2:
            raise ValueError("No two rows that could be paired are of one class.")
        if len(self.sizes) < 2:
            raise ValueError("All rows are of one class: no two could be told apart.")

    def _rows(self, classes: IntArray) -> IntArray:
        """Draw a row of each given class."""
        places = self.random_state.random_sample(len(classes)) * self.sizes[classes]
        return self.order[self.starts[classes] + places.astype(np.intp)]

    def same_class(self, n: int) -> IntArray:
        """Draw pairs of different rows of the same class."""
        able = np.flatnonzero(self.sizes > 1)
        classes = able[self.random_state.randint(len(able), size=n)]
        size = self.sizes[classes]
        uniform = self.random_state.random_sample((2, n))
        first, step = (uniform * [size, size - 1]).astype(np.intp)
        places = np.column_stack([first, (first + 1 + step) % size])
        return self.order[self.starts[classes][:, None] + places]

    def others(self, rows: IntArray) -> IntArray:
        """Draw a row of another class for each given row."""
        step = self.random_state.randint(len(self.sizes) - 1, size=len(rows))
        return self._rows((self.codes[rows] + 1 + step) % len(self.sizes))

    def different_classes(self, n: int) -> IntArray:
        """Draw pairs of rows of different classes."""
        first = self._rows(self.random_state.randint(len(self.sizes), size=n))
        return np.column_stack([first, self.others(first)])

    def distinct(self, draw: Callable[[int], IntArray], n: int) -> IntArray:
        """Draw up to n distinct tuples; pairs are distinct in any order."""
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
    return np.unique(labels, return_inverse=True)[1]
