"""metric-learn's module `constraints`, on the draws of vicinal."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.callers import warn_caller
from vicinal.classic import chunklets_from_labels, nearest_triplets, pairs_from_labels
from vicinal.compat.metric_learn._shared import DEPRECATED

__all__ = ["Constraints", "wrap_pairs"]


class Constraints:
    """Pairs, triplets and chunks from labels, of which some may be unknown.

    Parameters
    ----------
    partial_labels : array-like of shape (n_samples,)
        Whole numbers, of which those below 0 are unknown; or names.

    See Also
    --------
    vicinal.classic.pairs_from_labels : The same in vicinal's own names.

    Examples
    --------
    >>> from vicinal.compat.metric_learn import Constraints
    >>> a, b, c, d = Constraints([0, 0, 1, 1, -1]).positive_negative_pairs(2)
    >>> sorted([*a.tolist(), *b.tolist()])
    [0, 1, 2, 3]
    """

    def __init__(self, partial_labels: ArrayLike) -> None:
        self.partial_labels = _whole_numbers(partial_labels)

    @property
    def _known(self) -> IntArray:
        return np.flatnonzero(self.partial_labels >= 0)

    def positive_negative_pairs(
        self,
        n_constraints: int | None = None,
        same_length: bool = False,
        random_state: Any = None,
        num_constraints: Any = DEPRECATED,
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Draw pairs of one class, and as many of two.

        Parameters
        ----------
        n_constraints : int
            How many of each.
        same_length : bool, default=False
            Whether the more frequent kind is cut to the length of the other.
        random_state : int, RandomState or None, default=None
            Where chance comes from.
        num_constraints : int
            The old name of n_constraints.

        Returns
        -------
        a, b, c, d : ndarray
            Rows: a and b are pairs of one class, c and d of two.
        """
        n = _given(num_constraints, n_constraints, "num_constraints")
        if n is None:
            raise TypeError(
                "positive_negative_pairs needs n_constraints, how many pairs of each "
                "kind to draw."
            )
        known = self._known
        pairs, signs = pairs_from_labels(
            self.partial_labels[known], 2 * n, random_state=random_state
        )
        near, far = (known[pairs[signs == sign]] for sign in (1, -1))
        for found, kind in ((near, "positive"), (far, "negative")):
            if len(found) < n:
                warn_caller(f"Only generated {len(found)} {kind} constraints, not {n}.")
        if same_length:
            n = min(len(near), len(far))
            near, far = near[:n], far[:n]
        return near[:, 0], near[:, 1], far[:, 0], far[:, 1]

    def generate_knntriplets(
        self, X: ArrayLike, k_genuine: int, k_impostor: int
    ) -> IntArray:
        """Return all triplets of a point, a near one of its class and one of others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        k_genuine, k_impostor : int
            How many nearest of its own class and of others each point has.

        Returns
        -------
        ndarray of shape (n_triplets, 3)
            Rows.
        """
        known = self._known
        labels = np.unique(self.partial_labels[known], return_inverse=True)[1]
        points = np.asarray(X, dtype=float)[known]
        return known[nearest_triplets(points, labels, k_genuine, k_impostor)]

    def chunks(
        self,
        n_chunks: int = 100,
        chunk_size: int = 2,
        random_state: Any = None,
        num_chunks: Any = DEPRECATED,
    ) -> IntArray:
        """Draw chunks of rows of one class.

        Parameters
        ----------
        n_chunks : int, default=100
            How many.
        chunk_size : int, default=2
            Rows of each.
        random_state : int, RandomState or None, default=None
            Where chance comes from.
        num_chunks : int
            The old name of n_chunks.

        Returns
        -------
        ndarray of shape (n_samples,)
            The chunk of each row; -1 for rows in none.
        """
        n = _given(num_chunks, n_chunks, "num_chunks") or 0
        known = self._known
        if chunk_size < 2:
            raise ValueError(f"chunk_size must be at least 2; got {chunk_size}.")
        sizes = np.unique(self.partial_labels[known], return_counts=True)[1]
        most = int((sizes // chunk_size).sum())
        if not 1 <= n <= most:
            raise ValueError(
                f"n_chunks={n} is not possible: the classes have rows for at most "
                f"{most} chunks of {chunk_size}; ask for fewer or smaller ones."
            )
        found = np.full(len(self.partial_labels), -1, dtype=np.intp)
        found[known] = chunklets_from_labels(
            self.partial_labels[known],
            n,
            chunklet_size=chunk_size,
            random_state=random_state,
        )
        return found


def wrap_pairs(
    X: FloatArray, constraints: tuple[IntArray, IntArray, IntArray, IntArray]
) -> tuple[FloatArray, NDArray[Any]]:
    """Return pairs of points and their labels, from `positive_negative_pairs`.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    constraints : tuple of four ndarray
        Rows a, b, c and d.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2, n_features)
        The points.
    y : ndarray of shape (n_pairs,)
        1 for pairs of one class, -1 for others.

    See Also
    --------
    vicinal.compat.metric_learn.Constraints : Draws the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vicinal.compat import metric_learn
    >>> X, y = load_iris(return_X_y=True)
    >>> constraints = metric_learn.Constraints(y)
    >>> pairs, alike = metric_learn.wrap_pairs(
    ...     X, constraints.positive_negative_pairs(50, random_state=0)
    ... )
    >>> pairs.shape
    (100, 2, 4)
    """
    a, b, c, d = (np.asarray(part) for part in constraints)
    rows = np.vstack([np.column_stack([a, b]), np.column_stack([c, d])])
    return X[rows], np.repeat([1, -1], [len(a), len(c)])


def _whole_numbers(labels: ArrayLike) -> IntArray:
    """Return labels as whole numbers: names by their order, all of them known."""
    given = np.asanyarray(labels)
    if given.dtype.kind in "OUS":
        try:
            given = given.astype(int)
        except (TypeError, ValueError):
            return np.unique(given.astype(str), return_inverse=True)[1]
    if given.dtype.kind == "f" and not np.array_equal(given, np.rint(given)):
        raise ValueError("Labels are classes: whole numbers or names, not fractions.")
    return given.astype(int)


def _given(old: Any, new: int | None, name: str) -> int | None:
    if isinstance(old, str) and old == DEPRECATED:
        return new
    warn_caller(f"{name!r} has been renamed to 'n_{name[4:]}'.", FutureWarning)
    return int(old)
