"""Wide tables whose features have units of very different sizes.

The Gram matrix X Xᵀ has squares of the units in it: features whose unit is ten million
times smaller than others' are lost in its rounding.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh, svd

from vicinal._typing import FloatArray
from vicinal.base.whitening import rounding

# Of units that are nearer to each other than this, products lose nothing.
ALIKE = 1e-3


def rank_in_own_units(
    points: FloatArray, X: FloatArray, unit: float, negligible: float
) -> int:
    """Return how many directions rows vary in, with each feature in a unit of its own.

    Parameters
    ----------
    points : ndarray of shape (n_samples, n_features)
        The rows around their mean, divided by the unit.
    X : ndarray of shape (n_samples, n_features)
        The rows as they are; how large they are tells what rounding is.
    unit : float
        What the points were divided by.
    negligible : float
        What part of the largest variance is rounding.

    Returns
    -------
    int
        0 also where the units differ too little for anything to be lost.
    """
    sizes = np.abs(points).max(axis=0, initial=0).astype(np.float64)
    varying = sizes > rounding(X) / unit
    if not varying.any() or sizes[varying].min() > ALIKE * sizes.max():
        return 0
    scaled = points[:, varying] / sizes[varying]
    scaled -= scaled.mean(axis=0)
    variances = eigvalsh(scaled @ scaled.T)
    return int(np.count_nonzero(variances > negligible * variances[-1]))


def principal_axes(points: FloatArray, rank: int) -> NDArray[np.float64]:
    """Return at most so many orthonormal rows that the points vary along, in order.

    By the points themselves rather than by their products: half as many digits are
    lost to what is large.
    """
    wide = points.astype(np.float64)
    wide -= wide.mean(axis=0)
    _, sizes, axes = svd(wide, full_matrices=False)
    seen = sizes > max(wide.shape) * np.finfo(np.float64).eps * sizes[0]
    found: NDArray[np.float64] = axes[: min(rank, np.count_nonzero(seen))]
    return found
