"""Impostors: points of other classes that are nearer than a radius, in sparse lists.

Found exactly, a block of rows at a time; no n×n array is held.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.neighborhood.engine import CenteredPoints, for_each_block
from vicinal.neighborhood.parallel import ReproducibleSum, blocks, run_in_threads
from vicinal.neighborhood.rules import ClassRuns

# Rows at which the number of impostors is estimated, before they are listed.
_SAMPLE = 512
# The sums over lists have a term of the points' size for each part.
_PARTS = 8


@dataclass(frozen=True)
class Impostors:
    """The listed impostors of some points.

    Attributes
    ----------
    ends : ndarray of shape (n_queries + 1,)
        Where each query's list begins, and the end of the last.
    columns : ndarray of int32
        The numbers of the points listed.
    share : float
        Which part of all impostors is listed: 1, unless there were too many.
    """

    ends: NDArray[np.int64]
    columns: NDArray[np.int32]
    share: float = 1.0

    @classmethod
    def find(
        cls,
        points: FloatArray,
        classes: ClassRuns,
        queries: IntArray,
        radii: FloatArray,
        most: int,
        n_threads: int = 1,
    ) -> "Impostors":
        """List the points of other classes within a squared distance of each query.

        Parameters
        ----------
        points : ndarray of shape (n_points, n_components)
            Sorted by class.
        classes : ClassRuns
            Their classes.
        queries : ndarray of int
            Numbers of points, without repeats.
        radii : ndarray of shape (n_queries,)
            Squared distances.
        most : int
            How many to list, about: where there are more, a part of them is drawn,
            always the same, and `share` says which.
        n_threads : int, default=1
            The result is the same for any number.
        """
        share = 1.0
        if len(queries) * len(points) > most:
            sample = np.unique(np.linspace(0, len(queries) - 1, _SAMPLE).astype(int))
            counts = _search(
                points, classes, queries[sample], radii[sample], None, n_threads
            )[0]
            expected = float(counts.mean()) * len(queries)
            share = min(1.0, most / max(expected, 1.0))
        counts, columns = _search(points, classes, queries, radii, share, n_threads)
        return cls(np.concatenate([[0], np.cumsum(counts)]), columns, share)


def _search(
    points: FloatArray,
    classes: ClassRuns,
    queries: IntArray,
    radii: FloatArray,
    share: float | None,
    n_threads: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return how many impostors each query has, and which; None counts them only."""
    from vicinal.neighborhood import impostor_kernels  # loads Numba

    centered = CenteredPoints.center(points)
    radii = radii.astype(points.dtype)
    kept = np.uint64(2**32 if share is None else round(share * 2**32))
    counts = np.zeros(len(queries), dtype=np.int64)
    pairs = centered.own_pairs(queries, centered.far_out)
    lists: dict[int, NDArray[np.int32]] = {}

    def fill(block: FloatArray, rows: slice) -> None:
        own = queries[rows]
        norms = pairs.fill(block, rows)
        of_class = classes.starts[own], classes.stops[own]
        impostor_kernels.count_within(
            block, *norms, radii[rows], *of_class, counts[rows]
        )
        if share is not None:
            columns = np.empty(int(counts[rows].sum()), dtype=np.int32)
            n = impostor_kernels.list_within(
                block, own, radii[rows], *of_class, kept, counts[rows], columns
            )
            lists[rows.start] = columns[:n].copy() if n < len(columns) else columns

    for_each_block(pairs.shape, points.dtype, fill, n_threads)
    found = [lists[start] for start in sorted(lists)]
    return counts, np.concatenate(found) if found else np.empty(0, dtype=np.int32)


def pull_hinges(
    points: FloatArray,
    queries: IntArray,
    targets: NDArray[np.int32],
    impostors: Impostors,
    weights: tuple[float, float],
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Return LMNN's loss of each query, and L Z of the graph of its edges.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_components)
        The projected points.
    queries : ndarray of int
        Whose terms are summed.
    targets : ndarray of shape (n_queries, n_neighbors)
        Their target neighbours; −1 is nobody.
    impostors : Impostors
        Of the queries.
    weights : tuple of two floats
        Of the pulls and of the pushes.
    n_threads : int, default=1
        The result is the same for any number.

    Returns
    -------
    values : ndarray of shape (n_queries,)
        In float64.
    laplacian_product : ndarray of the points' shape
    """
    from vicinal.neighborhood import impostor_kernels  # loads Numba

    values = np.empty(len(queries))
    total = ReproducibleSum(np.zeros_like(points))
    pull, push = weights

    def add_up(position: int, rows: slice) -> None:
        term = total.buffer()
        term[:] = 0
        impostor_kernels.hinges(
            points,
            queries[rows],
            targets[rows],
            impostors.ends[rows.start : rows.stop + 1],
            impostors.columns,
            1.0,
            pull,
            push / impostors.share,
            values[rows],
            term,
        )
        total.add(position, term)

    size = max(1, -(-len(queries) // _PARTS))
    parts = blocks(slice(0, len(queries)), size)
    run_in_threads(lambda: add_up, parts, n_threads)
    return values, total.total
