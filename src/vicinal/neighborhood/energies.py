"""LMNN's energies of new points, whose neighbours are the points of a fit."""

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.engine import CenteredPoints, for_each_block


def hinge_energies(
    queries: FloatArray,
    points: FloatArray,
    bounds: IntArray,
    reach: FloatArray,
    n_neighbors: int,
    weights: tuple[float, float],
    n_threads: int = 1,
) -> FloatArray:
    """Return what each new point would add to LMNN's loss in each class.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_components)
        New points.
    points : ndarray of shape (n_points, n_components)
        The points of the fit, sorted by class; of the queries' type.
    bounds : ndarray of shape (n_classes + 1,)
        Where each class begins, and the end.
    reach : ndarray of shape (n_points, n_targets)
        Squared distances to target neighbours, plus the margin; −1 for nobody.
    n_neighbors : int
        Nearest points of the class whose distances count.
    weights : tuple of two floats
        Of the pulls and of the pushes.
    n_threads : int, default=1
        The result is the same for any number.

    Returns
    -------
    ndarray of shape (n_queries, n_classes)
        In float64.
    """
    from vicinal.neighborhood import impostor_kernels  # loads Numba

    pull, push = weights
    energies = np.empty((len(queries), len(bounds) - 1))
    for part, pairs in CenteredPoints.center(points).pairs_of(queries):
        found = np.empty((pairs.shape[0], len(bounds) - 1))

        def fill(block, rows, pairs=pairs, found=found):  # type: ignore[no-untyped-def]
            norms = pairs.fill(block, rows)
            impostor_kernels.energies(
                block, *norms, bounds, reach, n_neighbors, pull, push, found[rows]
            )

        for_each_block(pairs.shape, points.dtype, fill, n_threads)
        energies[part] = found
    return energies
