"""Choices on labelled rows: folds, numbers of components, votes of neighbors."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import unit_of
from vicinal.neighborhood.threads import blocks, rows_per_block, run_in_threads


def sample_of_classes(
    codes: IntArray, n_rows: int, random_state: RandomState
) -> IntArray:
    """Return so many row numbers or a few more, ascending, some of every class.

    Each class gives its share, and two rows at least, as far as it has them.
    """
    n = len(codes)
    if n <= n_rows:
        return np.arange(n)
    chosen = []
    for j in range(codes.max() + 1):
        rows = np.flatnonzero(codes == j)
        share_of_class = max(2, round(n_rows * len(rows) / n))
        chosen.append(random_state.permutation(rows)[:share_of_class])
    return np.sort(np.concatenate(chosen))


def held_out(
    codes: IntArray, random_state: RandomState, n_folds: int = 5
) -> Iterator[NDArray[np.bool_]]:
    """Yield which rows are held out in each fold, each class as even as it can be.

    The last that is left of a class is never held out, and no fold is empty.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

    sizes = np.bincount(codes)
    n_folds = min(n_folds, len(codes))
    if n_folds < 2:
        return
    # Classes that are all smaller than that cannot be shared out evenly.
    kind = StratifiedKFold if sizes.max() >= n_folds else KFold
    folds = kind(n_folds, shuffle=True, random_state=random_state)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The least populated class")
        split = list(folds.split(codes, codes))
    for _, rows in split:
        held = np.zeros(len(codes), dtype=bool)
        held[rows] = True
        held &= np.bincount(codes[~held], minlength=len(sizes))[codes] > 0
        if held.any():
            yield held


def nearest_points(
    queries: FloatArray,
    points: FloatArray,
    n_neighbors: int = 3,
    *,
    own: IntArray | None = None,
    dimensions: Sequence[int] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Find the nearest points of each query, in each of several leading dimensions.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_dimensions)
        Around what to look.
    points : ndarray of shape (n_points, n_dimensions)
        What can be found.
    n_neighbors : int, default=3
        How many; fewer where there are not so many points.
    own : ndarray of shape (n_queries,) or None
        The number that each query has among the points, where it has one: a point is
        not its own neighbour.
    dimensions : sequence of int or None
        How many leading columns to measure distances in, ascending; None is all of
        them. Each costs only what it adds to the one before.
    n_threads : int, default=1
        The result is the same for any number.

    Returns
    -------
    ndarray of shape (n_of_dimensions, n_queries, n_neighbors)
        Numbers of points, nearest first; of equally near ones, the first.
    """
    wanted = [points.shape[1]] if dimensions is None else list(dimensions)
    middle = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    points, queries = points - middle, queries - middle
    # A power of two, in which squares neither overflow nor vanish, changes no order.
    unit = max(unit_of(points), unit_of(queries))
    points, queries = points / unit, queries / unit
    k = min(n_neighbors, len(points) - (own is not None))
    found = np.empty((len(wanted), len(queries), k), dtype=np.int32)

    def search(_: int, rows: slice) -> None:
        # ‖x‖² − 2 xᵀq: the norm of the query is the same for all of its row.
        distances = np.zeros((rows.stop - rows.start, len(points)), points.dtype)
        if own is not None:
            distances[np.arange(len(distances)), own[rows]] = np.inf
        before = 0
        for nearest, d in zip(found, wanted, strict=True):
            more = points[:, before:d]
            distances += np.einsum("ij,ij->i", more, more)
            distances -= (2 * queries[rows, before:d]) @ more.T
            nearest[rows] = _smallest(distances, k)
            before = d

    size = rows_per_block(len(queries), len(points) * points.itemsize)
    run_in_threads(lambda: search, blocks(slice(0, len(queries)), size), n_threads)
    return found


def majority(votes: NDArray[Any]) -> NDArray[Any]:
    """Return what most of the last axis say; of equals, who comes first.

    Parameters
    ----------
    votes : ndarray of shape (..., n_voters)
        Classes of the neighbours, nearest first.
    """
    counts = (votes[..., :, None] == votes[..., None, :]).sum(axis=-1)
    first = counts.argmax(axis=-1)[..., None]
    winners: NDArray[Any] = np.take_along_axis(votes, first, axis=-1)[..., 0]
    return winners


def leave_one_out_hits(
    Z: FloatArray,
    codes: IntArray,
    n_neighbors: int = 3,
    *,
    rows: IntArray | None = None,
    dimensions: Sequence[int] | None = None,
    n_threads: int = 1,
) -> NDArray[np.bool_]:
    """Return whether k-NN over the other points tells the class of a point.

    Parameters
    ----------
    Z : ndarray of shape (n_points, n_dimensions)
        Mapped points, two at least.
    codes : ndarray of shape (n_points,)
        Their classes.
    n_neighbors : int, default=3
        k.
    rows : ndarray of int or None
        The points to leave out, one by one; None is all.
    dimensions, n_threads
        As for `nearest_points`.

    Returns
    -------
    ndarray of bool of shape (n_of_dimensions, n_rows)
    """
    rows = np.arange(len(Z)) if rows is None else rows
    nearest = nearest_points(
        Z[rows], Z, n_neighbors, own=rows, dimensions=dimensions, n_threads=n_threads
    )
    hits: NDArray[np.bool_] = majority(codes[nearest]) == codes[rows]
    return hits


def path_of_dimensions(most: int) -> list[int]:
    """Return dimensions from 1 to the most: all of the first 16, then fewer and fewer.

    Each is at most a tenth larger than the one before, or so.
    """
    grown = [16 * 1.1**i for i in range(1, 200) if 16 * 1.1**i < most]
    return sorted({*range(1, min(most, 16) + 1), *map(round, grown), most})


def first_as_good(hits: NDArray[np.bool_]) -> int:
    """Return the first candidate that is within one standard error of the best.

    Parameters
    ----------
    hits : ndarray of bool of shape (n_candidates, n_rows)
        Which rows each candidate gets right.
    """
    behind, error = _gains(hits, int(hits.sum(axis=1).argmax()))
    return int((behind >= -error).argmax())


def smallest_proven(hits: NDArray[np.bool_]) -> int:
    """Return the first candidate that is as good as the best and better than the last.

    "As good" is within one standard error of the best, "better" by one standard error
    at least; the last candidate is what needs no proof.

    Parameters
    ----------
    hits : ndarray of bool of shape (n_candidates, n_rows)
        Which rows each candidate gets right.
    """
    behind, error = _gains(hits, int(hits.sum(axis=1).argmax()))
    ahead, other_error = _gains(hits, -1)
    good = (behind >= -error) & (ahead >= other_error)
    good[-1] = True
    return int(good.argmax())


def _gains(hits: NDArray[np.bool_], other: int) -> tuple[FloatArray, FloatArray]:
    """Return how many rows more each gets right than another, and the error of that.

    The error is McNemar's, of a difference on the same rows: what both get right, or
    both get wrong, does not add to it.
    """
    counts = hits.sum(axis=1)
    return counts - counts[other], np.sqrt((hits != hits[other]).sum(axis=1))


def _smallest(values: FloatArray, k: int) -> IntArray:
    """Return the columns of the k smallest of each row, which are left as they were.

    The minimum of a row, a few times, is quicker than a partition of it.
    """
    rows = np.arange(len(values))
    columns = np.empty((len(values), k), dtype=np.intp)
    taken = np.empty((len(values), k), dtype=values.dtype)
    for a in range(k):
        columns[:, a] = values.argmin(axis=1)
        taken[:, a] = values[rows, columns[:, a]]
        values[rows, columns[:, a]] = np.inf
    values[rows[:, None], columns] = taken
    return columns


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
