"""How good several maps are, judged by rows that are held out."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import centered
from vicinal.base.selection import held_out, majority, nearest_points, sample_of_classes
from vicinal.neighborhood import effective_n_threads

MOST_ROWS, N_FOLDS = 1_500, 3
# One fold, where there are more features or classes than this.
MANY_FEATURES, MANY_CLASSES = 200, 20


def hits_of_maps(
    points: FloatArray,
    codes: IntArray,
    learn: Callable[[FloatArray, IntArray], Sequence[FloatArray]],
) -> NDArray[np.bool_]:
    """Return which rows 3-NN gets right under each map that is learned without them.

    Parameters
    ----------
    points, codes
        The points, and their classes. Of many, a sample is looked at, always the same.
    learn : callable
        Returns the maps' components for points and their classes, or raises
        ValueError where these are too few.

    Returns
    -------
    ndarray of bool of shape (n_maps + 1, n_rows)
        The features as they are come last. Where nothing could be learned, there is
        one candidate and no row.
    """
    random_state = RandomState(0)
    sample = sample_of_classes(codes, MOST_ROWS, random_state)
    points, codes = centered(points[sample]).points, codes[sample]
    dear = points.shape[1] > MANY_FEATURES or codes.max() >= MANY_CLASSES
    n_threads = effective_n_threads(None)
    hits = []
    for held in held_out(codes, random_state, N_FOLDS):
        try:
            maps = learn(points[~held], codes[~held])
        except ValueError:
            continue
        mapped = [(points[held] @ A.T, points[~held] @ A.T) for A in maps]
        nearest = [
            nearest_points(queries, known, n_threads=n_threads)[0]
            for queries, known in [*mapped, (points[held], points[~held])]
        ]
        hits.append(majority(codes[~held][np.stack(nearest)]) == codes[held])
        if dear:
            break
    return np.concatenate(hits, axis=1) if hits else np.zeros((1, 0), dtype=bool)
