"""Directions that tell classes apart in a region: the rank-one bases of SCML."""

import numpy as np
from numpy.random import RandomState
from scipy.linalg import cholesky, eigh, solve_triangular

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import class_means
from vicinal.base.selection import nearest_points
from vicinal.base.tuples import Tuples

# How many points of each class a region has; with more features, more.
SCALES, WIDE_SCALES, WIDE = (10, 20), (20, 50), 50
# What is added to a region's scatter within classes, relative to the total variance.
SHRINKAGE = 0.1


def local_discriminants(
    X: FloatArray, codes: IntArray, n_basis: int, random_state: RandomState
) -> FloatArray:
    """Return directions by discriminant analysis in random regions, of length 1.

    A region is a point and those nearest to it in each class, at two scales (section 3
    of Shi, Bellet and Sha).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points, float64.
    codes : ndarray of shape (n_samples,)
        Their classes, as integers from 0.
    n_basis : int
        How many directions.
    random_state : RandomState
        For the regions' centres.

    Returns
    -------
    ndarray of shape (n_basis, n_features)
        Or fewer, where regions give no more.
    """
    n_classes = int(codes.max()) + 1
    per_region = min(n_classes - 1, X.shape[1])
    scales = WIDE_SCALES if X.shape[1] > WIDE else SCALES
    n_regions = -(-n_basis // (len(scales) * per_region))
    centers = random_state.choice(len(X), min(n_regions, len(X)), replace=False)
    members = [np.flatnonzero(codes == c) for c in range(n_classes)]
    nearest = []
    for rows in members:
        k = min(max(scales), len(rows))
        nearest.append(rows[nearest_points(X[centers], X[rows], k)[0]])
    found = []
    for scale in scales:
        for region in range(len(centers)):
            rows = np.concatenate([near[region, :scale] for near in nearest])
            found.append(_discriminants(X[rows], codes[rows], per_region))
    return _unit_rows(np.vstack(found))[:n_basis]


def triplet_discriminants(
    triplets: Tuples, n_basis: int, random_state: RandomState
) -> FloatArray:
    """Return directions along which random triplets have their far points apart.

    The main eigenvectors of the scatter of first and third points, measured by that of
    first and second ones, both over a random part of the triplets.

    Parameters
    ----------
    triplets : Tuples
        The triplets.
    n_basis : int
        How many directions.
    random_state : RandomState
        For the parts.
    """
    n_features = triplets.points.shape[1]
    size = min(len(triplets), max(2 * n_features, 50))
    # The leading few of each part, so that there are many parts.
    each = min(n_features, max(1, n_features // 4))
    found = []
    for _ in range(-(-n_basis // each)):
        part = triplets.subset(random_state.choice(len(triplets), size, replace=False))
        near, far = (part.differences(0, place).scatter() for place in (1, 2))
        ridge = SHRINKAGE * (float(np.trace(near + far)) / (2 * n_features) or 1.0)
        near[np.diag_indices(n_features)] += ridge
        _, axes = eigh(far, near, subset_by_index=[n_features - each, n_features - 1])
        found.append(axes.T[::-1])
    return _unit_rows(np.vstack(found))[:n_basis]


def _discriminants(X: FloatArray, codes: IntArray, d: int) -> FloatArray:
    """Return the main directions of S_b v = λ S_w v, with S_w drawn to the identity."""
    means = class_means(X, codes)
    residuals = X - means[codes]
    within = residuals.T @ residuals / len(X)
    counts = np.bincount(codes)
    apart = np.sqrt(counts / len(X))[:, None] * (means - X.mean(axis=0))
    ridge = SHRINKAGE * float(np.square(X - X.mean(axis=0)).sum(axis=1).mean())
    if not ridge:
        return np.empty((0, X.shape[1]))
    within[np.diag_indices(len(within))] += ridge / len(within)
    factor = cholesky(within, lower=True)
    axes = np.linalg.svd(
        solve_triangular(factor, apart.T, lower=True), full_matrices=False
    )[0]
    rows: FloatArray = solve_triangular(factor, axes[:, :d], lower=True, trans="T").T
    return rows


def _unit_rows(rows: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(rows, axis=1)
    kept = lengths > 1e-12 * lengths.max(initial=0)
    scaled: FloatArray = rows[kept] / lengths[kept, None]
    return scaled
