"""LDG's choices (section 4): neighbours by local QDA, gamma and dimension by 3-NN."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray, IntArray
from vicinal.ldg._eigenproblem import EigenProblem
from vicinal.ldg._local_gaussians import ClassPoints
from vicinal.neighborhood.parallel import blocks, rows_per_block, run_in_threads

T = TypeVar("T")

N_NEIGHBORS = (4, 8, 16, 32, 64, 128)
GAMMAS = (0.2, 0.4, 0.6, 0.8, 1.0)
# A choice between a handful of values is made as well on this many rows.
MOST_ROWS = 3000
N_FOLDS = 5
# The k of the k-NN that choices are made by, and that the paper measures with.
KNN_K = 3
# Gamma and alpha are chosen at a few more dimensions than there are classes.
DIMENSIONS_BEYOND_CLASSES = 5
# How many dimensions are tried before the next look at whether to stop.
AT_ONCE = 4


def some_rows(codes: IntArray, random_state: RandomState) -> IntArray:
    """Return at most MOST_ROWS row numbers, ascending, some of every class.

    Each class gives its share, and two rows at least, as far as it has them.
    """
    n = len(codes)
    if n <= MOST_ROWS:
        return np.arange(n)
    chosen = []
    for j in range(codes.max() + 1):
        rows = np.flatnonzero(codes == j)
        share_of_class = max(2, round(MOST_ROWS * len(rows) / n))
        chosen.append(random_state.permutation(rows)[:share_of_class])
    return np.sort(np.concatenate(chosen))


def choose_n_neighbors(
    points: FloatArray,
    codes: IntArray,
    priors: FloatArray,
    least_spread: float,
    n_features: int,
    random_state: RandomState,
    n_threads: int,
) -> int:
    """Return the k of N_NEIGHBORS whose local QDA errs least in five folds.

    Of equals, the largest. Neighbours are found once for each fold and serve every k.
    A k that no class has the points for is not tried.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Sorted by class.
    codes : ndarray of shape (n_points,)
        Their classes.
    priors : ndarray of shape (n_classes,)
        p(j).
    least_spread : float
        The floor of d σ².
    n_features : int
        d.
    random_state : RandomState
        Shares the points out to the folds.
    n_threads : int
        The result is the same for any number.
    """
    largest = np.bincount(codes).max()
    sizes = [k for k in N_NEIGHBORS if k < largest] or [N_NEIGHBORS[0]]
    if len(sizes) == 1:
        return sizes[0]
    folds = folds_of(codes, random_state)
    folds[np.bincount(codes)[codes] == 1] = -1  # the only one of a class is never held
    right = np.zeros(len(sizes), dtype=np.intp)
    for fold in range(N_FOLDS):
        held = folds == fold
        if not held.any():
            continue
        subset = ClassPoints.build(points[~held], codes[~held], least_spread)
        queries = points[held]
        neighbors = subset.nearest(sizes[-1], queries, n_threads)
        scores = subset.log_densities(queries, neighbors, sizes, n_features, n_threads)
        found = (scores + np.log(priors)).argmax(axis=2)
        right += (found == codes[held]).sum(axis=1)
    return best_largest(sizes, right)


def folds_of(codes: IntArray, random_state: RandomState) -> IntArray:
    """Share the points out to five folds, each class as evenly as it can be."""
    order = np.lexsort((random_state.permutation(len(codes)), codes))
    folds = np.empty(len(codes), dtype=np.intp)
    folds[order] = np.arange(len(codes)) % N_FOLDS
    return folds


def best_largest(candidates: Sequence[T], scores: Iterable[float]) -> T:
    """Return the candidate of the highest score; of equals, the last."""
    pairs = list(zip(candidates, scores, strict=True))
    best = max(score for _, score in pairs)
    return [candidate for candidate, score in pairs if score == best][-1]


def choose_gamma(
    problem: EigenProblem, points: FloatArray, codes: IntArray, n_threads: int
) -> float:
    """Return the γ of GAMMAS under which leave-one-out 3-NN does best.

    Of equals, the largest.

    Parameters
    ----------
    problem : EigenProblem
        V and A.
    points : ndarray of shape (n_points, n_coordinates)
        The points to leave out one by one.
    codes : ndarray of shape (n_points,)
        Their classes.
    n_threads : int
        The result is the same for any number.
    """
    d = int(codes.max()) + 1 + DIMENSIONS_BEYOND_CLASSES
    maps = (problem.smallest(gamma, d)[1].astype(points.dtype) for gamma in GAMMAS)
    return best_largest(
        GAMMAS, [leave_one_out(points @ B, codes, n_threads) for B in maps]
    )


def leave_one_out(Z: FloatArray, codes: IntArray, n_threads: int) -> float:
    """Return the leave-one-out 3-NN accuracy in all dimensions of Z at once."""
    return float(_count_correct(Z, Z.shape[1], codes, n_threads)[-1] / len(Z))


def enough_dimensions(Z: FloatArray, codes: IntArray, n_threads: int) -> int:
    """Return how many leading dimensions to keep, growing from one.

    Another is taken as long as the leave-one-out 3-NN accuracy does not fall by it
    (section 4).

    Parameters
    ----------
    Z : ndarray of shape (n_points, n_dimensions)
        The mapped points, dimensions in their order.
    codes : ndarray of shape (n_points,)
        Their classes.
    n_threads : int
        The result is the same for any number.
    """
    before, most = -1, Z.shape[1]
    for first in range(0, most, AT_ONCE):
        upto = Z[:, : first + AT_ONCE]
        counts = _count_correct(upto, first + 1, codes, n_threads)
        for d, right in enumerate(counts, start=first):
            if right < before:
                return d
            before = int(right)
    return most


def _count_correct(
    Z: FloatArray, first: int, codes: IntArray, n_threads: int
) -> IntArray:
    """Return how many points 3-NN gets right in the first, first + 1, … dimensions.

    A further dimension adds its squared differences to a block of distances.
    """
    n, most = Z.shape
    Z = Z - Z.mean(axis=0)
    old = Z[:, :first]
    norms = np.einsum("ij,ij->i", old, old)
    size = rows_per_block(n, n * Z.itemsize)
    right = np.zeros((n, most - first + 1), dtype=bool)

    def count(_: int, rows: slice) -> None:
        own = np.arange(rows.stop - rows.start)
        distances = norms - 2 * (old[rows] @ old.T)
        # Rows are compared within themselves: their own norms add nothing.
        distances[own, own + rows.start] = np.inf
        right[rows, 0] = vote(distances, codes) == codes[rows]
        for d in range(first, most):
            distances += np.square(Z[rows, d, None] - Z[:, d])
            right[rows, d - first + 1] = vote(distances, codes) == codes[rows]

    run_in_threads(lambda: count, blocks(slice(0, n), size), n_threads)
    return right.sum(axis=0)


def vote(distances: FloatArray, codes: IntArray) -> IntArray:
    """Return the class of most of the three nearest columns; of equals, the nearest.

    The distances are left as they were.
    """
    rows = np.arange(len(distances))
    nearest = []
    # The minimum of a row, three times, is quicker than a partition of it.
    for _ in range(min(KNN_K, distances.shape[1] - 1)):
        column = distances.argmin(axis=1)
        nearest.append((column, distances[rows, column]))
        distances[rows, column] = np.inf
    for column, value in nearest:
        distances[rows, column] = value
    votes = [codes[column] for column, _ in nearest]
    if len(votes) < KNN_K:
        return votes[0]
    first, second, third = votes
    return np.where(second == third, second, first)
