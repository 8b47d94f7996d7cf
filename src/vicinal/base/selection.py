"""Model selection on labeled rows: folds, numbers of components, k-NN votes."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.linalg import unit_of
from vicinal.neighborhood.threads import blocks, map_in_order, rows_per_block


def sample_of_classes(
    codes: IntArray, n_rows: int, random_state: RandomState
) -> IntArray:
    """Return about `n_rows` row numbers, ascending, stratified by class.

    Each class contributes its share, and at least two rows if it has them.
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
    """Yield the held-out rows of each fold, stratified by class.

    The last remaining row of a class is never held out, and no fold is empty.
    """
    from sklearn.model_selection import KFold, StratifiedKFold  # slow to import

    sizes = np.bincount(codes)
    n_folds = min(n_folds, len(codes))
    if n_folds < 2:
        return
    # Classes with fewer rows than folds cannot be stratified.
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


def hold_out(
    keys: Any,
    fraction: float,
    rng: np.random.Generator,
    min_rows: int = 5,
    turn: int = 0,
) -> IntArray:
    """Return rows to hold out, spread evenly over classes or over numeric targets.

    One row of each class stays, so that no class is lost, and two rows stay in any
    case. No rows are held out if they would be fewer than `min_rows`. With the same
    random numbers, the turns 0, 1, …, ⌈1 / fraction⌉ − 1 hold out all other rows.
    """
    n = len(keys)
    order = np.lexsort((rng.random(n), keys))
    places = np.arange(rng.random(), n * fraction, 1.0) / fraction
    chosen = np.zeros(n, dtype=bool)
    chosen[(np.minimum(places.astype(int), n - 1) + turn) % n] = True
    if np.asarray(keys).dtype.kind in "iu":
        chosen[np.unique(np.asarray(keys)[order], return_index=True)[1]] = False
    found = order[chosen]
    if n - len(found) < 2:
        found = rng.permutation(found)[: max(n - 2, 0)]
    return np.sort(found) if len(found) >= min_rows else found[:0]


def nearest_points(
    queries: FloatArray,
    points: FloatArray,
    n_neighbors: int = 3,
    *,
    own: IntArray | None = None,
    dimensions: Sequence[int] | None = None,
    n_threads: int = 1,
) -> NDArray[np.int32]:
    """Find the nearest points of each query, for several numbers of leading dimensions.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_dimensions)
        Query points.
    points : ndarray of shape (n_points, n_dimensions)
        Candidate neighbors.
    n_neighbors : int, default=3
        Number of neighbors; fewer if there are fewer points.
    own : ndarray of shape (n_queries,) or None
        Index of each query among the points, if it is one of them. A point is not its
        own neighbor.
    dimensions : sequence of int or None
        Numbers of leading columns in which to measure distances, ascending; None is all
        columns. Each costs only the columns that it adds to the previous one.
    n_threads : int, default=1
        Number of threads; the result does not depend on it.

    Returns
    -------
    ndarray of shape (n_of_dimensions, n_queries, n_neighbors)
        Indices of points, nearest first; ties are resolved in favor of the first.
    """
    wanted = [points.shape[1]] if dimensions is None else list(dimensions)
    middle = points.mean(axis=0, dtype=np.float64).astype(points.dtype)
    points, queries = points - middle, queries - middle
    # Scaling by a power of two avoids overflow and underflow, and keeps the order.
    unit = max(unit_of(points), unit_of(queries))
    points, queries = points / unit, queries / unit
    k = min(n_neighbors, len(points) - (own is not None))
    found = np.empty((len(wanted), len(queries), k), dtype=np.int32)

    def search(rows: slice) -> None:
        # ‖x‖² − 2 xᵀq: the norm of the query is constant in its row.
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
    for _ in map_in_order(search, blocks(slice(0, len(queries)), size), n_threads):
        pass
    return found


def majority(votes: NDArray[Any]) -> NDArray[Any]:
    """Return the most frequent value along the last axis; ties go to the first.

    Parameters
    ----------
    votes : ndarray of shape (..., n_voters)
        Classes of the neighbors, nearest first.
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
    dimensions: Sequence[int] | None = None,
    n_threads: int = 1,
) -> NDArray[np.bool_]:
    """Return whether leave-one-out k-NN predicts the class of each point.

    Parameters
    ----------
    Z : ndarray of shape (n_points, n_dimensions)
        Mapped points; at least two.
    codes : ndarray of shape (n_points,)
        Class codes.
    n_neighbors : int, default=3
        Number of neighbors k.
    dimensions, n_threads
        As for `nearest_points`.

    Returns
    -------
    ndarray of bool of shape (n_of_dimensions, n_points)
    """
    own = np.arange(len(Z))
    nearest = nearest_points(
        Z, Z, n_neighbors, own=own, dimensions=dimensions, n_threads=n_threads
    )
    hits: NDArray[np.bool_] = majority(codes[nearest]) == codes
    return hits


def path_of_dimensions(most: int) -> list[int]:
    """Return dimensions from 1 to `most`: all up to 16, then a geometric sequence.

    Each is at most about a tenth larger than the previous one.
    """
    grown = [16 * 1.1**i for i in range(1, 200) if 16 * 1.1**i < most]
    return sorted({*range(1, min(most, 16) + 1), *map(round, grown), most})


def paired_gains(scores: NDArray[Any], reference: int) -> tuple[FloatArray, FloatArray]:
    """Return the total gain of each candidate over a reference, and its error.

    The standard error is that of a sum of differences on the same rows without a true
    gain. For hits it is McNemar's: rows on which both are correct or both are wrong do
    not contribute.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_rows)
        Score of each candidate on each row; of hits, True or False.
    reference : int
        Candidate to compare with.
    """
    differences = scores.astype(np.float64) - scores[reference]
    return differences.sum(axis=1), np.sqrt(np.square(differences).sum(axis=1))


def one_standard_error_choice(scores: NDArray[Any], default: int | None = None) -> int:
    """Return the first candidate within one standard error of the best.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_rows)
        As for `paired_gains`, the preferred candidate first.
    default : int or None, default=None
        Candidate that is returned unless another exceeds it by at least one standard
        error.
    """
    behind, error = paired_gains(scores, int(scores.sum(axis=1).argmax()))
    good = behind >= -error
    if default is not None:
        ahead, error = paired_gains(scores, default)
        good &= ahead >= error
        good[default] = True
    return int(good.argmax())


def climb(score: Callable[[int], float], n: int, starts: Sequence[int] = (0,)) -> int:
    """Return the best candidate of a path, by hill climbing from the best start.

    Parameters
    ----------
    score : callable
        Score of the k-th candidate; called once for each.
    n : int
        Number of candidates.
    starts : sequence of int, default=(0,)
        Candidates to try first.
    """
    known = cache(score)
    best = max(starts, key=known)
    for step in (1, -1):
        while 0 <= best + step < n and known(best + step) > known(best):
            best += step
    return best


def _smallest(values: FloatArray, k: int) -> IntArray:
    """Return the columns of the k smallest values of each row; values are restored.

    A few passes for the minimum are faster than a partition.
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


def checked_n_components(
    asked: int | None, most: int, of_what: str, otherwise: str = "None for all"
) -> int:
    """Validate n_components; the default is the maximum.

    Parameters
    ----------
    asked : int or None
        Value of the parameter.
    most : int
        Maximum number of components.
    of_what, otherwise : str
        Name of the limiting quantity, and the alternatives, for error messages.
    """
    if asked is not None and asked > most:
        raise ValueError(
            f"n_components={asked} is more than {of_what}; choose at most {most}, or "
            f"{otherwise}."
        )
    return asked or most


def ordered_by_size(components: FloatArray) -> FloatArray:
    """Rotate a map so that its rows are ordered by their singular values.

    Distances do not change: with A = U S Vᵀ, S Vᵀ has the same distances.
    """
    _, sizes, axes = np.linalg.svd(components, full_matrices=False)
    turned: FloatArray = sizes[:, None] * axes
    return turned


def enough_components(
    X: FloatArray, codes: IntArray, components: FloatArray, n_neighbors: int = 3
) -> int:
    """Return the least number of leading rows with the best leave-one-out accuracy.

    "Best" is within one standard error of the maximum; otherwise noise would decide
    between numbers that do not differ. Large data are subsampled at regular intervals.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points.
    codes : ndarray of shape (n_samples,)
        Class codes.
    components : ndarray of shape (n_components, n_features)
        Map with rows in descending order of importance.
    n_neighbors : int, default=3
        The k of k-NN.
    """
    step = -(-len(X) // 10_000)
    X, codes = X[::step], codes[::step]
    candidates = path_of_dimensions(len(components))
    Z = X @ components.T
    hits = leave_one_out_hits(Z, codes, n_neighbors, dimensions=candidates)
    accuracies = hits.mean(axis=1)
    best = float(accuracies.max())
    error = np.sqrt(best * (1 - best) / len(X))
    return candidates[int((accuracies >= best - error).argmax())]
