"""metric-learn's module `constraints`: draws pairs, triplets and chunks."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import warn_caller
from vicinal.classic import chunklets_from_labels, nearest_triplets, pairs_from_labels
from vicinal.compat.metric_learn.base_metric import DEPRECATED, warn_renamed

__all__ = ["Constraints", "wrap_pairs"]


class Constraints:
    """Draws pairs, triplets and chunks from labels, of which some may be unknown.

    Parameters
    ----------
    partial_labels : array-like of shape (n_samples,)
        Integers, negative if unknown; or strings.

    See Also
    --------
    vicinal.classic.pairs_from_labels : The same with vicinal's parameters.

    Examples
    --------
    >>> from vicinal.compat.metric_learn import Constraints
    >>> a, b, c, d = Constraints([0, 0, 1, 1, -1]).positive_negative_pairs(2)
    >>> sorted([*a.tolist(), *b.tolist()])
    [0, 1, 2, 3]
    """

    def __init__(self, partial_labels: ArrayLike) -> None:
        self.partial_labels = _integer_labels(partial_labels)
        self._known: IntArray = np.flatnonzero(self.partial_labels >= 0)

    def positive_negative_pairs(
        self,
        n_constraints: int | None = None,
        same_length: bool = False,
        random_state: Any = None,
        num_constraints: Any = DEPRECATED,
    ) -> tuple[IntArray, IntArray, IntArray, IntArray]:
        """Draw pairs of one class, and as many of two classes.

        Parameters
        ----------
        n_constraints : int
            Number of pairs of each kind.
        same_length : bool, default=False
            Whether to cut the longer list to the length of the other.
        random_state : int, RandomState or None, default=None
            Draws the pairs.
        num_constraints : int
            The old name of n_constraints.

        Returns
        -------
        a, b, c, d : ndarray
            Indices: a and b are pairs of one class, c and d of two.
        """
        n = _renamed("num_constraints", num_constraints, n_constraints)
        if n is None:
            raise TypeError(
                "positive_negative_pairs needs n_constraints, the number of pairs of "
                "each kind."
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
        """Return the triplets of each point with neighbors of its class and of others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The points.
        k_genuine, k_impostor : int
            Number of nearest neighbors of the same class, and of other classes.

        Returns
        -------
        ndarray of shape (n_triplets, 3)
            Indices.
        """
        known = self._known
        labels = np.unique(self.partial_labels[known], return_inverse=True)[1]
        sizes = np.bincount(labels)
        for k, most, whose in (
            (k_genuine, sizes.min() - 1, "the same class"),
            (k_impostor, len(known) - sizes.max(), "other classes"),
        ):
            if k > most:
                warn_caller(
                    f"Some points have {most} neighbors of {whose}, fewer than {k}; "
                    "they have triplets with those."
                )
        points = np.asarray(X, dtype=float)[known]
        return known[nearest_triplets(points, labels, k_genuine, k_impostor)]

    def chunks(
        self,
        n_chunks: int = 100,
        chunk_size: int = 2,
        random_state: Any = None,
        num_chunks: Any = DEPRECATED,
    ) -> IntArray:
        """Draw chunks of points of one class.

        Parameters
        ----------
        n_chunks : int, default=100
            Number of chunks.
        chunk_size : int, default=2
            Number of points in each.
        random_state : int, RandomState or None, default=None
            Draws the chunks.
        num_chunks : int
            The old name of n_chunks.

        Returns
        -------
        ndarray of shape (n_samples,)
            The chunk of each point; -1 for points in none.
        """
        found = np.full(len(self.partial_labels), -1, dtype=np.intp)
        found[self._known] = chunklets_from_labels(
            self.partial_labels[self._known],
            _renamed("num_chunks", num_chunks, n_chunks) or 0,
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
        Indices a, b, c and d.

    Returns
    -------
    pairs : ndarray of shape (n_pairs, 2, n_features)
        The pairs.
    y : ndarray of shape (n_pairs,)
        1 for pairs of one class, -1 for others.

    See Also
    --------
    vicinal.compat.metric_learn.Constraints : Draws the pairs.

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


def _integer_labels(labels: ArrayLike) -> IntArray:
    """Return labels as integers. Strings, all of them known, get their rank."""
    given = np.asanyarray(labels)
    if given.dtype.kind in "OUS":
        try:
            given = given.astype(int)
        except (TypeError, ValueError):
            return np.unique(given.astype(str), return_inverse=True)[1]
    if given.dtype.kind == "f" and not np.array_equal(given, np.rint(given)):
        raise ValueError("Labels must be integers or strings, not fractions.")
    return given.astype(int)


def _renamed(old_name: str, old: Any, new: int | None) -> int | None:
    """Return the value of a parameter that may be given by its old name."""
    if isinstance(old, str) and old == DEPRECATED:
        return new
    warn_renamed(old_name)
    return int(old)
