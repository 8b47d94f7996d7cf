"""ITML's price of slack, chosen by rows that are held out."""

from collections.abc import Callable

import numpy as np
from numpy.random import RandomState

from vicinal._typing import FloatArray, IntArray
from vicinal.base.selection import (
    held_out,
    majority,
    nearest_points,
    sample_of_classes,
    smallest_proven,
)
from vicinal.base.tuples import Tuples
from vicinal.classic._pair_bounds import LogDetObjective, PairBounds
from vicinal.optimize import SOLVERS

GAMMAS = (0.001, 0.01, 0.1, 1.0)
# The choice is made by a few folds of so many rows, and by maps that are only near
# their optimum.
MOST_ROWS, N_FOLDS, MAX_ITER, TOL = 2_000, 3, 20, 1e-3
# One fold, where the multiplications of an iteration are as many as this.
DEAR = 4e8


def choose_gamma(
    points: FloatArray,
    codes: IntArray,
    n_pairs: int,
    random_state: RandomState,
    in_coordinates: Callable[[FloatArray], FloatArray],
    n_threads: int,
    bounds: tuple[float, float] | None = None,
) -> float:
    """Return the least γ of GAMMAS that 3-NN proves on rows held out, or else 0.

    0 is the prior. "Proves" is said in `smallest_proven`.

    Parameters
    ----------
    points, codes
        The points, and their classes.
    n_pairs : int
        How many pairs of one class to draw, and of two.
    random_state : RandomState
        For the folds and the pairs.
    in_coordinates : callable
        Takes points to coordinates under which the prior is the identity.
    n_threads : int
        The result is the same for any number.
    bounds : tuple of two floats or None, default=None
        u and l, in these coordinates; None is found from the pairs.
    """
    sample = sample_of_classes(codes, MOST_ROWS, random_state)
    points, codes = points[sample], codes[sample]
    solver = SOLVERS["lbfgs"](max_iter=MAX_ITER, tol=TOL)
    hits = []
    for held in held_out(codes, random_state, N_FOLDS):
        known, queries = in_coordinates(points[~held]), in_coordinates(points[held])
        if np.bincount(codes[~held]).max() < 2:
            continue  # nobody to be paired with
        pairs = PairBounds.draw(
            points[~held], codes[~held], n_pairs, random_state, in_coordinates,
            bounds=bounds,
        )  # fmt: skip
        maps: list[FloatArray] = [np.eye(known.shape[1])]
        for gamma in GAMMAS:  # each from where the one before has ended
            objective = LogDetObjective(pairs, gamma, n_threads)
            found = solver.maximize(objective, maps[-1], lambda *_: False)
            maps.append(found.components)
        nearest = [
            nearest_points(queries @ A.T, known @ A.T, n_threads=n_threads)[0]
            for A in [*maps[1:], maps[0]]
        ]
        hits.append(majority(codes[~held][np.stack(nearest)]) == codes[held])
        if 4 * n_pairs * known.shape[1] ** 2 > DEAR:
            break
    if not hits:
        return 0.0
    right = np.concatenate(hits, axis=1)
    k = smallest_proven(right)
    # A metric under which no row fares differently proves nothing.
    return 0.0 if (right[k] == right[-1]).all() else (*GAMMAS, 0.0)[k]


def choose_gamma_of_pairs(
    pairs: Tuples,
    signs: IntArray,
    bounds: tuple[float, float] | None,
    random_state: RandomState,
    n_threads: int,
) -> float:
    """Return the least γ that orders pairs held out as well as any, or else 0.

    "As well" is within one standard error, over the folds, of the best mean area under
    the ROC curve; 0 is the prior.

    Parameters
    ----------
    pairs : Tuples
        In coordinates under which the prior is the identity.
    signs : ndarray of shape (n_pairs,)
        1 for pairs to be near, -1 for pairs to be far.
    bounds : tuple of two floats or None
        u and l, where they are given.
    random_state : RandomState
        For the folds.
    n_threads : int
        The result is the same for any number.
    """
    from sklearn.metrics import roc_auc_score  # slow to import

    if min((signs == 1).sum(), (signs == -1).sum()) < N_FOLDS:
        return 0.0 if not (signs == -1).any() else GAMMAS[1]
    solver = SOLVERS["lbfgs"](max_iter=MAX_ITER, tol=TOL)
    areas = []
    for held in held_out((signs > 0).astype(np.intp), random_state, N_FOLDS):
        known = PairBounds.of_pairs(
            pairs.subset(~held), signs[~held], bounds, random_state
        )
        A: FloatArray = np.eye(pairs.points.shape[1])
        found = []
        for gamma in (0.0, *GAMMAS):  # each from where the one before has ended
            if gamma:
                objective = LogDetObjective(known, gamma, n_threads)
                A = solver.maximize(objective, A, lambda *_: False).components
            lengths = pairs.subset(held).lengths(A, 0, 1)
            found.append(roc_auc_score(signs[held], -lengths))
        areas.append(found)
    table = np.array(areas)
    best = int(table.mean(axis=0).argmax())
    behind = table[:, [best]] - table
    error = behind.std(axis=0, ddof=1) / np.sqrt(len(table))
    chosen = int((behind.mean(axis=0) <= error).argmax())
    return (0.0, *GAMMAS)[chosen]
