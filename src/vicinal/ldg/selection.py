"""LDG's choices (section 4): neighbors by local QDA, γ and dimension by 3-NN."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from vicinal._typing import FloatArray, IntArray
from vicinal.base.metric import warn_caller
from vicinal.base.selection import (
    held_out,
    leave_one_out_hits,
    majority,
    nearest_points,
    one_standard_error_choice,
    path_of_dimensions,
    sample_of_classes,
)
from vicinal.ldg.eigenproblem import EigenProblem, varying_eigenvectors
from vicinal.ldg.local_gaussians import ClassPoints, scatters

# The grids of section 4 of the paper.
N_NEIGHBORS = (4, 8, 16, 32, 64, 128)
GAMMAS = (0.2, 0.4, 0.6, 0.8, 1.0)
# γ and α are chosen at this many dimensions more than classes (docs/ldg.md).
DIMENSIONS_BEYOND_CLASSES = 5
# More rows do not improve the choices (docs/decisions/010-defaults.md).
MOST_ROWS = 3000


class SmallClassesWarning(UserWarning):
    """Classes have fewer points than the requested number of neighbors.

    Parameters
    ----------
    sizes : dict
        The number of rows of each of these classes, by label.
    n_neighbors : int
        The requested number of neighbors.

    Attributes
    ----------
    sizes : dict
        The number of rows of each of these classes, by label.
    n_neighbors : int
        The requested number of neighbors.

    See Also
    --------
    vicinal.LDG : Issues this warning.

    Examples
    --------
    >>> from vicinal.ldg import SmallClassesWarning
    >>> print(SmallClassesWarning({"a": 3}, 4))
    These classes have too few rows (in brackets) to give each point 4 neighbors: \
'a' (3). They give as many as they have.
    """

    def __init__(self, sizes: dict[Any, int], n_neighbors: int) -> None:
        super().__init__(sizes, n_neighbors)
        self.sizes = sizes
        self.n_neighbors = n_neighbors

    def __str__(self) -> str:
        listed = ", ".join(f"{label!r} ({size})" for label, size in self.sizes.items())
        return (
            "These classes have too few rows (in brackets) to give each point "
            f"{self.n_neighbors} neighbors: {listed}. They give as many as they have."
        )


def warn_of_small_classes(
    classes: NDArray[Any], sizes: IntArray, n_neighbors: int | str, itself: int
) -> None:
    """Warn if classes have fewer neighbors to give than requested.

    `itself` is 1 if a point is not its own neighbor, else 0. If k is to be chosen, the
    smallest candidate counts.
    """
    wanted = N_NEIGHBORS[0] if isinstance(n_neighbors, str) else n_neighbors
    small = {
        label: size
        for label, size in zip(classes.tolist(), sizes.tolist(), strict=True)
        if size - itself < wanted
    }
    if small:
        warn_caller(SmallClassesWarning(small, wanted))


@dataclass(frozen=True)
class Sample:
    """Rows for the choices, and the settings of the local Gaussians.

    Attributes
    ----------
    points, codes
        The rows, sorted by class, and their classes.
    priors, least_spread, n_features
        p(j), the floor of d σ², and d.
    random_state, n_threads
        Shuffles the folds; number of threads, which does not affect the result.
    """

    points: FloatArray
    codes: IntArray
    priors: FloatArray
    least_spread: float
    n_features: int
    random_state: RandomState
    n_threads: int

    @classmethod
    def draw(
        cls,
        subset: ClassPoints,
        priors: FloatArray,
        n_features: int,
        random_state: RandomState,
        n_threads: int,
    ) -> "Sample":
        """Draw about MOST_ROWS rows, or use all if there are fewer."""
        codes, floor = subset.codes, subset.least_spread
        rows = sample_of_classes(codes, MOST_ROWS, random_state)
        points, codes = subset.points[rows], codes[rows]
        return cls(points, codes, priors, floor, n_features, random_state, n_threads)


def choose_n_neighbors(sample: Sample, asked: int | str = "auto") -> int:
    """Return k as asked for, or the one for which local QDA is best in five folds.

    Of equally good ones of N_NEIGHBORS the largest. The neighbors for the largest k,
    found once for each fold, contain those for the others. A k is tried only if a class
    has more points.
    """
    if not isinstance(asked, str):
        return asked
    points, codes, n_threads = sample.points, sample.codes, sample.n_threads
    largest = np.bincount(codes).max()
    sizes = [k for k in N_NEIGHBORS if k < largest] or [N_NEIGHBORS[0]]
    if len(sizes) == 1:
        return sizes[0]
    right = np.zeros(len(sizes), dtype=np.intp)
    for held in held_out(codes, sample.random_state):
        subset = ClassPoints.build(points[~held], codes[~held], sample.least_spread)
        queries = points[held]
        neighbors = subset.nearest(sizes[-1], queries, n_threads)
        scores = subset.log_densities(
            queries, neighbors, sizes, sample.n_features, n_threads
        )
        found = (scores + np.log(sample.priors)).argmax(axis=2)
        right += (found == codes[held]).sum(axis=1)
    return max(zip(right.tolist(), sizes, strict=True))[1]


def choose_gamma(problem: EigenProblem, sample: Sample, asked: float | str) -> float:
    """Return γ as asked for, or the one with the best leave-one-out 3-NN accuracy.

    Of equally good ones of GAMMAS the largest.
    """
    if not isinstance(asked, str):
        return asked
    d = int(sample.codes.max()) + 1 + DIMENSIONS_BEYOND_CLASSES
    right = []
    for gamma in GAMMAS:
        B = problem.smallest(gamma, d)[1].astype(sample.points.dtype)
        hits = leave_one_out_hits(
            sample.points @ B, sample.codes, n_threads=sample.n_threads
        )
        right.append(int(hits.sum()))
    return max(zip(right, GAMMAS, strict=True))[1]


def choose_dimension(sample: Sample, n_neighbors: int, gamma: float, most: int) -> int:
    """Return the dimension, judged by the 3-NN accuracy on held-out points.

    The directions are computed anew without each of five folds; of three if there are
    more than 200 coordinates, to save time. The choice is the smallest dimension that
    is within one standard error of the best and better, by more than one, than all
    dimensions, which are the Euclidean distance. If there is none, it is `most`.
    """
    path, n_threads = path_of_dimensions(most), sample.n_threads
    # Half of the rows for the other choices are enough, as long as classes have 30:
    # with fewer, the neighbors of a class are too far away to represent it.
    n_rows = min(max(MOST_ROWS // 2, 30 * (int(sample.codes[-1]) + 1)), MOST_ROWS)
    rows = sample_of_classes(sample.codes, n_rows, sample.random_state)
    points, codes = sample.points[rows], sample.codes[rows]
    hits = []
    for held in held_out(codes, sample.random_state, 3 if points.shape[1] > 200 else 5):
        known = points[~held] - points[~held].mean(axis=0)
        queries = points[held] - points[~held].mean(axis=0)
        subset = ClassPoints.build(known, codes[~held], sample.least_spread)
        neighbors = subset.nearest(n_neighbors, None, n_threads)
        V, A = scatters(subset, neighbors, sample.priors, sample.n_features, n_threads)
        B = varying_eigenvectors(V - gamma * A, known)
        if not B.shape[1]:
            continue
        dimensions = [min(d, B.shape[1]) for d in path]
        nearest = nearest_points(
            queries @ B, known @ B, dimensions=dimensions, n_threads=n_threads
        )
        hits.append(majority(codes[~held][nearest]) == codes[held])
    return (
        path[one_standard_error_choice(np.concatenate(hits, axis=1), default=-1)]
        if hits
        else most
    )


def grow_dimension(
    Z: FloatArray, codes: IntArray, n_threads: int, at_once: int = 4
) -> int:
    """Return the number of leading dimensions to keep by the rule of section 4.

    Dimensions are added until the leave-one-out 3-NN accuracy falls.

    Parameters
    ----------
    Z : ndarray of shape (n_points, n_dimensions)
        Mapped points, with the dimensions in their order.
    codes : ndarray of shape (n_points,)
        Their classes.
    n_threads : int
        Number of threads. It does not affect the result.
    at_once : int, default=4
        Dimensions to evaluate in one pass over the pairs.
    """
    before, most = -1, Z.shape[1]
    for first in range(0, most, at_once):
        tried = range(first + 1, min(first + at_once, most) + 1)
        hits = leave_one_out_hits(Z, codes, dimensions=tried, n_threads=n_threads)
        for d, right in zip(tried, hits.sum(axis=1).tolist(), strict=True):
            if right < before:
                return d - 1
            before = right
    return most
