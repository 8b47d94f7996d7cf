"""DANN's metrics, one for each query: stacks of small matrices at a time."""

import numpy as np

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.threads import blocks, run_in_threads

# Where the neighbours of each class are one point, this part of their whole spread
# stands for that within the classes.
_LEAST = 1e-3


def local_roots(
    points: FloatArray,
    onehot: FloatArray,
    neighbors: IntArray,
    distances: FloatArray,
    epsilon: float,
    shrinkage: float,
) -> FloatArray:
    """Return roots R of each query's metric Σ = W^(−½) (B* + ε I) W^(−½) = R Rᵀ.

    W and B are the covariances within and between the classes of the query's
    neighbours, which weigh less the farther they are, and B* = W^(−½) B W^(−½) (eq. 9
    of Hastie and Tibshirani). The metrics have a trace of their size, so that their
    scale says nothing.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_dimensions)
        The training points.
    onehot : ndarray of shape (n_points, n_classes)
        Indicators of their classes.
    neighbors : ndarray of shape (n_queries, n_neighbors)
        Numbers of points.
    distances : ndarray of shape (n_queries, n_neighbors)
        How far they are from the query, under its metric so far; not squared.
    epsilon : float
        ε: what keeps neighbourhoods round.
    shrinkage : float
        How far W is drawn to a round one, from 0 to 1.

    Returns
    -------
    ndarray of shape (n_queries, n_dimensions, n_dimensions)
    """
    # Tricube weights: smooth, and 0 from the farthest neighbour on.
    reach = distances.max(axis=1, keepdims=True)
    relative = np.divide(
        distances, reach, out=np.zeros_like(distances), where=reach > 0
    )
    weights = (1 - 0.999 * relative**3) ** 3
    weights /= weights.sum(axis=1, keepdims=True)
    near = points[neighbors]
    near = near - (weights[:, :, None] * near).sum(axis=1, keepdims=True)
    votes = weights[:, :, None] * onehot[neighbors]
    shares = votes.sum(axis=1)
    sums = np.matmul(votes.transpose(0, 2, 1), near)
    means = sums / np.maximum(shares, np.finfo(points.dtype).tiny)[:, :, None]
    between = np.matmul(sums.transpose(0, 2, 1), means)
    total = np.matmul(near.transpose(0, 2, 1), weights[:, :, None] * near)
    within = total - between
    diagonal = np.arange(points.shape[1])
    size = within[:, diagonal, diagonal].mean(axis=1)
    overall = total[:, diagonal, diagonal].mean(axis=1)
    size = np.maximum(size, np.where(overall > 0, _LEAST * overall, 1.0))
    within *= 1 - shrinkage
    within[:, diagonal, diagonal] += shrinkage * size[:, None]
    values, axes = np.linalg.eigh(within)
    # Rounding may leave less; without shrinkage, there may be no spread in a direction.
    least = (0.1 * shrinkage or 100 * np.finfo(points.dtype).eps) * size[:, None]
    white = axes / np.sqrt(np.maximum(values, least))[:, None, :]
    whitened = np.matmul(np.matmul(white.transpose(0, 2, 1), between), white)
    values, axes = np.linalg.eigh(whitened)
    stretch = np.sqrt(np.maximum(values, 0) + epsilon)
    roots: FloatArray = np.matmul(white, axes * stretch[:, None, :])
    trace = np.square(roots).sum(axis=(1, 2))[:, None, None]
    return roots * np.sqrt(points.shape[1] / trace)


def nearest_under(
    queries: FloatArray, points: FloatArray, roots: FloatArray, k: int, n_threads: int
) -> tuple[IntArray, FloatArray]:
    """Return each query's k nearest points under its own metric, and their distances.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_dimensions)
        Around what to look.
    points : ndarray of shape (n_points, n_dimensions)
        What can be found.
    roots : ndarray of shape (n_queries, n_dimensions, n_dimensions)
        R of ‖(x − q) R‖.
    k : int
        How many.
    n_threads : int
        The result is the same for any number.

    Returns
    -------
    numbers, distances : ndarray of shape (n_queries, k)
        The nearest first; of equally near ones, the first.
    """
    numbers = np.empty((len(queries), k), dtype=np.intp)
    distances = np.empty((len(queries), k), dtype=points.dtype)

    def search(_: int, rows: slice) -> None:
        for q in range(rows.start, rows.stop):
            gaps = (points - queries[q]) @ roots[q]
            squares = np.einsum("ij,ij->i", gaps, gaps)
            found = np.arange(len(points))
            if k < len(points):
                bound = np.partition(squares, k - 1)[k - 1]
                found = np.flatnonzero(squares <= bound)
            order = np.argsort(squares[found], kind="stable")[:k]
            numbers[q] = found[order]
            distances[q] = np.sqrt(squares[found[order]])

    run_in_threads(lambda: search, blocks(slice(0, len(queries)), 8), n_threads)
    return numbers, distances
