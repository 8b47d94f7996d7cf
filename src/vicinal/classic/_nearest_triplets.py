"""Triplets of near points: for each point, near ones of its class and of others."""

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.base.selection import nearest_points
from vicinal.neighborhood import effective_n_threads


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
        How many nearest of its own class, and of all others, each point has; fewer
        where there are fewer. A class of one has no triplets.

    Returns
    -------
    ndarray of shape (n_triplets, 3)
        Rows, ordered by class, then by the first of the three.

    See Also
    --------
    vicinal.classic.triplets_from_labels : Draws them by chance.

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
    n = effective_n_threads(None)
    for c in range(int(codes.max()) + 1):
        own, other = np.flatnonzero(codes == c), np.flatnonzero(codes != c)
        k, m = min(n_near, len(own) - 1), min(n_far, len(other))
        if k < 1 or m < 1:
            continue
        positions = np.arange(len(own))
        alike = own[nearest_points(X[own], X[own], k, own=positions, n_threads=n)[0]]
        unlike = other[nearest_points(X[own], X[other], m, n_threads=n)[0]]
        shape = (len(own), k, m)
        parts = (own[:, None, None], alike[:, :, None], unlike[:, None, :])
        found.append(
            np.stack([np.broadcast_to(part, shape) for part in parts], axis=-1).reshape(
                -1, 3
            )
        )
    return np.concatenate(found)
