"""LDG's choices (section 4): neighbours by local QDA, gamma and dimension by 3-NN."""

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray, IntArray
from vicinal.base.folds import held_out, sample_of_classes
from vicinal.base.knn_vote import (
    leave_one_out_hits,
    majority,
    nearest_points,
    path_of_dimensions,
    smallest_proven,
)
from vicinal.ldg._eigenproblem import EigenProblem, directions_of_varying
from vicinal.ldg._local_gaussians import ClassPoints, scatters

T = TypeVar("T")

N_NEIGHBORS = (4, 8, 16, 32, 64, 128)
GAMMAS = (0.2, 0.4, 0.6, 0.8, 1.0)
# A choice between a handful of values is made as well on this many rows.
MOST_ROWS = 3000
# As is the dimension, for which all is learned anew without each fold; but with fewer
# rows than this of each class, neighbours of the own class are not where they are.
MOST_ROWS_FOR_PATH, ROWS_OF_CLASS_FOR_PATH = 1500, 30
# The k of the k-NN that choices are made by, and that the paper measures with.
KNN_K = 3
# Gamma and alpha are chosen at a few more dimensions than there are classes.
DIMENSIONS_BEYOND_CLASSES = 5
# In how many folds the dimension is chosen; with more features than so many, in fewer.
N_FOLDS, FEWER_FOLDS, MANY_FEATURES = 5, 3, 200
# How many dimensions are tried before the next look at whether to stop.
AT_ONCE = 4


def sampled_rows(codes: IntArray, random_state: RandomState) -> IntArray:
    """Return about MOST_ROWS row numbers for the choices; see `sample_of_classes`."""
    return sample_of_classes(codes, MOST_ROWS, random_state)


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
    right = np.zeros(len(sizes), dtype=np.intp)
    for held in held_out(codes, random_state):
        subset = ClassPoints.build(points[~held], codes[~held], least_spread)
        queries = points[held]
        neighbors = subset.nearest(sizes[-1], queries, n_threads)
        scores = subset.log_densities(queries, neighbors, sizes, n_features, n_threads)
        found = (scores + np.log(priors)).argmax(axis=2)
        right += (found == codes[held]).sum(axis=1)
    return best_largest(sizes, right)


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
    return float(leave_one_out_hits(Z, codes, KNN_K, n_threads=n_threads).mean())


def choose_dimension(
    points: FloatArray,
    codes: IntArray,
    priors: FloatArray,
    least_spread: float,
    n_features: int,
    n_neighbors: int,
    gamma: float,
    most: int,
    random_state: RandomState,
    n_threads: int,
) -> int:
    """Return how many dimensions to keep, judged by 3-NN of points that are held out.

    The directions are found anew without each of five folds, or of three where there
    are many features. Of the numbers of
    dimensions along the whole path the least is taken that is within one standard
    error of the best and better than all dimensions, which are the Euclidean
    distance, by more than one; all of them where there is none.

    Parameters
    ----------
    points : ndarray of shape (n_points, n_coordinates)
        Sorted by class. Of many, MOST_ROWS_FOR_PATH are looked at, or more where
        there are many classes, up to MOST_ROWS.
    codes : ndarray of shape (n_points,)
        Their classes.
    priors : ndarray of shape (n_classes,)
        p(j).
    least_spread : float
        The floor of d σ².
    n_features : int
        d.
    n_neighbors : int
        k.
    gamma : float
        γ.
    most : int
        How many dimensions there are.
    random_state : RandomState
        Shares the points out to the folds.
    n_threads : int
        The result is the same for any number.
    """
    path = path_of_dimensions(most)
    n_rows = max(MOST_ROWS_FOR_PATH, ROWS_OF_CLASS_FOR_PATH * (int(codes[-1]) + 1))
    sample = sample_of_classes(codes, min(n_rows, MOST_ROWS), random_state)
    points, codes = points[sample], codes[sample]
    n_folds = FEWER_FOLDS if points.shape[1] > MANY_FEATURES else N_FOLDS
    hits = []
    for held in held_out(codes, random_state, n_folds):
        known = points[~held] - points[~held].mean(axis=0)
        queries = points[held] - points[~held].mean(axis=0)
        subset = ClassPoints.build(known, codes[~held], least_spread)
        neighbors = subset.nearest(n_neighbors, None, n_threads)
        V, A = scatters(subset, neighbors, priors, n_features, n_threads)
        B = directions_of_varying(V - gamma * A, known)
        rank = B.shape[1]
        if not rank:
            continue
        nearest = nearest_points(
            queries @ B, known @ B, KNN_K,
            dimensions=[min(d, rank) for d in path], n_threads=n_threads,
        )  # fmt: skip
        hits.append(majority(codes[~held][nearest]) == codes[held])
    if not hits:
        return most
    return path[smallest_proven(np.concatenate(hits, axis=1))]


def grown_dimensions(Z: FloatArray, codes: IntArray, n_threads: int) -> int:
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
        tried = range(first + 1, min(first + AT_ONCE, most) + 1)
        hits = leave_one_out_hits(
            Z, codes, KNN_K, dimensions=tried, n_threads=n_threads
        )
        for d, right in zip(tried, hits.sum(axis=1).tolist(), strict=True):
            if right < before:
                return d - 1
            before = right
    return most
