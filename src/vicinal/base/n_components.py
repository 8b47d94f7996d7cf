"""How many dimensions a learned map needs."""

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.base.knn_vote import leave_one_out_hits, path_of_dimensions

_ENOUGH_POINTS = 10_000


def checked_n_components(
    asked: int | None, most: int, of_what: str, otherwise: str = "None for all"
) -> int:
    """Return how many components to learn: what was asked for, or else the most.

    Parameters
    ----------
    asked : int or None
        What the user gave.
    most : int
        How many there can be.
    of_what, otherwise : str
        Of what there are no more, and what else could be given.
    """
    if asked is not None and asked > most:
        raise ValueError(
            f"n_components={asked} is more than {of_what}; choose at most {most}, or "
            f"{otherwise}."
        )
    return asked or most


def ordered_by_size(components: FloatArray) -> FloatArray:
    """Turn a map so that its rows are ordered by their singular values.

    The distances stay as they are: A = U S Vᵀ, and S Vᵀ is as good a map.
    """
    _, sizes, axes = np.linalg.svd(components, full_matrices=False)
    turned: FloatArray = sizes[:, None] * axes
    return turned


def enough_components(
    X: FloatArray, codes: IntArray, components: FloatArray, n_neighbors: int = 3
) -> int:
    """Return the least number of leading rows that do as well as any, leaving one out.

    "As well" is within one standard error of the best accuracy: without that, noise
    would decide between numbers that do not differ. Of many points every so-many-th is
    looked at.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    codes : ndarray of shape (n_samples,)
        Their classes.
    components : ndarray of shape (n_components, n_features)
        A map with rows in the order of their importance.
    n_neighbors : int, default=3
        The k of k-NN.
    """
    step = -(-len(X) // _ENOUGH_POINTS)
    X, codes = X[::step], codes[::step]
    candidates = path_of_dimensions(len(components))
    k = min(n_neighbors, len(X) - 1)
    Z = X @ components.T
    accuracies = leave_one_out_hits(Z, codes, k, dimensions=candidates).mean(axis=1)
    best = float(accuracies.max())
    error = np.sqrt(best * (1 - best) / len(X))
    return candidates[int((accuracies >= best - error).argmax())]
