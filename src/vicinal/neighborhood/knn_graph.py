"""The engine with truncated sums: over each point's nearest neighbours alone.

The graph has n·k edges instead of n², held as a sparse matrix.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.sparse import csr_array

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.engine import (
    CenteredPoints,
    WeightedPairs,
    for_each_block,
)
from vicinal.neighborhood.parallel import blocks, rows_per_block, run_in_threads
from vicinal.neighborhood.rules import ClassRuns, ExpectedMatches, NeighborWeights


@dataclass(frozen=True)
class NearestLists:
    """The columns of each point's row: its nearest others, itself, one of its class.

    Attributes
    ----------
    columns : ndarray of shape (n_points, n_listed)
        The listed points of each, in ascending order: as the points are sorted by
        class, those of its own class are one run.
    own : ndarray of shape (n_points,)
        Where in its list a point finds itself.
    runs : ClassRuns
        Where in its list the run of its class starts and stops.
    """

    columns: IntArray
    own: IntArray
    runs: ClassRuns

    @classmethod
    def find(cls, points: FloatArray, classes: ClassRuns, k: int, n_jobs: int) -> Self:
        """Find the lists of k others; where none is of the point's class, one such.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_components)
            The points, sorted by class.
        classes : ClassRuns
            Their classes.
        k : int
            How many others to list, below the number of points.
        n_jobs : int
            Threads, for a tree's queries.
        """
        from sklearn.neighbors import NearestNeighbors  # slow to import

        n = len(points)
        itself = np.arange(n)[:, None]
        search = NearestNeighbors(n_neighbors=k, n_jobs=n_jobs).fit(points)
        columns = search.kneighbors(return_distance=False)
        starts, stops = classes.starts[:, None], classes.stops[:, None]
        matched = ((columns >= starts) & (columns < stops)).any(axis=1)
        # log p_i needs a match, however far. It takes the place of the farthest.
        for start in np.unique(classes.starts[~matched]):
            stop = classes.stops[start]
            lone = np.flatnonzero(~matched[start:stop]) + start
            if stop - start > 1:
                search = NearestNeighbors(n_neighbors=2).fit(points[start:stop])
                found = search.kneighbors(points[lone], return_distance=False) + start
                other = np.where(found[:, 0] == lone, found[:, 1], found[:, 0])
                columns[lone, -1] = other
        columns = np.sort(np.hstack([columns, itself]), axis=1)
        return cls(
            columns,
            np.argmax(columns == itself, axis=1),
            ClassRuns((columns < starts).sum(axis=1), (columns < stops).sum(axis=1)),
        )


def pull_nearest(
    points: FloatArray, rule: ExpectedMatches, lists: NearestLists, n_threads: int = 1
) -> WeightedPairs:
    """Weigh the listed edges alone, and return the values and L Z as `pull` does.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The projected points, sorted by class.
    rule : ExpectedMatches or LogMatches
        How distances become weights and values.
    lists : NearestLists
        The columns of each point's row.
    n_threads : int, default=1
        The result is the same for any number.
    """
    from vicinal.neighborhood import kernels  # loads Numba

    weigh = getattr(kernels, rule.kernel)
    n, k = lists.columns.shape
    # Distances come as if they were inner products of points without norms.
    nothing = np.zeros(max(n, k), dtype=points.dtype)
    weights = np.empty((n, k), dtype=points.dtype)
    values = np.empty(n, dtype=points.dtype)
    runs, masses = lists.runs, rule.masses

    def fill(block: FloatArray, rows: slice) -> None:
        kernels.gather(
            block, rows.start, lists.columns[rows], points, masses.log_offsets
        )
        weigh(
            block,
            lists.own[rows],
            nothing[rows],
            runs.starts[rows],
            runs.stops[rows],
            masses.self_log_offsets[rows],
            masses.counts[rows],
            nothing[:k],
            nothing[:k],
            *rule.reference_args[1:],
            values[rows],
        )
        weights[rows] = block

    for_each_block((n, k), points.dtype, fill, n_threads)
    ends = np.arange(0, n * k + 1, k)
    V = csr_array((weights.ravel(), lists.columns.ravel(), ends), shape=(n, n))
    degrees = V.sum(axis=1) + V.sum(axis=0)
    # L Z does not depend on the origin, but its rounding does.
    Z = CenteredPoints.center(points).Z
    return WeightedPairs(values, degrees[:, None] * Z - V @ Z - V.T @ Z)


def sorted_masses(
    points: FloatArray, masses: NeighborWeights, queries: IntArray, n_threads: int = 1
) -> FloatArray:
    """Return how much of p_i the k heaviest neighbours hold, on average over points.

    Parameters
    ----------
    points : array of shape (n_points, n_components)
        The projected points.
    masses : NeighborWeights
        What the points weigh as neighbours.
    queries : ndarray of int
        The points whose rows are computed.
    n_threads : int, default=1
        Threads.

    Returns
    -------
    ndarray of shape (n_points,)
        The mean share of p_i that the k heaviest neighbours hold, for k = 1, 2, …
    """
    held = np.zeros((len(queries), len(points)), dtype=np.float32)

    def worker() -> Callable[[int, slice], None]:
        def do(_: int, rows: slice) -> None:
            p = probabilities(points, masses, queries[rows])
            p[:] = np.sort(p, axis=1)[:, ::-1]
            held[rows] = np.cumsum(p, axis=1)

        return do

    size = rows_per_block(len(queries), 8 * len(points) * points.itemsize)
    run_in_threads(worker, blocks(slice(0, len(queries)), size), n_threads)
    mean: FloatArray = held.mean(axis=0, dtype=np.float64)
    return mean


def probabilities(
    points: FloatArray, masses: NeighborWeights, queries: IntArray
) -> FloatArray:
    """Return the rows p_i of some points, of shape (n_queries, n_points)."""
    from vicinal.neighborhood import kernels  # loads Numba

    centered = CenteredPoints.center(points)
    pairs = centered.own_pairs(queries, exact=centered.far_out)
    block = np.empty(pairs.shape, dtype=points.dtype)
    query_norms, norms = pairs.fill(block, slice(0, len(queries)))
    # What a point adds to its own sum, as `kernels._to_distances_of` has it.
    itself = masses.self_log_offsets[queries] - masses.log_offsets[queries]
    block[np.arange(len(queries)), queries] = norms[queries] - itself / 2
    sums = np.empty(len(block), dtype=block.dtype)
    kernels.normalize(block, query_norms, norms, masses.log_offsets, sums)
    return block
